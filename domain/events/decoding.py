"""How a recorded payload becomes an event again, whatever schema it was written under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from domain.errors import DamagedError
from domain.events import (
    conversation,
    copying,
    embedding,
    erasure,
    extraction,
    goal,
    memory,
    principal,
    profile,
    reflection,
    seal,
    upkeep,
    use,
)
from domain.events.base import Event
from domain.events.embedding import EmbeddingComputed

__all__ = ["TOPICS", "decode_event", "upcaster"]

_MODULES = (
    profile,
    conversation,
    memory,
    copying,
    embedding,
    extraction,
    use,
    reflection,
    goal,
    upkeep,
    seal,
    principal,
    erasure,
)

#: Every topic and its newest Struct.
TOPICS: dict[str, type[Event]] = {
    cls.TOPIC: cls
    for module in _MODULES
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Event) and cls.TOPIC
}

_Upcast = Callable[[dict[str, Any]], dict[str, Any]]
_UPCASTERS: dict[tuple[str, int], _Upcast] = {}


def upcaster(topic: str, from_schema: int) -> Callable[[_Upcast], _Upcast]:
    """Register a function that turns a payload of ``from_schema`` into the next schema."""

    def register(function: _Upcast) -> _Upcast:
        _UPCASTERS[topic, from_schema] = function
        return function

    return register


@upcaster("memory.judged", 1)
def _one_pair_to_candidates(old: dict[str, Any]) -> dict[str, Any]:
    """Schema 1 held one pair and no decision."""
    pair = {"memory": old["other"], "replaces": old["replaces"], "contradicts": old["contradicts"]}
    return {"memory": old["memory"], "model": old["model"], "candidates": [pair]}


@upcaster("memory.revised", 1)
def _revised_metadata(old: dict[str, Any]) -> dict[str, Any]:
    """Schema 1 always held metadata, and nothing else."""
    return old


@upcaster("recall.served", 1)
def _one_recall_to_entries(old: dict[str, Any]) -> dict[str, Any]:
    """Schema 1 held one question, and not who asked it."""
    entry = {"verb": "recall", "query": old["query"], "results": old["results"]}
    return {"entries": [entry], "contact": old.get("contact", "")}


def decode_event(topic: str, schema: int, data: bytes, blob: bytes = b"") -> Event:
    """Return the event of a payload written under any released schema.

    Older schemas go through their upcasters one step at a time. Raises DamagedError for an unknown
    topic or a schema newer than this code, and msgspec errors for a payload that does not fit.
    """
    cls = TOPICS.get(topic)
    if cls is None or schema > cls.SCHEMA:
        known = f"{topic} up to schema {cls.SCHEMA}" if cls else "a known topic"
        raise DamagedError("an event was written by a newer Umbriel", expected=known, found=f"{topic} schema {schema}")
    event = msgspec.json.decode(data, type=cls) if schema == cls.SCHEMA else _upcast(cls, schema, data)
    if not blob:
        return event
    if not isinstance(event, EmbeddingComputed):
        raise DamagedError("binary content after an event that has none", expected=topic, found=f"{len(blob)} bytes")
    return msgspec.structs.replace(event, vectors=blob)


def _upcast(cls: type[Event], schema: int, data: bytes) -> Event:
    raw = msgspec.json.decode(data)
    for step in range(schema, cls.SCHEMA):
        upcast = _UPCASTERS.get((cls.TOPIC, step))
        if upcast is None:
            raise DamagedError(
                "an event has a schema that was never released", expected=cls.TOPIC, found=f"schema {schema}"
            )
        raw = upcast(raw)
    return msgspec.convert(raw, cls)
