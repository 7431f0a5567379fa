"""Events of another log find their place here: subject, key, and what they may say.

Ids that depend on a profile's secret are made anew; those that people see stay. What is forgotten, rejected or erased
here stays out: an event comes without the words, or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from domain.envelope import Envelope
from domain.errors import ErasedError, InvalidInputError
from domain.events import (
    EmbeddingComputed,
    EmbeddingFailed,
    ErasureLifted,
    Event,
    ImportStarted,
    KeyDestroyed,
    LogRecovered,
    MemoryRemembered,
    MemoryRestored,
    PrincipalChanged,
    ProfileCreated,
    ProfileDeleted,
    ProfileErased,
    ProfileImported,
    SealMade,
)
from domain.grants import ALL
from domain.homes import memories_of, scope_of, subject_parts
from domain.ids import keyed_id, originator_id
from domain.indexing import HasScope
from domain.redacting import Forgotten, Tombstone
from domain.text import skeleton
from gateways.service.context import Core
from gateways.service.export_redacting import Gone, shown
from gateways.service.import_reading import Incoming
from gateways.service.profiles import OpenProfile
from gateways.service.tombstones import blocked
from projections.ledger import Ledger
from umbriel.imports import Outcome

__all__ = ["Placed", "place"]


#: What is imported stands behind everything that was forgotten at a place of the log.
_LATER = 2**62
#: Facts of the log that they were exported from.
_OF_ITS_LOG = (
    EmbeddingFailed,
    ErasureLifted,
    ImportStarted,
    KeyDestroyed,
    LogRecovered,
    PrincipalChanged,
    ProfileDeleted,
    ProfileErased,
    ProfileImported,
    SealMade,
)


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A line with its event as it would stand here, or with its outcome where it is not to stand here.

    An event that says less than its line did has the outcome ``blocked`` already. ``of`` is what an embedding is of
    where that is on the same page.
    """

    line: Incoming
    envelope: Envelope | None = None
    outcome: Outcome | None = None
    reason: str = ""
    of: str = ""


class _Known(msgspec.Struct, frozen=True):
    """What the ledger knows of what a page speaks of."""

    written: Mapping[str, HasScope]
    embedded: dict[str, tuple[str, str]]
    fresh: dict[str, tuple[str, str]] = {}


async def place(core: Core, profile: OpenProfile, lines: Sequence[Incoming], before: int) -> list[Placed]:
    """Return each line as it would stand here; a rejection counts that was recorded before the position ``before``."""
    events = [one.envelope.data for one in lines if one.envelope is not None]
    ledger = core.profiles.current(profile).views.ledger
    known = await core.in_thread(lambda: _known(ledger, lines, events))
    rejected = await core.in_thread(lambda: _rejected(ledger, lines, before))
    erased: dict[str, datetime | None] = {}
    placed = [await _place(core, profile, one, known, erased) for one in lines]
    return await core.in_thread(lambda: _without_the_forgotten(ledger, placed, rejected))


def _known(ledger: Ledger, lines: Sequence[Incoming], events: Sequence[Event]) -> _Known:
    here = {one.memory: one for one in map(_written, events) if one is not None}
    others = {memory for one in events for memory in memories_of(one) if memory not in here}
    written: dict[str, HasScope] = {**ledger.memories(list(others)), **here}
    items = [one.subject for one in lines if one.topic == EmbeddingComputed.TOPIC]
    return _Known(written, ledger.embeddings_of(items))


def _written(event: Event) -> MemoryRemembered | None:
    if isinstance(event, MemoryRestored):
        return event.content
    return event if isinstance(event, MemoryRemembered) else None


def _rejected(ledger: Ledger, lines: Sequence[Incoming], before: int) -> set[str]:
    """Return the memories that say what a person rejected here, and that no person stated again since."""
    found = set()
    for one in (line.envelope for line in lines if line.envelope is not None):
        event = one.data
        if not isinstance(event, MemoryRemembered) or event.redacted:
            continue
        at = ledger.rejected_before(skeleton(event.text), event.scope, before)
        if at is not None and not (one.actor.type == "person" and one.recorded_at > at):
            found.add(event.memory)
    return found


async def _place(
    core: Core, profile: OpenProfile, line: Incoming, known: _Known, erased: dict[str, datetime | None]
) -> Placed:
    envelope = line.envelope
    if envelope is None:
        return Placed(line=line, outcome="erased", reason="it was erased before it was exported")
    event = envelope.data
    if isinstance(event, _OF_ITS_LOG):
        return Placed(line=line, outcome="skipped", reason="it tells of the log it was exported from")
    if isinstance(event, EmbeddingComputed):
        return _place_embedding(profile, line, event, known)
    try:
        scope = scope_of(event, known.written)
        parts = subject_parts(event, envelope.event_id)
    except InvalidInputError as error:
        return Placed(line=line, outcome="conflict", reason=f"{error.message}: {error.found}")
    if await _is_erased(core, profile, envelope, scope, erased):
        return Placed(line=line, outcome="erased", reason="it was erased here")
    if isinstance(event, ProfileCreated):
        event = replace(event, name=profile.name)
    try:
        key = await core.events.keys.key(profile.name, scope)
    except ErasedError:
        return Placed(line=line, outcome="erased", reason="it was erased here")
    home = originator_id(profile.name, event.category(), keyed_id(profile.secret, *parts))
    here = replace(envelope, originator_id=home, data=event, key_scope=scope, key_id=key.key_id)
    _note_embedding(profile, here, known)
    return Placed(line=line, envelope=here)


async def _is_erased(
    core: Core, profile: OpenProfile, envelope: Envelope, scope: str, erased: dict[str, datetime | None]
) -> bool:
    """Whether the key of a scope was destroyed after this was recorded, or what it is about is blocked."""
    if scope not in erased:
        erased[scope] = await core.events.keys.destroyed_at(profile.name, scope)
    if (at := erased[scope]) is not None and envelope.recorded_at <= at:
        return True
    event = envelope.data
    names = (getattr(event, "contact", None), getattr(event, "scope", None))
    contacts = sorted({one for one in names if one and one != ALL})
    session = getattr(event, "session", "")
    about = "\n".join(("blocked", *contacts, session))
    if about not in erased:
        found = bool(contacts or session) and await blocked(core, profile.name, contacts=contacts, session=session)
        erased[about] = datetime.max.replace(tzinfo=UTC) if found else None
    return erased[about] is not None


def _note_embedding(profile: OpenProfile, envelope: Envelope, known: _Known) -> None:
    """What comes on the same page as its vectors is not in the ledger yet."""
    change = profile.views.indexing.change(envelope)
    if change is not None and change.add is not None and change.add.embedding:
        known.fresh[change.add.id] = change.add.embedding, change.add.key_scope


def _place_embedding(profile: OpenProfile, line: Incoming, event: EmbeddingComputed, known: _Known) -> Placed:
    indexing = profile.views.indexing
    if (event.model, event.dimension) != (indexing.model, indexing.dimension):
        return Placed(line=line, outcome="skipped", reason=f"vectors of {event.model}; they are computed here")
    found = known.embedded.get(line.subject) or known.fresh.get(line.subject)
    if not event.vectors or found is None:
        reason = "what it is of is not here" if event.vectors else "no vectors; they are computed here"
        return Placed(line=line, outcome="skipped", reason="what it was of is forgotten" if line.redacted else reason)
    if len(event.vectors) != 4 * event.dimension * event.chunks:
        return Placed(line=line, outcome="conflict", reason="vectors of another size than they say")
    embedding, scope = found
    envelope = line.envelope
    assert envelope is not None  # noqa: S101 -- the caller has looked
    here = replace(
        envelope,
        originator_id=originator_id(profile.name, "embedding", embedding),
        originator_version=1,
        data=replace(event, embedding=embedding),
        key_scope=scope,
    )
    return Placed(line=line, envelope=here, of="" if line.subject in known.embedded else line.subject)


def _without_the_forgotten(ledger: Ledger, placed: Sequence[Placed], rejected: set[str]) -> list[Placed]:
    forgotten = ledger.forgotten()
    if rejected:
        here = dict.fromkeys(rejected, Tombstone(0, "", datetime.min.replace(tzinfo=UTC)))
        forgotten = Forgotten({**forgotten.tombstones, **here})
    return [
        one
        if one.envelope is None or isinstance(one.envelope.data, EmbeddingComputed)
        else _shortened(one, one.envelope, shown(one.envelope.data, _LATER, Gone(forgotten)))
        for one in placed
    ]


def _shortened(one: Placed, envelope: Envelope, event: Event) -> Placed:
    if event == envelope.data:
        return one
    reason = "what it says is forgotten or rejected here"
    return replace(one, envelope=replace(envelope, data=event), outcome="blocked", reason=reason)
