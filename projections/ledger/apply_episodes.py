"""How overlays and summaries change the ledger; both go when a message that they rest on is forgotten."""

from __future__ import annotations

import sqlite3

from domain.envelope import Envelope
from domain.events import OverlayAdded, SummaryRewritten
from projections.ledger.records import micros
from projections.ledger.tombstones import bury_summary

__all__ = ["Episodic", "lose_message", "project_episodic"]

Episodic = OverlayAdded | SummaryRewritten


def project_episodic(db: sqlite3.Connection, envelope: Envelope, event: Episodic) -> None:
    """Apply one event inside the caller's transaction."""
    if isinstance(event, OverlayAdded):
        _overlay(db, envelope, event)
    else:
        _summary(db, envelope, event)


def _overlay(db: sqlite3.Connection, envelope: Envelope, event: OverlayAdded) -> None:
    for overlay in event.replaces:
        _drop(db, overlay)
        db.execute("DELETE FROM lost_overlays WHERE id = ?", (overlay,))
    found = [
        db.execute("SELECT position FROM messages WHERE id = ? AND forgotten = 0", (message,)).fetchone()
        for message in event.messages
    ]
    if None in found:
        # Forgotten between the decision and the append.
        db.execute("INSERT OR IGNORE INTO lost_overlays VALUES (?, ?)", (event.overlay, event.session))
        return
    positions = [position for (position,) in found]
    row = (event.overlay, event.session, min(positions), max(positions), len(positions), event.summary, event.tokens)
    db.execute(
        "INSERT OR REPLACE INTO overlays VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, event.model, micros(envelope.recorded_at), envelope.position),
    )
    db.executemany(
        "INSERT OR REPLACE INTO overlay_messages VALUES (?, ?)", [(one, event.overlay) for one in event.messages]
    )


def _summary(db: sqlite3.Connection, envelope: Envelope, event: SummaryRewritten) -> None:
    at = micros(envelope.recorded_at)
    found = db.execute("SELECT position FROM messages WHERE id = ?", (event.last,)).fetchone()
    count = "SELECT count(*) FROM messages WHERE session = ? AND position <= ? AND forgotten = 0"
    if found is None or db.execute(count, (event.session, found[0])).fetchone()[0] < event.messages:
        bury_summary(db, envelope, event.session, envelope.position)
        return  # one was forgotten while it was made
    db.execute("UPDATE summaries SET archived_at = ? WHERE session = ? AND archived_at IS NULL", (at, event.session))
    row = (envelope.position, event.session, event.summary, found[0], event.tokens, event.model, at)
    db.execute("INSERT INTO summaries VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", row)


def lose_message(db: sqlite3.Connection, envelope: Envelope, message: str) -> None:
    """Take out every overlay and summary in which a forgotten message has a part."""
    for (overlay,) in db.execute("SELECT overlay FROM overlay_messages WHERE message = ?", (message,)).fetchall():
        (session,) = db.execute("SELECT session FROM overlays WHERE id = ?", (overlay,)).fetchone()
        _drop(db, overlay)
        db.execute("INSERT OR IGNORE INTO lost_overlays VALUES (?, ?)", (overlay, session))
    lost = db.execute(
        "SELECT s.position, s.session FROM summaries s JOIN messages m ON m.session = s.session"
        " WHERE m.id = ? AND s.upto >= m.position",
        (message,),
    ).fetchall()
    for position, session in lost:
        bury_summary(db, envelope, session, position)
        db.execute("DELETE FROM summaries WHERE position = ?", (position,))


def _drop(db: sqlite3.Connection, overlay: str) -> None:
    db.execute("DELETE FROM overlays WHERE id = ?", (overlay,))
    db.execute("DELETE FROM overlay_messages WHERE overlay = ?", (overlay,))
