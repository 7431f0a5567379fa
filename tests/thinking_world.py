"""A service in this process that thinks, and short ways to talk to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from domain.grants import Grant, Principal
from domain.ports import Embedder
from domain.settings import ExtractionLimits, Settings, VerifierLimits
from gateways import bootstrap
from gateways.bootstrap import Runtime
from gateways.service.daily import utc_now
from gateways.service.models import Models
from gateways.service.service import VERBS

__all__ = ["AGENT", "PERSON", "QUICK", "World", "thinking", "until"]

M = TypeVar("M", bound=Models | None)

AGENT = Principal("local-agent", "agent", (Grant("*", "admin"),))
PERSON = Principal("local", "person", (Grant("*", "admin"),))
QUICK = Settings(
    extraction=ExtractionLimits(idle_seconds=0.2, pause_seconds=0.05, tries=3),
    verifier=VerifierLimits(pause_seconds=0.05, tries=3),
    wait_seconds=30.0,
)


class World(Generic[M]):
    """A running service; ``models`` is what it thinks with, None for the defaults."""

    def __init__(self, runtime: Runtime, models: M) -> None:
        self.runtime = runtime
        self.models = models

    async def call(self, verb: str, principal: Principal = AGENT, **fields: Any) -> Any:
        """Ask the service, and read the reply as its client would."""
        reply = await self.runtime.service.call(verb, principal, "p", msgspec.json.encode(fields))
        return msgspec.json.decode(msgspec.json.encode(reply), type=VERBS[verb].reply)

    async def say(self, *lines: str, session: str = "s", **fields: Any) -> Any:
        """Let a user say these lines, and wait until all is thought through."""
        messages = [{"role": "user", "content": line} for line in lines]
        return await self.call("ingest", messages=messages, session=session, wait=True, **fields)

    async def remember(self, content: str, principal: Principal = AGENT, **fields: Any) -> str:
        """State a memory, wait until it is judged, and return its id."""
        reply = await self.call("remember", principal, content=content, wait=True, **fields)
        return str(reply.memory.id)

    async def texts(self, status: str = "live", **fields: Any) -> list[str]:
        """Return what the memories say, newest first."""
        return [one.text for one in (await self.call("list", status=status, limit=500, **fields)).entries]

    async def topics(self) -> list[str]:
        """Return the topics of all events of the profile, oldest first."""
        return [one.topic for one in (await self.call("feed", limit=1_000)).events]


@asynccontextmanager
async def thinking(
    data: Path,
    models: M,
    *,
    settings: Settings = QUICK,
    embedder: Embedder | None = None,
    clock: Callable[[], datetime] = utc_now,
    nats: str | None = None,
) -> AsyncIterator[World[M]]:
    """A service on ``data`` until the context ends, with a NATS server of its own unless ``nats`` says where one is."""
    running = bootstrap.running(data, settings=settings, embedder=embedder, models=models, clock=clock, nats=nats)
    async with running as runtime:
        yield World(runtime, models)


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 15.0) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 -- what is waited for is seen from outside
            await asyncio.sleep(0.05)
