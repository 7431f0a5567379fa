"""The verbs of reflections: record what was thought, and remember what was learnt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import msgspec

from domain.addresses import address_of
from domain.errors import InvalidInputError, RefusedError
from domain.events import Learning, MemoryRemembered, ReflectionRecorded
from domain.kernel import Context
from domain.kinds import CONFIDENCE, fold_kind
from domain.memory import Memory
from domain.reflection import Reflection, reflection_address
from domain.settings import Limits
from domain.text import check_name, check_text, fold_content
from gateways.service.aggregates import Loaded, change_many, ensure_profile
from gateways.service.context import Caller, Core
from gateways.service.fitting import how_many_fit
from gateways.service.lending import after_cursor, look, seen_by_all
from gateways.service.profiles import OpenProfile
from gateways.service.rejections import rejected_among, settle
from gateways.service.validate import check_limit
from projections.ledger import ReflectionRecord
from umbriel import goals as wire

__all__ = ["list_reflections", "reflect"]


class _Known(msgspec.Struct, frozen=True):
    """What the ledger says about statements: those a person rejected, by their index, and those that are live."""

    rejected: frozenset[int]
    live: dict[str, str]


async def reflect(core: Core, caller: Caller, profile: str, request: wire.ReflectRequest) -> wire.ReflectReply:
    """Record a reflection, and in the same step an agent-wide memory for each thing learnt."""
    request = _check_reflect(request, core.settings.limits)
    await ensure_profile(core, caller, profile)
    learnt = list({fold_content(text): text for text in request.learnings or [request.text]}.values())
    async with core.profiles.use(profile) as opened:
        known = await _known(core, caller, opened, learnt)
        (event, recorded), position = await change_many(
            core, lambda loaded: _decide(loaded, opened, request, learnt, known, caller.context())
        )
    shown = await seen_by_all(core, position)
    if request.wait:
        async with core.profiles.use(profile) as opened:
            await core.settle(opened, position)
    learnings = [_learning(one) for one in event.learnings]
    return wire.ReflectReply(topic=event.topic, day=event.day, learnings=learnings, recorded=recorded, position=shown)


async def _known(core: Core, caller: Caller, profile: OpenProfile, texts: Sequence[str]) -> _Known:
    await settle(core, profile)
    rejected = {} if caller.type == "person" else await rejected_among(core, profile, texts, None)
    ledger, now = core.profiles.current(profile).views.ledger, datetime.now(UTC)
    live = await core.in_thread(lambda: ledger.stated(texts, None, now=now))
    return _Known(frozenset(rejected), live)


def _decide(
    loaded: Loaded,
    profile: OpenProfile,
    request: wire.ReflectRequest,
    learnt: Sequence[str],
    known: _Known,
    context: Context,
) -> tuple[ReflectionRecorded, bool]:
    """Write the memories that are new and then that it was thought; nothing where it was recorded before."""
    today = context.now.astimezone(UTC).date()
    reflection = _of_day(loaded, profile, request.topic, today)
    event = ReflectionRecorded(
        reflection=reflection_address(request.topic, today.isoformat()),
        topic=request.topic,
        day=today.isoformat(),
        text=request.text,
        learnings=tuple(Learning(text=text) for text in learnt),
        request_id=request.request_id,
    )
    # A request that is repeated after midnight was carried out on the day before.
    before = _of_day(loaded, profile, request.topic, today - timedelta(days=1)).by_request(request.request_id)
    if (same := reflection.same(event) or before) is not None:
        return same, False
    learnings: list[Learning] = []
    for number, text in enumerate(learnt):
        key = reflection.next_key(event.topic, event.day, sum(bool(one.key) for one in learnings))
        if number in known.rejected:
            learnings.append(Learning(text="", outcome="refused"))
        elif text in known.live:
            learnings.append(Learning(text=text, memory=known.live[text], outcome="duplicate"))
        else:
            learnings.append(_remembered(loaded, profile, text, key, context))
    recorded = msgspec.structs.replace(event, learnings=tuple(learnings))
    reflection.record(recorded, context)
    return recorded, True


def _of_day(loaded: Loaded, profile: OpenProfile, topic: str, day: date) -> Reflection:
    return loaded.get(Reflection, profile.subject(Reflection.CATEGORY, reflection_address(topic, day.isoformat())))


def _remembered(loaded: Loaded, profile: OpenProfile, text: str, key: str, context: Context) -> Learning:
    draft = _draft(text, key)
    memory = loaded.get(Memory, profile.subject(Memory.CATEGORY, draft.address))
    try:
        decided = memory.remember(draft, context)
    except RefusedError:
        return Learning(text="", outcome="refused")
    return Learning(text=text, key=key, memory=decided.memory, outcome=decided.outcome)


def _draft(text: str, key: str) -> MemoryRemembered:
    """Return the memory of one thing learnt; its trust comes from this path."""
    kind, fact_type = fold_kind(None, "reflection")
    return MemoryRemembered(
        memory="",
        address=address_of(kind, contact=None, key=key, content=text),
        version=0,
        kind=kind,
        fact_type=fact_type,
        text=text,
        folded=fold_content(text),
        source="reflection",
        confidence=CONFIDENCE["reflection"],
        key=key,
    )


async def list_reflections(core: Core, profile: str, request: wire.ReflectionsRequest) -> wire.ReflectionsReply:
    """Return a page of reflections, newest first."""
    limits = core.settings.limits
    limit, before = check_limit(request.limit, limits.list_limit), after_cursor(request.cursor)
    if request.topic:
        check_name(request.topic, field="topic", max_chars=limits.topic_chars)
    if request.day:
        _check_day(request.day)
    found, position = await look(
        core,
        profile,
        request.at_least,
        lambda ledger: ledger.reflections(topic=request.topic, day=request.day, before=before, limit=limit + 1),
    )
    records = found or []
    shown = [_shown(one, core) for one in records[:limit]]
    count = how_many_fit(shown, limits.reply_bytes)
    cursor = str(records[count - 1].position) if count < len(records) else ""
    return wire.ReflectionsReply(reflections=shown[:count], position=position, cursor=cursor)


def _shown(record: ReflectionRecord, core: Core) -> wire.ReflectionInfo:
    return wire.ReflectionInfo(
        topic=record.topic,
        day=record.day,
        text=record.text,
        learnings=[
            wire.LearningInfo(text=one.text, outcome=one.outcome, memory=one.memory, key=one.key)
            for one in record.learnings
        ],
        recorded_at=record.at,
        position=core.positions.show(record.position),
        author=record.author,
        author_type=record.author_type,
        contact=record.contact or "",
        model=record.model,
    )


def _learning(one: Learning) -> wire.LearningInfo:
    return wire.LearningInfo(text=one.text, outcome=one.outcome, memory=one.memory, key=one.key)


def _check_reflect(request: wire.ReflectRequest, limits: Limits) -> wire.ReflectRequest:
    check_name(request.topic, field="topic", max_chars=limits.topic_chars)
    check_text(request.text, field="text", max_bytes=limits.reflection_bytes)
    if len(request.learnings) > limits.learnings:
        raise InvalidInputError(
            "too many learnings", expected=f"at most {limits.learnings}", found=str(len(request.learnings))
        )
    for index, text in enumerate(request.learnings):
        check_text(text, field=f"learnings[{index}]", max_bytes=limits.learning_bytes)
    if request.request_id:
        check_name(request.request_id, field="request_id", max_chars=limits.name_chars)
    return msgspec.structs.replace(request, topic=request.topic.strip())


def _check_day(day: str) -> None:
    try:
        right = date.fromisoformat(day).isoformat() == day
    except ValueError:
        right = False
    if not right:
        raise InvalidInputError("not a day", expected="a UTC day as 2026-01-31", found=repr(day[:40]))
