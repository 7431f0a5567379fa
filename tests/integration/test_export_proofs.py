"""Exports that prove themselves: what was sealed is what the file says, and what was done to a file has a line."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import pytest_asyncio
import typer

from domain.errors import DamagedError as Damaged
from domain.events import ImportStarted
from gateways.cli.export_check import CheckedExport, check_export
from gateways.jetstream.codec import open as open_entry
from gateways.jetstream.seal_keys import SealKey
from tests.transfer_world import Here, client_of, exported, here, story
from umbriel import InvalidInputError, MismatchError, UmbrielError
from umbriel.exports import schema

pytestmark = pytest.mark.asyncio(loop_scope="module")
_names = count(1)
FOREIGN = SealKey(bytes(range(32))).public


class Proven:
    """A service with a story, its export with proofs, and the key that signed it."""

    def __init__(self, world: Here, path: Path, key: str) -> None:
        self.world, self.path, self.key = world, path, key
        self.lines = path.read_bytes().splitlines(keepends=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def proven(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Proven]:
    """Three stretches under seals, another profile's events between those of ``p``."""
    root = tmp_path_factory.mktemp("proven")
    async with here(root / "data") as world:
        core = world.runtime.service.core
        assert core.seal is not None
        await story(world)
        await core.seal()
        async with client_of(world, "q") as other:
            await other.remember("Nobody of p knows this", key="other")
        await world.remember("Ana sails on Sundays", contact="ana", key="sailing")
        await core.seal()
        await world.remember("Ana sails on Mondays", contact="ana", key="sailing")
        lines = await exported(world, root / "x.jsonl", proofs=True)
        yield Proven(world, root / "x.jsonl", lines[0]["data"]["public_key"])


def checked(path: Path, tmp_path: Path, *trust: str) -> int:
    """Check a file as somebody who has nothing else; returns the exit code."""
    with pytest.raises(typer.Exit) as ended:
        check_export(path, tmp_path / "nothing", trust, json=True)
    return ended.value.exit_code


def forged(proven: Proven, path: Path, change: Callable[[list[bytes]], None]) -> Path:
    """A copy of the file that somebody changed who knows how its trailer is made."""
    lines = list(proven.lines)
    change(lines)
    trailer = json.loads(lines[-1])
    kinds = Counter(json.loads(line)["type"] for line in lines[1:-1])
    kinds.pop("umbriel.export.seal", None)
    trailer["data"] |= {"sha256": hashlib.sha256(b"".join(lines[:-1])).hexdigest(), "events": kinds.total()}
    trailer["data"]["types"] = dict(sorted(kinds.items()))
    path.write_bytes(b"".join(lines[:-1]) + msgspec.json.encode(trailer) + b"\n")
    return path


def flipped(lines: list[bytes]) -> None:
    """Another actor on line 5."""
    lines[4] = lines[4].replace(b'"umbrielversion":', b'"umbrielcause":"x","umbrielversion":', 1)


def other_word(lines: list[bytes]) -> None:
    """One byte of what was said, wherever that is said first."""
    at = next(index for index, line in enumerate(lines) if b"Lisbon" in line)
    lines[at] = lines[at].replace(b"Lisbon", b"Lisbom", 1)


def dropped(lines: list[bytes]) -> None:
    """Line 5 is gone."""
    del lines[4]


def swapped(lines: list[bytes]) -> None:
    """Lines 5 and 6 changed places."""
    lines[4], lines[5] = lines[5], lines[4]


def cut(lines: list[bytes]) -> None:
    """The last event is gone, with the seal behind it."""
    del lines[-3:-1]


def other_filter(lines: list[bytes]) -> None:
    """The header says that only some were asked for."""
    header = json.loads(lines[0])
    header["data"]["contact"] = "ana"
    lines[0] = msgspec.json.encode(header) + b"\n"


def other_key(lines: list[bytes]) -> None:
    """The header names another key."""
    header = json.loads(lines[0])
    header["data"]["public_key"] = FOREIGN
    lines[0] = msgspec.json.encode(header) + b"\n"


def other_root(lines: list[bytes]) -> None:
    """A seal has another root."""
    at = next(index for index, line in enumerate(lines) if b"umbriel.export.seal" in line)
    line = json.loads(lines[at])
    line["data"]["seal"]["root"] = "0" * 64
    lines[at] = msgspec.json.encode(line) + b"\n"


def other_leaf(lines: list[bytes]) -> None:
    """A part of a seal's tree is another one."""
    at = next(index for index, line in enumerate(lines) if b"umbriel.export.seal" in line)
    line = json.loads(lines[at])
    line["data"]["parts"].append("A" * 43 + "=")
    lines[at] = msgspec.json.encode(line) + b"\n"


def seal_line(proven: Proven) -> int:
    """The number of the first seal's line."""
    return next(index for index, line in enumerate(proven.lines) if b"umbriel.export.seal" in line) + 1


@pytest.mark.parametrize(
    "change, line, words",
    [
        (flipped, "5", "is not what was exported"),
        (other_word, "", "is not what was exported"),
        (dropped, "5", "lines before it are missing"),
        (swapped, "5", "lines before it are missing, doubled or in another order"),
        (cut, "trailer", "lines before it are missing"),
        (other_filter, "2", "is not what was exported"),
        (other_key, "2", "is not what was exported"),
        (other_root, "seal", "does not have its signature"),
        (other_leaf, "seal", "are not what was sealed"),
    ],
)
async def test_what_was_done_to_a_file_is_named(
    proven: Proven, tmp_path: Path, change: Callable[[list[bytes]], None], line: str, words: str
) -> None:
    """Offline and by an import, before anything is written."""
    path = forged(proven, tmp_path / "forged.jsonl", change)
    places = {"trailer": str(len(path.read_bytes().splitlines())), "seal": str(seal_line(proven)), "": ""}
    wanted = f"line {places.get(line, line)}"
    with pytest.raises(Damaged, match=words) as offline:
        checked(path, tmp_path)
    assert str(offline.value).startswith(f"{wanted}:" if line else wanted)
    async with client_of(proven.world, profile := f"t{next(_names)}") as client:
        with pytest.raises(UmbrielError, match=words):
            await client.import_export(path)
        names = [one.name for one in (await client.profiles()).profiles]
    assert profile not in names


@pytest.mark.parametrize("options", [{}, {"encrypted": True}, {"vectors": False}, {"contact": "ana"}])
async def test_a_file_that_nobody_changed_holds(
    proven: Proven, tmp_path: Path, options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Every line fits the schema and is under a seal; who trusts the key is told so, who does not is told too."""
    lines = await exported(proven.world, tmp_path / "x.jsonl", proofs=True, **options)
    check = jsonschema.Draft202012Validator(json.loads(schema()))
    for line in lines:
        check.validate(line)
    capsys.readouterr()
    assert checked(tmp_path / "x.jsonl", tmp_path, proven.key) == 0
    told = msgspec.json.decode(capsys.readouterr().out, type=CheckedExport)
    assert (told.proven, told.as_stored) == (told.events, "encrypted" in options)
    assert told.events == lines[-1]["data"]["events"] > 3
    assert told.seals >= (2 if options else 3)
    assert checked(tmp_path / "x.jsonl", tmp_path, FOREIGN) == 1


async def test_without_proofs_a_file_is_as_it_was(proven: Proven, tmp_path: Path) -> None:
    """Older readers take it; who demands proofs is refused."""
    header, *lines, trailer = await exported(proven.world, tmp_path / "x.jsonl")
    assert (header["data"]["format"], "proof" in trailer["data"]) == (1, False)
    assert not any("proof" in one for one in lines)
    assert checked(tmp_path / "x.jsonl", tmp_path) == 1
    async with client_of(proven.world, "t-unproven") as client:
        with pytest.raises(InvalidInputError, match="no proofs"):
            await client.import_export(tmp_path / "x.jsonl", trust=proven.key)


async def test_an_import_records_what_was_verified(proven: Proven, tmp_path: Path) -> None:
    """By which key, whether that was pinned, and the seal that the chain here begins after."""
    del tmp_path
    async with client_of(proven.world, "t-verified") as client:
        with pytest.raises(MismatchError, match="another key"):
            await client.import_export(proven.path, trust=FOREIGN)
        report = await client.import_export(proven.path, trust=proven.key)
    last = [json.loads(line) for line in proven.lines if b"umbriel.export.seal" in line]
    assert (report.public_key, report.pinned, report.seals) == (proven.key, True, len(last))
    events = proven.world.runtime.service.core.events
    entries = await events.log.read(0, 1_000, "t-verified")
    started = next(one for one in entries if one.topic == ImportStarted.TOPIC)
    event = open_entry(started, await events.keys.by_id("t-verified", started.key_id)).data
    assert isinstance(event, ImportStarted)
    assert event.verified is not None
    assert (event.verified.public_key, event.verified.pinned) == (proven.key, True)
    assert (event.verified.lines, event.verified.seals) == (report.events, len(last))
    assert len(event.verified.last_seal) == 64


async def test_an_export_with_proofs_goes_on_where_it_was_cut_off(proven: Proven, tmp_path: Path) -> None:
    """In the middle of a stretch and behind a seal: the file is the same but for the times of its own lines."""
    until = json.loads(proven.lines[0])["data"]["until"]
    for kept in (3, seal_line(proven), len(proven.lines) - 2):
        async with client_of(proven.world, "p") as client:
            export = client.export(until=until, proofs=True).resume(proven.lines[:kept])
            rest = [line async for line in export]
        path = tmp_path / f"{kept}.jsonl"
        await asyncio.to_thread(path.write_bytes, b"".join([*proven.lines[:kept], *rest]))
        assert checked(path, tmp_path, proven.key) == 0
        assert len(rest) + kept == len(proven.lines)
