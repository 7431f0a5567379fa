"""What makes two statements versions of one memory: scope, kind and key or content."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from domain.addresses import address_of
from domain.errors import InvalidInputError
from domain.ids import digest128
from domain.kinds import CONFIDENCE, Kind, fold_kind

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_KINDS: list[Kind] = ["fact", "event", "instruction", "task"]


def _address(
    kind: Kind = "fact",
    *,
    contact: str | None = None,
    key: str = "",
    content: str = "x",
    session: str = "",
    at: datetime | None = None,
) -> str:
    return address_of(kind, contact=contact, key=key, content=content, session=session, occurred_at=at)


def test_address_vectors() -> None:
    """Addresses never change: the parts that are hashed, kind by kind."""
    when = "2026-01-01T12:00:00.000000+00:00"
    assert _address(contact="Ana", key="Home Town") == digest128("fact", "contact", "Ana", "key", "home_town")
    assert _address("instruction", content="Be brief.") == digest128("instruction", "agent", "", "content", "be brief")
    assert _address("event", content="Moved", at=_NOON) == digest128("event", "agent", "", "content", "moved", when)
    assert _address("task", session="s", key="k") == digest128("task", "agent", "", "s", "key", "k")
    assert _address(contact="Ana", key="Home Town") == "xwvzozvxci5srnw346pdix4vly"


def test_a_key_stands_for_the_content() -> None:
    """Under one key every content is a version of one memory; without a key the content is the address."""
    for kind in ("fact", "instruction", "task"):
        assert _address(kind, key="city", content="Rome") == _address(kind, key="City", content="Oslo")
        assert _address(kind, content="Rome") != _address(kind, content="Oslo")
        assert _address(kind, content="Rome") == _address(kind, content="rome.")


def test_a_key_is_never_taken_for_a_content() -> None:
    """A statement that reads like a key has another address than what is kept under that key."""
    assert _address(key="rome") != _address(content="rome")


def test_kinds_do_not_share_addresses() -> None:
    """The same words as fact, event, instruction and task are four memories."""
    assert len({_address(kind) for kind in _KINDS}) == 4
    assert len({_address(kind, key="k") for kind in _KINDS}) == 4


@pytest.mark.parametrize("kind", _KINDS)
def test_scopes_do_not_share_addresses(kind: Kind) -> None:
    """Agent-wide and every contact, exactly as written, are scopes of their own."""
    contacts = [None, "a", "a1", "A", "agent", "à", "a\u0300", ""]
    assert len({_address(kind, contact=contact, key="k") for contact in contacts}) == len(contacts)


def test_events_differ_by_their_time() -> None:
    """The same thing happened twice: two memories, and an unknown time is a third."""
    addresses = {_address("event", at=at) for at in (None, _NOON, _NOON + timedelta(microseconds=1))}
    assert len(addresses) == 3


def test_an_event_has_no_key() -> None:
    """A key finds an event, but what happened and when is its address."""
    assert _address("event", key="k", at=_NOON) == _address("event", at=_NOON)


def test_one_instant_in_two_zones_is_one_event() -> None:
    """Where the clock stood makes no second memory."""
    tokyo = _NOON.astimezone(timezone(timedelta(hours=9)))
    assert _address("event", at=tokyo) == _address("event", at=_NOON)


def test_an_event_at_a_local_time_is_refused() -> None:
    """A time without zone is never taken for UTC."""
    with pytest.raises(InvalidInputError):
        _address("event", at=_NOON.replace(tzinfo=None))


def test_time_and_session_only_where_they_count() -> None:
    """A session tells tasks apart and nothing else; a time tells events apart and nothing else."""
    assert _address("task", session="s1") != _address("task", session="s2")
    for kind in ("fact", "instruction"):
        assert _address(kind, session="s1", at=_NOON) == _address(kind)
    assert _address("event", session="s1", at=_NOON) == _address("event", at=_NOON)
    assert _address("task", session="s1", at=_NOON) == _address("task", session="s1")


@pytest.mark.parametrize(
    "kind, fact_type, expected",
    [
        (None, None, ("fact", "")),
        (None, "Preference", ("fact", "preference")),
        (None, "never heard of", ("fact", "never heard of")),
        (None, " Workflow-Failure ", ("event", "workflow-failure")),
        (None, "skill", ("instruction", "skill")),
        (None, "task", ("task", "task")),
        ("event", "preference", ("event", "preference")),
        ("fact", "task", ("fact", "task")),
    ],
)
def test_kinds_and_fact_types(kind: str | None, fact_type: str | None, expected: tuple[str, str]) -> None:
    """A kind that is given wins; else the fact type decides; what is unknown is a fact."""
    assert fold_kind(kind, fact_type) == expected


@pytest.mark.parametrize("kind", ["", "Fact", "message", "facts"])
def test_unknown_kinds(kind: str) -> None:
    """Only the four kinds are kinds."""
    with pytest.raises(InvalidInputError):
        fold_kind(kind, None)


def test_trust_by_path() -> None:
    """What was said outright counts more than what was extracted or copied."""
    assert CONFIDENCE["explicit"] > CONFIDENCE["reflection"] > CONFIDENCE["pre-compaction"] > CONFIDENCE["turn"]
