"""The verbs of a turn that is under way: keep what its tools returned, and hand it to exactly one who takes it over."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import structlog

from domain.errors import ConflictError, DamagedError, InvalidInputError, UmbrielError
from domain.ids import check_profile
from domain.settings import Settings
from domain.text import check_name
from domain.turns import Checkpoint, ToolRow, finished, note_of, trimmed
from gateways.jetstream.turns import KeptTurn
from gateways.service.aggregates import ensure_profile
from gateways.service.context import Caller, Core
from gateways.service.sessions import check_session, contact_of
from umbriel import turns as wire
from umbriel.types import Message

__all__ = ["end_turns", "resume_turn", "save_turn"]

_ATTEMPTS = 5
_PAUSE = 0.05
_log = structlog.get_logger(__name__)


async def save_turn(core: Core, caller: Caller, profile: str, request: wire.SaveTurnRequest) -> wire.SaveTurnReply:
    """Keep the turn as far as it is, in place of what was kept of it before."""
    _check_save(request, core.settings)
    await check_session(core, caller.reach, profile, request.session, request.contact)
    await ensure_profile(core, caller, profile)
    limits, now = core.settings.turns, datetime.now(UTC)
    cut = trimmed([_row(row) for row in request.rows], limits)
    checkpoint = Checkpoint(
        session=request.session,
        turn_id=request.turn_id,
        touched_at=now,
        rows=cut.rows,
        sessions=request.sessions,
        contact=request.contact,
        omitted_rows=request.omitted_rows + cut.omitted_rows,
    )
    body = msgspec.json.encode(checkpoint)
    await core.turns.put(profile, request.session, request.turn_id, body, seconds=limits.keep_seconds)
    return wire.SaveTurnReply(
        turn_id=request.turn_id,
        rows=len(cut.rows),
        expires_at=now + timedelta(seconds=limits.keep_seconds),
        omitted_rows=checkpoint.omitted_rows,
        omitted_chars=cut.omitted_chars,
    )


async def resume_turn(
    core: Core, caller: Caller, profile: str, request: wire.ResumeTurnRequest, *, now: datetime | None = None
) -> wire.ResumeTurnReply:
    """Hand over the newest turn of a session that nobody touched for a while and whose answer is not recorded.

    Whoever claims it first has it: the claim is a compare-and-set. What was handed over is kept until the turn ends, so
    that the same request is answered alike when its reply was lost, and no other.
    """
    _check_resume(request, core.settings)
    check_profile(profile)
    await check_session(core, caller.reach, profile, request.session, request.contact)
    if not await core.known_profile(profile):
        return wire.ResumeTurnReply()
    request = msgspec.structs.replace(request, request_id=request.request_id or uuid.uuid4().hex)
    for attempt in range(_ATTEMPTS):
        try:
            return await _resume(core, caller, profile, request, now or datetime.now(UTC))
        except ConflictError:
            # Somebody was first, or it was our own claim whose acknowledgement was lost: what is there now tells.
            await asyncio.sleep(_PAUSE * attempt)
    return wire.ResumeTurnReply()


async def _resume(
    core: Core, caller: Caller, profile: str, request: wire.ResumeTurnRequest, now: datetime
) -> wire.ResumeTurnReply:
    stopped = await _stopped(core, caller, profile, request, now)
    while stopped:
        kept, checkpoint = stopped.pop()
        if await _ended(core, profile, checkpoint):
            continue
        if not checkpoint.claimed:
            await _claim(core, profile, kept, checkpoint, request.request_id, now)
            # Recorded between the look and the claim: whoever answered had not stopped.
            if await _ended(core, profile, checkpoint):
                continue
        return _reply(checkpoint, others=len(stopped))
    return wire.ResumeTurnReply()


async def _stopped(
    core: Core, caller: Caller, profile: str, request: wire.ResumeTurnRequest, now: datetime
) -> list[tuple[KeptTurn, Checkpoint]]:
    """Return the turns that can be handed to this request, the one to hand over at the end."""
    seconds, most = core.settings.turns.resume_seconds, core.settings.turns.kept
    found = await core.turns.find(profile, request.session)
    await core.turns.forget(found[:-most])
    kept = [(one, _read(one)) for one in found[-most:]]
    kept = [pair for pair in kept if pair[1].untouched(now, seconds) or pair[1].claimed == request.request_id]
    if kept and caller.reach.limited:
        contact = await contact_of(core, profile, request.session)
        kept = [pair for pair in kept if caller.reach.may_write(pair[1].contact or contact)]
    return sorted(kept, key=lambda pair: (bool(pair[1].claimed), pair[1].touched_at))


def _read(kept: KeptTurn) -> Checkpoint:
    try:
        return msgspec.json.decode(kept.body, type=Checkpoint)
    except msgspec.MsgspecError as error:
        raise DamagedError("a turn cannot be read", expected="a checkpoint", found=str(error)) from error


async def _claim(
    core: Core, profile: str, kept: KeptTurn, checkpoint: Checkpoint, request_id: str, now: datetime
) -> None:
    left = timedelta(seconds=core.settings.turns.keep_seconds) - (now - checkpoint.touched_at)
    body = msgspec.json.encode(msgspec.structs.replace(checkpoint, claimed=request_id))
    seconds = max(int(left.total_seconds()), 1)
    await core.turns.replace(profile, checkpoint.session, kept, body, seconds=seconds)


async def _ended(core: Core, profile: str, checkpoint: Checkpoint) -> bool:
    """Whether the turn's answer is in the log; what was kept of it goes then."""
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    async with core.profiles.use(profile) as opened:
        core.check_running(opened)
        ledger = opened.views.ledger
        answered = await core.in_thread(lambda: ledger.answered(checkpoint.session, checkpoint.turn_id))
    if answered:
        await core.turns.drop(profile, checkpoint.session, [checkpoint.turn_id])
    return answered


async def end_turns(core: Core, profile: str, session: str, messages: Sequence[Message]) -> None:
    """Drop what was kept of the turns that these recorded messages answer.

    Their record stands whatever happens here: what is not dropped now is when somebody asks to resume it.
    """
    turns = list(dict.fromkeys(one.turn_id for one in messages if one.role == "assistant" and one.turn_id))
    if not turns:
        return
    try:
        await core.turns.drop(profile, session, turns)
    except UmbrielError as error:
        _log.warning("turn_not_dropped", profile=profile, reason=error.code)


def _reply(checkpoint: Checkpoint, *, others: int) -> wire.ResumeTurnReply:
    return wire.ResumeTurnReply(
        turn_id=checkpoint.turn_id,
        rows=[_shown(row) for row in finished(checkpoint)],
        unfinished=[_shown(row) for row in checkpoint.rows if row.result is None],
        sessions=checkpoint.sessions,
        note=note_of(checkpoint),
        touched_at=checkpoint.touched_at,
        omitted_rows=checkpoint.omitted_rows,
        others=others,
    )


def _row(row: wire.ToolRow) -> ToolRow:
    return ToolRow(tool=row.tool, id=row.id, arguments=row.arguments, result=row.result, omitted=row.omitted)


def _shown(row: ToolRow) -> wire.ToolRow:
    return wire.ToolRow(tool=row.tool, id=row.id, arguments=row.arguments, result=row.result, omitted=row.omitted)


# -- what a request must look like ------------------------------------------------------------------


def _check_save(request: wire.SaveTurnRequest, settings: Settings) -> None:
    limits, names = settings.turns, settings.limits
    check_name(request.session, field="session", max_chars=names.session_chars)
    check_name(request.turn_id, field="turn_id", max_chars=names.name_chars)
    _check_contact(request.contact, settings)
    for index, row in enumerate(request.rows):
        check_name(row.tool, field=f"rows[{index}].tool", max_chars=names.name_chars)
        if row.id:
            check_name(row.id, field=f"rows[{index}].id", max_chars=names.name_chars)
        _count(row.omitted, f"rows[{index}].omitted")
    _count(request.omitted_rows, "omitted_rows")
    if len(request.sessions) > limits.sessions:
        raise InvalidInputError(
            "too many open sessions", expected=f"at most {limits.sessions}", found=str(len(request.sessions))
        )
    for name, one in request.sessions.items():
        check_name(name, field="the name of an open session", max_chars=names.name_chars)
        check_name(one, field=f"the open session {name}", max_chars=names.name_chars)


def _check_resume(request: wire.ResumeTurnRequest, settings: Settings) -> None:
    check_name(request.session, field="session", max_chars=settings.limits.session_chars)
    _check_contact(request.contact, settings)
    if request.request_id:
        check_name(request.request_id, field="request_id", max_chars=settings.limits.name_chars)


def _check_contact(contact: str, settings: Settings) -> None:
    if contact == "*":
        raise InvalidInputError("a turn is with one contact", expected="a contact's name", found="'*', which is all")
    if contact:
        check_name(contact, field="contact", max_chars=settings.limits.contact_chars)


def _count(value: int, field: str) -> None:
    if value < 0:
        raise InvalidInputError(f"{field} counts", expected="0 or more", found=str(value))
