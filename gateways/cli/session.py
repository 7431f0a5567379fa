"""What every verb does alike: take the common options, connect, and print for people or for scripts."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import msgspec

from gateways.cli import options, output
from umbriel import InvalidInputError, Umbriel

__all__ = ["AGENT", "DEFAULT_PROFILE", "LOCAL", "Session", "Target", "carry_out", "verb", "verb_after"]

DEFAULT_PROFILE = "default"
#: The person at this machine; principals of agents are never used by the command line unless named.
LOCAL = "local"
#: What speaks for a model: tools and hooks.
AGENT = "local-agent"
#: seconds after which a command that was to end is told again
_TOLD_AGAIN = 2.0

P = ParamSpec("P")


class Target(msgspec.Struct, frozen=True):
    """Which service to speak to: embedded in ``data``, or at ``nats``."""

    data: Path | None = None
    nats: str | None = None
    principal: str = LOCAL

    async def connect(self, profile: str) -> Umbriel:
        """Return a client; in embedded mode it joins or starts the server of the data directory."""
        if self.nats is None:
            return await Umbriel.embedded(self.data, profile=profile, principal=self.principal)
        if self.data is not None and "UMBRIEL_DATA" not in os.environ:
            raise InvalidInputError("two places named", expected="--data or --nats", found="both")
        password = os.environ.get("UMBRIEL_PASSWORD", "")
        return await Umbriel.connect(
            self.nats,
            principal=self.principal,
            password=password,
            profile=profile,
            nkey_seed=os.environ.get("UMBRIEL_NKEY_SEED") or None,
            tls_ca=os.environ.get("UMBRIEL_TLS_CA") or None,
        )


class Session(msgspec.Struct, frozen=True):
    """One run of a command: its client, the profile as it was given, and how to print."""

    client: Umbriel
    profile: str | None
    json: bool

    def show(self, reply: msgspec.Struct, people: Callable[[], None]) -> None:
        """Print ``reply`` as JSON, or let ``people`` print it."""
        if self.json:
            output.write_json(reply)
        else:
            people()


def verb(function: Callable[Concatenate[Session, P], Awaitable[None]]) -> Callable[..., None]:
    """Make a command of an asynchronous function: its own parameters, then the options of every verb."""
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    return _command(function, parameters, lambda arguments: arguments)


def verb_after(
    prepare: Callable[P, dict[str, object]],
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Make a command of an asynchronous function that gets what ``prepare`` makes of the command's own parameters.

    That happens before any service is asked or started.
    """
    parameters = list(inspect.signature(prepare, eval_str=True).parameters.values())

    def decorate(function: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        return _command(function, parameters, lambda arguments: prepare(**arguments))  # type: ignore[arg-type, call-arg]

    return decorate


def _command(
    function: Callable[..., Awaitable[None]],
    own: Sequence[inspect.Parameter],
    prepare: Callable[[dict[str, object]], dict[str, object]],
) -> Callable[..., None]:

    def command(
        *,
        profile: str | None,
        json: bool,
        data: Path | None,
        nats: str | None,
        principal: str,
        **arguments: object,
    ) -> None:
        prepared = prepare(arguments)

        async def work() -> None:
            async with await Target(data, nats, principal).connect(profile or DEFAULT_PROFILE) as client:
                await function(Session(client, profile, json), **prepared)

        carry_out(work)

    parameters = [*(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own), *_COMMON]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__name__ = function.__name__
    command.__doc__ = function.__doc__
    return command


def carry_out(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a command; Ctrl-C ends it, as KeyboardInterrupt.

    An answer that arrives in the same moment can make a wait miss its cancellation, so it is told again until it ends.
    """

    async def interruptible() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def interrupt() -> None:
            if task is not None and task.cancel():
                loop.call_later(_TOLD_AGAIN, interrupt)

        loop.add_signal_handler(signal.SIGINT, interrupt)
        await work()

    try:
        asyncio.run(interruptible())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _common(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_COMMON = (
    _common("profile", options.Profile, None),
    _common("json", options.Json, default=False),
    _common("data", options.Data, None),
    _common("nats", options.Nats, None),
    _common("principal", options.Principal, LOCAL),
)
