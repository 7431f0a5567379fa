"""Exports: a profile's events page by page, each as a line, without what was forgotten, as far as the caller sees.

A page is bounded in bytes and follows from its request alone, so an export takes no memory here however long it is,
and goes on after any position.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from domain.envelope import Envelope
from domain.errors import DamagedError, InvalidInputError, MismatchError, NotFoundError
from domain.events import EmbeddingComputed, Event
from domain.exporting import PROOF_CHARS
from domain.grants import Reach
from domain.text import check_name
from gateways.jetstream.codec import open as open_entry
from gateways.jetstream.keys import Key
from gateways.jetstream.wire import Entry
from gateways.service.chains import previous_ids
from gateways.service.context import Core
from gateways.service.export_lines import clear_line, encrypted_line, erased_line
from gateways.service.export_proving import seal_of, signer_of
from gateways.service.export_redacting import Gone, gone_of, shown
from gateways.service.feed import CATEGORIES, Owner, linked_with, owners_of
from gateways.service.feed_cache import About
from gateways.service.feeds import about_of
from projections.ledger import Ledger
from umbriel.exports import FORMAT, ExportReply, ExportRequest, HeaderData

__all__ = ["export"]

#: events read at once: about what one reply holds of embeddings
_CHUNK = 300
_OVERHEAD = 1_000
#: what a line feed and a proof add to a line
_PROOF = 1 + PROOF_CHARS + len(',"proof":""')


class _Wanted(msgspec.Struct, frozen=True):
    """What a request asks for, checked."""

    profile: str
    reach: Reach
    request: ExportRequest
    categories: frozenset[str]
    contacts: frozenset[str]
    after: int
    until: int

    def fits(self, entry: Entry) -> bool:
        """Whether an event is asked for as far as its clear fields tell."""
        since, before = self.request.since, self.request.before
        return (
            entry.topic.split(".", 1)[0] in self.categories
            and (since is None or entry.recorded_at >= since)
            and (before is None or entry.recorded_at < before)
        )

    def header(self, until: str, principal: str) -> HeaderData:
        """Return what the header of the file says of it, as far as proofs are bound to that."""
        asked = self.request
        return HeaderData(
            format=FORMAT,
            profile=self.profile,
            log=until.rpartition(":")[0],
            encrypted=asked.encrypted,
            vectors=asked.vectors,
            until=until,
            kinds=asked.kinds,
            contact=asked.contact,
            since=asked.since,
            before=asked.before,
            principal=principal,
        )

    @property
    def needs_owners(self) -> bool:
        """Whether some events are somebody's who was not asked for, or is out of reach."""
        return bool(self.contacts) or self.reach.limited

    def passes(self, owner: Owner | None) -> bool:
        """Whether an event about somebody is asked for and within reach: the feed's rule."""
        if owner is None or (self.contacts and self.contacts.isdisjoint(owner.contacts)):
            return False
        return all(map(self.reach.hears if owner.said else self.reach.sees, owner.contacts))


class _Read(msgspec.Struct, frozen=True):
    """An event as it lies in the log and as it reads; None where its key was destroyed."""

    entry: Entry
    key: Key | None
    envelope: Envelope | None


async def export(core: Core, reach: Reach, profile: str, request: ExportRequest, principal: str = "") -> ExportReply:
    """Return the next lines of an export after ``request.after``, in the order of the log.

    The first reply says where the export ends; what is written meanwhile is not part of it. Raises NotFoundError for
    a profile that does not exist, MismatchError for a position of another log.
    """
    wanted = await _check(core, reach, profile, request)
    if request.stretch:
        seal = await seal_of(core, request.stretch)
        return ExportReply(lines=[], position=request.after, until=request.until, done=False, seal=seal)
    await core.reader.wait_for(wanted.until, core.settings.wait_seconds)
    show = core.positions.show
    header = wanted.header(show(wanted.until), principal)
    signer = await signer_of(core, request, header, wanted.until) if request.proofs else None
    lines: list[msgspec.Raw] = []
    room, at = core.settings.limits.reply_bytes - _OVERHEAD, wanted.after
    full = False
    while at < wanted.until and not full:
        entries = [one for one in await core.events.log.read(at, _CHUNK, profile) if one.position <= wanted.until]
        for entry, line in await _lines(core, wanted, at, entries):
            if line is not None and lines and len(line) + _PROOF > room:
                full = True
                break
            if line is not None:
                lines.append(msgspec.Raw(signer.sign(entry, line) if signer else line))
                room -= len(line) + _PROOF
            at = entry.position
        if not entries:
            at = wanted.until
    reply = ExportReply(lines=lines, position=show(at), until=show(wanted.until), done=at >= wanted.until)
    return await signer.finish(reply) if signer else reply


async def _check(core: Core, reach: Reach, profile: str, request: ExportRequest) -> _Wanted:
    unknown = set(request.kinds) - CATEGORIES
    if unknown:
        raise InvalidInputError(
            "unknown event category", expected=", ".join(sorted(CATEGORIES)), found=", ".join(sorted(unknown))
        )
    for name, moment in (("since", request.since), ("before", request.before)):
        _check_zone(name, moment)
    if request.contact:
        check_name(request.contact, field="contact", max_chars=core.settings.limits.contact_chars)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    last = await core.events.log.last_position()
    until = core.positions.read(request.until, field="until") or last
    after = core.positions.read(request.after, field="after")
    if max(after, until) > last:
        raise MismatchError(
            "a position that this log has not reached",
            expected=f"at most {core.positions.show(last)}",
            found=core.positions.show(max(after, until)),
        )
    contacts = await linked_with(core, reach, profile, request.contact) if request.contact else ()
    categories = frozenset(request.kinds) or CATEGORIES
    return _Wanted(profile, reach, request, categories, frozenset(contacts), after, until)


def _check_zone(name: str, moment: datetime | None) -> None:
    if moment is not None and moment.tzinfo is None:
        raise InvalidInputError(f"{name} has no time zone", expected="a time with an offset", found=moment.isoformat())


async def _lines(core: Core, wanted: _Wanted, after: int, entries: Sequence[Entry]) -> list[tuple[Entry, bytes | None]]:
    """Return every entry with its line, None where it is not wanted or out of reach."""
    chosen = [await _read(core, wanted.profile, entry) for entry in entries if wanted.fits(entry)]
    before = await previous_ids(core, wanted.profile, after, entries, {one.entry.position for one in chosen})
    async with core.profiles.use(wanted.profile) as opened:
        core.check_running(opened)
        ledger = opened.views.ledger
        readable = [one.envelope for one in chosen if one.envelope is not None]
        gone = await core.in_thread(lambda: gone_of(ledger, readable))
        seen = await _seen(core, wanted, ledger, readable, gone)
    lines = {}
    for one in chosen:
        if one.envelope is None and not wanted.needs_owners:
            lines[one.entry.position] = erased_line(one.entry, core.positions, previous=before[one.entry.position])
        elif one.envelope is not None and one.entry.position in seen:
            lines[one.entry.position] = _line(core, wanted, one, gone, before[one.entry.position])
    return [(entry, lines.get(entry.position)) for entry in entries]


def _line(core: Core, wanted: _Wanted, read: _Read, gone: Gone, previous: str) -> bytes:
    envelope, request = read.envelope, wanted.request
    assert envelope is not None  # noqa: S101 -- the caller has looked
    event = shown(envelope.data, envelope.position, gone)
    if request.encrypted:
        pair = envelope, event
        return encrypted_line(read.entry, read.key, pair, core.positions, previous=previous, vectors=request.vectors)
    return clear_line(
        envelope, event, core.positions, previous=previous, item=gone.item(event), vectors=request.vectors
    )


async def _read(core: Core, profile: str, entry: Entry) -> _Read:
    try:
        key = await core.events.keys.by_id(profile, entry.key_id) if entry.key_id else None
        if key is None and entry.key_id:
            return _Read(entry, None, None)
        return _Read(entry, key, open_entry(entry, key))
    except DamagedError as error:
        raise DamagedError(
            f"the export of {profile} cannot go on: {error.message}",
            expected=f"readable events, or --after {core.positions.show(entry.position)} to pass over this",
            found=error.found,
        ) from error


async def _seen(core: Core, wanted: _Wanted, ledger: Ledger, envelopes: Sequence[Envelope], gone: Gone) -> set[int]:
    """Return the positions of the events that are asked for and within reach."""
    if not wanted.needs_owners:
        return {one.position for one in envelopes}
    about = {one.position: _about(ledger, one.data, gone) for one in envelopes}
    owners = await owners_of(core, wanted.profile, frozenset(one for one in about.values() if one is not None))
    return {position for position, one in about.items() if wanted.passes(owners.get(one))}


def _about(ledger: Ledger, event: Event, gone: Gone) -> About | None:
    """Vectors are whose the text is; those of nothing that is left are nobody's to see."""
    if not isinstance(event, EmbeddingComputed):
        return about_of(event)
    item = gone.item(event)
    if "@" in item:
        return About("memory", item)
    found = ledger.messages([item]) if item else {}
    return About("session", found[item].session) if item in found else None
