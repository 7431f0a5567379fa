"""Imports: the same answers in an empty server, nothing twice, nothing lost, and nothing brought back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from domain.errors import ConflictError, RefusedError
from domain.kinds import contact_scope
from gateways.service.service import VERBS
from tests.thinking_world import AGENT, PERSON, until
from tests.transfer_world import (
    FORGOTTEN,
    KEPT,
    Here,
    Line,
    ask,
    client_of,
    exported,
    here,
    rewritten,
    story,
    written,
)
from umbriel import InvalidInputError, MismatchError
from umbriel.imports import ImportReport

pytestmark = pytest.mark.asyncio(loop_scope="module")
_names = count(1)
QUESTIONS = ("where does Ana live", "Bob works", "gardens", "boat bike", "hello there")


class Source:
    """A profile in which everything has happened, its export, and what it answers."""

    def __init__(self, world: Here, ids: dict[str, str], path: Path, lines: list[Line]) -> None:
        self.world, self.ids, self.path, self.lines = world, ids, path, lines


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def source(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Source]:
    """Where the export comes from."""
    root = tmp_path_factory.mktemp("source")
    async with here(root / "data") as world:
        ids = await story(world)
        yield Source(world, ids, root / "x.jsonl", await exported(world, root / "x.jsonl"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def target(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    """A server that begins empty; each test has profiles of its own."""
    async with here(tmp_path_factory.mktemp("target") / "data") as world:
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def profile(target: Here) -> str:
    """A profile that nobody has written to, on a server that has nothing left to do for the others."""

    async def idle() -> bool:
        status = await ask(target, "_", "status")
        return not (status.pending or status.unread or status.unjudged)

    await until(idle)
    return f"t{next(_names)}"


async def taken(world: Here, profile: str, path: Path, **options: Any) -> ImportReport:
    """Import a file as the person of the data directory."""
    async with client_of(world, profile) as client:
        return await client.import_export(path, **options)


async def answers(world: Here, profile: str) -> list[tuple[str, float]]:
    """What recall says to every question, for everybody."""
    found = []
    for query in QUESTIONS:
        reply = await ask(world, profile, "recall", query=query, contact="*", limit=20)
        found += [(one.id, one.score) for one in reply.results]
    return found


async def told(world: Here, profile: str, memory: str) -> Any:
    """Why a memory says what it says, without what is only true in one log."""
    why = await ask(world, profile, "why", id=memory)
    versions = [(one.id, one.text, one.status, one.confidence, one.recorded_at, one.author) for one in why.versions]
    events = [(one.topic, one.at, one.by, one.by_type, one.memory, one.detail) for one in why.events]
    return versions, events, [(one.id, one.text, one.at, one.recorded_at) for one in why.sources]


async def live(world: Here, profile: str, **fields: Any) -> list[str]:
    """Return what the live memories say."""
    reply = await ask(world, profile, "list", limit=500, contact="*", **fields)
    return sorted(one.text for one in reply.entries)


async def size(world: Here, profile: str) -> int:
    """How many events a profile has."""
    return await world.runtime.service.core.events.log.count_after(0, profile)


async def test_an_empty_server_answers_the_same(source: Source, target: Here, profile: str) -> None:
    """The same ids, order and scores, the same histories; no model is asked, nothing is read or judged again."""
    embedded, asked = target.embedder.texts, len(target.models.words.asked)
    read = sum(target.models.notes.read.values())
    report = await taken(target, profile, source.path)
    assert report.counts["imported"] + report.counts["skipped"] == report.events
    assert {one.reason for one in report.outcomes} == {"what it was of is forgotten"}
    before, after = await answers(source.world, "p"), await answers(target, profile)
    assert [one for one, _ in after] == [one for one, _ in before]
    assert len(before) > 10
    assert max(abs(a - b) for (_, a), (_, b) in zip(before, after, strict=True)) < 1e-5
    entries = (await ask(source.world, "p", "list", status="all", contact="*", limit=500)).entries
    assert len({one.status for one in entries}) > 2
    for one in entries:
        assert await told(target, profile, one.id) == await told(source.world, "p", one.id)
    assert await live(target, profile) == await live(source.world, "p")
    for verb in ("settings", "list_goals", "list_contacts", "list_reflections"):
        there, came = await ask(source.world, "p", verb), await ask(target, profile, verb)
        assert _without_positions(came) == _without_positions(there)
    assert sum(target.models.notes.read.values()) == read
    assert len(target.models.words.asked) == asked
    # Only the questions themselves were embedded since.
    assert target.embedder.texts == embedded


def _without_positions(value: Any) -> Any:
    plain = msgspec.to_builtins(value)
    if isinstance(plain, dict):
        return {name: _without_positions(one) for name, one in plain.items() if name != "position"}
    return [_without_positions(one) for one in plain] if isinstance(plain, list) else plain


async def test_what_was_forgotten_stays_so(source: Source, target: Here, profile: str) -> None:
    """Ids and tombstones come, words do not: said again, the message is known as forgotten, and a version counts on."""
    await taken(target, profile, source.path)
    message = next(one for one in source.lines if one.get("subject") == source.ids["message"])
    assert message["umbrielcontent"] == "redacted"
    said = await ask(
        target,
        profile,
        "ingest",
        messages=[{"role": "user", "content": "note pet = Ana has a zebracanary"}],
        session="s-lost",
    )
    assert (said.outcomes[0].id, said.outcomes[0].outcome) == (source.ids["message"], "blocked")
    again = await ask(target, profile, "remember", content="A quaggacanary again", key="quaggacanary", wait=True)
    assert again.memory.id == source.ids["forgotten"].split("@")[0] + "@2"
    why = await ask(target, profile, "why", id=again.memory.id)
    assert [(one.topic, one.by) for one in why.events if one.topic == "memory.forgotten"] == [
        ("memory.forgotten", "local")
    ]


async def test_twice_is_once(source: Source, target: Here, profile: str) -> None:
    """A second import writes nothing at all, and says that everything was there."""
    first = await taken(target, profile, source.path)
    end = await size(target, profile)
    second = await taken(target, profile, source.path)
    assert second.counts["duplicate"] == first.counts["imported"]
    assert second.counts.get("imported", 0) == 0
    assert await size(target, profile) == end
    events = (await ask(target, profile, "feed", kinds=["profile"])).events
    over = [one for one in events if one.topic == "profile.imported"]
    assert [(one.actor, one.data["run"], one.data["counts"]) for one in over] == [("local", first.run, first.counts)]


async def test_half_an_import_is_finished_by_doing_it_again(
    source: Source, target: Here, profile: str, tmp_path: Path
) -> None:
    """Cut off anywhere it holds what came, nobody thinks about it, and the whole is as if it had come at once."""
    run = source.lines[-1]["data"]["sha256"]
    half = [{"line": number, "event": line} for number, line in enumerate(source.lines[:-1], start=1) if number > 1][
        : len(source.lines) // 2
    ]
    read, asked, embedded = (
        sum(target.models.notes.read.values()),
        len(target.models.words.asked),
        target.embedder.texts,
    )
    reply = await ask(target, profile, "import", run=run, mode="write", lines=half)
    assert reply.counts["imported"] > 10
    await asyncio.sleep(0.5)  # longer than a conversation must be quiet to be read
    assert (sum(target.models.notes.read.values()), len(target.models.words.asked)) == (read, asked)
    assert target.embedder.texts == embedded
    report = await taken(target, profile, source.path)
    assert report.counts["duplicate"] == reply.counts["imported"]
    assert await live(target, profile) == await live(source.world, "p")
    assert [one for one, _ in await answers(target, profile)] == [one for one, _ in await answers(source.world, "p")]


async def test_one_import_at_a_time(source: Source, target: Here, profile: str, tmp_path: Path) -> None:
    """Another file waits until the first is finished or given up; what came of that is thought about then."""
    first = [{"line": 2, "event": source.lines[1]}, *_about(source, "s-ana")]
    await ask(target, profile, "import", run="a" * 64, mode="write", lines=first, source="p")
    with pytest.raises(ConflictError, match="not finished"):
        await ask(target, profile, "import", run="b" * 64, mode="write", lines=first)
    status = (await ask(target, profile, "status")).importing
    assert (status.run, status.source, status.lines) == ("a" * 64, "p", 0)
    assert status.written == len(first)
    assert status.began is not None
    read = sum(target.models.notes.read.values())
    async with client_of(target, profile) as client:
        await client.abandon_import()
        assert (await client.status()).importing is None

    async def is_read() -> bool:
        return sum(target.models.notes.read.values()) > read

    await until(is_read)
    assert (await ask(target, profile, "import", run="b" * 64, mode="write", lines=first)).counts == {
        "duplicate": len(first)
    }


def _about(source: Source, session: str) -> list[dict[str, Any]]:
    lines = enumerate(source.lines[1:-1], start=2)
    return [
        {"line": number, "event": line}
        for number, line in lines
        if line["type"] == "message.recorded" and line["data"]["session"] == session
    ]


async def test_what_is_there_already_stays(source: Source, target: Here, profile: str) -> None:
    """Of two that share an address, this server's is kept and the file's is said to be in conflict; the rest comes."""
    await ask(target, profile, "remember", content="Everybody likes trains", key="likes", wait=True)
    said = await ask(target, profile, "ingest", messages=[{"role": "user", "content": "hello there"}], session="s-ana")
    report = await taken(target, profile, source.path)
    conflicts = [one for one in report.outcomes if one.outcome == "conflict"]
    assert {one.type for one in conflicts} >= {"memory.remembered", "memory.pinned"}
    assert "Everybody likes trains" in await live(target, profile)
    assert "Everybody likes big gardens" not in await live(target, profile)
    assert "Ana lives in Lisbon" in await live(target, profile)
    recorded = next(
        number for number, one in enumerate(source.lines, start=1) if one.get("subject") == said.outcomes[0].id
    )
    assert recorded not in {one.line for one in report.outcomes}
    again = await taken(target, profile, source.path)
    assert again.counts["conflict"] == report.counts["conflict"]


async def test_tombstones_here_stand(source: Source, target: Here, profile: str) -> None:
    """A12: what is rejected, forgotten or erased here stays out, each with its outcome; what is not comes."""
    core = target.runtime.service.core
    for content in ("ANA has a  bike", "Everybody likes gardens"):
        stated = await ask(target, profile, "remember", AGENT, content=content, key=f"my {content}", contact="ana")
        await ask(target, profile, "reject", id=stated.memory.id)
    said = await ask(target, profile, "ingest", messages=[{"role": "user", "content": "hello there"}], session="s-ana")
    await ask(target, profile, "forget", id=said.outcomes[0].id)
    key = await core.events.keys.key(profile, contact_scope("bob"))
    # A moment later than anything that the file says of bob.
    await core.events.keys.destroy(profile, key.key_id)
    report = await taken(target, profile, source.path)
    outcomes = {one.line: one for one in report.outcomes}
    by_text = {
        one["data"]["text"]: outcomes.get(number)
        for number, one in enumerate(source.lines, start=1)
        if one["type"] == "memory.remembered"
    }
    assert by_text["Ana has a bike"] is not None
    assert by_text["Ana has a bike"].outcome == "blocked"
    assert by_text["Everybody likes gardens"] is None  # rejected of ana, not of everybody
    assert by_text["Bob works at Globex now"] is not None
    assert by_text["Bob works at Globex now"].outcome == "erased"
    message = next(
        number for number, one in enumerate(source.lines, start=1) if one.get("subject") == said.outcomes[0].id
    )
    assert outcomes[message].outcome == "blocked"
    texts = await live(target, profile, status="all")
    assert [one for one in texts if "bike" in one.lower() and one.startswith("Ana")] == []
    assert "Everybody likes big gardens" in texts
    assert not any("Globex" in one for one in texts)
    feed = (await ask(target, profile, "feed", limit=1000)).events
    assert "Ana has a bike" not in json.dumps([msgspec.to_builtins(one) for one in feed])


async def test_an_earlier_export_brings_nothing_back(
    source: Source, target: Here, profile: str, tmp_path: Path
) -> None:
    """A12: made before something was forgotten, imported where that is known, it changes nothing."""
    await taken(target, profile, source.path)
    early = tmp_path / "early.jsonl"
    await exported(target, early, profile)
    pinned = source.ids["pinned"].split("@")[0]
    await ask(target, profile, "forget", id=f"{pinned}@2", with_sources=True)
    assert any("gardens" in line for line in early.read_text().splitlines())
    end = await size(target, profile)
    report = await taken(target, profile, early)
    assert report.counts.get("imported", 0) == 0
    assert await size(target, profile) == end
    assert not any("gardens" in one for one in await live(target, profile, status="all"))
    # Where nobody knows of it, a later export tells first.
    late = tmp_path / "late.jsonl"
    await exported(target, late, profile)
    other = f"{profile}-other"
    await taken(target, other, late)
    report = await taken(target, other, early)
    assert not any("gardens" in one for one in await live(target, other, status="all"))
    assert report.counts.get("imported", 0) == 0


async def test_what_came_can_go_on(source: Source, target: Here, profile: str, tmp_path: Path) -> None:
    """An imported profile is corrected, rebuilt and exported like any other, and a copy of the copy is the same."""
    await taken(target, profile, source.path)
    home = next(
        one for one in (await ask(target, profile, "list", contact="ana")).entries if one.text == "Ana lives in Lisbon"
    )
    corrected = await ask(target, profile, "correct", id=home.id, content="Ana lives in Faro")
    assert corrected.touched
    await ask(target, profile, "rebuild")
    assert "Ana lives in Faro" in await live(target, profile)
    path = tmp_path / "again.jsonl"
    lines = await exported(target, path, profile)
    assert [word for word in FORGOTTEN if word in path.read_text()] == []
    assert [word for word in KEPT if word not in path.read_text()] == []
    known = {one["id"] for one in lines}
    skipped = {
        one["id"] for one in source.lines if one.get("umbrielcontent") == "redacted" and "embedding" in one["type"]
    }
    assert {one["id"] for one in source.lines[1:-1]} - skipped <= known
    third = f"{profile}-third"
    await taken(target, third, path)
    assert await live(target, third) == await live(target, profile)
    assert [one for one, _ in await answers(target, third)] == [one for one, _ in await answers(target, profile)]


async def test_messages_alone_are_read_here(source: Source, target: Here, profile: str, tmp_path: Path) -> None:
    """Where the export holds no extractions and no vectors, they are made as for any message."""
    path = tmp_path / "messages.jsonl"
    await exported(source.world, path, kinds=["message", "conversation"])
    report = await taken(target, profile, path)
    assert report.counts == {"imported": report.events}

    async def drawn() -> bool:
        return "Ana lives in Lisbon" in await live(target, profile)

    await until(drawn)


async def test_an_encrypted_export_needs_its_keys(source: Source, target: Here, profile: str, tmp_path: Path) -> None:
    """It is read where it was made, as what is there already; elsewhere it is refused, and dead once a key is gone."""
    await taken(target, profile, source.path)
    path = tmp_path / "sealed.jsonl"
    lines = await exported(target, path, profile, encrypted=True)
    report = await taken(target, profile, path)
    assert set(report.counts) == {"duplicate", "skipped"}
    with pytest.raises(MismatchError, match="does not have the keys"):
        await taken(source.world, "elsewhere", path)
    other = f"{profile}-other"
    core = target.runtime.service.core
    key = await core.events.keys.key(profile, contact_scope("bob"), create=False)
    await core.events.keys.destroy(profile, key.key_id)
    report = await taken(target, other, path)
    erased = {one.id for one in report.outcomes if one.outcome == "erased"}
    assert erased == {one["id"] for one in lines if one.get("umbrielkeyid") == key.key_id}
    assert erased
    texts = await live(target, other)
    assert "Ana lives in Lisbon" in texts
    assert not any("Globex" in one for one in texts)


def _event(lines: list[Line], topic: str) -> Line:
    return next(one for one in lines if one["type"] == topic)


def _set(topic: str, **fields: Any) -> Callable[[list[Line]], None]:
    return lambda lines: _event(lines, topic).update(fields)


def _set_data(topic: str, **fields: Any) -> Callable[[list[Line]], None]:
    return lambda lines: _event(lines, topic)["data"].update(fields)


BAD: dict[str, tuple[Callable[[list[Line]], None], str, str]] = {
    "schema": (_set("message.recorded", umbrielschema=9), "newer Umbriel", "schema 9"),
    "type": (_set("message.recorded", type="message.sung", dataschema="urn:umbriel:message.sung:1"), "newer", "sung"),
    "attribute": (_set("goal.set", surprise=1), "no line of an export", "surprise"),
    "missing": (lambda lines: _event(lines, "goal.set").pop("umbrielversion"), "no line", "umbrielversion"),
    "version": (_set("goal.set", umbrielversion=0), "count from 1", "0"),
    "time": (_set("goal.set", time="2026-01-01T00:00:00"), "no zone", "2026"),
    "dataschema": (_set("goal.set", dataschema="urn:x"), "dataschema", "urn:x"),
    "no data": (lambda lines: _event(lines, "goal.set").pop("data"), "without data", "neither"),
    "actor": (_set("goal.set", umbrielactortype="god"), "no line", "god"),
    "data field": (_set_data("goal.set", colour="red"), "does not know", "colour"),
    "data type": (_set_data("goal.set", text=7), "cannot be read|no line", "int"),
    "message id": (_set_data("message.recorded", content="something else"), "not that of its content", ""),
    "role": (_set_data("message.recorded", role="god"), "role", "god"),
    "session": (_set_data("message.recorded", session="a\nb"), "session", ""),
    "long": (_set_data("message.recorded", content="x" * 40_000), "too long", "40000"),
    "memory id": (_set_data("memory.remembered", version=7), "does not fit", "@"),
    "confidence": (_set_data("memory.remembered", confidence=7), "confidence", "7"),
}


@pytest.mark.parametrize("name", list(BAD))
async def test_a_bad_line_is_one_clear_error(
    source: Source, target: Here, profile: str, tmp_path: Path, name: str
) -> None:
    """It names the line, what was expected and found; nothing of the file is written. Control: unchanged, it fits."""
    change, message, found = BAD[name]
    path = rewritten(tmp_path / "bad.jsonl", source.lines, change)
    broken = [json.loads(line) for line in path.read_text().splitlines()]
    number = next(n for n, (a, b) in enumerate(zip(broken, source.lines, strict=True), start=1) if a != b)
    end = await size(target, profile)
    with pytest.raises(InvalidInputError, match=message) as caught:
        await taken(target, profile, path)
    assert f"line {number}" in str(caught.value)
    assert caught.value.expected
    assert found in caught.value.found
    assert await size(target, profile) == end
    whole = rewritten(tmp_path / "good.jsonl", source.lines, lambda _: None)
    assert (await taken(target, profile, whole, check=True)).checked_only
    assert await size(target, profile) == end


@pytest.mark.parametrize("name", ["cut", "half a line", "changed", "doubled", "more", "no header", "newer", "empty"])
async def test_a_file_that_is_not_whole_is_refused(
    source: Source, target: Here, profile: str, tmp_path: Path, name: str
) -> None:
    """Truncated, changed, doubled, not an export, of a newer format: said before anything is written."""
    lines = source.path.read_bytes().splitlines(keepends=True)
    newer = json.loads(lines[0])
    newer["data"]["format"] = 3
    files: dict[str, tuple[list[bytes], str]] = {
        "cut": (lines[:-1], "cut off"),
        "half a line": ([*lines[:5], lines[5][:40]], "line 6"),
        "changed": ([lines[0], lines[1].replace(b"local-agent", b"local-devil"), *lines[2:]], "was changed"),
        "doubled": ([*lines[:3], lines[2], *lines[3:]], "missing or doubled"),
        "more": ([*lines, lines[3]], "after the trailer"),
        "no header": (lines[1:], "line 1"),
        "newer": ([msgspec.json.encode(newer) + b"\n", *lines[1:]], "newer Umbriel"),
        "empty": ([], "line 1"),
    }
    content, message = files[name]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(content))
    end = await size(target, profile)
    with pytest.raises(InvalidInputError, match=message):
        await taken(target, profile, path)
    assert await size(target, profile) == end


async def test_older_schemas_are_read(source: Source, target: Here, profile: str, tmp_path: Path) -> None:
    """A line of a released older schema goes through the upcasters."""
    home = source.ids["pinned"].split("@")[0]
    lines = [one for one in source.lines if "umbrielversion" not in one or one["subject"].startswith(home)][:-1]
    keep = [one for one in lines[1:] if one["type"] == "memory.remembered"][:1]
    old = {
        **keep[0],
        "id": "f" * 32,
        "type": "memory.judged",
        "dataschema": "urn:umbriel:memory.judged:1",
        "umbrielschema": 1,
        "umbrielversion": 2,
        "umbrielprevious": keep[0]["id"],
        "data": {"memory": f"{home}@1", "other": "x@1", "replaces": 0.8, "contradicts": 0.1, "model": "m-1"},
    }
    path = written(tmp_path / "old.jsonl", [source.lines[0], *keep, old])
    report = await taken(target, profile, path)
    assert report.counts == {"imported": 2}
    events = (await ask(target, profile, "why", id=f"{home}@1")).events
    assert [one.detail["candidates"][0]["replaces"] for one in events if one.topic == "memory.judged"] == [0.8]


async def test_chains_must_be_whole(source: Source, target: Here, profile: str, tmp_path: Path) -> None:
    """An event whose predecessor is not in the file and not here is a conflict, and is not written."""

    def change(lines: list[Line]) -> None:
        lines.remove(next(one for one in lines if one.get("subject") == source.ids["pinned"]))

    report = await taken(target, profile, rewritten(tmp_path / "gap.jsonl", source.lines, change))
    conflicts = [one for one in report.outcomes if one.outcome == "conflict"]
    assert {one.type for one in conflicts} >= {"memory.pinned"}
    assert all(one.reason for one in conflicts)
    assert not any("gardens" in one for one in await live(target, profile, status="all"))
    assert "Ana lives in Lisbon" in await live(target, profile)


async def test_only_a_person_who_administers_imports(source: Source, target: Here, profile: str) -> None:
    """An agent does not, whatever its grant; the verb says so."""
    with pytest.raises(RefusedError):
        await ask(target, profile, "import", AGENT, run="a" * 64, mode="write")
    assert (VERBS["import"].needs.person, VERBS["import"].needs.access) == (True, "admin")
    assert PERSON.type == "person"
