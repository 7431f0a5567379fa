"""What an erasure means before any key is touched: aggregates that lost events, what is blocked, what is looked for."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import pytest

from domain.copying import still_saying
from domain.envelope import Actor
from domain.events import ErasureLifted, Event, KeyDestroyed, MemoryForgotten, MemoryRemembered, Origin, Unreadable
from domain.indexing import memory_key_scope
from domain.memory import Memory
from gateways.doctor.scanning import scan
from gateways.service.tombstones import recorded_keys
from tests.builders import Log
from tests.unit.given import ADDRESS, ORIGINATOR, context, draft

_WORDS = "Zanzibar Österreich"


def memory_of(*drafts: MemoryRemembered) -> Memory:
    """A memory in which these were stated one after the other."""
    memory = Memory(ORIGINATOR)
    for one in drafts:
        memory.remember(one, context())
    return memory


def without(memory: Memory, scope: str) -> Memory:
    """The same memory once the key of a scope is gone."""
    log = [
        one if one.key_scope != scope else msgspec.structs.replace(one, data=Unreadable())
        for one in memory.collect_events()
    ]
    return Memory.replay(ORIGINATOR, log)


def test_a_number_is_given_once() -> None:
    """After a version was erased the next one has a number that none ever had, and the others stand."""
    erased = without(memory_of(draft("one", source="turn", session="s"), draft("two")), "conversation:s")
    assert [one.written.memory for one in erased.versions] == [f"{ADDRESS}@2"]
    erased.remember(draft("three"), context())
    assert len({one.written.version for one in erased.versions}) == 2
    gone = without(memory_of(draft("one"), draft("two", source="turn", session="s")), "conversation:s")
    gone.remember(draft("three"), context())
    assert gone.versions[-1].written.version > 2


def test_what_was_forgotten_stays_so_without_the_other_key() -> None:
    """Versions under two keys are forgotten by two events, so that neither comes back when one key goes."""
    memory = memory_of(draft("one"), draft("two", source="turn", session="s"))
    assert len(memory.forget(context())) == 2
    ends = [one for one in memory.pending_events if isinstance(one.data, MemoryForgotten)]
    assert {one.key_scope for one in ends} == {memory_key_scope(one.written) for one in memory.versions}
    left = without(memory, "conversation:s")
    assert [one.status for one in left.versions] == ["forgotten"]


@pytest.mark.parametrize(
    "corrected,goes",
    [
        ("Ana lives in Porto", 1),
        ("Ana lives in Porto since May", 1),
        ("Ana works at Acme and lives in Faro", 1),
        ("works at Acme", 1),
        ("ana LIVES in porto!", 1),
        ("Ana lives in Faro", 0),
        ("Ana moved and works elsewhere", 0),
        ("Porto is where Ana is not", 0),
    ],
)
def test_a_correction_that_still_says_what_was_copied(corrected: str, goes: int) -> None:
    """A version made of a copy goes with it when it repeats it or one of its clauses; own words stay."""
    origin = Origin(profile="q", memory=f"{'a' * 26}@1")
    said = draft("Ana lives in Porto, and works at Acme", source="copy")
    copy = msgspec.structs.replace(said, origin=origin)
    memory = memory_of(copy)
    first = memory.versions[0].written.memory
    memory.correct(first, msgspec.structs.replace(copy, text=corrected, folded=corrected, source="explicit"), context())
    memory.remember(draft("Ana lives in Porto"), context())
    assert still_saying(memory, first) == ([f"{ADDRESS}@2"] if goes else [])


def test_which_keys_are_recorded_as_gone() -> None:
    """What was erased is closed until that is lifted; the keys of others' questions are gone and not closed."""
    log, gone = Log(), KeyDestroyed(erasure="e", keys=("a", "b"), again=("q",))
    other = KeyDestroyed(erasure="f", keys=("c",))
    events: list[Event] = [gone, other]
    for event in events:
        log.append(event)
    assert recorded_keys(log.envelopes) == {"a": True, "b": True, "q": False, "c": True}
    log.append(ErasureLifted(erasure="e"), actor=Actor("ana", "person"))
    assert recorded_keys(log.envelopes) == {"a": False, "b": False, "q": False, "c": True}
    log.append(gone)
    assert recorded_keys(log.envelopes)["a"]


@pytest.mark.parametrize(
    "content",
    [
        _WORDS.encode(),
        _WORDS.lower().encode(),
        b"ZANZIBAR \xc3\x96STERREICH",
        _WORDS.encode("utf-16-le"),
        b"\x00" + _WORDS.lower().encode("utf-16-be"),
        base64.b64encode(_WORDS.encode()),
        base64.b64encode(b"x" + _WORDS.encode() + b"y"),
        base64.b64encode(b"xy" + _WORDS.lower().encode() + b"yz"),
        b'"Zanzibar \\u00d6sterreich"',
    ],
    ids=["utf8", "lower", "upper", "utf16le", "utf16be", "base64", "base64-1", "base64-2", "json"],
)
def test_words_are_found_in_every_form(tmp_path: Path, content: bytes) -> None:
    """Wherever they lie in a file, also across the parts in which it is read; other words are not found."""
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "file").write_bytes(b"." * (4 * 1024**2 - 9) + content + b".")
    found = scan(tmp_path, [_WORDS, "Madagascar"])
    assert {(one.file, one.words) for one in found.found} == {("some/file", 0)}
    assert found.files == 1


def test_names_of_files_are_looked_at(tmp_path: Path) -> None:
    """A name is as readable as what is in the file."""
    (tmp_path / "Madagascar.txt").write_bytes(b"")
    assert [one.form for one in scan(tmp_path, ["Madagascar"]).found] == ["file name"]
