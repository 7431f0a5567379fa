"""A service with two contacts, two profiles and principals of every reach, each thing marked by a word of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec
import nats
from nats.aio.client import Client

from tests.e2e.processes import ServiceProcess
from umbriel import GrantSpec, Message, Umbriel

__all__ = [
    "ANN",
    "BOB",
    "EVERYBODY",
    "NOBODY",
    "OTHER",
    "PROFILE",
    "STRANGE",
    "World",
    "ask",
    "make_world",
    "make_world_at",
    "speaking",
]

PROFILE, STRANGE = "iso", "iso-other"
#: Words that stand in one thing each: what ann, bob, everybody, nobody in particular, and the other profile know.
ANN, BOB, EVERYBODY, NOBODY, OTHER = "annword", "bobword", "allword", "noneword", "otherword"


class World(msgspec.Struct, frozen=True):
    """Where it runs, the passwords, and the ids of what was written."""

    url: str
    passwords: dict[str, str]
    ids: dict[str, str]
    start: str
    end: str


GRANTS = {
    "limited": [GrantSpec(profile=PROFILE, access="write", contacts=["ann"])],
    "reader": [GrantSpec(profile=PROFILE, access="read")],
    "writer": [GrantSpec(profile=PROFILE, access="write")],
    "full": [GrantSpec(profile=PROFILE, access="admin"), GrantSpec(profile=STRANGE, access="admin")],
    "nobody": [],
    "boss": [GrantSpec(profile="*", access="admin")],
}


class Joinable(Protocol):
    """A service that a client joins by its data directory."""

    async def client(self, *, profile: str = "p", principal: str = "local-agent") -> Umbriel:
        """Connect a client."""
        ...


def make_world(service: ServiceProcess) -> World:
    """Write everything as the person of the data directory, and add the principals."""
    url = json.loads((service.data / "endpoint.json").read_text())["url"]
    return asyncio.run(make_world_at(service, url))


async def make_world_at(service: Joinable, url: str) -> World:
    """Write everything into a service that answers at a URL."""
    passwords, ids = {}, {}
    async with await service.client(profile=PROFILE, principal="local") as person:
        for name, grants in GRANTS.items():
            passwords[name] = (await person.principal_add(name, grants=grants)).secret
        for contact, word in (("ann", ANN), ("bob", BOB)):
            said = await person.ingest(
                [Message(role="user", content=f"I said {word} at the harbour")], session=f"s-{contact}", contact=contact
            )
            ids[f"{contact}-message"] = said.outcomes[0].id
            # The control of a forget takes its item away, so each has one of its own.
            for number, key in enumerate(("colour", "gone", "gone by key")):
                kept = await person.remember(f"{word} number {number} is green", key=key, contact=contact)
                ids[f"{contact}-{number}"] = kept.memory.id
        await person.set_context("s-bob", f"{BOB} wants short answers")
        await person.set_task("s-bob", f"find {BOB} a harbour")
        # The learning is for everybody, what was thought is not.
        await person.reflect("talks", f"{BOB} was short today", learnings=["short answers work"])
        for goal in ("aim", "aim to go on with", "aim to end"):
            await person.set_goal(f"make {BOB} glad: {goal}", name=goal)
        shared = await person.remember(f"{EVERYBODY} the office is green", key="office")
        ids["shared"] = shared.memory.id
        said = await person.ingest([Message(role="user", content=f"I said {NOBODY} at the harbour")], session="s-none")
        ids["none-message"] = said.outcomes[0].id
        start = (await person.feed(limit=1)).position
        async with await service.client(profile=STRANGE, principal="local") as other:
            for goal in ("aim to go on with", "aim to end"):
                await other.set_goal(f"{OTHER} is glad", name=goal)
            strange = await other.remember(f"{OTHER} is green", key="colour", wait=True)
        ids["strange"] = strange.memory.id
    return World(url, passwords, ids, start, strange.position)


@asynccontextmanager
async def speaking(url: str, name: str, password: str, errors: list[str] | None = None) -> AsyncIterator[Client]:
    """A plain NATS connection as one principal, without any of the client's own checks."""
    heard = errors if errors is not None else []

    async def note(error: Exception) -> None:
        heard.append(str(error))

    connection = await nats.connect(
        url,
        user=name,
        password=password,
        inbox_prefix=f"_INBOX_{name}".encode(),
        error_cb=note,
        allow_reconnect=False,
        connect_timeout=5,
    )
    try:
        yield connection
    finally:
        await connection.close()


async def ask(world: World, name: str, verb: str, profile: str, body: dict[str, Any]) -> tuple[str, str]:
    """Send one request as a principal; returns the error's code (empty for none) and everything that was answered."""
    async with speaking(world.url, name, world.passwords[name]) as connection:
        subject = f"umbriel.api.{name}.{profile}.{verb}"
        reply = await connection.request(subject, json.dumps(body).encode(), timeout=20)
    return (reply.headers or {}).get("Umbriel-Error", ""), reply.data.decode()
