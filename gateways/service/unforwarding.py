"""What was erased is deleted where it had been forwarded to, as far as that can be done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
import structlog

from domain.errors import UmbrielError
from domain.kinds import contact_scope, conversation_scope, memory_scope
from gateways.service.context import Core
from gateways.service.profiles import OpenProfile
from projections.ledger import Held, Ledger, ToGo

__all__ = ["note_elsewhere", "take_back"]

_log = structlog.get_logger(__name__)


async def note_elsewhere(core: Core, opened: OpenProfile, togo: Sequence[ToGo]) -> None:
    """Note what is to be deleted elsewhere while it is known, drop turns under way and notes of work that failed."""
    ledger, profile = core.profiles.current(opened).views.ledger, opened.name
    held = await core.in_thread(lambda: _held(ledger, [one.scope for one in togo]))
    for session in held.sessions:
        await core.turns.drop(profile, session)
    items = [*held.messages, *held.memories]
    await core.in_thread(lambda: core.directory.drop_failed(profile, msgspec.json.encode(items).decode()))
    for subject in ("messages", "memories"):
        core.forwarding.pop((profile, subject), None)
    if core.managed is not None:
        place = core.managed.settings.destination
        await core.in_thread(lambda: _note(core, profile, place, held))


def _held(ledger: Ledger, scopes: Sequence[str]) -> Held:
    sessions, messages, memories = list[str](), list[str](), list[str]()
    prefixes = {"session": conversation_scope(""), "contact": contact_scope(""), "memory": memory_scope("")}
    for scope in scopes:
        for what, prefix in prefixes.items():
            if scope.startswith(prefix):
                found = ledger.held(**{what: scope[len(prefix) :]})
                sessions += found.sessions
                messages += found.messages
                memories += found.memories
    return Held(tuple(dict.fromkeys(sessions)), tuple(dict.fromkeys(messages)), tuple(dict.fromkeys(memories)))


def _note(core: Core, profile: str, place: str, held: Held) -> None:
    directory = core.directory
    messages = directory.remote_names(profile, place, "message", held.messages)
    for remote in set(messages.values()):
        directory.note_unforwarding(profile, place, "session", remote)
        directory.drop_session(profile, place, remote)
    gone = set(held.memories)
    for memory, remote in directory.remote_names(profile, place, "memory", held.memories).items():
        # What says the same is one there: it stays as long as one of them does.
        if gone.issuperset(directory.local_names(profile, place, "memory", remote)):
            directory.note_unforwarding(profile, place, "memory", remote)
        directory.drop_forwarded(profile, place, "memory", [memory])


async def take_back(core: Core, profile: str) -> int:
    """Delete elsewhere what is to be deleted there; returns how much is left because nobody answers."""
    if core.managed is None:
        return 0
    place, left = core.managed.settings.destination, 0
    for kind, remote in await core.in_thread(lambda: core.directory.unforwarding(profile, place)):
        try:
            if kind == "session":
                await core.managed.delete_session(profile, remote)
            else:
                await core.managed.delete_memory(profile, remote)
        except UmbrielError as error:
            _log.warning("not_taken_back", profile=profile, reason=error.code)
            left += 1
            continue
        await core.in_thread(partial(core.directory.unforwarded, profile, place, kind, remote))
    return left
