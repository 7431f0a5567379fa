"""The hosted memory service of five operations: what its lists of memories return.

Seen in its HTTP API (developers.cloudflare.com/agent-memory/api/http-api): ``{"success", "result": [...],
"result_info": {"cursor"}}`` with memories of ``id``, ``type`` (fact, event, instruction, task), ``summary``,
``content`` and ``sessionId``, as this project's own client of it (`gateways.managed`) reads them. A list leaves
``content`` out; then the summary is what it says.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateways.importers.conversation import BadValueError
from gateways.importers.memories.statement import Kind, Statement, first_of, stated

__all__ = ["is_hosted", "read_hosted"]

_KINDS: Mapping[str, Kind] = {"fact": "fact", "event": "event", "instruction": "instruction", "task": "task"}
_USED = frozenset({"content", "type", "sessionId", "session_id", "score"})
_KNOWN = frozenset({"createdAt", "created_at", "id", "profile", "summary", "updatedAt", "updated_at"})


def is_hosted(value: object) -> bool:
    """Return whether a JSON value is one memory of the service."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("type"), str)
        and value["type"] in _KINDS
        and "role" not in value
        and ("summary" in value or "content" in value)
    )


def read_hosted(item: Mapping[str, object], contact: str) -> Statement:
    """Return one memory; the service has profiles and sessions, but no contacts."""
    kind = _KINDS.get(str(item["type"]))
    if kind is None:
        raise BadValueError("no such kind", expected=", ".join(_KINDS), found=ascii(item["type"])[:40], path=("type",))
    content = first_of(item, "content", "summary")
    return stated(
        "hosted",
        {name: value for name, value in item.items() if name != "summary" or value != content},
        content=content,
        default_contact=contact,
        session=first_of(item, "sessionId", "session_id"),
        kind=kind,
        used=_USED,
        known=_KNOWN,
    )
