"""One day of one profile thought about: a draft with each contact, first writer wins, and what follows from it.

What a model said is recorded before anything is made of it, so that nobody is asked twice; reflections and memories
derive from that record alone, in one atomic append, so that killed anywhere it is done once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import msgspec
import structlog

from domain.addresses import address_of
from domain.digest import Day, Reflected
from domain.envelope import Actor
from domain.errors import RefusedError, UmbrielError
from domain.events import Learning, MemoryRemembered, MessageRecorded, ReflectionDrafted, ReflectionRecorded, Thought
from domain.kernel import Context
from domain.kinds import CONFIDENCE, fold_kind
from domain.memory import Memory
from domain.reflection import DayDraft, Reflection, draft_id, reflection_address, reflection_key_scope
from domain.settings import DataFlow, ProfileSettings
from domain.text import fold_content
from gateways.service.aggregates import Loaded, change, change_many, load
from gateways.service.context import Core
from gateways.service.days import days_of
from gateways.service.models import Models, answered
from gateways.service.profiles import OpenProfile
from gateways.service.rejections import rejected_among
from gateways.service.thoughts import thoughts_of

__all__ = ["REFLECTION", "Means", "ThoughtAbout", "thought_about"]

#: The name of the pass.
REFLECTION = "reflection"
#: Changes with what is made of a day.
_PIPELINE = "reflection-1"
_WORKER = Actor(REFLECTION, "service")
_log = structlog.get_logger(__name__)


class Means(msgspec.Struct, frozen=True):
    """What a profile's days are thought about with."""

    core: Core
    models: Models
    profile: OpenProfile
    settings: ProfileSettings


class ThoughtAbout(msgspec.Struct, frozen=True):
    """What a day with one contact came to: the draft, what of it still stands, and what was recorded of that.

    ``new`` says that it is so only since now, or (in a dry run) would be.
    """

    draft: ReflectionDrafted
    thoughts: tuple[Thought, ...]
    recorded: tuple[ReflectionRecorded, ...] = ()
    new: bool = False


async def thought_about(with_: Means, day: str, *, dry_run: bool = False) -> list[ThoughtAbout]:
    """Think about a day with each contact by itself, and record what it came to; again, what was recorded before.

    A dry run records nothing and asks no model: where one is to be asked, its draft has no thoughts.
    """
    core = with_.core
    ledger, now = core.profiles.current(with_.profile).views.ledger, datetime.now(UTC)
    days = await core.in_thread(lambda: days_of(ledger, day, with_.settings, core.settings, now))
    done = []
    for one in days:
        standing = await _standing(with_, one)
        if dry_run and standing is None:
            preview = await _preview(with_, one)
            done.append(ThoughtAbout(preview, preview.thoughts, new=True))
            continue
        if dry_run and standing is not None:
            thoughts = await _standing_thoughts(with_, standing.thoughts)
            recorded, _ = await core.in_thread(partial(_decide, Loaded(core), with_, standing, thoughts, {}))
            done.append(await _told(with_, ThoughtAbout(standing, tuple(thoughts), recorded)))
            continue
        draft = standing or await _drafted(with_, one)
        done.append(await _told(with_, await _derived(with_, draft)))
    return done


async def _told(with_: Means, done: ThoughtAbout) -> ThoughtAbout:
    """Leave out of what is shown the thoughts whose memories somebody has forgotten since."""
    memories = {one.topic: learning.memory for one in done.recorded for learning in one.learnings}
    ledger = with_.core.profiles.current(with_.profile).views.ledger
    found = await with_.core.in_thread(lambda: ledger.memories(list(memories.values())))
    gone = {topic for topic, id_ in memories.items() if id_ in found and found[id_].status == "forgotten"}
    return msgspec.structs.replace(done, thoughts=tuple(one for one in done.thoughts if one.topic not in gone))


async def _standing(with_: Means, day: Day) -> ReflectionDrafted | None:
    found = await load(with_.core, DayDraft, _draft_subject(with_, day.day, day.contact))
    return found.drafted


def _draft_subject(with_: Means, day: str, contact: str | None) -> str:
    return with_.profile.subject(DayDraft.CATEGORY, draft_id(day, contact))


# -- thinking -----------------------------------------------------------------------------------


async def _drafted(with_: Means, day: Day) -> ReflectionDrafted:
    """Think about a day, and record what it came to; somebody else's draft of the same day stands."""
    event = await _thought(with_, day)
    sessions = {talk.session for talk in day.talks} | {note.session for note in day.notes}
    scope = reflection_key_scope(day.contact, sessions.pop() if len(sessions) == 1 else "")
    context = Context(actor=_WORKER, now=datetime.now(UTC))
    subject = _draft_subject(with_, day.day, day.contact)
    standing, _ = await change(with_.core, DayDraft, subject, lambda one: one.draft(event, context, key_scope=scope))
    return standing


async def _thought(with_: Means, day: Day) -> ReflectionDrafted:
    """Return a draft by the model that may be asked, by the local one where that does not answer."""
    core, name, limits = with_.core, with_.profile.name, with_.core.settings.reflection
    flow: DataFlow = with_.settings.data_flow
    asked, local = with_.models.reflector(name, flow), with_.models.local_reflector
    by_model = asked is not local
    try:
        made = await answered(asked.name, asked.reflect(day, profile=name), seconds=limits.seconds)
    except UmbrielError as error:
        _log.warning("reflected_locally", profile=name, model=asked.name, reason=error.code)
        made, by_model = await local.reflect(day, profile=name), False
    return await core.in_thread(partial(_draft, with_, day, made, by_model=by_model))


async def _preview(with_: Means, day: Day) -> ReflectionDrafted:
    local = with_.models.local_reflector
    asked = with_.models.reflector(with_.profile.name, with_.settings.data_flow)
    if asked is not local:
        return _draft(with_, day, Reflected((), asked.name), by_model=True)
    made = await local.reflect(day, profile=with_.profile.name)
    return await with_.core.in_thread(lambda: _draft(with_, day, made, by_model=False))


def _draft(with_: Means, day: Day, made: Reflected, *, by_model: bool) -> ReflectionDrafted:
    settings = with_.core.settings
    return ReflectionDrafted(
        draft=draft_id(day.day, day.contact),
        day=day.day,
        contact=day.contact,
        pipeline=_PIPELINE,
        model=made.model,
        lines=len(day.lines),
        notes=len(day.notes),
        thoughts=tuple(thoughts_of(day, made.wordings, settings.limits, settings.reflection, by_model=by_model)),
    )


# -- what follows -------------------------------------------------------------------------------


async def _derived(with_: Means, draft: ReflectionDrafted) -> ThoughtAbout:
    """Record the reflections of a draft with their memories, without those that rest on what is gone by now."""
    core = with_.core
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    standing = await _standing_thoughts(with_, draft.thoughts)
    texts = [one.text for one in standing]
    rejected = await rejected_among(core, with_.profile, texts, draft.contact)
    kept = [one for number, one in enumerate(standing) if number not in rejected]
    ledger, now = core.profiles.current(with_.profile).views.ledger, datetime.now(UTC)
    live = await core.in_thread(lambda: ledger.stated([one.text for one in kept], draft.contact, now=now))
    (recorded, new), position = await change_many(core, lambda loaded: _decide(loaded, with_, draft, kept, live))
    await core.reader.wait_for(position, core.settings.wait_seconds)
    return ThoughtAbout(draft, tuple(kept), recorded, new)


async def _standing_thoughts(with_: Means, thoughts: Sequence[Thought]) -> list[Thought]:
    """Leave out what rests on a message that is forgotten, or restates a memory that is not live any more."""
    core = with_.core
    gone = await _forgotten(with_, [source for one in thoughts for source in one.sources])
    ledger, now = core.profiles.current(with_.profile).views.ledger, datetime.now(UTC)
    drawn_from = [memory for one in thoughts for memory in one.drawn_from]
    found = await core.in_thread(lambda: ledger.memories(drawn_from))
    live = {id_ for id_, record in found.items() if record.status_at(now) == "live"}
    return [one for one in thoughts if gone.isdisjoint(one.sources) and live.issuperset(one.drawn_from)]


async def _forgotten(with_: Means, messages: Sequence[str]) -> set[str]:
    """Return which messages are in the log no more, as their own subjects have it."""
    subjects = {with_.profile.subject("message", message): message for message in messages}
    if not subjects:
        return set()
    events = with_.core.events
    heads = list((await events.log.heads(list(subjects))).values())
    found = (await events.decode(heads, 0)).envelopes
    return set(subjects.values()) - {one.data.message for one in found if isinstance(one.data, MessageRecorded)}


def _decide(
    loaded: Loaded, with_: Means, draft: ReflectionDrafted, thoughts: Sequence[Thought], live: dict[str, str]
) -> tuple[tuple[ReflectionRecorded, ...], bool]:
    """Write what was not written before; returns all that stands of these thoughts, and whether something is new."""
    context = Context(actor=_WORKER, now=datetime.now(UTC), cause=draft.draft)
    recorded, new = [], False
    for thought in thoughts:
        address = reflection_address(thought.topic, draft.day, draft.contact)
        reflection = loaded.get(Reflection, with_.profile.subject(Reflection.CATEGORY, address))
        if (before := reflection.by_request(draft.draft)) is not None:
            recorded.append(before)
            continue
        if thought.text in live:
            learning = Learning(text=thought.text, memory=live[thought.text], outcome="duplicate")
        else:
            key = reflection.next_key(thought.topic, draft.day, 0)
            learning = _remembered(loaded, with_, draft, thought, key, context)
        if learning.outcome == "refused":
            continue
        event = ReflectionRecorded(
            reflection=address,
            topic=thought.topic,
            day=draft.day,
            text=thought.text,
            learnings=(learning,),
            request_id=draft.draft,
            contact=draft.contact,
            sources=thought.sources,
            model=draft.model,
        )
        reflection.record(event, context, key_scope=reflection_key_scope(draft.contact, thought.session))
        recorded.append(event)
        new = True
    return tuple(recorded), new


def _remembered(
    loaded: Loaded, with_: Means, draft: ReflectionDrafted, thought: Thought, key: str, context: Context
) -> Learning:
    kind, fact_type = fold_kind(None, REFLECTION)
    written = MemoryRemembered(
        memory="",
        address=address_of(kind, contact=draft.contact, key=key, content=thought.text),
        version=0,
        kind=kind,
        fact_type=fact_type,
        scope=draft.contact,
        text=thought.text,
        folded=fold_content(thought.text),
        source="reflection",
        confidence=CONFIDENCE["reflection"],
        key=key,
        session=thought.session,
        sources=thought.sources,
        stated_at=thought.stated_at,
        expires_at=thought.expires_at,
        model=draft.model,
        # How it leads back to what somebody stated: that needs no message.
        metadata={"day": draft.day, "drawn_from": list(thought.drawn_from)},
    )
    memory = loaded.get(Memory, with_.profile.subject(Memory.CATEGORY, written.address))
    try:
        decided = memory.remember(written, context)
    except RefusedError:
        return Learning(text="", outcome="refused")
    return Learning(
        text=thought.text,
        key=key,
        memory=decided.memory,
        outcome=decided.outcome,
        drawn_from=thought.drawn_from,
    )
