"""What is different between two points of the past: versions whose state changed, and what took whose place."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import msgspec

from projections.ledger import rows
from projections.ledger.contacts import grouped
from projections.ledger.records import AsOf, HistoryRecord, micros, moment
from projections.ledger.store import Store

__all__ = ["ChangeQueries", "Changed", "State", "Successor"]

_STATE = "status, superseded_by, confidence, pinned, expires_at, author_type, sources, metadata"
_COLUMNS = [column.strip() for column in _STATE.split(",")]
_HELD = "{alias}.from_position <= {point} AND ({alias}.to_position IS NULL OR {alias}.to_position > {point})"
_BEFORE, _AFTER = _HELD.format(alias="a", point="?1"), _HELD.format(alias="b", point="?2")
_VERSION = f"""
SELECT v.id, v.address, v.position, v.kind, v.scope, v.key, v.text, v.status = 'forgotten',
    {", ".join(f"a.{column}" for column in _COLUMNS)}, {", ".join(f"b.{column}" for column in _COLUMNS)}
FROM memories v JOIN states b ON b.memory = v.id AND {_AFTER}
    LEFT JOIN states a ON a.memory = v.id AND {_BEFORE}
"""
#: By an event, or because the clock passed their expiry.
_CHANGED = """
v.id IN (SELECT memory FROM states WHERE from_position > ?1 AND from_position <= ?2
    UNION SELECT memory FROM states WHERE expires_at > ?3 AND expires_at <= ?4)
"""
_REPLACED = """
SELECT DISTINCT memory FROM memory_events
WHERE other = ? AND topic = 'memory.superseded' AND position > ? AND position <= ?
"""
_EVENTS = f"{rows.HISTORY} WHERE address = ? AND memory = ? AND position > ? AND position <= ? ORDER BY position"

_STRINGS = msgspec.json.Decoder(tuple[str, ...])
_OBJECT = msgspec.json.Decoder(dict[str, Any])


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What may change of a version, as it was at a point; the status is that of the events."""

    status: str
    superseded_by: str
    confidence: float
    pinned: bool
    expires_at: datetime | None
    author_type: str
    sources: tuple[str, ...]
    metadata: dict[str, Any]

    def status_at(self, clock: datetime) -> str:
        """Return the status with expiry judged by a clock."""
        expired = self.status == "live" and self.expires_at is not None and self.expires_at <= clock
        return "expired" if expired else self.status


class Successor(msgspec.Struct, frozen=True):
    """What stands at the end of a chain of replacements: which version, and its kind, scope and states."""

    id: str
    kind: str
    scope: str | None
    before: State | None
    after: State


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A version with its state at two points (``before`` is None where it was not there yet) and the events between.

    ``text`` and ``key`` are empty when it is forgotten by now. ``replaced`` are the versions that it took the place
    of meanwhile, over any number of steps; ``successor`` is what took its own.
    """

    id: str
    position: int
    kind: str
    scope: str | None
    key: str
    text: str
    forgotten: bool
    before: State | None
    after: State
    events: tuple[HistoryRecord, ...] = ()
    replaced: tuple[Changed, ...] = ()
    successor: Successor | None = None


class ChangeQueries:
    """Reads of differences; part of `Ledger`."""

    _store: Store

    def changed(
        self,
        start: AsOf,
        end: AsOf,
        *,
        contact: str | None = None,
        kind: str | None = None,
        within: frozenset[str] | None = None,
        since: datetime | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> list[Changed]:
        """Return versions that are not at ``end`` what they were at ``start``, those written first at the beginning.

        Of a contact (and all it was linked with at the end) and agent-wide; ``*`` is every contact. A page begins
        after the version at the position ``after``.
        """
        conditions = [
            _CHANGED,
            "v.position > ?5",
            "(?6 IS NULL OR v.kind = ?6)",
            "(?7 IS NULL OR v.recorded_at >= ?7 OR b.pinned)",
        ]
        parameters: list[object] = [*_points(start, end), micros(start.clock), micros(end.clock), after, kind]
        parameters.append(None if since is None else micros(since))
        with self._store.read() as db:
            if contact != "*":
                scopes = grouped(db, (contact or None, None), within, end)
                conditions.append("(v.scope IS NULL OR v.scope IN (SELECT value FROM json_each(?8)))")
                parameters.append(rows.array(scope for scope in scopes if scope is not None))
            sql = f"{_VERSION} WHERE {' AND '.join(conditions)} ORDER BY v.position LIMIT {int(limit)}"
            found = db.execute(sql, parameters).fetchall()
            return [_whole(db, row, start, end) for row in found]


def _points(start: AsOf, end: AsOf) -> tuple[int, int]:
    return start.position, end.position


def _whole(db: sqlite3.Connection, row: Sequence[Any], start: AsOf, end: AsOf) -> Changed:
    """Return a version with what it replaced and what replaced it."""
    one = _changed(db, row, start, end)
    return msgspec.structs.replace(
        one, replaced=tuple(_replaced(db, one.id, start, end)), successor=_successor(db, one, start, end)
    )


def _changed(db: sqlite3.Connection, row: Sequence[Any], start: AsOf, end: AsOf) -> Changed:
    id_, address, position, kind, scope, key, text, forgotten = row[:8]
    width = len(_COLUMNS)
    events = db.execute(_EVENTS, (address, id_, *_points(start, end))).fetchall()
    return Changed(
        id=id_,
        position=position,
        kind=kind,
        scope=scope,
        key=key,
        text=text,
        forgotten=bool(forgotten),
        before=None if row[8] is None else _state(row[8 : 8 + width]),
        after=_state(row[8 + width :]),
        events=tuple(map(rows.history, events)),
    )


def _state(row: Sequence[Any]) -> State:
    return State(
        status=row[0],
        superseded_by=row[1],
        confidence=row[2],
        pinned=bool(row[3]),
        expires_at=None if row[4] is None else moment(row[4]),
        author_type=row[5],
        sources=_STRINGS.decode(row[6]),
        metadata=_OBJECT.decode(row[7]),
    )


def _version(db: sqlite3.Connection, id_: str, start: AsOf, end: AsOf) -> Changed | None:
    row = db.execute(f"{_VERSION} WHERE v.id = ?3", (*_points(start, end), id_)).fetchone()
    return None if row is None else _changed(db, row, start, end)


def _replaced(db: sqlite3.Connection, id_: str, start: AsOf, end: AsOf) -> list[Changed]:
    """Return what led to a version over any number of replacements and was there at the start, oldest first."""
    found: dict[str, Changed] = {}
    seen, todo = {id_}, [id_]
    while todo:
        by = todo.pop()
        for (before,) in db.execute(_REPLACED, (by, *_points(start, end))).fetchall():
            one = None if before in seen else _version(db, before, start, end)
            if one is None or (one.after.status, one.after.superseded_by) != ("superseded", by):
                continue
            seen.add(before)
            todo.append(before)
            if one.before is not None and one.before.status_at(start.clock) == "live":
                found[before] = one
    return sorted(found.values(), key=lambda one: one.position)


def _successor(db: sqlite3.Connection, one: Changed, start: AsOf, end: AsOf) -> Successor | None:
    """Return what stands at the end of the replacements of a version, as of the later point."""
    seen: Collection[str] = {one.id}
    last = None
    state = one.after
    while state.status == "superseded" and state.superseded_by not in seen:
        found = _version(db, state.superseded_by, start, end)
        if found is None:
            break
        last, state, seen = found, found.after, {*seen, found.id}
    return None if last is None else Successor(last.id, last.kind, last.scope, last.before, last.after)
