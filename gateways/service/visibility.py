"""Whose events are, and who may see them: one rule for the feed and for exports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from domain.grants import Reach
from gateways.service.context import Core
from gateways.service.feed_cache import BETWEEN, About
from projections.ledger import Ledger

__all__ = ["Owner", "linked_contacts", "owners_of", "passes"]


class Owner(msgspec.Struct, frozen=True):
    """Whom an event is about: a contact (empty: nobody); ``said`` in a conversation, or remembered.

    A link is about two, who are both ``contacts``.
    """

    contacts: tuple[str, ...]
    said: bool = False


def passes(reach: Reach, contacts: AbstractSet[str], owner: Owner | None) -> bool:
    """Whether an event about somebody is of these contacts (empty: of anybody) and within reach."""
    if owner is None or (contacts and contacts.isdisjoint(owner.contacts)):
        return False
    return all(map(reach.hears if owner.said else reach.sees, owner.contacts))


async def linked_contacts(core: Core, reach: Reach, profile: str, contact: str) -> Sequence[str]:
    """Return whose events are asked for: a contact's, and those of all it is linked with and the caller may read."""
    if not await core.known_profile(profile):
        return (contact,)
    async with core.profiles.use(profile) as opened:
        return await core.in_thread(lambda: opened.views.ledger.linked(contact, within=reach.reads))


async def owners_of(core: Core, profile: str, named: Iterable[About | None]) -> dict[About | None, Owner | None]:
    """Return whom events are about, from one look into the ledger.

    A message belongs to the contact its conversation is attached to now.
    """
    abouts = {one for one in named if one is not None}
    known = [one for one in abouts if one.by in {"said", "remembered", "link"}]
    rest = list(abouts.difference(known))
    owners: dict[About | None, Owner | None] = {
        one: Owner(tuple(one.value.split(BETWEEN)), said=one.by == "said") for one in known
    }
    if not rest:
        return owners
    async with core.profiles.use(profile) as opened:
        if "ledger" in opened.views.stopped:
            core.check_running(opened)
        owners.update(await core.in_thread(lambda: _look_up(opened.views.ledger, rest)))
    return owners


def _look_up(ledger: Ledger, abouts: Sequence[About]) -> dict[About | None, Owner | None]:
    memories = ledger.memories([one.value for one in abouts if one.by == "memory"])
    owners: dict[About | None, Owner | None] = {}
    for one in abouts:
        if one.by == "memory":
            record = memories.get(one.value)
            owners[one] = None if record is None else Owner((record.scope or "",))
        else:
            conversation = ledger.conversation(one.value)
            owners[one] = Owner(("" if conversation is None else conversation.contact,), said=True)
    return owners
