"""The events of an erasure: how they are written, and what they say is destroyed."""

from __future__ import annotations

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from domain.envelope import Actor, Envelope
from domain.errors import ConflictError, ErasedError
from domain.events import Erasable, ErasureLifted, Event, KeyDestroyed, ProfileDeleted, ProfileErased
from domain.grants import ALL
from domain.ids import keyed_id, originator_id
from domain.kinds import CLEAR, contact_scope, conversation_scope, memory_scope, profile_scope
from gateways.jetstream.keys import SECRET
from gateways.service.context import Core
from gateways.service.events import ERASURES, EventReader

__all__ = [
    "WORKER",
    "Named",
    "announce",
    "blocked",
    "check_not_erased",
    "destroy_recorded",
    "erase_one",
    "named",
    "note",
    "recorded_keys",
]

WORKER = Actor("erasure", "service")
#: key ids in one event
_KEYS = 5_000
_TRIES = 8
#: keys destroyed at the same time
_AT_ONCE = 16
_IN_THE_CLEAR = (KeyDestroyed, ProfileDeleted, ErasureLifted)


class Named(msgspec.Struct, frozen=True):
    """What is erased: what kind of thing, its name hashed, the id of its erasure, and its own first key."""

    target: Erasable
    hashed: str
    erasure: str
    key: str


def named(secret: bytes, target: Erasable, name: str) -> Named:
    """Return how a thing is called once it is erased."""
    scopes = {"contact": contact_scope, "session": conversation_scope, "memory": memory_scope}
    key = keyed_id(secret, "key", scopes[target](name), "1") if target in scopes else SECRET
    return Named(target, keyed_id(secret, "erased", target, name), keyed_id(secret, ERASURES, target, name), key)


async def blocked(core: Core, profile: str, *, contacts: Sequence[str] = (), session: str = "") -> bool:
    """Whether one of these contacts or a session was erased, as the log has it: writing needs no view.

    Read from any replica. What is written by whoever reads too early is found by the ledger, and goes as well.
    """
    secret = await core.events.secret(profile)
    asked = [named(secret, "contact", contact) for contact in contacts]
    asked += [named(secret, "session", session)] if session else []
    heads = await core.events.log.heads([originator_id(profile, ERASURES, one.erasure) for one in asked])
    return any(head.topic != ErasureLifted.TOPIC for head in heads.values())


async def check_not_erased(core: Core, profile: str, request: object) -> None:
    """Raise ErasedError when what a request writes about was erased and nobody has lifted that."""
    contacts = [name for field in ("contact", "to") if (name := getattr(request, field, "")) and name != ALL]
    session = getattr(request, "session", "")
    if not (contacts or session) or not await core.known_profile(profile):
        return
    if await blocked(core, profile, contacts=contacts, session=session):
        raise ErasedError(
            "this was erased: nothing is kept about it", expected="what was not erased", found="its tombstone"
        )


async def note(
    core: Core, profile: str, erasure: str, events: Sequence[Event], actor: Actor, *, new: bool = False
) -> int:
    """Append events of an erasure, in one step; returns the position of the last one.

    With ``new`` nothing is written, and 0 returned, where the last thing known of it is that it was erased.
    """
    subject = originator_id(profile, ERASURES, erasure)
    for attempt in range(_TRIES):
        head = await core.events.log.head(subject)
        if new and head is not None and head.topic != ErasureLifted.TOPIC:
            return 0
        version, now = head.version if head else 0, datetime.now(UTC)
        envelopes = [
            Envelope(
                originator_id=subject,
                originator_version=version + number,
                event_id=uuid.uuid4().hex,
                recorded_at=now,
                actor=actor,
                data=event,
                key_scope=CLEAR if isinstance(event, _IN_THE_CLEAR) else profile_scope(),
            )
            for number, event in enumerate(events, start=1)
        ]
        try:
            appends = [await core.events.encode(one, expected=None) for one in envelopes]
            first = msgspec.structs.replace(appends[0], expected=head.position if head else 0)
            return max(await core.events.log.append([first, *appends[1:]]))
        except ConflictError:
            # Another instance works at the same.
            if attempt == _TRIES - 1:
                raise
    raise AssertionError("unreachable")


async def erase_one(core: Core, profile: str, target: Erasable, name: str, actor: Actor) -> int:
    """Record that something is erased, if that is not what is known of it; returns where, 0 for nothing new."""
    called = named(await core.events.secret(profile), target, name)
    keys = (called.key,) if target != "memory" else ()
    event = ProfileErased(
        erasure=called.erasure,
        target=target,
        name=called.hashed,
        keys=keys,
        memory=name if target == "memory" else "",
    )
    return await note(core, profile, called.erasure, [event], actor, new=True)


async def announce(core: Core, profile: str, erasure: str, keys: Sequence[str], again: Sequence[str] = ()) -> int:
    """Record which keys are destroyed, before they are; returns where."""
    events = [
        KeyDestroyed(erasure=erasure, keys=tuple(keys[start : start + _KEYS]), again=tuple(again) if start == 0 else ())
        for start in range(0, max(len(keys), 1), _KEYS)
    ]
    return await note(core, profile, erasure, events, WORKER)


# -- what is recorded is done -------------------------------------------------------------------


def recorded_keys(envelopes: Iterable[Envelope]) -> dict[str, bool]:
    """Return the keys that these events destroyed, and whether their scopes are closed."""
    found: dict[str, bool] = {}
    of: dict[str, set[str]] = defaultdict(set)
    for one in envelopes:
        match one.data:
            case KeyDestroyed(erasure=erasure, keys=keys, again=again):
                of[erasure].update(keys)
                found |= dict.fromkeys(again, False) | dict.fromkeys(keys, True)
            case ErasureLifted(erasure=erasure):
                found |= dict.fromkeys(of[erasure], False)
    return found


async def destroy_recorded(events: EventReader, profile: str | None = None) -> int:
    """Destroy every key whose destruction the log records and that is still there; returns how many there were.

    Done at every start: a restored backup may have brought keys back, a crash may have come between.
    """
    by_profile: dict[str, list[Envelope]] = defaultdict(list)
    for one in await events.erasures(profile):
        by_profile[one.profile].append(one)
    count = 0
    for name, envelopes in by_profile.items():
        if keys := recorded_keys(envelopes):
            count += await _destroy(events, name, keys)
    return count


async def _destroy(events: EventReader, profile: str, keys: dict[str, bool]) -> int:
    states, ring = await events.keys.states(profile), events.keys
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(key_id: str, *, closed: bool) -> bool:
        state = states.get(key_id)
        if state is not None and state.reborn and not closed:
            return False
        async with turns:
            if state is not None and state.closed and not closed:
                await ring.open(profile, key_id)
            if state is not None and state.destroyed and state.records == 1 and state.closed >= closed:
                ring.forget(profile, key_id)
                return False
            await ring.destroy(profile, key_id, closed=closed)
            return True

    return sum(await asyncio.gather(*(one(key_id, closed=closed) for key_id, closed in keys.items())))
