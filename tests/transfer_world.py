"""A profile in which everything has happened, its export, and short ways to take it elsewhere."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from domain.grants import Principal
from gateways.jetstream.secret_files import Secrets
from gateways.service.service import VERBS
from tests.cheap import CheapEmbedder
from tests.thinkers import Thinkers
from tests.thinking_world import PERSON, World, thinking
from umbriel import Umbriel

__all__ = ["FORGOTTEN", "KEPT", "Here", "Line", "ask", "client_of", "exported", "here", "rewritten", "story", "written"]

Line = dict[str, Any]
#: Words that stand in what is forgotten, wherever that was repeated, and words of what stays.
FORGOTTEN = ("zebracanary", "quaggacanary", "okapicanary", "dodocanary")
KEPT = ("Porto", "Lisbon", "gardens", "Globex")


class Here(World[Thinkers]):
    """A running service with its embedder, and where its data is."""

    embedder: CheapEmbedder
    data: Path


@asynccontextmanager
async def here(data: Path) -> AsyncIterator[Here]:
    """A service on ``data`` that thinks with models of the test."""
    embedder = CheapEmbedder()
    async with thinking(data, Thinkers(), embedder=embedder) as started:
        world = Here(started.runtime, started.models)
        world.embedder, world.data = embedder, data
        yield world


@asynccontextmanager
async def client_of(world: Here, profile: str, principal: str = "local") -> AsyncIterator[Umbriel]:
    """A client of a principal of the data directory."""
    password = Secrets(world.data / "secrets").password(principal)
    async with await Umbriel.connect(
        world.runtime.url, principal=principal, password=password, profile=profile
    ) as client:
        yield client


async def ask(world: Here, profile: str, verb: str, principal: Principal = PERSON, **fields: Any) -> Any:
    """Ask about any profile."""
    reply = await world.runtime.service.call(verb, principal, profile, msgspec.json.encode(fields))
    return msgspec.json.decode(msgspec.json.encode(reply), type=VERBS[verb].reply)


async def story(world: Here) -> dict[str, str]:
    """Let everything happen in the profile ``p``; returns the ids of some of it."""
    ids: dict[str, str] = {}
    await world.say("note home = Ana lives in Porto", "hello there", session="s-ana", contact="ana")
    await world.say("note home = Ana lives in Lisbon", session="s-ana", contact="ana")
    await world.say("note work = Bob works at Acme", session="s-bob", contact="bob")
    await world.remember("Bob works at Globex now", contact="bob")
    await world.remember("Bob does not work at Acme", contact="bob")
    ids["rejected"] = await world.remember("Ana has a boat", contact="ana", key="boat")
    await world.call("reject", PERSON, id=ids["rejected"])
    ids["retracted"] = await world.remember("Ana has a bike", contact="ana", key="bike")
    await world.call("retract", PERSON, id=ids["retracted"])
    await world.call("restore", PERSON, id=ids["retracted"])
    ids["pinned"] = await world.remember("Everybody likes gardens", PERSON, key="likes", metadata={"n": 1})
    await world.call("pin", PERSON, id=ids["pinned"])
    await world.call("correct", PERSON, id=ids["pinned"], content="Everybody likes big gardens")
    await world.call("set_goal", PERSON, text="Answer within a day", name="speed")
    await world.call("settings", PERSON, changes={"recall.fill": 0})
    await world.call("link_contact", PERSON, contact="ana", to="ana@example.org")
    await _forgotten(world, ids)
    await world.call("recall", query="where does Ana live", contact="ana")
    handed_out = world.runtime.service.handed_out
    for flusher in (handed_out.accesses, handed_out.recalls):
        await flusher.flush()
    await world.call("recall", query="settle", at_least=(await world.call("feed", after="new")).position)
    return ids


async def _forgotten(world: Here, ids: dict[str, str]) -> None:
    """What is forgotten: messages with what was drawn from them, a memory, a session with its notes."""
    lost = await world.say("note pet = Ana has a zebracanary", "forget dodocanary soon", session="s-lost")
    ids["message"], ids["other"] = (one.id for one in lost.outcomes)
    await world.call("recall", query="forget dodocanary soon")
    await world.call("recall_conversation", query="what about zebracanary", session="s-lost", scope="conversation")
    await world.call("forget", PERSON, id=ids["message"])
    await world.call("forget", PERSON, id=ids["other"])
    ids["forgotten"] = await world.remember(
        "A quaggacanary was seen", key="quaggacanary", metadata={"x": "quaggacanary"}
    )
    await world.call("reject", PERSON, id=ids["forgotten"])
    await world.call("forget", PERSON, id=ids["forgotten"])
    learnt = await world.call("reflect", PERSON, topic="birds", text="An okapicanary sings", wait=True)
    await world.call("forget", PERSON, id=learnt.learnings[0].memory)
    await world.say("a okapicanary for the session", session="s-deleted")
    await world.call("set_context", session="s-deleted", notes="quaggacanary notes")
    await world.call("set_task", session="s-deleted", task="find a zebracanary")
    await world.call("delete_session", PERSON, session="s-deleted")


async def exported(world: Here, path: Path, profile: str = "p", **options: Any) -> list[Line]:
    """Export into a file, and return its lines decoded."""
    async with client_of(world, profile) as client:
        lines = [line async for line in client.export(**options)]
    await asyncio.to_thread(path.write_bytes, b"".join(lines))
    return [json.loads(line) for line in lines]


def written(path: Path, lines: Sequence[Line]) -> Path:
    """Write a header and events with the trailer that fits them."""
    raw = [msgspec.json.encode(line) + b"\n" for line in lines]
    trailer = {
        "specversion": "1.0",
        "id": "t",
        "source": "umbriel/p",
        "type": "umbriel.export.trailer",
        "time": lines[0]["time"],
        "dataschema": "urn:umbriel:umbriel.export.trailer:1",
        "datacontenttype": "application/json",
        "data": {
            "events": len(lines) - 1,
            "types": dict(Counter(line["type"] for line in lines[1:])),
            "position": "",
            "sha256": hashlib.sha256(b"".join(raw)).hexdigest(),
        },
    }
    path.write_bytes(b"".join(raw) + msgspec.json.encode(trailer) + b"\n")
    return path


def rewritten(path: Path, lines: Iterable[Line], change: Callable[[list[Line]], None]) -> Path:
    """Write a copy of an export's lines, changed."""
    copy = json.loads(json.dumps(list(lines)))[:-1]
    change(copy)
    return written(path, copy)
