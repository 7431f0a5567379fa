"""One contact among 10,000: what is theirs is found, whatever is nearer and not theirs; nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.events import ContactSet
from domain.grants import Grant, Principal, reach
from gateways.service.recalling import query_of
from projections.recall import recall
from tests.builders import NOW, unit
from tests.integration.test_recall import BLUE, Profile
from umbriel.types import RecallRequest

MANY = 10_000
#: whom the grant is for, written so that others' names begin, end or fold alike
CONTACT = "c5000"
QUESTION = "what is the locker code"
NEAR, FAR = BLUE, unit(0.6, 0.8, 0, 0)
CHANNELS = ("key", "vector", "keyword", "message_vector", "message_keyword")


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profile]:
    """Each contact has a memory and a message about the same thing; everybody else's are nearer to the question."""
    root: Path = tmp_path_factory.mktemp("crowd")
    profile = Profile(root)
    for number in range(MANY):
        contact = f"c{number}"
        own = contact == CONTACT
        vector = FAR if own else NEAR
        # The others say the question's words more often, so that every score of theirs is higher too.
        words = "locker code" if own else "the locker code is the locker code"
        profile.state(f"{contact} {words}", vector, key="locker code", scope=contact)
        profile.log.append(ContactSet(session=f"s-{contact}", contact=contact))
        profile.say(f"{contact} says {words}", vector, session=f"s-{contact}")
    profile.state("everybody's locker code", FAR, key="locker code")
    profile.say("nobody's locker code", FAR, session="s-none")
    profile.feed()
    yield profile
    profile.close()


def asked(crowd: Profile, contact: str, channels: tuple[str, ...] = (), *, limit: int = 20) -> list[tuple[str, str]]:
    """What a grant for one contact recalls: (kind, contact) of each result."""
    request = RecallRequest(query=QUESTION, contact=contact, channels=list(channels), limit=limit)
    granted = reach(Principal("one", "agent", (Grant("p", "read", (CONTACT,)),)), "p")
    answer = recall(crowd, query_of(request, granted), embed_query=lambda _: BLUE, now=NOW)
    return [(hit.item.kind, hit.item.contact) for hit in answer.results]


@pytest.mark.parametrize("channel", ["", *CHANNELS])
def test_theirs_is_found_and_nothing_else(crowd: Profile, channel: str) -> None:
    """By every channel and by all together: the contact's own first things are there, no other contact's is."""
    found = asked(crowd, CONTACT, (channel,) if channel else ())
    wanted = {("message", CONTACT)} if channel.startswith("message") else {("fact", CONTACT), ("fact", "")}
    assert set(found) == (wanted if channel else {("message", CONTACT), ("fact", CONTACT), ("fact", "")})
    assert len(found) == len(set(found))


@pytest.mark.parametrize("channel", ["", *CHANNELS])
def test_without_a_contact_only_what_is_agent_wide(crowd: Profile, channel: str) -> None:
    """A grant for one contact that names none hears no session at all, not even those without a contact."""
    found = asked(crowd, "", (channel,) if channel else ())
    assert set(found) == (set() if channel.startswith("message") else {("fact", "")})


def test_the_others_are_there(crowd: Profile) -> None:
    """The control: whoever may hear all finds the nearer ones of others first, and not this contact's."""
    everything = reach(Principal("all", "agent", (Grant("p", "read"),)), "p")
    request = RecallRequest(query=QUESTION, contact="*", limit=200)
    answer = recall(crowd, query_of(request, everything), embed_query=lambda _: BLUE, now=NOW)
    contacts = {hit.item.contact for hit in answer.results}
    assert len(answer.results) == 200
    assert CONTACT not in contacts
    assert len(contacts) > 100


@pytest.mark.parametrize("alike", ["c500", "c50000", "C5000", "c5000 ", "c500%", "c____", "c5*", "*c5000", "'c5000'"])
def test_names_that_are_alike(crowd: Profile, alike: str) -> None:
    """A contact's name is no prefix, pattern or query: another name finds only what is that name's, and agent-wide."""
    listed = crowd.ledger.list_memories(now=NOW, contact=alike, limit=500)
    assert {record.scope for record in listed.entries} <= {alike, None}
    assert {contact for _, contact in asked(crowd, alike)} <= {alike, ""}
