"""Questions about memories: by id, address, key and as a list, now or as of a point of the past."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Sequence
from datetime import datetime

from domain.errors import InvalidInputError
from projections.ledger import rows
from projections.ledger.contacts import grouped
from projections.ledger.past import memories_then
from projections.ledger.records import AsOf, HistoryRecord, MemoryRecord, Page, micros
from projections.ledger.store import Store

__all__ = ["MemoryQueries"]

_STATUSES = frozenset({"all", "live", "superseded", "retracted", "rejected", "expired", "forgotten"})
_LIVE = "(m.status = 'live' AND (m.expires_at IS NULL OR m.expires_at > ?))"
_EXPIRED = "(m.status = 'expired' OR m.status = 'live' AND m.expires_at <= ?)"
_IN_SCOPES = "(m.scope IN (SELECT value FROM json_each(?)) OR m.scope IS NULL AND ?)"
_CURSOR_BYTES = 9

_Filter = tuple[list[str], list[object]]


class MemoryQueries:
    """Reads of versions and their history; part of `Ledger`."""

    _store: Store

    def memory(self, memory: str, *, as_of: AsOf | None = None) -> MemoryRecord | None:
        """Return one version, as it is or as it was; None where there is none, or was none yet."""
        with self._store.read() as db:
            row = db.execute(f"{_memories(as_of)} WHERE m.id = ?", (memory,)).fetchone()
        return None if row is None else rows.memory(row)

    def memories(self, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """Return those of these versions that exist."""
        sql = f"{rows.MEMORY} WHERE m.id IN (SELECT value FROM json_each(?))"
        with self._store.read() as db:
            found = db.execute(sql, (rows.array(ids),)).fetchall()
        return {row[0]: rows.memory(row) for row in found}

    def versions(self, address: str) -> list[MemoryRecord]:
        """Return every version at an address, oldest first."""
        with self._store.read() as db:
            found = db.execute(f"{rows.MEMORY} WHERE m.address = ? ORDER BY m.version", (address,)).fetchall()
        return [rows.memory(row) for row in found]

    def history(self, address: str) -> list[HistoryRecord]:
        """Return every event that touched the memory at an address, in log order."""
        sql = f"{rows.HISTORY} WHERE address = ? ORDER BY position, memory"
        with self._store.read() as db:
            found = db.execute(sql, (address,)).fetchall()
        return [rows.history(row) for row in found]

    def by_key(
        self,
        folded_key: str,
        scopes: Sequence[str | None],
        kind: str | None = None,
        *,
        now: datetime,
        within: frozenset[str] | None = None,
        as_of: AsOf | None = None,
    ) -> MemoryRecord | None:
        """Return the newest live memory under a folded key in the first of the scopes that has one, or None.

        A contact stands for all it is linked with (those ``within``, where given); among several of those, what a
        person stated comes first. With ``as_of`` versions, links and the clock are those of then, not of ``now``.
        """
        if not folded_key:
            return None
        condition = f"m.folded_key = ? AND {_IN_SCOPES} AND {_LIVE} AND (? IS NULL OR m.kind = ?)"
        sql = f"{_memories(as_of)} WHERE m.folded_key <> '' AND {condition} ORDER BY m.position DESC"
        with self._store.read() as db:
            places = grouped(db, scopes, within, as_of)
            several = len(places) > len(scopes)
            parameters = (folded_key, *_scope_parameters(places), micros(as_of.clock if as_of else now), kind, kind)
            found = [rows.memory(row) for row in db.execute(sql, parameters).fetchall()]
        return min(found, key=lambda r: (places[r.scope], several and r.author_type != "person"), default=None)

    def ended_by_key(self, folded_key: str, scope: str | None) -> MemoryRecord | None:
        """Return the last version under a folded key, in just this scope, where it was not forgotten; or None."""
        sql = (
            f"{rows.MEMORY} WHERE m.folded_key = ? AND m.folded_key <> '' AND m.scope IS ?"
            " AND m.status <> 'forgotten' ORDER BY m.position DESC LIMIT 1"
        )
        with self._store.read() as db:
            row = db.execute(sql, (folded_key, scope)).fetchone()
        return None if row is None else rows.memory(row)

    def list_memories(
        self,
        *,
        now: datetime,
        session: str | None = None,
        contact: str | None = None,
        kind: str | None = None,
        status: str = "live",
        text: str = "",
        cursor: str = "",
        limit: int = 50,
        as_of: AsOf | None = None,
        within: frozenset[str] | None = None,
        since: datetime | None = None,
    ) -> Page:
        """Return a page of memories, newest first, of a contact (and all it is linked with) and agent-wide.

        Without a contact only agent-wide ones; ``*`` is every contact. ``text`` stands in the memory or its key, in
        any case. A page starts below the position its
        cursor names, so that later writes move nothing. With ``as_of`` versions, links and the clock are those of
        then; what was forgotten since shows as forgotten. Unless pinned, what was recorded before ``since`` stays out.
        Raises InvalidInputError for an unknown status or a cursor that is not one of ours.
        """
        conditions, parameters = _status_filter(status, as_of.clock if as_of else now)
        for condition, value in (("m.session = ?", session), ("m.kind = ?", kind)):
            if value:
                conditions.append(condition)
                parameters.append(value)
        if since is not None:
            conditions.append("(m.recorded_at >= ? OR m.pinned)")
            parameters.append(micros(since))
        if text:
            conditions.append("says(m.text || char(10) || m.key, ?)")
            parameters.append(text.casefold())
        if cursor:
            conditions.append("m.position < ?")
            parameters.append(_read_cursor(cursor))
        if contact != "*":
            conditions.append(_IN_SCOPES)
        sql = f"{_memories(as_of)} WHERE {' AND '.join(conditions)} ORDER BY m.position DESC LIMIT ?"
        with self._store.read() as db:
            if contact != "*":
                parameters.extend(_scope_parameters(grouped(db, (contact or None, None), within, as_of)))
            found = db.execute(sql, (*parameters, limit + 1)).fetchall()
        entries = [rows.memory(row) for row in found[:limit]]
        return Page(entries, _cursor(entries[-1].position) if len(found) > limit and entries else "")


def _memories(as_of: AsOf | None) -> str:
    return rows.MEMORY if as_of is None else memories_then(as_of)


def _scope_parameters(scopes: Collection[str | None]) -> tuple[str, bool]:
    return rows.array(scope for scope in scopes if scope is not None), None in scopes


def _check_status(status: str) -> None:
    if status not in _STATUSES:
        raise InvalidInputError("unknown status", expected=", ".join(sorted(_STATUSES)), found=repr(status[:40]))


def _status_filter(status: str, now: datetime) -> _Filter:
    _check_status(status)
    match status:
        case "all":
            return ["1"], []
        case "live":
            return [_LIVE], [micros(now)]
        case "expired":
            return [_EXPIRED], [micros(now)]
        case _:
            return ["m.status = ?"], [status]


def _cursor(position: int) -> str:
    return base64.urlsafe_b64encode(b"m" + position.to_bytes(8, "big")).decode()


def _read_cursor(cursor: str) -> int:
    try:
        raw = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raw = b""
    if len(raw) != _CURSOR_BYTES or raw[:1] != b"m":
        raise InvalidInputError("not a cursor of this list", expected="a cursor as returned", found=repr(cursor[:40]))
    return int.from_bytes(raw[1:], "big") & 0x7FFFFFFFFFFFFFFF
