"""Linked contacts in the ledger and in recall: one person while linked, each their own again after."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from domain.envelope import Actor, Envelope
from domain.events import ContactSet, ContactsLinked, ContactsUnlinked, SettingsChanged
from domain.indexing import session_token
from domain.settings import ProfileSettings, RecallPreferences
from projections.ledger import ContactRecord, Ledger
from projections.recall import RecallQuery, recall
from tests.builders import NOW, Log, indexing
from tests.integration.test_recall import BLUE, Profile

_AGENT = Actor("bot", "agent")


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Profile]:
    """Views without events."""
    opened = Profile(tmp_path)
    yield opened
    opened.ledger.close()
    opened.vectors.close()
    opened.keywords.close()


def _link(log: Log, one: str, other: str) -> None:
    first, second = sorted((one, other))
    log.append(ContactsLinked(first=first, second=second))


def _unlink(log: Log, one: str, other: str) -> None:
    first, second = sorted((one, other))
    log.append(ContactsUnlinked(first=first, second=second))


def _found(profile: Profile, contact: str) -> set[str]:
    answer = recall(
        profile, RecallQuery(text="where is the parcel", contact=contact), embed_query=lambda _: BLUE, now=NOW
    )
    return {hit.item.id for hit in answer.results}


def test_links_are_transitive_and_end_with_the_link(profile: Profile) -> None:
    """Who is one person follows over several links in any order; a name that only begins alike is somebody else."""
    for pair in (("c", "b"), ("a", "b"), ("a1", "a2")):
        _link(profile.log, *pair)
    profile.feed(indexes=False)
    assert profile.ledger.linked("a") == ("a", "b", "c")
    assert profile.ledger.linked("c") == ("c", "a", "b")
    assert profile.ledger.linked("a1") == ("a1", "a2")
    assert profile.ledger.linked("nobody") == ("nobody",)
    _unlink(profile.log, "b", "a")
    profile.feed(indexes=False)
    assert profile.ledger.linked("a") == ("a",)
    assert profile.ledger.linked("b") == ("b", "c")


def test_a_link_brings_in_only_whom_the_caller_may_read(profile: Profile) -> None:
    """Every read that a link widens can be kept within some contacts; the one asked for is never left out."""
    own = {name: profile.state(f"The parcel of {name}", BLUE, key="parcel", scope=name) for name in ("a", "b", "c")}
    for pair in (("a", "b"), ("b", "c")):
        _link(profile.log, *pair)
    for name in own:
        profile.log.contact(f"s-{name}", name)
    profile.feed()
    ledger, may = profile.ledger, frozenset({"a", "c"})
    assert ledger.linked("a", within=may) == ("a", "c")
    assert ledger.linked("a", within=frozenset()) == ("a",)
    assert ledger.session_tokens("a", within=may) == {session_token("s-a"), session_token("s-c")}
    listed = ledger.list_memories(contact="a", now=NOW, within=may).entries
    assert {one.id for one in listed} == {own["a"], own["c"]}
    for within, answer in ((None, "c"), (may, "c"), (frozenset({"b"}), "b"), (frozenset[str](), "a")):
        found = ledger.by_key("parcel", ["a", None], now=NOW, within=within)
        assert found is not None
        assert found.id == own[answer]
        query = RecallQuery(text="parcel", contact="a", within=within)
        hits = recall(profile, query, embed_query=lambda _: BLUE, now=NOW).results
        assert [hit.item.id for hit in hits] == [own[answer]]


def test_a_ring_of_links_ends(profile: Profile) -> None:
    """Links in a ring are one person, and one link less still is."""
    for pair in itertools.combinations(("a", "b", "c"), 2):
        _link(profile.log, *pair)
    _unlink(profile.log, "a", "b")
    profile.feed(indexes=False)
    assert profile.ledger.linked("a") == ("a", "b", "c")


def test_recall_and_list_cover_everybody_linked_and_nobody_else(profile: Profile) -> None:
    """Memories and messages of all names are found under each, before a namesake's; after the unlink as before."""
    log = profile.log
    own = {name: profile.state(f"The parcel is with {name}", BLUE, scope=name) for name in ("a", "b", "a1")}
    said = {name: profile.say(f"parcel for {name}", BLUE, session=f"s-{name}") for name in own}
    for name in own:
        log.append(ContactSet(session=f"s-{name}", contact=name))
    shared = profile.state("Parcels are insured", BLUE)
    profile.feed()
    assert _found(profile, "a") == {own["a"], said["a"], shared}
    _link(log, "a", "b")
    profile.feed()
    together = {own["a"], own["b"], said["a"], said["b"], shared}
    assert _found(profile, "a") == _found(profile, "b") == together
    assert _found(profile, "a1") == {own["a1"], said["a1"], shared}
    listed = profile.ledger.list_memories(contact="b", now=NOW).entries
    assert {one.id for one in listed} == {own["a"], own["b"], shared}
    assert profile.ledger.session_tokens("a") == {session_token("s-a"), session_token("s-b")}
    _unlink(log, "a", "b")
    profile.feed()
    assert _found(profile, "a") == {own["a"], said["a"], shared}
    assert _found(profile, "b") == {own["b"], said["b"], shared}
    assert profile.ledger.session_tokens("a") == {session_token("s-a")}


def test_of_one_key_the_newest_counts_while_linked(profile: Profile) -> None:
    """Asked by key or by question under either name, the newer statement is the answer; unlinked, each has its own."""
    old = profile.state("The parcel is at the bakery", BLUE, key="parcel", scope="a")
    new = profile.state("The parcel is at the station", BLUE, key="Parcel", scope="b")
    other = profile.state("The parcel is lost", BLUE, key="parcel", scope="a1")
    wide = profile.state("The parcel is a box", BLUE, key="parcel")
    _link(profile.log, "a", "b")
    profile.feed()
    for name in ("a", "b"):
        answer = profile.ledger.by_key("parcel", [name, None], now=NOW)
        assert answer is not None
        assert answer.id == new
        assert _found(profile, name) == {new, wide}
    assert _found(profile, "a1") == {other, wide}
    assert _found(profile, "*") >= {old, new, other}
    _unlink(profile.log, "a", "b")
    profile.feed()
    answer = profile.ledger.by_key("parcel", ["a", None], now=NOW)
    assert answer is not None
    assert answer.id == old
    assert _found(profile, "a") == {old, wide}


def test_a_persons_statement_counts_before_an_agents_newer_one(profile: Profile) -> None:
    """Across linked names as within one: an agent never replaces what a person stated, but fills in for it."""
    stated = profile.state("The parcel is at home", BLUE, key="parcel", scope="a", expires_at=NOW + timedelta(hours=1))
    claimed = profile.log.remember("The parcel is gone", key="parcel", scope="b")
    profile.log.envelopes[-1] = _by_agent(profile.log)
    _link(profile.log, "a", "b")
    profile.feed()
    for at, expected in ((NOW, stated), (NOW + timedelta(hours=2), claimed)):
        answer = profile.ledger.by_key("parcel", ["b", None], now=at)
        assert answer is not None
        assert answer.id == expected
    live = profile.ledger.live([stated, claimed], NOW, linked=("a", "b"))
    assert set(live.items) == {stated}
    later = profile.ledger.live([stated, claimed], NOW + timedelta(hours=2), linked=("a", "b"))
    assert set(later.items) == {claimed}


def _by_agent(log: Log) -> Envelope:
    return msgspec.structs.replace(log.envelopes[-1], actor=_AGENT)


def test_contacts_are_listed_with_what_each_has(profile: Profile) -> None:
    """Conversations, live memories, channels, direct links and the whole group, by name, page by page."""
    log = profile.log
    log.message("hello", session="s1")
    log.append(ContactSet(session="s1", contact="ana", channel="mail"))
    log.append(ContactSet(session="s2", contact="ana", channel="chat"))
    log.remember("x", scope="ana")
    gone = log.remember("y", scope="ana")
    log.remember("z", scope="ana", expires_at=NOW)
    log.forget(gone)
    log.remember("agent-wide")
    _link(log, "ana", "bea")
    _link(log, "bea", "cy")
    profile.feed(indexes=False)
    first, second, third = profile.ledger.contacts(now=NOW)
    assert first == ContactRecord(
        contact="ana", conversations=2, memories=1, channels=("chat", "mail"), links=("bea",), group=("bea", "cy")
    )
    assert (second.links, second.group, second.conversations) == (("ana", "cy"), ("ana", "cy"), 0)
    assert third.contact == "cy"
    assert profile.ledger.contacts(now=NOW, limit=1) == [first]
    assert profile.ledger.contacts(now=NOW, after="ana", limit=1) == [second]


def test_a_rebuild_knows_the_same_links_and_settings(profile: Profile, tmp_path: Path) -> None:
    """Applied one by one, all at once, or again after a reopen, links and settings are the same."""
    log = profile.log
    for pair in (("a", "b"), ("b", "c"), ("x", "y")):
        _link(log, *pair)
    _unlink(log, "b", "c")
    _link(log, "c", "a")
    chosen = ProfileSettings(recall=RecallPreferences(fusion="classic", fill=2))
    log.append(SettingsChanged(version=1, settings=ProfileSettings()))
    log.append(SettingsChanged(version=2, settings=chosen))
    for envelope in log.envelopes:
        profile.ledger.apply([envelope], upto=envelope.position)
    rebuilt = Ledger(tmp_path / "rebuilt", indexing())
    rebuilt.apply(log.envelopes, upto=log.position)
    rebuilt.close()
    rebuilt = Ledger(tmp_path / "rebuilt", indexing())
    assert rebuilt.contacts(now=NOW) == profile.ledger.contacts(now=NOW)
    assert rebuilt.linked("b") == ("b", "a", "c")
    assert rebuilt.settings() == profile.ledger.settings() == chosen
    rebuilt.close()
