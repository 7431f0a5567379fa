"""Zep: facts (the edges of its graph) and the messages of its threads.

Seen in its documentation (help.getzep.com, "Facts", "Get Edge", "Get Session Memory" and "Get messages of a thread"):
an edge has ``uuid``, ``fact``, ``name``, ``source_node_uuid``, ``target_node_uuid``, ``attributes``, ``episodes`` and
four times: ``valid_at`` and ``invalid_at`` about the world, ``created_at`` and ``expired_at`` of its own; a session or
thread has ``session_id`` or ``thread_id``, ``user_id``, and ``messages`` of ``uuid``, ``role_type`` (later ``role``),
``role`` (later ``name``), ``content`` and ``created_at``. What is said of a node is a summary of its edges and is not
taken over.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateways.importers.conversation import BadValueError, as_name, as_time, checked
from gateways.importers.memories.statement import Statement, first_of, stated
from umbriel import Message

__all__ = ["is_node", "is_zep_fact", "is_zep_message", "read_zep_fact", "read_zep_message"]

_ROLES = frozenset({"user", "assistant", "system", "tool", "function", "norole"})
_USED = frozenset({"fact", "user_id", "session_id", "thread_id", "valid_at", "invalid_at", "score", "relevance"})
_KNOWN = frozenset(
    {
        "attributes",
        "created_at",
        "episodes",
        "expired_at",
        "graph_id",
        "group_id",
        "name",
        "rating",
        "source_node_uuid",
        "target_node_uuid",
        "uuid",
    }
)


def is_zep_fact(value: object) -> bool:
    """Return whether a JSON value is a fact of Zep's."""
    return isinstance(value, Mapping) and "fact" in value and "role" not in value


def is_node(value: object) -> bool:
    """Return whether a JSON value is a node of the graph."""
    return isinstance(value, Mapping) and "labels" in value and "summary" in value and "fact" not in value


def is_zep_message(value: object) -> bool:
    """Return whether a JSON value is a message of a session or thread."""
    if not isinstance(value, Mapping) or "content" not in value:
        return False
    return "role_type" in value or ("role" in value and "uuid" in value)


def read_zep_fact(item: Mapping[str, object], contact: str) -> Statement:
    """Return one fact: its user is the contact; when it held is when it holds here."""
    found = stated(
        "zep",
        item,
        content=item["fact"],
        contact=item.get("user_id"),
        default_contact=contact,
        session=first_of(item, "session_id", "thread_id"),
        valid_from="valid_at",
        valid_to="invalid_at",
        used=_USED,
        known=_KNOWN,
    )
    if found.valid_from and found.valid_to and found.valid_to < found.valid_from:
        raise BadValueError("invalid_at is before valid_at", expected="a later time", found=found.valid_to.isoformat())
    # What it is called there is said here as everywhere.
    return found if "uuid" not in found.origin else _named(found)


def _named(found: Statement) -> Statement:
    origin = {("id" if name == "uuid" else name): value for name, value in found.origin.items()}
    return msgspec.structs.replace(found, origin=origin)


def read_zep_message(item: Mapping[str, object]) -> Message:
    """Return one message; who has no role spoke as a user, under the name that is there."""
    typed = "role_type" in item
    role = as_name(item["role_type"] if typed else item["role"], field="role")
    if role not in _ROLES:
        raise BadValueError("unknown role", expected=", ".join(sorted(_ROLES)), found=ascii(role)[:40])
    content = item["content"]
    if not isinstance(content, str):
        raise BadValueError("a message without text", expected="text", found=type(content).__name__)
    return checked(
        Message(
            role="user" if role == "norole" else role,
            content=content,
            id=as_name(item.get("uuid"), field="uuid"),
            at=as_time(item.get("created_at")),
            name=as_name(item.get("role") if typed else item.get("name"), field="name"),
        )
    )
