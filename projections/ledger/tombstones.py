"""What is forgotten, by which event: what every reading of the log leaves out of the events that quote it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable

from domain.envelope import Envelope
from domain.events import ConversationDeleted, MemoryForgotten, MessageForgotten, SummaryRewritten
from domain.redacting import Forgotten, Tombstone, buried, said_in, summary_at
from projections.ledger.records import micros, moment
from projections.ledger.store import Store

__all__ = ["FORGETTING", "Known", "TombstoneQueries", "bury", "bury_summary"]

#: Events that forget something; a summary is found to quote what was forgotten while it was made.
FORGETTING = (MessageForgotten, MemoryForgotten, ConversationDeleted, SummaryRewritten)


def bury(db: sqlite3.Connection, envelope: Envelope) -> None:
    """Note what an event forgets."""
    at = micros(envelope.recorded_at)
    rows = ((name, envelope.position, envelope.event_id, at, envelope.position) for name in buried(envelope.data))
    db.executemany("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?)", rows)


def bury_summary(db: sqlite3.Connection, envelope: Envelope, session: str, summary: int) -> None:
    """Note that a summary, by its position, lost a message of its session: the last that was forgotten in it."""
    db.execute(
        "INSERT OR IGNORE INTO tombstones SELECT ?, position, event, at, ? FROM tombstones WHERE name = ?",
        (summary_at(summary), envelope.position, said_in(session)),
    )


class Known:
    """What was read of the tombstones, until an event brings others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forgotten = Forgotten()
        self._noted = -1
        self._stale = True

    def changed(self, events: Iterable[Envelope]) -> None:
        """Note that these were applied."""
        if any(isinstance(one.data, FORGETTING) for one in events):
            self._stale = True

    @property
    def present(self) -> Forgotten | None:
        """What is forgotten, None where it has to be read."""
        return None if self._stale else self._forgotten

    def read(self, store: Store) -> Forgotten:
        """Read what came since; the same object as before where nothing did."""
        with self._lock:
            # Before the reading: what is applied meanwhile is read the next time.
            self._stale = False
            with store.read() as db:
                found = db.execute("SELECT * FROM tombstones WHERE noted > ? ORDER BY noted", (self._noted,)).fetchall()
            if found:
                new = {name: Tombstone(position, event, moment(at)) for name, position, event, at, _ in found}
                self._forgotten = Forgotten({**self._forgotten.tombstones, **new})
                self._noted = found[-1][4]
            return self._forgotten


class TombstoneQueries:
    """Reads of what is forgotten; part of `Ledger`."""

    _store: Store
    _known: Known

    def forgotten(self) -> Forgotten:
        """Return what is forgotten in the profile; the same object as long as nothing more is."""
        present = self._known.present
        return self._known.read(self._store) if present is None else present

    def forgotten_known(self) -> Forgotten | None:
        """Return what is forgotten where no file has to be read for it, else None."""
        return self._known.present
