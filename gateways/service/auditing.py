"""The verb ``audit``: who did what, newest first, read from the log itself.

No view is asked but for whose an event is, so what views drop is still told. The log is read backwards in windows that
grow while they hold little; a page ends when it is full, or when enough time has gone into looking for it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import msgspec

from domain.envelope import Envelope, profile_of
from domain.errors import InvalidInputError, RefusedError
from domain.grants import ALL, Reach
from domain.ids import check_profile
from domain.sealing import SYSTEM
from domain.text import check_name
from gateways.jetstream.log import Entry
from gateways.service.audit_entries import QUIET, action_of, entries_of, erased_entry
from gateways.service.context import Caller, Core
from gateways.service.feed import Owner, linked_with, owners_of
from gateways.service.feed_cache import About
from gateways.service.feeds import about_of
from gateways.service.records import GRANT
from gateways.service.validate import check_limit, check_time
from umbriel.auditing import AuditEntry, AuditReply, AuditRequest

__all__ = ["audit"]

_WINDOW, _WIDEST = 1_000, 100_000
_FEW = 100
_PAGE = 1_000
_SECONDS = 3.0
_NAME_CHARS = 256
_CURSOR = re.compile(r"([0-9]{1,18})\.([0-9]{1,9})\Z")


class _Filter(msgspec.Struct, frozen=True):
    """What is asked for, and what the caller may see."""

    request: AuditRequest
    profile: str
    reach: Reach
    contacts: frozenset[str]

    @property
    def needs_owners(self) -> bool:
        return bool(self.contacts) or self.reach.limited

    def wants(self, topic: str) -> bool:
        """Whether events of a topic may be asked for; what nobody does is shown where it is named."""
        action = self.request.action
        if not action:
            return topic.partition(".")[0] not in QUIET
        return action in {topic, action_of(topic)}

    def passes(self, entry: AuditEntry) -> bool:
        """Whether an entry is what is asked for."""
        request = self.request
        return (
            (not request.principal or entry.principal == request.principal)
            and (not request.memory or any(_is_of(one, request.memory) for one in entry.memories))
            and (request.since is None or entry.at >= request.since)
            and (request.until is None or entry.at < request.until)
        )

    def reaches(self, owner: Owner | None) -> bool:
        """Whether an event about somebody is asked for and within reach; None is the whole profile, or nobody knows."""
        if not self.needs_owners:
            return True
        if owner is None or (self.contacts and self.contacts.isdisjoint(owner.contacts)):
            return False
        return all(map(self.reach.hears if owner.said else self.reach.sees, owner.contacts))


def _is_of(memory: str, wanted: str) -> bool:
    return memory == wanted or memory.partition("@")[0] == wanted


async def audit(core: Core, caller: Caller, profile: str, request: AuditRequest) -> AuditReply:
    """Return a page of what happened, newest first.

    A caller whose grant is for some contacts sees what is about them; refusals are for who administers the profile,
    and the service's own record (profile ``_``) for who administers every one.
    """
    wanted = await _check(core, caller, profile, request)
    last = await core.events.log.last_position()
    if wanted.needs_owners:
        await core.reader.wait_for(last, core.settings.wait_seconds)
    page = _Page(request, last, core.settings.limits.reply_bytes)
    until, width = time.monotonic() + _SECONDS, _WINDOW
    while page.upto > 1 and time.monotonic() < until:
        low = max(0, page.upto - 1 - width)
        found = await _window(core, wanted, low, page.upto)
        if not await _take(core, wanted, page, found):
            return AuditReply(entries=page.entries, position=core.positions.show(last), cursor=page.cursor)
        page.upto, page.skip = low + 1, 0
        width = min(_WIDEST, width * 4) if len(found) < _FEW else width
    cursor = f"{page.upto}.0" if page.upto > 1 else ""
    return AuditReply(entries=page.entries, position=core.positions.show(last), cursor=cursor)


class _Page:
    """The reply as it grows: below ``upto``, after ``skip`` entries of the event right below it were handed out."""

    def __init__(self, request: AuditRequest, last: int, room: int) -> None:
        self.entries: list[AuditEntry] = []
        self.cursor = ""
        self.upto, self.skip = last + 1, 0
        if request.cursor:
            match = _CURSOR.match(request.cursor)
            if match is None:
                raise InvalidInputError("not a cursor", expected="one of an earlier page", found=request.cursor[:40])
            self.upto, self.skip = min(int(match[1]), last + 1), int(match[2])
        self._limit, self._room = request.limit, room

    def take(self, position: int, entries: Sequence[AuditEntry]) -> bool:
        """Add the entries of one event, newest first; False when there is no room for all of them."""
        start = self.skip if position == self.upto - 1 else 0
        for number, entry in enumerate(entries[start:], start=start):
            size = len(msgspec.json.encode(entry)) + 1
            if self.entries and (len(self.entries) == self._limit or size > self._room):
                self.cursor = f"{position + 1}.{number}"
                return False
            self.entries.append(entry)
            self._room -= size
        return True


async def _check(core: Core, caller: Caller, profile: str, request: AuditRequest) -> _Filter:
    if profile == SYSTEM and not caller.reach.admin:
        raise RefusedError(
            "the service's own record is for who administers it", expected="a grant *:admin", found="another"
        )
    if profile != SYSTEM:
        check_profile(profile)
    check_limit(request.limit, core.settings.limits.list_limit)
    for field in ("principal", "action", "contact", "memory"):
        if value := getattr(request, field):
            check_name(value, field=field, max_chars=_NAME_CHARS)
    request = msgspec.structs.replace(
        request, since=check_time(request.since, "since"), until=check_time(request.until, "until")
    )
    contacts: Sequence[str] = ()
    if request.contact not in {"", ALL} and profile != SYSTEM:
        contacts = await linked_with(core, caller.reach, profile, request.contact)
    return _Filter(request, profile, caller.reach, frozenset(contacts))


async def _window(core: Core, wanted: _Filter, low: int, upto: int) -> list[Entry]:
    """Return the events between two positions, both excluded, that may be asked for, newest first."""
    entries = await _between(core, wanted.profile, low, upto)
    if wanted.profile != SYSTEM and wanted.reach.admin:
        entries += [one for one in await _between(core, SYSTEM, low, upto) if one.topic.startswith("refusal.")]
    chosen = [one for one in entries if one.topic and wanted.wants(one.topic)]
    return sorted(chosen, key=lambda one: one.position, reverse=True)


async def _between(core: Core, profile: str, low: int, upto: int) -> list[Entry]:
    found: list[Entry] = []
    after = low
    while page := await core.events.log.read(after, _PAGE, profile):
        found += [entry for entry in page if entry.position < upto]
        after = page[-1].position
        if after >= upto - 1 or len(page) < _PAGE:
            break
    return found


async def _take(core: Core, wanted: _Filter, page: _Page, entries: Sequence[Entry]) -> bool:
    """Add what is asked for of a window; False when the page is full."""
    events = [(entry, await core.events.opened(entry)) for entry in entries]
    owners = await _owners(core, wanted, [envelope for _, envelope in events if envelope is not None])
    for entry, envelope in events:
        shown = _shown(core, wanted, entry, envelope, owners)
        if not page.take(entry.position, [one for one in shown if wanted.passes(one)]):
            return False
    return True


def _shown(
    core: Core,
    wanted: _Filter,
    entry: Entry,
    envelope: Envelope | None,
    owners: dict[About | None, Owner | None],
) -> list[AuditEntry]:
    position = core.positions.show(entry.position)
    if envelope is None:
        # Whose it was went with its key.
        return [] if wanted.needs_owners else [erased_entry(entry.topic, entry.recorded_at, position)]
    if profile_of(entry.originator_id) == SYSTEM and wanted.profile != SYSTEM:
        event = envelope.data
        ours = getattr(event, "rule", "") == GRANT and getattr(event, "profile", "") == wanted.profile
        return entries_of(envelope, position) if ours and not wanted.contacts else []
    if not wanted.reaches(owners.get(about_of(envelope.data))):
        return []
    shown = entries_of(envelope, position)
    refusal = envelope.topic.startswith("refusal.")
    return [] if refusal and not wanted.reach.admin else shown


async def _owners(core: Core, wanted: _Filter, envelopes: Sequence[Envelope]) -> dict[About | None, Owner | None]:
    if not wanted.needs_owners:
        return {}
    abouts = frozenset(about for one in envelopes if (about := about_of(one.data)) is not None)
    return await owners_of(core, wanted.profile, abouts)
