"""``umbriel hook``: what a coding agent runs at the moments of a session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gateways.agents import check_agent
from gateways.cli import options, output
from gateways.cli.session import AGENT, Target, carry_out
from gateways.hooks import CONFIGS, MOMENTS, profile_of, read_payload, run
from umbriel import InvalidInputError

__all__ = ["hook"]


def hook(
    *,
    moment: Annotated[str, typer.Argument(metavar="|".join(MOMENTS), help="What happens in the session.")] = "",
    config: Annotated[
        str, typer.Option("--config", metavar="|".join(CONFIGS), help="Print what the agent's configuration needs.")
    ] = "",
    profile: options.Profile = None,
    data: options.Data = None,
    nats: options.Nats = None,
    principal: options.Principal = AGENT,
) -> None:
    """Read a coding agent's JSON on stdin, keep or recall, and print what the model is to read.

    Each project has a profile of its own, unless --profile or UMBRIEL_PROFILE names one.
    """
    if config:
        if config not in CONFIGS:
            raise InvalidInputError("no such agent", expected=", ".join(CONFIGS), found=repr(config[:40]))
        output.write_text(CONFIGS[config])
        return
    payload = read_payload(b"" if sys.stdin.isatty() else sys.stdin.buffer.read())
    project = profile or profile_of(Path(payload.cwd or "."))

    async def work() -> None:
        async with await Target(data, nats, principal).connect(project) as client:
            await check_agent(client)
            text = await run(moment, client, payload)
        if text:
            output.write_text(text)

    carry_out(work)
