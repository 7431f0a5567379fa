"""Forgetting messages, and everything that follows from it: what was drawn from them goes with them.

What follows is written down in the ledger until it is recorded as done, so that a crash between the two loses
nothing, and what is written late (a stretch that was being read at that moment) is caught as well.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

import msgspec

from domain.envelope import Actor, Envelope
from domain.errors import ConflictError
from domain.events import MessageForgotten, MessageRecorded
from domain.kernel import Context
from domain.kinds import conversation_scope
from domain.memory import Memory
from domain.resting import end_task, forget_version, lose
from gateways.service.aggregates import Loaded, change, change_many, note_ended
from gateways.service.context import Core
from gateways.service.copying import tell_copies
from gateways.service.finding import aggregate_of
from gateways.service.grounds import loss_of
from gateways.service.profiles import OpenProfile
from gateways.service.quoting import end_misquotes
from projections.ledger import Closing, Ledger, MessageRecord, Resting

__all__ = ["Entailed", "entailed_by", "follow_up", "forget_messages"]

_WORKER = Actor("forgetting", "service")
#: memories decided about in one append, messages forgotten in one, and sessions looked at in one turn
_AT_ONCE = 100
_MESSAGES = 500
_TRIES = 8


class Entailed(msgspec.Struct, frozen=True):
    """What goes with some messages, and what stays with fewer of them to rest on."""

    forgotten: tuple[str, ...] = ()
    revised: tuple[str, ...] = ()


class _Found(msgspec.Struct, frozen=True):
    """Versions that lose messages, and the messages they have."""

    resting: list[Resting]
    messages: dict[str, MessageRecord]


def _look(ledger: Ledger, resting: list[Resting]) -> _Found:
    wanted = {message for one in resting for ground in one.grounds for message in ground}
    return _Found(resting, ledger.messages(list(wanted)))


async def entailed_by(
    core: Core, profile: OpenProfile, messages: Sequence[str], sees: Callable[[str | None], bool]
) -> Entailed:
    """Return what forgetting these messages would touch, as far as the caller ``sees`` it; nothing is written."""
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    ledger = core.profiles.current(profile).views.ledger
    found = await core.in_thread(lambda: _look(ledger, ledger.resting(ledger.resting_on(messages))))
    nobody = Context(actor=_WORKER, now=datetime.now(UTC))
    done = await core.in_thread(
        lambda: _decide(Loaded(core), profile, found, frozenset(messages), lambda _: nobody) if found.resting else None
    )
    seen = {one.memory for one in found.resting if sees(one.scope)}
    if done is None:
        return Entailed()
    return Entailed(
        tuple(one for one in done.forgotten if one in seen), tuple(one for one in done.revised if one in seen)
    )


async def forget_messages(core: Core, profile: OpenProfile, messages: Sequence[str], context: Context) -> list[str]:
    """Forget these messages, those that are not forgotten yet; returns them."""
    gone: list[str] = []
    for start in range(0, len(messages), _MESSAGES):
        gone += await _forget(core, profile, messages[start : start + _MESSAGES], context)
    return gone


async def _forget(core: Core, profile: OpenProfile, messages: Sequence[str], context: Context) -> list[str]:
    subjects = [profile.subject("message", message) for message in messages]
    for attempt in range(_TRIES):
        heads = list((await core.events.log.heads(subjects)).values())
        if len(messages) == 1:
            # The leader knows what a replica may not.
            head = await core.events.log.head(subjects[0])
            heads = [] if head is None else [head]
        at = {head.originator_id: head.position for head in heads}
        standing = [
            one for one in (await core.events.decode(heads, 0)).envelopes if isinstance(one.data, MessageRecorded)
        ]
        envelopes = [_forgotten(one, one.data, context) for one in standing if isinstance(one.data, MessageRecorded)]
        try:
            if envelopes:
                encoded = [await core.events.encode(one, expected=at[one.originator_id]) for one in envelopes]
                positions = await core.events.log.append(encoded)
                note_ended(core, profile.name, max(positions))
                core.redacting.note(profile.name, max(positions))
        except ConflictError:
            # Somebody else forgot one of them first, which its head tells now.
            if attempt == _TRIES - 1:
                raise
            continue
        return [one.data.message for one in standing if isinstance(one.data, MessageRecorded)]
    raise AssertionError("unreachable")


def _forgotten(recorded: Envelope, said: MessageRecorded, context: Context) -> Envelope:
    return Envelope(
        originator_id=recorded.originator_id,
        originator_version=recorded.originator_version + 1,
        event_id=uuid.uuid4().hex,
        recorded_at=context.now,
        actor=context.actor,
        data=MessageForgotten(message=said.message, session=said.session, caller_id=said.caller_id, at=said.at),
        key_scope=conversation_scope(said.session),
    )


async def follow_up(core: Core, profile: OpenProfile) -> int:
    """Do what follows from all that was forgotten, ended and deleted until now; returns a position at which it is done.

    Done by several at once or again, it is done once: every step is decided by what the log holds.
    """
    while True:
        position = await core.events.log.last_position()
        await core.reader.wait_for(position, core.settings.wait_seconds)
        views = core.profiles.current(profile).views
        if "ledger" in views.stopped or not await core.in_thread(views.ledger.has_following):
            return position
        if any([await step(core, profile) for step in _STEPS]):
            continue
        if await core.events.log.last_position() == position:
            return position
        # Somebody else was first; the ledger learns of it when the reader has come by.


async def _forget_bereft(core: Core, profile: OpenProfile) -> int:
    ledger = core.profiles.current(profile).views.ledger
    found = await core.in_thread(lambda: _look(ledger, ledger.bereft(_AT_ONCE)))
    if not found.resting:
        return 0
    now = datetime.now(UTC)

    def of(one: Resting) -> Context:
        # Who forgot the message has forgotten what goes with it, whoever carries it out.
        message, (principal, type_) = next(iter(one.forgotten.items()))
        return Context(actor=Actor(principal, type_), now=now, cause=message)  # type: ignore[arg-type]

    _, position = await change_many(core, lambda loaded: _decide(loaded, profile, found, frozenset(), of))
    return position


def _decide(
    loaded: Loaded, profile: OpenProfile, found: _Found, also: frozenset[str], context: Callable[[Resting], Context]
) -> Entailed:
    """Decide about all of them; what had been consolidated into one that goes comes back where it has sources."""
    forgotten: list[str] = []
    revised: list[str] = []
    for address in dict.fromkeys(one.address for one in found.resting):
        here = [one for one in found.resting if one.address == address]
        losses = [loss_of(one, found.messages, also | one.forgotten.keys()) for one in here]
        memory = loaded.get(Memory, profile.subject(Memory.CATEGORY, address))
        done = lose(memory, losses, context(here[0]))
        forgotten += done.forgotten
        revised += done.revised
    now = context(found.resting[0]).now
    for one in found.resting:
        for member in one.members if one.memory in forgotten else ():
            memory = loaded.get(Memory, aggregate_of(profile, member))
            if memory.find(member).status == "superseded":
                memory.restore(member, Context(actor=_WORKER, now=now, cause=one.memory))
    return Entailed(tuple(forgotten), tuple(revised))


async def _end_tasks(core: Core, profile: OpenProfile) -> int:
    ledger, last = core.profiles.current(profile).views.ledger, 0
    for one in await core.in_thread(lambda: ledger.overdue(_AT_ONCE)):
        context = Context(actor=Actor(one.actor, one.actor_type), now=datetime.now(UTC))  # type: ignore[arg-type]
        _, position = await change(
            core, Memory, aggregate_of(profile, one.memory), partial(end_task, task=one.memory, context=context)
        )
        last = max(last, position)
    return last


async def _delete_sessions(core: Core, profile: OpenProfile) -> int:
    ledger, last = core.profiles.current(profile).views.ledger, 0
    for one in await core.in_thread(lambda: ledger.closing(_AT_ONCE)):
        last = max(last, await _delete_session(core, profile, ledger, one))
    return last


async def _delete_session(core: Core, profile: OpenProfile, ledger: Ledger, one: Closing) -> int:
    """Forget some of what is left of a session; returns where that stands in the log, 0 when nothing was left."""
    context = Context(actor=Actor(one.actor, one.actor_type), now=datetime.now(UTC))  # type: ignore[arg-type]
    messages = await core.in_thread(lambda: ledger.said_in(one.session, one.position, _MESSAGES))
    tasks = await core.in_thread(lambda: ledger.tasks_of(one.session, one.position))
    if messages and await forget_messages(core, profile, messages, context):
        return await core.events.log.last_position()
    last = 0
    for task in tasks:
        _, position = await change(
            core, Memory, aggregate_of(profile, task), partial(forget_version, one=task, context=context)
        )
        last = max(last, position)
    return last


#: What is done of what follows, until none of them finds anything.
_STEPS = (_delete_sessions, _end_tasks, _forget_bereft, end_misquotes, tell_copies)
