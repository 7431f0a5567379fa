"""How imports change the ledger: one that is under way is known, so that nobody thinks about half of it."""

from __future__ import annotations

import sqlite3

from domain.envelope import Envelope
from domain.events import ImportStarted, ProfileImported

__all__ = ["project_import"]


def project_import(db: sqlite3.Connection, envelope: Envelope, event: ImportStarted | ProfileImported) -> None:
    """Apply one event inside the caller's transaction."""
    if isinstance(event, ImportStarted):
        db.execute("INSERT OR IGNORE INTO importing VALUES (?, ?)", (event.run, envelope.position))
    else:
        db.execute("DELETE FROM importing WHERE run = ?", (event.run,))
