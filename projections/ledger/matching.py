"""The condition of a memory ``m`` that is live now, in one of some scopes and of some kinds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from projections.ledger import rows
from projections.ledger.records import micros

__all__ = ["MATCHES", "matching"]

MATCHES = """m.status = 'live' AND (m.expires_at IS NULL OR m.expires_at > ?)
    AND (? OR m.scope IN (SELECT value FROM json_each(?)) OR m.scope IS NULL AND ?)
    AND (? OR m.kind IN (SELECT value FROM json_each(?)))"""


def matching(now: datetime, scopes: Sequence[str | None] | None, kinds: frozenset[str] | None) -> tuple[object, ...]:
    """Return the parameters of ``MATCHES``; None is every scope, or every kind."""
    return (
        micros(now),
        scopes is None,
        rows.array(scope for scope in scopes or () if scope is not None),
        None in (scopes or ()),
        kinds is None,
        rows.array(sorted(kinds or ())),
    )
