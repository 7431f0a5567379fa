"""The link between two contacts: given events, when a command, then events."""

from __future__ import annotations

import pytest

from domain.contacts import ContactLink, pair_of
from domain.errors import InvalidInputError
from domain.events import ContactsLinked, ContactsUnlinked
from domain.kinds import contact_scope, contacts_scope
from tests.unit.given import AGENT, context

_ID = "p.profile.x"


def test_a_pair_is_linked_once_whichever_is_named_first() -> None:
    """The second link does nothing, in either order and after a replay; the pair is recorded in one order."""
    link = ContactLink(_ID)
    assert link.link("bea", "ana", context())
    assert not link.link("ana", "bea", context(AGENT))
    (event,) = link.collect_events()
    assert event.data == ContactsLinked(first="ana", second="bea")
    assert not ContactLink.replay(_ID, [event]).link("bea", "ana", context())


def test_a_link_is_taken_back_once_and_made_again() -> None:
    """Unlinking undoes a link, twice does nothing, and the pair can be linked again."""
    link = ContactLink(_ID)
    assert not link.unlink("ana", "bea", context())
    link.link("ana", "bea", context())
    assert link.unlink("bea", "ana", context())
    assert not link.unlink("ana", "bea", context())
    assert link.link("ana", "bea", context())
    recorded = link.collect_events()
    pair = {"first": "ana", "second": "bea"}
    assert [one.data for one in recorded] == [ContactsLinked(**pair), ContactsUnlinked(**pair), ContactsLinked(**pair)]
    assert ContactLink.replay(_ID, recorded).linked


def test_nobody_is_linked_to_themselves() -> None:
    """A contact and itself are refused, and nothing is recorded; a prefix of a name is somebody else."""
    link = ContactLink(_ID)
    with pytest.raises(InvalidInputError):
        link.link("ana", "ana", context())
    assert not link.pending_events
    assert pair_of("ana1", "ana") == ("ana", "ana1")


def test_a_link_has_a_key_of_its_own() -> None:
    """Its key is neither contact's, so that erasing either can destroy it; no two pairs share one."""
    link = ContactLink(_ID)
    link.link("ana", "bea", context())
    link.unlink("ana", "bea", context())
    scopes = {one.key_scope for one in link.collect_events()}
    assert scopes == {contacts_scope("bea", "ana")}
    assert not scopes & {contact_scope("ana"), contact_scope("bea")}
    assert contacts_scope("a", "b:c") != contacts_scope("a:b", "c")
    assert contacts_scope("a", "1:b") != contacts_scope("a:1", "b")
