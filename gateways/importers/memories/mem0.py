"""mem0: what `get_all` returns, from the library and from the hosted platform.

Seen in the library (mem0ai 2.2.1): ``{"results": [{"id", "memory", "hash", "metadata", "score", "created_at",
"updated_at", "user_id", "agent_id", "run_id", "actor_id", "role", "attributed_to", "expiration_date"}]}``, made by
`Memory.get_all` in ``mem0/memory/main.py``; and in the platform's API reference (docs.mem0.ai, "Get Memories" and "Get
Memory"): the same with ``app_id``, ``categories`` and pages of ``{"count", "next", "previous", "results"}``. A platform
export with a schema of one's own has any shape; ask for these names in it. ``history`` may hold what `history(id)`
returns for each: what happened and when is kept, texts of before are not, for whoever forgets them here must find
them. The library's SQLite file is not read: its columns changed between versions, and it does not say
whose a memory is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta

from gateways.importers.conversation import BadValueError, as_time
from gateways.importers.memories.statement import Statement, stated

__all__ = ["is_mem0", "read_mem0"]

#: what is kept of an event of a memory's history
_EVENT = ("event", "created_at", "updated_at")
_USED = frozenset({"memory", "user_id", "run_id", "expiration_date", "score"})
_KNOWN = frozenset(
    {
        "actor_id",
        "agent_id",
        "app_id",
        "attributed_to",
        "categories",
        "created_at",
        "hash",
        "history",
        "id",
        "immutable",
        "metadata",
        "role",
        "updated_at",
    }
)


def is_mem0(value: object) -> bool:
    """Return whether a JSON value is one memory of mem0's."""
    return isinstance(value, Mapping) and "memory" in value and not isinstance(value["memory"], Mapping | list)


def read_mem0(item: Mapping[str, object], contact: str) -> Statement:
    """Return one memory: its user is the contact, its run the session, ids and times are its origin."""
    events = [one for one in _listed(item.get("history")) if isinstance(one, Mapping)]
    before = any(one.get("old_memory") for one in events)
    return stated(
        "mem0",
        {**item, "history": [{name: one[name] for name in _EVENT if one.get(name)} for one in events]},
        content=item["memory"],
        contact=item.get("user_id"),
        default_contact=contact,
        session=item.get("run_id"),
        expires_at=_expiry(item.get("expiration_date")),
        used=_USED,
        known=_KNOWN,
        dropped=("texts of before",) if before else (),
    )


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _expiry(value: object) -> datetime | None:
    """Return when a memory ends: a day counts to its end."""
    try:
        at = as_time(value)
    except BadValueError as error:
        raise error.under("expiration_date") from error
    whole_day = isinstance(value, str) and len(value.strip()) == len("2026-01-31")
    return datetime.combine(at.date() + timedelta(days=1), time(0), tzinfo=UTC) if at and whole_day else at
