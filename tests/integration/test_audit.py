"""Who did what: in the order it happened backwards, within the reach of whoever asks, and never what it said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInputError, RefusedError
from domain.grants import Grant, Principal
from gateways.service.service import VERBS
from tests.cheap import CheapEmbedder
from tests.thinking_world import AGENT, PERSON, QUICK, World, thinking

ANN_ONLY = Principal("ann-bot", "agent", (Grant("p", "write", ("ann",)),))
READER = Principal("reader", "agent", (Grant("p", "read"),))
KEEPER = Principal("keeper", "person", (Grant("p", "admin"),))
NOBODY = Principal("nobody", "agent")
ANNS = {"recalled", "wrote", "contact_set", "remembered", "forgot"}


async def ask(world: World[None], who: Principal = PERSON, profile: str = "p", **fields: Any) -> Any:
    """Ask for a page of the audit."""
    reply = await world.runtime.service.call("audit", who, profile, msgspec.json.encode(fields))
    return msgspec.json.decode(msgspec.json.encode(reply), type=VERBS["audit"].reply)


async def shown(world: World[None], *names: str, **fields: Any) -> list[tuple[Any, ...]]:
    """Some fields of every entry, newest first."""
    return [tuple(getattr(one, name) for name in names) for one in (await ask(world, limit=500, **fields)).entries]


async def test_the_audit_tells_who_did_what(tmp_path: Path) -> None:
    """Writing, recalling, forgetting, settings and refusals are there: who, when, through what; not in what words."""
    settings = msgspec.structs.replace(QUICK, thinking=False, flush_seconds=60.0)
    began = datetime.now(UTC)
    async with thinking(tmp_path, None, settings=settings, embedder=CheapEmbedder()) as world:
        secret = await world.call("remember", content="The canary sings at noon", key="canary", contact="ann")
        kept = await world.call("remember", PERSON, content="Bob owns a boat", key="boat", contact="bob")
        said = await world.call(
            "ingest", messages=[{"role": "user", "content": "The canary sang"}], session="s1", contact="ann"
        )
        await world.call("recall", query="canary", contact="ann", at_least=said.position)
        await world.call("forget", PERSON, id=secret.memory.id)
        await world.call("settings", PERSON, changes={"recall.fill": 2})
        for verb in ("recall", "recall", "remember"):
            with pytest.raises(RefusedError):
                await world.runtime.service.call(verb, NOBODY, "p", b'{"query": "canary", "content": "canary"}')

        async def told(*names: str, **fields: Any) -> list[tuple[Any, ...]]:
            return await shown(world, *names, **fields)

        everything = await told("action", "principal")
        assert everything[:4] == [
            ("refused", "nobody"),
            ("refused", "nobody"),
            ("recalled", "local-agent"),
            ("settings", "local"),
        ]
        assert everything[4:6] == [("forgot", "local"), ("wrote", "local-agent")]
        assert "canary" not in msgspec.json.encode(await ask(world, limit=500)).decode().replace("canary-", "")

        # A10: who forgot it and when, though nothing says any more what it was.
        forgot = await told("principal", "principal_type", "memories", action="forgot")
        assert forgot == [("local", "person", [secret.memory.id])]
        assert await told("action", memory=secret.memory.id.partition("@")[0]) == [
            ("recalled",),
            ("forgot",),
            ("remembered",),
        ]
        assert await told("via", "contact", action="recalled", principal="local-agent") == [("recall", "ann")]
        assert await told("detail", "count", action="refused", principal="nobody") == [
            ("remember in p: no grant to write in this profile", 1),
            ("recall in p: no grant to read in this profile", 2),
        ]
        assert await told("memories", action="memory.remembered", contact="bob") == [([kept.memory.id],)]
        assert {one for (one,) in await told("action", contact="ann")} == ANNS
        assert await told("action", since=datetime.now(UTC) + timedelta(minutes=1)) == []
        assert await told("action", until=began) == []
        assert len(await told("action", since=began, until=datetime.now(UTC))) == len(everything)

        # Pages of any size are the same list; a limit is an upper bound.
        for limit in (1, 3):
            paged, cursor = [], ""
            while True:
                page = await ask(world, limit=limit, cursor=cursor)
                assert len(page.entries) <= limit
                paged += [(one.action, one.principal) for one in page.entries]
                if not (cursor := page.cursor):
                    break
            assert paged == everything
        for wrong in ({"cursor": "x"}, {"limit": 0}, {"limit": 501}, {"principal": "\x00"}):
            with pytest.raises(InvalidInputError):
                await ask(world, **wrong)

        await _reach(world, kept.memory.id)
        await _service_record(world)


async def _reach(world: World[None], bobs: str) -> None:
    """A grant for some contacts shows what is about them; refusals are for administrators of the profile."""
    page = await ask(world, ANN_ONLY, limit=500)
    assert {one.action for one in page.entries} == ANNS
    assert all("bob" not in (one.contact, *one.memories) and bobs not in one.memories for one in page.entries)
    with pytest.raises(RefusedError):
        await ask(world, ANN_ONLY, contact="bob")
    actions = {one.action for one in (await ask(world, READER, limit=500)).entries}
    assert actions >= {"settings", "remembered", "forgot"}
    assert "refused" not in actions
    assert "refused" in {one.action for one in (await ask(world, KEEPER, limit=500)).entries}
    with pytest.raises(RefusedError):
        await ask(world, NOBODY)


async def _service_record(world: World[None]) -> None:
    """Principals and their grants, and refusals anywhere, are for who administers everything."""
    grants = [{"profile": "p", "access": "write", "contacts": ["ann", "bob"]}]
    for verb, body in (
        ("principal_add", {"name": "shop-bot", "grants": grants}),
        ("principal_revoke", {"name": "shop-bot"}),
    ):
        await world.runtime.service.call(verb, PERSON, "_", msgspec.json.encode(body))
    entries = (await ask(world, profile="_", limit=500)).entries
    assert [(one.action, one.principal, one.detail) for one in entries if one.action == "grants"] == [
        ("grants", "local", "revoked shop-bot: p:write for 2 contacts"),
        ("grants", "local", "added shop-bot: p:write for 2 contacts"),
    ]
    assert {one.principal for one in entries if one.action == "refused"} >= {"nobody", "ann-bot"}
    assert "ann" not in {one.contact for one in entries}
    for principal in (READER, KEEPER, ANN_ONLY):
        with pytest.raises(RefusedError):
            await ask(world, principal, profile="_")
    assert (await ask(world, AGENT, profile="_")).entries


async def test_who_is_refused_all_the_time_fills_no_log(tmp_path: Path) -> None:
    """Refusals are counted by kind, and after many kinds of one principal, together."""
    settings = msgspec.structs.replace(QUICK, thinking=False, flush_seconds=60.0)
    async with thinking(tmp_path, None, settings=settings, embedder=CheapEmbedder()) as world:
        for number in range(200):
            with pytest.raises(RefusedError):
                await world.runtime.service.call("recall", NOBODY, f"q{number}", b'{"query": "x"}')
        counted = await shown(world, "count", profile="_", action="refused")
        assert sum(count for (count,) in counted) == 200
        assert len(counted) <= 61
