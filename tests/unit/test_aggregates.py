"""The small aggregates: a profile comes into being once, a conversation is attached once."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.conversation import Conversation
from domain.envelope import Actor
from domain.events import ContactSet, ProfileCreated
from domain.kernel import Context
from domain.profile import Profile

_CONTEXT = Context(actor=Actor("ana", "person"), now=datetime(2026, 1, 1, tzinfo=UTC), cause="c", correlation="o")


def test_a_profile_is_created_once() -> None:
    """The second creation does nothing, also after a replay; the event is under the profile's own key."""
    profile = Profile("p.profile.x")
    assert profile.create("p", _CONTEXT)
    assert not profile.create("p", _CONTEXT)
    (created,) = profile.collect_events()
    assert (created.data, created.key_scope, created.originator_version) == (ProfileCreated(name="p"), "profile", 1)
    assert not Profile.replay("p.profile.x", [created]).create("p", _CONTEXT)


def test_a_conversation_is_attached_once() -> None:
    """The same contact again does nothing; another contact or channel is recorded under the conversation's key."""
    talk = Conversation("p.conversation.x")
    assert talk.set_contact("s1", "ana", "chat", _CONTEXT)
    assert not talk.set_contact("s1", "ana", "chat", _CONTEXT)
    assert not talk.set_contact("s1", "ana", "", _CONTEXT)
    assert talk.set_contact("s1", "ana", "mail", _CONTEXT)
    assert talk.set_contact("s1", "bea", "", _CONTEXT)
    recorded = talk.collect_events()
    assert [one.data for one in recorded] == [
        ContactSet(session="s1", contact="ana", channel="chat"),
        ContactSet(session="s1", contact="ana", channel="mail"),
        ContactSet(session="s1", contact="bea"),
    ]
    assert {one.key_scope for one in recorded} == {"conversation:s1"}
    replayed = Conversation.replay("p.conversation.x", recorded)
    assert (replayed.contact, replayed.channel) == (talk.contact, talk.channel) == ("bea", "mail")


def test_an_event_says_what_it_follows_from() -> None:
    """Actor, time, cause and correlation of the command are the event's; its version counts from 1."""
    profile = Profile("p.profile.x")
    profile.create("p", _CONTEXT)
    (created,) = profile.pending_events
    assert (created.actor, created.recorded_at) == (_CONTEXT.actor, _CONTEXT.now)
    assert (created.cause, created.correlation, created.profile) == ("c", "o", "p")
    assert profile.version == 1
