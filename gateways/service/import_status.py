"""What ``status`` says of an import that is open: nothing is thought about in its profile until it is ended."""

from __future__ import annotations

from domain.errors import DamagedError
from domain.events import ImportStarted
from gateways.jetstream.codec import open as open_entry
from gateways.jetstream.wire import Entry
from gateways.service.context import Core
from gateways.service.profiles import OpenProfile
from umbriel.imports import ImportStatus

__all__ = ["import_status"]


async def import_status(core: Core, opened: OpenProfile) -> ImportStatus | None:
    """Return how the import into a profile stands, None where none is open."""
    found = await core.in_thread(opened.views.ledger.importing)
    if found is None:
        return None
    run, position = found
    entries = await core.events.log.read(position - 1, 1, opened.name)
    event = await _started(core, opened.name, entries[0]) if entries and entries[0].position == position else None
    return ImportStatus(
        run=run,
        source=event.source if event else "",
        position=core.positions.show(position),
        began=entries[0].recorded_at if event else None,
        written=await core.events.log.count_after(position, opened.name),
        lines=event.verified.lines if event and event.verified else 0,
    )


async def _started(core: Core, profile: str, entry: Entry) -> ImportStarted | None:
    key = await core.events.keys.by_id(profile, entry.key_id) if entry.key_id else None
    try:
        event = open_entry(entry, key).data
    except DamagedError:
        return None  # its key is gone: that it is open is known all the same
    return event if isinstance(event, ImportStarted) else None
