"""The verb ``proof``: that a memory, a message or an event was in the log when it was sealed."""

from __future__ import annotations

import msgspec

from domain.envelope import profile_of
from domain.errors import DamagedError, NotFoundError, UnavailableError
from domain.events import SealMade
from domain.ids import check_profile
from domain.sealing import Proof, Stored, check_proof, leaf_at, proof_of
from domain.text import check_name
from gateways.jetstream.log import Log
from gateways.jetstream.seal_keys import check_signature
from gateways.jetstream.streams import originator_for
from gateways.service.context import Core
from gateways.service.sealing import seal_in
from umbriel.proofs import ProofReply, ProofRequest

__all__ = ["covering_seal", "proof_at", "prove"]

_PAGE = 500
_ID_CHARS = 200


async def prove(core: Core, profile: str, request: ProofRequest) -> ProofReply:
    """Return the proof of one thing in a profile; what is not sealed yet is sealed now.

    Raises NotFoundError for what is not in this profile, DamagedError where the log is not what was sealed.
    """
    check_profile(profile)
    check_name(request.id, field="id", max_chars=_ID_CHARS)
    position = await _position_of(core, profile, request.id)
    if not position:
        raise NotFoundError("nothing like that is in this profile", expected="a known id", found=request.id)
    proof = await proof_at(core, position)
    return msgspec.convert(msgspec.to_builtins(proof), ProofReply)


async def _position_of(core: Core, profile: str, id_: str) -> int:
    """Return where in the log a thing of a profile is, 0 for nowhere."""
    if not await core.known_profile(profile):
        return 0
    if ":" in id_:
        return await _if_of(core.events.log, profile, core.positions.read(id_, field="id"))
    async with core.profiles.use(profile) as opened:
        ledger = opened.views.ledger
        found = await core.in_thread(lambda: ledger.memory(id_) or ledger.message(id_))
    return found.position if found is not None else await _event(core.events.log, profile, id_)


async def _if_of(log: Log, profile: str, position: int) -> int:
    async for place in log.stretch(position, position):
        if place.message is not None and profile_of(originator_for(place.message.subject)) == profile:
            return position
    return 0


async def _event(log: Log, profile: str, event_id: str) -> int:
    after = 0
    while entries := await log.read(after, _PAGE, profile):
        for entry in entries:
            if entry.event_id == event_id:
                return entry.position
        after = entries[-1].position
    return 0


async def proof_at(core: Core, position: int) -> Proof:
    """Return the proof of the message at a position of the log."""
    log = core.events.log
    seal = await covering_seal(log, position)
    if seal is None and core.seal is not None:
        await core.seal()
        seal = await covering_seal(log, position)
    if seal is None:
        raise UnavailableError("this is not sealed yet", expected="a seal behind it", found=f"position {position}")
    leaves: list[bytes] = []
    proven: Stored | None = None
    async for place in log.stretch(seal.first, seal.last):
        leaf = leaf_at(place.position, place.message, core.events.lost)
        if leaf is None:
            break
        leaves.append(leaf)
        proven = place.message if place.position == position else proven
    if proven is None or len(leaves) != seal.last - seal.first + 1:
        raise DamagedError("the log does not hold what was sealed", expected="what was sealed", found="less")
    proof = proof_of(proven, leaves, seal)
    check_proof(proof, check_signature)
    return proof


async def covering_seal(log: Log, position: int) -> SealMade | None:
    """Return the seal that a position lies under, None while there is none: seals lie behind what they seal."""
    after = position
    while entries := await log.read_category(SealMade.category(), after, _PAGE):
        for entry in entries:
            seal = seal_in(entry)
            if seal.first <= position <= seal.last:
                return seal
        after = entries[-1].position
    return None
