"""Questions about what was said in a session, message by message, with what is kept beside it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from projections.ledger import rows
from projections.ledger.records import MessageRecord, micros
from projections.ledger.store import Store

__all__ = ["Told", "TranscriptQueries"]

_SIZES = "SELECT message, length(attachment) FROM attachments WHERE message IN (SELECT value FROM json_each(?))"
_ATTACHMENTS = "SELECT message, attachment FROM attachments WHERE message IN (SELECT value FROM json_each(?))"


class Told(msgspec.Struct, frozen=True):
    """Messages in the order asked for, what is kept beside them by id, and whether there are more of them."""

    messages: list[MessageRecord]
    attachments: dict[str, str]
    more: bool


class TranscriptQueries:
    """Reads of conversations word for word; part of `Ledger`."""

    _store: Store

    def told(
        self,
        session: str,
        *,
        after: int = 0,
        before: int | None = None,
        newest_first: bool = False,
        limit: int = 50,
        room: int = 1_000_000,
        since: datetime | None = None,
    ) -> Told:
        """Return messages of a session that are not forgotten, between two positions (neither of them included).

        At most ``limit``, and no more than about ``room`` characters, but one at least. What was recorded before
        ``since`` is left out.
        """
        order = "DESC" if newest_first else "ASC"
        sql = (
            f"{rows.MESSAGE} WHERE m.session = ?1 AND m.forgotten = 0 AND m.position > ?2"
            " AND (?3 IS NULL OR m.position < ?3) AND (?4 IS NULL OR m.recorded_at >= ?4)"
            f" ORDER BY m.position {order} LIMIT ?5"
        )
        asked = (session, after, before, None if since is None else micros(since), limit + 1)
        with self._store.read() as db:
            found = [rows.message(row) for row in db.execute(sql, asked)]
            ids = rows.array(one.id for one in found[:limit])
            fits = _fitting(found[:limit], dict(db.execute(_SIZES, (ids,)).fetchall()), room)
            kept = dict(db.execute(_ATTACHMENTS, (rows.array(one.id for one in fits),)).fetchall())
        return Told(fits, kept, len(fits) < len(found))


def _fitting(messages: Sequence[MessageRecord], beside: dict[str, int], room: int) -> list[MessageRecord]:
    fits: list[MessageRecord] = []
    for one in messages:
        room -= len(one.content) + beside.get(one.id, 0)
        if room < 0 and fits:
            break
        fits.append(one)
    return fits
