"""The verbs ``erase`` and ``delete_profile``: what is named is blocked at once, then its keys are destroyed.

Whoever asks waits until it is done and gets the proof; a service that ends half-way goes on with it at its next start.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from domain.envelope import Actor
from domain.errors import InvalidInputError, NotFoundError
from domain.events import ErasureLifted, ProfileDeleted
from domain.ids import check_profile
from domain.text import check_name
from gateways.service.context import Caller, Core
from gateways.service.erasure_proof import prove
from gateways.service.grants import Needs
from gateways.service.tombstones import destroy_recorded, erase_one, named, note
from gateways.service.working import WorkingVerb
from projections.ledger import ErasureRecord, Held
from umbriel.erasure import DeleteProfileRequest, EraseReply, EraseRequest

__all__ = ["ERASING", "delete_profile", "erase"]

Target = Literal["contact", "session", "profile"]


class _What(msgspec.Struct, frozen=True):
    target: Target
    name: str


async def erase(core: Core, caller: Caller, profile: str, request: EraseRequest) -> EraseReply:
    """Erase a contact, a session or the profile; or preview that, prove it, or lift the block."""
    what = _what(core, profile, request)
    if request.lift:
        return await _lift(core, caller, profile, what)
    if what.target == "profile" and await core.in_thread(lambda: core.directory.is_gone(profile)):
        return await _of_deleted(core, profile)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    held = await _held(core, profile, what)
    if request.preview:
        return _reply(core, what, held, preview=True)
    if request.proof:
        return await _proved(core, profile, what, held, done=True)
    position = await erase_one(core, profile, what.target, what.name, Actor(caller.principal, caller.type))
    position = position or await core.events.log.last_position()
    done = await _settled(core, profile, position) if request.wait else False
    if what.target == "profile" and done:
        return msgspec.structs.replace(await _of_deleted(core, profile), **_counts(held))
    return await _proved(core, profile, what, held, done=done)


async def delete_profile(core: Core, caller: Caller, profile: str, request: DeleteProfileRequest) -> EraseReply:
    """Delete a profile: all of its keys, views and files. Its name stays taken until a person gives it free."""
    asked = EraseRequest(whole=True, preview=request.preview, lift=request.lift, wait=request.wait)
    return await erase(core, caller, profile, asked)


def _what(core: Core, profile: str, request: EraseRequest) -> _What:
    check_profile(profile)
    named_: list[tuple[Target, str]] = [("contact", request.contact), ("session", request.session)]
    given = [_What(target, name) for target, name in named_ if name]
    given += [_What("profile", "")] if request.whole else []
    if len(given) != 1:
        raise InvalidInputError(
            "erase takes one thing", expected="a contact, a session or whole=true", found=f"{len(given)} of them"
        )
    if sum((request.preview, request.proof, request.lift)) > 1:
        raise InvalidInputError("these exclude each other", expected="one of preview, proof, lift", found="several")
    limits, (what,) = core.settings.limits, given
    if what.target == "contact":
        if what.name == "*":
            raise InvalidInputError("erase one contact at a time", expected="a contact's name", found="'*'")
        check_name(what.name, field="contact", max_chars=limits.contact_chars)
    elif what.target == "session":
        check_name(what.name, field="session", max_chars=limits.session_chars)
    return what


async def _held(core: Core, profile: str, what: _What) -> Held:
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    async with core.profiles.use(profile) as opened:
        core.check_running(opened)
        ledger = core.profiles.current(opened).views.ledger
        if what.target == "profile":
            return Held((), (), ())
        asked = {what.target: what.name}
        return await core.in_thread(lambda: ledger.held(**asked))


async def _settled(core: Core, profile: str, position: int) -> bool:
    return core.erasures is not None and await core.erasures.settle(profile, position, core.settings.erase_seconds)


def _counts(held: Held) -> dict[str, object]:
    return {
        "sessions": len(held.sessions),
        "messages": len(held.messages),
        "memories": len(held.memories),
        "linked": held.linked,
    }


def _reply(core: Core, what: _What, held: Held, *, preview: bool = False) -> EraseReply:
    reply = EraseReply(target=what.target, position=core.positions.show(core.reader.passed), preview=preview)
    return msgspec.structs.replace(reply, **_counts(held))


async def _record(core: Core, profile: str, what: _What) -> ErasureRecord:
    called = named(await core.events.secret(profile), what.target, what.name)
    async with core.profiles.use(profile) as opened:
        ledger = core.profiles.current(opened).views.ledger
        found = await core.in_thread(lambda: ledger.erasure(what.target, called.hashed))
    if found is None:
        raise NotFoundError(f"no such {what.target} was erased", expected="one that was", found="no tombstone")
    return found


async def _proved(core: Core, profile: str, what: _What, held: Held, *, done: bool) -> EraseReply:
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    record = await _record(core, profile, what)
    contact = what.name if what.target == "contact" else ""
    proof = await prove(core, profile, record.id, contact=contact)
    return msgspec.structs.replace(
        _reply(core, what, held),
        at=record.at,
        by=record.actor,
        lifted=record.lifted,
        done=done and not proof.undestroyed,
        proof=proof,
    )


async def _of_deleted(core: Core, profile: str) -> EraseReply:
    tombstone = await core.in_thread(lambda: core.directory.deleted_profile(profile))
    if tombstone is None:
        raise NotFoundError("no such profile was deleted", expected="one that was", found=profile)
    proof = await prove(core, profile, "")
    return EraseReply(
        target="profile",
        position=core.positions.show(tombstone.position),
        at=tombstone.at,
        by=tombstone.actor,
        lifted=tombstone.lifted,
        done=not proof.undestroyed,
        proof=proof,
    )


# -- lifting ------------------------------------------------------------------------------------


async def _lift(core: Core, caller: Caller, profile: str, what: _What) -> EraseReply:
    """Let what was erased be written about again, under keys of its own; nothing of it comes back."""
    actor = Actor(caller.principal, caller.type)
    if what.target == "profile":
        erasure = await _deletion(core, profile)
    else:
        erasure = (await _record(core, profile, what)).id
        if core.erasures is not None:
            # The keys are gone first: what is lifted half-way would be destroyed later.
            last = await core.events.log.last_position()
            await core.erasures.settle(profile, last, core.settings.erase_seconds)
    position = await note(core, profile, erasure, [ErasureLifted(erasure=erasure)], actor)
    await destroy_recorded(core.events, profile)
    await core.reader.wait_for(position, core.settings.wait_seconds)
    reply = EraseReply(target=what.target, position=core.positions.show(position), lifted=True, done=True)
    if what.target == "profile":
        return reply
    record = await _record(core, profile, what)
    return msgspec.structs.replace(reply, at=record.at, by=record.actor)


async def _deletion(core: Core, profile: str) -> str:
    if not await core.in_thread(lambda: core.directory.is_gone(profile)):
        raise NotFoundError("no such profile was deleted", expected="one that was", found=profile)
    found = [one.data.erasure for one in await core.events.erasures(profile) if isinstance(one.data, ProfileDeleted)]
    return found[-1]


#: What cannot be taken back is for persons who administer the profile.
_PERSON = Needs("admin", person=True)
ERASING: tuple[WorkingVerb, ...] = (
    WorkingVerb("erase", EraseRequest, EraseReply, erase, _PERSON),
    WorkingVerb("delete_profile", DeleteProfileRequest, EraseReply, delete_profile, _PERSON),
)
