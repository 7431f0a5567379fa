"""Exports hold everything but what was forgotten, and what they hold fits their schema."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import pytest_asyncio

from domain.errors import InvalidInputError, MismatchError, NotFoundError, RefusedError
from domain.events import EmbeddingComputed, MemoryRemembered, MemoryRestored
from domain.grants import Grant, Principal
from domain.homes import scope_of, subject_parts
from domain.ids import keyed_id, originator_id
from gateways.jetstream.codec import open as open_entry
from gateways.service.context import Caller
from gateways.service.export_schema import FILE, export_schema
from gateways.service.exporting import export
from gateways.service.import_reading import read_lines
from tests.thinking_world import PERSON
from tests.transfer_world import FORGOTTEN, KEPT, Here, Line, ask, client_of, exported, here, story
from umbriel.exports import ExportRequest, schema
from umbriel.imports import ImportLine

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def source(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Here, dict[str, str]]]:
    """A profile in which everything has happened."""
    async with here(tmp_path_factory.mktemp("source") / "data") as world:
        yield world, await story(world)


async def lines_of(world: Here, tmp_path: Path, **options: Any) -> tuple[Line, list[Line], Line]:
    """Header, events and trailer of an export."""
    header, *events, trailer = await exported(world, tmp_path / "x.jsonl", **options)
    return header, events, trailer


async def test_the_shipped_schema_is_that_of_the_events() -> None:
    """Who changes an event writes the file anew: ``python -m gateways.service.export_schema``."""
    assert FILE.read_bytes() == export_schema() == schema()


@pytest.mark.parametrize("options", [{}, {"encrypted": True}, {"vectors": False}])
async def test_every_line_fits_the_schema(
    source: tuple[Here, dict[str, str]], tmp_path: Path, options: dict[str, bool]
) -> None:
    """Header first, trailer last with counts and the hash of the lines; ids are unique, positions rise."""
    header, events, trailer = await lines_of(source[0], tmp_path, **options)
    check = jsonschema.Draft202012Validator(json.loads(schema()))
    for line in (header, *events, trailer):
        check.validate(line)
    assert header["data"]["encrypted"] is options.get("encrypted", False)
    raw = (tmp_path / "x.jsonl").read_bytes()
    body = raw[: raw[:-1].rindex(b"\n") + 1]
    assert trailer["data"]["sha256"] == hashlib.sha256(body).hexdigest()
    assert trailer["data"]["types"] == dict(sorted(Counter(one["type"] for one in events).items()))
    positions = [int(one["umbrielposition"].rpartition(":")[2]) for one in events]
    assert positions == sorted(positions)
    assert len({one["id"] for one in events}) == len(events) == trailer["data"]["events"]
    assert {"usage", "seal"}.isdisjoint(one["type"].split(".")[0] for one in events)
    wanted = {"message", "conversation", "memory", "extraction", "embedding", "access", "recall", "goal", "reflection"}
    assert wanted <= {one["type"].split(".")[0] for one in events}
    assert any("vectors" in one.get("data", {}) for one in events) is (not options)


async def test_a_line_of_another_shape_does_not_fit_the_schema(
    source: tuple[Here, dict[str, str]], tmp_path: Path
) -> None:
    """The schema tells: a field of another type, a missing attribute, an unknown one."""
    _, events, _ = await lines_of(source[0], tmp_path)
    check = jsonschema.Draft202012Validator(json.loads(schema()))
    line = next(one for one in events if one["type"] == "memory.remembered")
    for wrong in (
        {**line, "data": {**line["data"], "confidence": "high"}},
        {**line, "surprise": 1},
        {name: value for name, value in line.items() if name != "umbrielversion"},
        {name: value for name, value in line.items() if name != "data"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            check.validate(wrong)
    check.validate({**line, "proof": "a-proof"})


async def test_what_was_forgotten_is_absent(source: tuple[Here, dict[str, str]], tmp_path: Path) -> None:
    """A10: words that were forgotten are nowhere, their events and who forgot them are; what was not is there."""
    world, ids = source
    _, events, _ = await lines_of(world, tmp_path)
    text = (tmp_path / "x.jsonl").read_text()
    assert [word for word in FORGOTTEN if word in text] == []
    assert [word for word in KEPT if word not in text] == []
    by_id = {(one["type"], one["subject"]): one for one in events}
    gone = by_id["message.recorded", ids["message"]]
    assert (gone["umbrielcontent"], gone["data"]["content"], gone["data"]["session"]) == ("redacted", "", "s-lost")
    tombstone = by_id["message.forgotten", ids["message"]]
    assert (tombstone["umbrielactor"], tombstone["umbrielprevious"]) == ("local", gone["id"])
    assert by_id["memory.remembered", ids["forgotten"]]["data"]["text"] == ""
    assert "umbrielcontent" not in by_id["memory.remembered", ids["pinned"]]
    shown = {one["subject"] for one in events if one["type"] == "embedding.computed" and "vectors" in one["data"]}
    assert {ids["message"], ids["forgotten"]}.isdisjoint(shown)
    assert ids["pinned"] in shown


async def test_it_is_absent_from_what_an_encrypted_export_opens_to(
    source: tuple[Here, dict[str, str]], tmp_path: Path
) -> None:
    """Who has the keys reads the same as in a clear one: nothing that was forgotten."""
    world, _ = source
    _, clear, _ = await lines_of(world, tmp_path)
    _, sealed, _ = await lines_of(world, tmp_path, encrypted=True)
    assert [word for word in (*FORGOTTEN, *KEPT) if word in (tmp_path / "x.jsonl").read_text()] == []
    assert not any("data" in one or "subject" in one for one in sealed)
    opened = ""
    for line in await read_lines(
        world.runtime.service.core, _caller(), [_import_line(n, one) for n, one in enumerate(sealed)]
    ):
        assert line.envelope is not None
        opened += repr(line.envelope.data)
    assert [word for word in FORGOTTEN if word in opened] == []
    assert [word for word in KEPT if word not in opened] == []
    assert [one["id"] for one in sealed] == [one["id"] for one in clear]


def _caller() -> Caller:
    return Caller(PERSON.name, "person", grants=PERSON.grants)


def _import_line(number: int, line: Line) -> ImportLine:
    return ImportLine(number, msgspec.Raw(json.dumps(line).encode()))


async def test_a_contact_takes_out_its_own(source: tuple[Here, dict[str, str]]) -> None:
    """A grant for one contact exports what its feed shows, with the vectors of that; another's it may not name."""
    world, _ = source
    limited = Principal("limited", "agent", (Grant("p", "read", ("bob",)),))
    reply = await ask(world, "p", "export", limited)
    lines = [json.loads(bytes(one)) for one in reply.lines]
    text = json.dumps(lines)
    assert "Acme" in text
    assert "gardens" in text
    assert [word for word in ("Porto", "Lisbon", "ana", "s-ana") if f'"{word}' in text or f" {word}" in text] == []
    vectors = {one["subject"] for one in lines if one["type"] == "embedding.computed"}
    assert vectors
    owners = {one["subject"]: one["data"].get("scope", "bob") for one in lines if one["type"] == "memory.remembered"}
    assert {owners.get(one, "bob") for one in vectors} <= {"bob", None}
    with pytest.raises(RefusedError):
        await ask(world, "p", "export", limited, contact="ana")


async def test_filters_leave_out(source: tuple[Here, dict[str, str]], tmp_path: Path) -> None:
    """By category, contact, time and position; an export goes on after any of its positions with the same lines."""
    world, _ = source
    _, events, _ = await lines_of(world, tmp_path)
    _, some, _ = await lines_of(world, tmp_path, kinds=["memory", "goal"])
    assert some == [one for one in events if one["type"].split(".")[0] in {"memory", "goal"}]
    middle = events[len(events) // 2]
    _, rest, _ = await lines_of(world, tmp_path, after=middle["umbrielposition"])
    assert rest == events[len(events) // 2 + 1 :]
    _, first, _ = await lines_of(world, tmp_path, until=middle["umbrielposition"])
    assert first == events[: len(events) // 2 + 1]
    _, late, _ = await lines_of(world, tmp_path, since=_time(middle))
    _, early, _ = await lines_of(world, tmp_path, before=_time(middle))
    assert sorted(one["id"] for one in (*early, *late)) == sorted(one["id"] for one in events)
    assert middle in late
    _, bobs, _ = await lines_of(world, tmp_path, contact="bob")
    assert {one["data"]["scope"] for one in bobs if one["type"] == "memory.remembered"} == {"bob"}
    assert {one["data"]["session"] for one in bobs if one["type"] == "message.recorded"} == {"s-bob"}


def _time(line: Line) -> datetime:
    return datetime.fromisoformat(line["time"])


async def test_pages_are_bounded_and_lose_nothing(source: tuple[Here, dict[str, str]], tmp_path: Path) -> None:
    """However small a reply may be, the lines are the same; no reply is larger, but for one event that is."""
    world, _ = source
    core = world.runtime.service.core
    _, events, _ = await lines_of(world, tmp_path)
    limits = msgspec.structs.replace(core.settings.limits, reply_bytes=4_000)
    before, core.settings = core.settings, msgspec.structs.replace(core.settings, limits=limits)
    try:
        lines: list[bytes] = []
        after, pages, until = "", 0, events[-1]["umbrielposition"]
        while True:
            reply = await export(core, _caller().within("p"), "p", ExportRequest(after=after, until=until))
            assert len(reply.lines) == 1 or sum(map(len, map(bytes, reply.lines))) < 4_000
            lines += map(bytes, reply.lines)
            after, pages = reply.position, pages + 1
            if reply.done:
                break
    finally:
        core.settings = before
    assert pages > 5
    assert [json.loads(line)["id"] for line in lines] == [one["id"] for one in events]


async def test_a_cut_off_export_is_taken_up(source: tuple[Here, dict[str, str]], tmp_path: Path) -> None:
    """What was written goes into the hash, and the rest follows; the whole is as if it had not been cut off."""
    world, _ = source
    async with client_of(world, "p") as client:
        whole = [line async for line in client.export(kinds=["memory", "message"])]
        again = client.export().resume(whole[:7])
        rest = [line async for line in again]
        assert again.events == len(whole) - 2
    assert [json.loads(line)["id"] for line in rest[:-1]] == [json.loads(line)["id"] for line in whole[7:-1]]
    digest = hashlib.sha256(b"".join((*whole[:7], *rest[:-1]))).hexdigest()
    assert json.loads(rest[-1])["data"]["sha256"] == digest


async def test_what_cannot_be_exported_is_said(source: tuple[Here, dict[str, str]]) -> None:
    """An unknown category, another log's position, one not reached, a profile that is not there."""
    world, _ = source
    position = (await ask(world, "p", "export")).until
    far = position.rpartition(":")[0] + ":999999"
    for fields, error in (
        ({"kinds": ["gossip"]}, InvalidInputError),
        ({"after": "UMBRIEL.other:3"}, MismatchError),
        ({"until": far}, MismatchError),
        ({"since": "2026-01-01T00:00:00"}, InvalidInputError),
    ):
        with pytest.raises(error):
            await ask(world, "p", "export", **fields)
    with pytest.raises(NotFoundError):
        await ask(world, "nobody", "export")


async def test_homes_are_where_events_live(source: tuple[Here, dict[str, str]]) -> None:
    """For every event of the log: what `domain.homes` says is the subject it has and the key it is under."""
    core = source[0].runtime.service.core
    secret = await core.events.secret("p")
    written: dict[str, MemoryRemembered] = {}
    seen = set()
    for entry in await core.events.log.read(0, 10_000, "p"):
        key = await core.events.keys.by_id("p", entry.key_id)
        envelope = open_entry(entry, key)
        event = envelope.data
        if isinstance(event, EmbeddingComputed):
            continue
        if isinstance(event, MemoryRemembered | MemoryRestored):
            remembered = event if isinstance(event, MemoryRemembered) else event.content
            written[remembered.memory] = remembered
        home = originator_id("p", event.category(), keyed_id(secret, *subject_parts(event, entry.event_id)))
        assert (home, event.TOPIC) == (entry.originator_id, entry.topic)
        assert (await core.events.keys.key("p", scope_of(event, written), create=False)).key_id == entry.key_id
        seen.add(event.TOPIC)
    assert len(seen) > 20
