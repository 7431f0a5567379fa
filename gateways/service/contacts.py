"""The verbs of contacts: link, unlink, list. Who is one person is resolved by the ledger when something is read."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.contacts import ContactLink, pair_of
from domain.errors import InvalidInputError, NotFoundError
from domain.ids import check_profile, keyed_id, originator_id
from domain.text import check_name
from gateways.service.aggregates import change, ensure_profile
from gateways.service.context import Caller, Core
from gateways.service.validate import check_limit
from umbriel.admin import (
    ContactInfo,
    ContactsReply,
    ContactsRequest,
    LinkReply,
    LinkRequest,
    UnlinkRequest,
)

__all__ = ["link_contact", "list_contacts", "unlink_contact"]


async def link_contact(core: Core, caller: Caller, profile: str, request: LinkRequest) -> LinkReply:
    """Say that two contacts are one person."""
    pair = pair_of(_name(core, request.contact, "contact"), _name(core, request.to, "to"))
    await ensure_profile(core, caller, profile)
    done, position = await _change(core, caller, profile, pair, link=True)
    return await _reply(core, profile, request.contact, [pair] if done else [], position)


async def unlink_contact(core: Core, caller: Caller, profile: str, request: UnlinkRequest) -> LinkReply:
    """Take back the link of a pair, or every link that names a contact.

    Raises InvalidInputError for two that are one only through others: the link to take back is one of those.
    """
    contact, other = _name(core, request.contact, "contact"), request.other and _name(core, request.other, "other")
    check_profile(profile)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    async with core.profiles.use(profile) as opened:
        ledger = opened.views.ledger
        links = await core.in_thread(lambda: ledger.links(contact))
        if other and other not in links and other in await core.in_thread(lambda: ledger.linked(contact)[1:]):
            raise InvalidInputError(
                f"{contact!r} and {other!r} are linked only through others; unlink one of those pairs",
                expected="a pair that was linked",
                found=f"{contact!r} is linked to {', '.join(map(repr, links))}",
            )
    changed, position = [], 0
    for pair in [pair_of(contact, one) for one in ([other] if other else links)]:
        done, at = await _change(core, caller, profile, pair, link=False)
        position = max(position, at)
        changed += [pair] if done else []
    return await _reply(core, profile, contact, changed, position)


def _name(core: Core, contact: str, field: str) -> str:
    if contact == "*":
        raise InvalidInputError(f"{field} is not a contact", expected="a contact's name", found="'*', which is all")
    return check_name(contact, field=field, max_chars=core.settings.limits.contact_chars)


async def _change(core: Core, caller: Caller, profile: str, pair: tuple[str, str], *, link: bool) -> tuple[bool, int]:
    secret = await core.events.secret(profile)
    aggregate_id = originator_id(profile, ContactLink.CATEGORY, keyed_id(secret, "contacts", *pair))

    def decide(aggregate: ContactLink) -> bool:
        return (aggregate.link if link else aggregate.unlink)(*pair, caller.context())

    return await change(core, ContactLink, aggregate_id, decide)


async def _reply(core: Core, profile: str, contact: str, changed: list[tuple[str, str]], position: int) -> LinkReply:
    """Answer when the ledger has seen the change, so that the next read of anybody here uses it."""
    position = position or await core.events.log.last_position()
    await core.reader.wait_until(lambda: core.reader.passed >= position, core.settings.wait_seconds)
    async with core.profiles.use(profile) as opened:
        group = await core.in_thread(lambda: opened.views.ledger.linked(contact))
    return LinkReply(changed=tuple(changed), group=group, position=core.positions.show(position))


async def list_contacts(core: Core, profile: str, request: ContactsRequest) -> ContactsReply:
    """Return a page of contacts by name, with what each has."""
    check_profile(profile)
    limit = check_limit(request.limit, core.settings.limits.list_limit)
    at_least = core.positions.read(request.at_least, field="at_least")
    await core.reader.wait_for(at_least, core.settings.wait_seconds)
    if not await core.known_profile(profile):
        return ContactsReply(contacts=(), position=core.positions.show(core.reader.passed))
    async with core.profiles.use(profile) as opened:
        core.check_running(opened)
        ledger, now = opened.views.ledger, datetime.now(UTC)
        found = await core.in_thread(lambda: ledger.contacts(now=now, after=request.cursor, limit=limit + 1))
        return ContactsReply(
            contacts=tuple(
                ContactInfo(
                    contact=one.contact,
                    conversations=one.conversations,
                    memories=one.memories,
                    channels=one.channels,
                    links=one.links,
                    group=one.group,
                )
                for one in found[:limit]
            ),
            cursor=found[limit - 1].contact if len(found) > limit else "",
            position=core.positions.show(core.applied(opened)),
        )
