"""Which memory is meant: by id, or by key in the one scope that is named."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.errors import ConflictError, InvalidInputError, NotFoundError
from domain.grants import Reach
from domain.ids import split_memory_id
from domain.memory import Memory
from domain.text import fold_key
from gateways.service.context import Core
from gateways.service.profiles import OpenProfile

__all__ = ["aggregate_of", "check_memory", "check_newest", "find_by_id", "find_by_key"]


async def find_by_key(core: Core, profile: OpenProfile, key: str, contact: str, *, ended: bool = False) -> str:
    """Return the id of the live memory under a key (with ``ended`` of the last one that is not), or NotFoundError."""
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    # Only the scope named: a contact's key that is not there, or no more, must not take what is everybody's.
    scope, folded, now = contact or None, fold_key(key), datetime.now(UTC)
    ledger = core.profiles.current(profile).views.ledger
    live = await core.in_thread(lambda: ledger.by_key(folded, [scope], None, now=now, within=frozenset()))
    if ended and live is not None:
        raise InvalidInputError(
            "a memory under that key is live; name the version to restore by its id", expected="an id", found=live.id
        )
    found = await core.in_thread(lambda: ledger.ended_by_key(folded, scope)) if ended else live
    if found is None:
        raise NotFoundError(
            "no live memory under that key" if not ended else "no memory under that key",
            expected="a key in use",
            found=repr(key),
        )
    return found.id


def find_by_id(id: str) -> str:
    """Return the id of a memory when it is one, or raise InvalidInputError."""
    if "@" not in id:
        raise InvalidInputError(
            "this is no id; descriptions have a field of their own",
            expected="<address>@<version>, as recall and list show it; or a description in `description` (--matching)",
            found=repr(id[:80]),
        )
    split_memory_id(id)
    return id


def aggregate_of(profile: OpenProfile, memory: str) -> str:
    """Return the id of the aggregate that a memory is a version of."""
    address, _ = split_memory_id(memory)
    return profile.subject(Memory.CATEGORY, address)


def check_memory(reach: Reach, memory: Memory, memory_id: str) -> None:
    """Raise NotFoundError for a memory that is out of sight as for one that is not there; RefusedError for others'."""
    scope = memory.find(memory_id).written.scope
    if not reach.sees(scope):
        raise NotFoundError("no such memory", expected="the id of a memory", found=memory_id)
    reach.check_write(scope)


def check_newest(memory: Memory, expected: str, request_id: str) -> None:
    """Raise ConflictError when the newest version is not the expected one; a repeated request has done its work."""
    newest = memory.versions[-1].written.memory
    if expected and expected != newest and not memory.did(request_id):
        raise ConflictError("the memory has another newest version", expected=expected, found=newest)
