"""What came of reading a stretch, appended in one step: the extraction and the memories that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from domain.envelope import Actor
from domain.errors import RefusedError, UmbrielError
from domain.events import (
    DroppedItem,
    ExtractedItem,
    ExtractionCompleted,
    ExtractionFailed,
    MessageRecorded,
)
from domain.extraction import Extraction
from domain.kernel import Context
from domain.memory import Memory
from domain.settings import TaskPreferences
from domain.transcript import Found, Window
from gateways.service.aggregates import Loaded, change, change_many, load
from gateways.service.closing import with_lifetime
from gateways.service.context import Core
from gateways.service.drafting import drafted, remembered
from gateways.service.forgetting import follow_up
from gateways.service.profiles import OpenProfile
from gateways.service.rejections import rejected_among
from gateways.service.stretches import PIPELINE, Stretch

__all__ = ["Outcome", "failed_work", "record", "record_failure"]

_WORKER = Actor("extraction-worker", "service")


class Outcome(msgspec.Struct, frozen=True):
    """What was recorded of a stretch: memories written, and the position of the last event (0: nothing was new)."""

    position: int
    memories: tuple[str, ...] = ()


async def record(
    core: Core, profile: OpenProfile, stretch: Stretch, window: Window, found: Found, *, model: str, tries: int = 1
) -> Outcome:
    """Record what an extractor found, and write the memories; somebody else's record of the same work stands."""
    checked = await core.in_thread(
        lambda: drafted(window, found, limits=core.settings.limits, extraction=core.settings.extraction)
    )
    # What was rejected or forgotten until now is to be seen.
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    # Sources of what is left out as well: it is on record with its words.
    gone = await _forgotten(core, profile, (*checked.items, *checked.dropped))
    kept, dropped = await _still_to_write(core, profile, window, checked.items, gone)
    event = ExtractionCompleted(
        extraction=stretch.id,
        session=stretch.session,
        messages=tuple(message.id for message in stretch.messages),
        source=stretch.source,
        pipeline=PIPELINE,
        model=model,
        contact=stretch.contact,
        items=kept,
        dropped=(*(_without_words(one, gone) for one in checked.dropped), *dropped),
        tries=tries,
    )
    tasks = (await core.in_thread(profile.views.ledger.settings)).tasks
    written, position = await change_many(core, lambda loaded: _decide(loaded, profile, window, event, tasks))
    if written and await _forgotten(core, profile, event.items):
        # Forgotten while this was being written: it goes with the message.
        await follow_up(core, profile)
    return Outcome(position, written)


async def _still_to_write(
    core: Core, profile: OpenProfile, window: Window, items: tuple[ExtractedItem, ...], gone: set[str]
) -> tuple[tuple[ExtractedItem, ...], tuple[DroppedItem, ...]]:
    """Leave out what a person rejected in this scope, and what rests on messages that are gone."""
    if not items:
        return (), ()
    ledger, now, texts = profile.views.ledger, datetime.now(UTC), [item.text for item in items]
    rejected = await rejected_among(core, profile, texts, window.contact)
    same = await core.in_thread(lambda: ledger.stated(texts, window.contact, now=now))
    kept, dropped = [], []
    for number, item in enumerate(items):
        if gone.intersection(item.sources):
            dropped.append(DroppedItem(text="", reason="a message that it rests on was forgotten"))
        elif number in rejected:
            dropped.append(_refused(item))
        elif item.text in same and item.kind in {"fact", "instruction"} and not (item.valid_from or item.valid_to):
            kept.append(msgspec.structs.replace(item, memory=same[item.text], outcome="duplicate"))
        else:
            kept.append(item)
    return tuple(kept), tuple(dropped)


def _refused(item: ExtractedItem) -> DroppedItem:
    return DroppedItem(text=item.text[:200], reason="a person rejected this statement", sources=item.sources)


def _without_words(one: DroppedItem, gone: set[str]) -> DroppedItem:
    return msgspec.structs.replace(one, text="") if gone.intersection(one.sources) else one


async def _forgotten(core: Core, profile: OpenProfile, items: Sequence[ExtractedItem | DroppedItem]) -> set[str]:
    """Return which source messages are in the log no more, as their own subjects have it."""
    subjects = {profile.subject("message", source): source for item in items for source in item.sources}
    if not subjects:
        return set()
    heads = list((await core.events.log.heads(list(subjects))).values())
    found = (await core.events.decode(heads, 0)).envelopes
    return set(subjects.values()) - {one.data.message for one in found if isinstance(one.data, MessageRecorded)}


def _decide(
    loaded: Loaded, profile: OpenProfile, window: Window, event: ExtractionCompleted, tasks: TaskPreferences
) -> tuple[str, ...]:
    """Write the memories that are new, then that the work is done; nothing where it was done before."""
    extraction = loaded.get(Extraction, profile.subject(Extraction.CATEGORY, event.extraction))
    if extraction.completed is not None:
        return ()
    context = Context(actor=_WORKER, now=datetime.now(UTC), cause=event.extraction)
    items, dropped, written = [], list(event.dropped), []
    for item in event.items:
        if item.outcome:
            items.append(item)
            continue
        draft = remembered(window, item, extraction=event.extraction, model=event.model)
        draft = with_lifetime(draft, tasks, context.now)
        memory = loaded.get(Memory, profile.subject(Memory.CATEGORY, draft.address))
        try:
            decided = memory.remember(draft, context)
        except RefusedError:
            dropped.append(_refused(item))
            continue
        items.append(msgspec.structs.replace(item, memory=decided.memory, outcome=decided.outcome))
        if decided.outcome in {"remembered", "superseded", "late"}:
            written.append(decided.memory)
    extraction.complete(msgspec.structs.replace(event, items=tuple(items), dropped=tuple(dropped)), context)
    return tuple(written)


async def record_failure(
    core: Core, profile: OpenProfile, stretch: Stretch, error: UmbrielError, *, tries: int, model: str
) -> Outcome:
    """Record that a stretch could not be read; it waits for a retry and holds nothing up."""
    event = ExtractionFailed(
        extraction=stretch.id,
        session=stretch.session,
        messages=tuple(message.id for message in stretch.messages),
        source=stretch.source,
        pipeline=PIPELINE,
        model=model,
        reason=f"{error.code}: {error}"[:500],
        tries=tries,
    )
    context = Context(actor=_WORKER, now=datetime.now(UTC))
    _, position = await change(
        core, Extraction, profile.subject(Extraction.CATEGORY, stretch.id), lambda one: one.fail(event, context)
    )
    return Outcome(position)


async def failed_work(core: Core, profile: OpenProfile, extraction: str) -> ExtractionFailed | None:
    """Return the failure of a piece of work as the log has it; None when it was made good."""
    found = await load(core, Extraction, profile.subject(Extraction.CATEGORY, extraction))
    return found.failed
