"""The feed: a profile's events after a position, as a long poll that the client repeats."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec

from domain.errors import InvalidInputError, MismatchError, UmbrielError
from domain.grants import Reach
from domain.ids import check_profile
from domain.text import check_name
from gateways.service.context import Core
from gateways.service.feed_cache import BETWEEN, About, Item, View
from gateways.service.feeds import QUIET
from gateways.service.validate import check_limit
from projections.ledger import Ledger
from umbriel.types import FeedRequest

__all__ = ["CATEGORIES", "NEW", "QUIET", "FeedPage", "Owner", "feed", "linked_with", "owners_of"]

#: The ``after`` that asks for the position of the log's end: only what comes later is wanted.
NEW = "new"
_LOUD = frozenset(
    {"message", "conversation", "memory", "extraction", "reflection", "goal", "profile", "refusal", "seal", "upkeep"}
)
#: Every category that a feed or an export may ask for.
CATEGORIES = _LOUD | QUIET
#: Seconds one request reads on over events that its filter leaves out, when it does not wait longer anyway.
_SCAN_SECONDS = 5.0


class FeedPage(msgspec.Struct, frozen=True):
    """A `FeedReply` whose events are encoded already, once for every subscriber."""

    events: list[msgspec.Raw]
    position: str


class Owner(msgspec.Struct, frozen=True):
    """Whom an event is about: a contact (empty: nobody); ``said`` in a conversation, or remembered.

    A link is about two, who are both ``contacts``.
    """

    contacts: tuple[str, ...]
    said: bool = False


class _Filter(msgspec.Struct, frozen=True):
    profile: str
    categories: frozenset[str]
    contacts: frozenset[str]
    reach: Reach

    @property
    def view(self) -> View:
        return self.profile, not self.categories.isdisjoint(QUIET)

    @property
    def needs_owners(self) -> bool:
        return bool(self.contacts) or self.reach.limited

    def passes(self, owner: Owner | None) -> bool:
        """Whether an event about somebody is wanted and within reach; None is the whole profile."""
        if owner is None or (self.contacts and self.contacts.isdisjoint(owner.contacts)):
            return False
        return all(map(self.reach.hears if owner.said else self.reach.sees, owner.contacts))


class _Page:
    """The reply as it grows, bounded by count and by bytes."""

    def __init__(self, after: int, *, limit: int, max_bytes: int) -> None:
        self.after = after
        self.events: list[msgspec.Raw] = []
        self._limit = limit
        self._room = max_bytes

    def take(self, item: Item) -> bool:
        """Add an event; False when it has no room any more (the first one always has)."""
        if self.events and (len(self.events) == self._limit or len(item.raw) > self._room):
            return False
        self.events.append(msgspec.Raw(item.raw))
        self._room -= len(item.raw) + 1
        self.after = item.position
        return True


async def feed(core: Core, reach: Reach, profile: str, request: FeedRequest) -> FeedPage:
    """Return events after a position in log order, waiting up to ``wait`` seconds for the first one.

    The reply's position is where to ask next: it passes over what the filter and the caller's ``reach`` leave out.
    Without ``wait`` the reply holds everything that was in the log when it was asked for, as far as it fits. Raises
    MismatchError for a position of another log, or one that this log has not reached.
    """
    wanted = await _check(core, reach, profile, request)
    if request.after == NEW:
        return FeedPage([], core.positions.show(await core.events.log.last_position()))
    page = _Page(await _start(core, request.after), limit=request.limit, max_bytes=core.settings.limits.reply_bytes)
    wait = request.wait
    deadline = time.monotonic() + wait
    until = max(deadline, time.monotonic() + _SCAN_SECONDS)
    full = await _fill(core, wanted, page, until)
    if wait <= 0 and not full:
        await core.feeds.reach(await core.events.log.last_position(), core.settings.wait_seconds)
        await _know_owners(core, wanted, core.settings.wait_seconds)
        await _fill(core, wanted, page, until)
    while not page.events and (remaining := deadline - time.monotonic()) > 0:
        await core.feeds.wait(wanted.view, wanted.categories, page.after, remaining)
        await _know_owners(core, wanted, max(deadline - time.monotonic(), 0))
        await _fill(core, wanted, page, until)
    return FeedPage(page.events, core.positions.show(page.after))


async def _check(core: Core, reach: Reach, profile: str, request: FeedRequest) -> _Filter:
    check_profile(profile)
    limits = core.settings.limits
    check_limit(request.limit, limits.feed_limit)
    if not 0 <= request.wait <= limits.feed_wait_seconds:
        raise InvalidInputError(
            "wait is out of range", expected=f"0 to {limits.feed_wait_seconds:g} seconds", found=f"{request.wait:g}"
        )
    if request.contact:
        check_name(request.contact, field="contact", max_chars=limits.contact_chars)
    unknown = set(request.kinds) - CATEGORIES
    if unknown:
        raise InvalidInputError(
            "unknown event category", expected=", ".join(sorted(CATEGORIES)), found=", ".join(sorted(unknown))
        )
    contacts = await linked_with(core, reach, profile, request.contact) if request.contact else ()
    return _Filter(profile, frozenset(request.kinds) or _LOUD, frozenset(contacts), reach)


async def linked_with(core: Core, reach: Reach, profile: str, contact: str) -> Sequence[str]:
    """Return whose events are asked for: a contact's, and those of all it is linked with and the caller may read."""
    if not await core.known_profile(profile):
        return (contact,)
    async with core.profiles.use(profile) as opened:
        return await core.in_thread(lambda: opened.views.ledger.linked(contact, within=reach.reads))


async def _start(core: Core, position: str) -> int:
    """Return the sequence to read after; one behind the log's end would pass over events still to come."""
    after = core.positions.read(position, field="after")
    if after <= core.feeds.passed:
        return after
    last = await core.events.log.last_position()
    if after > last:
        raise MismatchError(
            "after is a position that this log has not reached",
            expected=f"at most {core.positions.show(last)}",
            found=position,
        )
    return after


async def _know_owners(core: Core, wanted: _Filter, seconds: float) -> None:
    """Whose an event is, the ledger knows once the reader has passed it; what is beyond is for the next page."""
    if wanted.needs_owners:
        here = core.feeds.passed
        await core.reader.wait_until(lambda: core.reader.passed >= here, seconds)


async def _fill(core: Core, wanted: _Filter, page: _Page, until: float) -> bool:
    """Read on until the page is full or the time is over (True), or all is read (False)."""
    try:
        return await _read_on(core, wanted, page, until)
    except UmbrielError:
        if not page.events:
            raise
        return True  # what was read goes out; the next request meets the error


async def _read_on(core: Core, wanted: _Filter, page: _Page, until: float) -> bool:
    while True:
        found = await core.feeds.after(wanted.view, page.after)
        if found is None:
            return False
        items, end = found
        if wanted.needs_owners:
            end = min(end, core.reader.passed)
            if end <= page.after:
                return False
            items = [item for item in items if item.position <= end]
        chosen = [item for item in items if item.category in wanted.categories]
        if wanted.needs_owners:
            owners = await _owners(core, wanted.profile, chosen)
            chosen = [item for item in chosen if wanted.passes(owners.get(item.about))]
        if not all(map(page.take, chosen)):
            return True
        page.after = end
        if time.monotonic() > until:
            return True
        await asyncio.sleep(0)  # others get a turn, however much is there


async def _owners(core: Core, profile: str, items: Sequence[Item]) -> dict[About | None, Owner | None]:
    """Return whom the events of a page are about, from one look into the ledger."""
    return await owners_of(core, profile, frozenset(item.about for item in items if item.about is not None))


async def owners_of(core: Core, profile: str, abouts: frozenset[About]) -> dict[About | None, Owner | None]:
    """Return whom events are about, by what tells it; None for what the ledger does not know.

    A message belongs to the contact its conversation is attached to now.
    """
    named = [one for one in abouts if one.by in {"said", "remembered", "link"}]
    rest = list(abouts.difference(named))
    owners: dict[About | None, Owner | None] = {
        one: Owner(tuple(one.value.split(BETWEEN)), said=one.by == "said") for one in named
    }
    if not rest:
        return owners
    async with core.profiles.use(profile) as opened:
        if "ledger" in opened.views.stopped:
            core.check_running(opened)
        owners.update(await core.in_thread(lambda: look_up_owners(opened.views.ledger, rest)))
    return owners


def look_up_owners(ledger: Ledger, abouts: Sequence[About]) -> dict[About | None, Owner | None]:
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
