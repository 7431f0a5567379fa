"""What a person rejected holds at every address of its scope, and what was corrected to a text says that text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from domain.events import MemoryRemembered
from domain.memory import Memory, Version
from domain.text import skeleton
from gateways.service.aggregates import load
from gateways.service.context import Core
from gateways.service.finding import aggregate_of
from gateways.service.profiles import OpenProfile

__all__ = ["in_question", "note_settled", "rejected_among", "said_elsewhere", "settle"]


def note_settled(core: Core, profile: str, position: int) -> None:
    """Remember that a rejection or a correction was written there: what follows must be judged with it.

    So only who comes right behind one waits for the ledger. One written through another instance counts here as
    soon as the ledger has read it.
    """
    core.settled[profile] = max(position, core.settled.get(profile, 0))


async def settle(core: Core, profile: OpenProfile) -> None:
    """Wait until the ledger has read the last rejection and correction that were written here."""
    await core.reader.wait_for(core.settled.get(profile.name, 0), core.settings.wait_seconds)


def in_question(core: Core, profile: OpenProfile, draft: MemoryRemembered, now: datetime) -> bool:
    """Whether the ledger as it is gives reason to ask `rejected_among` or `said_elsewhere`; blocks, if only shortly."""
    ledger = core.profiles.current(profile).views.ledger
    if ledger.rejected([skeleton(draft.text)], [draft.scope]):
        return True
    return not draft.key and bool(ledger.saying(draft.text, draft.kind, draft.scope, now=now))


async def rejected_among(core: Core, profile: OpenProfile, texts: Sequence[str], scope: str | None) -> dict[int, str]:
    """Return which of these statements a person rejected in the scope: index to the id of the rejected memory."""
    await settle(core, profile)
    if not await _rejected(core, profile, texts, scope):
        return {}
    # A person may have stated it again just now; only what the whole log says keeps anybody from speaking.
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    return await _rejected(core, profile, texts, scope)


async def _rejected(core: Core, profile: OpenProfile, texts: Sequence[str], scope: str | None) -> dict[int, str]:
    skeletons = [skeleton(text) for text in texts]
    ledger = core.profiles.current(profile).views.ledger
    found = await core.in_thread(lambda: ledger.rejected(skeletons, [scope]))
    return {index: found[one] for index, one in enumerate(skeletons) if one in found}


async def said_elsewhere(core: Core, profile: OpenProfile, draft: MemoryRemembered) -> Version | None:
    """Return the live memory without a key that was corrected to what ``draft`` says, at another address, or None."""
    if draft.key:
        return None
    await settle(core, profile)
    now = datetime.now(UTC)
    ledger = core.profiles.current(profile).views.ledger
    found = await core.in_thread(lambda: ledger.saying(draft.text, draft.kind, draft.scope, now=now))
    for record in found:
        memory = await load(core, Memory, aggregate_of(profile, record.id))
        version = memory.find(record.id)
        if _is_another(version.written, draft) and version.live_at(now) and version.says(draft):
            return version
    return None


def _is_another(written: MemoryRemembered, draft: MemoryRemembered) -> bool:
    """Whether it is another memory that could have been at the draft's address: of one time, or of one session."""
    if written.address == draft.address:
        return False
    match draft.kind:
        case "event":
            return written.occurred_at == draft.occurred_at
        case "task":
            return written.session == draft.session
        case _:
            return True
