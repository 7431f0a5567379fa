"""Which messages of a call are new, which were there, and which may not come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInputError
from domain.ids import digest128
from domain.ingest import Incoming, Resolution, Seen, derive_session, resolve

T1 = datetime(2026, 1, 1, 12, tzinfo=UTC)
T2 = T1 + timedelta(minutes=1)
T3 = T1 + timedelta(minutes=2)


class _Said(msgspec.Struct, frozen=True):
    """One message as a caller hands it over: which of a few contents, its id and its time."""

    content: str = "yes"
    id: str = ""
    at: datetime | None = None


class _Store:
    """The occurrences of every content, and ingest as it uses the rules."""

    def __init__(self) -> None:
        self.seen: dict[str, list[Seen]] = {}

    def ingest(self, call: Sequence[_Said]) -> list[Resolution]:
        counts: Counter[str] = Counter()
        ids: set[tuple[str, str]] = set()
        resolutions = []
        for said in call:
            # The same id again is the same message and does not count again.
            counts[said.content] += not (said.id and (said.content, said.id) in ids)
            ids.add((said.content, said.id))
            seen = self.seen.setdefault(said.content, [])
            resolution = resolve(seen, Incoming(counts[said.content], said.id, said.at))
            if resolution.outcome == "recorded":
                seen.append(Seen(said.id, said.at, position=len(seen) + 1))
            resolutions.append(resolution)
        return resolutions

    def forget(self, content: str, occurrence: int) -> None:
        seen = self.seen[content]
        seen[occurrence - 1] = msgspec.structs.replace(seen[occurrence - 1], forgotten=True)


_CALLS = st.lists(
    st.builds(_Said, st.sampled_from("xy"), st.sampled_from(["", "", "a", "b"]), st.sampled_from([None, T1, T2, T3])),
    max_size=7,
)


@pytest.mark.parametrize(
    "seen, incoming, occurrence, outcome",
    [
        # nothing there yet
        ([], Incoming(1), 1, "recorded"),
        # the caller's id decides, whatever ordinal and time say
        ([Seen("a", T1), Seen("b", T2)], Incoming(1, "b", T3), 2, "duplicate"),
        ([Seen("a", T1)], Incoming(1, "b", T1), 2, "recorded"),
        ([Seen("a")], Incoming(2, "a"), 1, "duplicate"),
        # two ids are two messages, even at one time
        ([Seen("", T1), Seen("a", T2)], Incoming(1, "b", T2), 3, "recorded"),
        # an id where there was none before: the ordinal decides
        ([Seen()], Incoming(1, "a"), 1, "duplicate"),
        ([Seen("a")], Incoming(1), 1, "duplicate"),
        # the ordinal in the call
        ([Seen()], Incoming(2), 2, "recorded"),
        ([Seen(), Seen()], Incoming(2), 2, "duplicate"),
        # a lone repeat with nothing to tell it apart
        ([Seen(), Seen()], Incoming(1), 1, "duplicate"),
        ([Seen("", T1)], Incoming(1), 1, "duplicate"),
        ([Seen()], Incoming(1, "", T1), 1, "duplicate"),
        # a time separates only where it differs
        ([Seen("", T1)], Incoming(1, "", T1), 1, "duplicate"),
        ([Seen("", T1)], Incoming(1, "", T2), 2, "recorded"),
        ([Seen("", T1), Seen("", T2)], Incoming(1, "", T2), 2, "duplicate"),
        ([Seen("", T1), Seen("", T2)], Incoming(1, "", T3), 3, "recorded"),
        # forgotten (or erased, where nothing else is known) does not come back
        ([Seen(forgotten=True)], Incoming(1), 1, "blocked"),
        ([Seen(forgotten=True)], Incoming(1, "a", T1), 1, "blocked"),
        ([Seen("a", T1), Seen("b", T2, forgotten=True)], Incoming(1, "b", T2), 2, "blocked"),
        ([Seen("", T1), Seen("", T2, forgotten=True)], Incoming(1, "", T2), 2, "blocked"),
        # but what was said again after it is new
        ([Seen("a", T1, forgotten=True)], Incoming(1, "b", T2), 2, "recorded"),
        ([Seen("", T1, forgotten=True)], Incoming(1, "", T2), 2, "recorded"),
    ],
)
def test_resolve(seen: list[Seen], incoming: Incoming, occurrence: int, outcome: str) -> None:
    """One line of the table: caller id, else ordinal, and a time that differs."""
    resolution = resolve(seen, incoming)
    assert (resolution.occurrence, resolution.outcome) == (occurrence, outcome)


def test_a_found_message_keeps_its_position() -> None:
    """A duplicate and a blocked one report where they are in the log, a new one has no position yet."""
    seen = [Seen("a", position=7), Seen("b", position=9, forgotten=True)]
    assert resolve(seen, Incoming(1, "a")) == Resolution(1, "duplicate", 7)
    assert resolve(seen, Incoming(1, "b")) == Resolution(2, "blocked", 9)
    assert resolve(seen, Incoming(3)) == Resolution(3, "recorded", 0)


def test_one_instant_in_two_zones_is_one_time() -> None:
    """The zone a caller writes a time in separates nothing."""
    assert resolve([Seen("", T1)], Incoming(1, "", T1.astimezone(timezone(timedelta(hours=9))))).outcome == "duplicate"


def test_repeats_of_one_call_are_all_kept() -> None:
    """Somebody who says yes three times in a call said it three times, also after a second call."""
    store = _Store()
    assert [one.occurrence for one in store.ingest([_Said()] * 3)] == [1, 2, 3]
    assert [one.outcome for one in store.ingest([_Said()] * 4)] == ["duplicate"] * 3 + ["recorded"]


@given(_CALLS)
def test_a_call_again_writes_nothing(call: list[_Said]) -> None:
    """A list ingested twice resolves to the same occurrences, all duplicates, with any repeats, ids and times."""
    store = _Store()
    first = store.ingest(call)
    again = store.ingest(call)
    assert [one.occurrence for one in again] == [one.occurrence for one in first]
    assert {one.outcome for one in again} <= {"duplicate"}


# A caller gives ids to all messages of a call or to none. Where a call mixes both over occurrences that another
# call left, an ordinal cannot be told from one that is taken, and the call may be recorded once more.
_CONSISTENT_CALLS = st.sampled_from([[""], ["a", "b"]]).flatmap(
    lambda ids: st.lists(
        st.builds(_Said, st.sampled_from("xy"), st.sampled_from(ids), st.sampled_from([None, T1, T2, T3])), max_size=5
    )
)


@given(st.lists(_CONSISTENT_CALLS, max_size=4), st.randoms(use_true_random=False))
def test_calls_again_in_any_order_write_nothing(calls: list[list[_Said]], random: Random) -> None:
    """Different calls, some with ids and some without, stay idempotent after each other in any order."""
    store = _Store()
    for call in calls:
        store.ingest(call)
    for call in random.sample(calls * 2, len(calls) * 2):
        assert {resolution.outcome for resolution in store.ingest(call)} <= {"duplicate"}


@given(_CALLS)
def test_occurrences_have_no_gaps(call: list[_Said]) -> None:
    """Occurrences of a content are numbered from 1 without a gap, which reading them in order rests on."""
    store = _Store()
    numbers: dict[str, list[int]] = {}
    for said, resolution in zip(call, store.ingest(call), strict=True):
        if resolution.outcome == "recorded":
            numbers.setdefault(said.content, []).append(resolution.occurrence)
    assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())


@given(_CALLS, st.integers(0, 6))
def test_what_is_forgotten_stays_forgotten(call: list[_Said], pick: int) -> None:
    """After a message is forgotten the same call brings nothing back and records nothing new."""
    store = _Store()
    first = store.ingest(call)
    if not call:
        return
    content, occurrence = call[pick % len(call)].content, first[pick % len(call)].occurrence
    store.forget(content, occurrence)
    for said, resolution in zip(call, store.ingest(call), strict=True):
        gone = (said.content, resolution.occurrence) == (content, occurrence)
        assert resolution.outcome == ("blocked" if gone else "duplicate")


@given(_CALLS, st.integers(1, 7))
def test_a_split_call_is_one_call(call: list[_Said], size: int) -> None:
    """Ordinals of the whole call, resolved batch by batch, give what one batch gives."""
    whole = _Store().ingest(call)
    seen: dict[str, list[Seen]] = {}
    parts = [_occurrences(call)[at : at + size] for at in range(0, len(call), size)]
    split = []
    for part in parts:
        for content, incoming in part:
            resolution = resolve(seen.setdefault(content, []), incoming)
            if resolution.outcome == "recorded":
                seen[content].append(Seen(incoming.caller_id, incoming.at))
            split.append(resolution.occurrence)
    assert split == [one.occurrence for one in whole]


def _occurrences(call: Sequence[_Said]) -> list[tuple[str, Incoming]]:
    counts: Counter[str] = Counter()
    ids: set[tuple[str, str]] = set()
    numbered = []
    for said in call:
        counts[said.content] += not (said.id and (said.content, said.id) in ids)
        ids.add((said.content, said.id))
        numbered.append((said.content, Incoming(counts[said.content], said.id, said.at)))
    return numbered


def test_session_vector() -> None:
    """The session of a call that names none never changes: contact, channel, first message, its id and time."""
    when = "2026-01-01T12:00:00.000000+00:00"
    assert derive_session("ana", "chat", ("user", "hi"), "m1", T1) == digest128(
        "session", "ana", "chat", "user", "hi", "m1", when
    )
    assert derive_session("", "", ("user", "hi"), "", None) == "27i26l55e532z7duvblrbrivau"


def test_everything_that_is_known_separates_sessions() -> None:
    """Each of contact, channel, role, content, id and time makes another session; a zone does not."""
    sessions = {
        derive_session("ana", "chat", ("user", "hi"), "m1", T1),
        derive_session("bea", "chat", ("user", "hi"), "m1", T1),
        derive_session("ana", "mail", ("user", "hi"), "m1", T1),
        derive_session("ana", "chat", ("assistant", "hi"), "m1", T1),
        derive_session("ana", "chat", ("user", "ho"), "m1", T1),
        derive_session("ana", "chat", ("user", "hi"), "m2", T1),
        derive_session("ana", "chat", ("user", "hi"), "m1", T2),
        derive_session("ana", "chat", ("user", "hi"), "m1", None),
    }
    assert len(sessions) == 8
    assert derive_session("ana", "chat", ("user", "hi"), "m1", T1.astimezone(timezone(timedelta(hours=-5)))) in sessions


def test_a_derived_session_is_a_name() -> None:
    """What is derived fits the 64 characters of a session, however long the message is."""
    assert len(derive_session("a" * 256, "", ("user", "x" * 30_000), "", None)) == 26


def test_a_local_time_derives_no_session() -> None:
    """A first message without a zone is refused rather than guessed."""
    with pytest.raises(InvalidInputError):
        derive_session("ana", "", ("user", "hi"), "", T1.replace(tzinfo=None))
