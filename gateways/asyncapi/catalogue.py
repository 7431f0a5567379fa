"""The catalogue of events, made of the classes that decode them."""

from __future__ import annotations

import re
from importlib.resources import files
from inspect import cleandoc
from typing import Any

import msgspec

from domain.events import TOPICS
from domain.kinds import CLEAR
from gateways.asyncapi.recorded import UNDER, WHEN
from gateways.described import Schema, schemas_of
from gateways.service.feeds import QUIET

__all__ = ["EXAMPLES", "EventExample", "EventKind", "catalogue", "event_schemas", "examples"]

#: The file of examples: data of the newest schema, as it was once written; a test says when to write it anew.
EXAMPLES = files("gateways.asyncapi").joinpath("events.json")
_TEMPLATE = "#/components/schemas/event-{name}"
_OWN_KEY = "the profile's own key"


class EventExample(msgspec.Struct, frozen=True):
    """Data of an event under the newest schema of its topic."""

    topic: str
    data: dict[str, Any]


class EventKind(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One topic: what it says, when it is recorded, and how it lies in the log.

    ``schema`` is the newest version; older ones are read as this one. Without ``encrypted`` the body is in the clear;
    topic, schema version, profile, aggregate version, ids, time and key id always are. ``quiet`` topics are in a feed
    only when they are asked for. ``body`` is the JSON Schema of ``data``.
    """

    topic: str
    category: str
    schema: int
    title: str
    description: str
    recorded: str
    encrypted: bool
    under: str
    quiet: bool
    body: dict[str, Any]
    examples: list[dict[str, Any]]


def event_schemas() -> dict[str, Schema]:
    """Return the schema of every event and of what events are made of, by name."""
    return {f"event-{name}": schema for name, schema in schemas_of(list(TOPICS.values()), _TEMPLATE).items()}


def examples() -> dict[str, list[dict[str, Any]]]:
    """Return data of every topic, as it was once written."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in msgspec.json.decode(EXAMPLES.read_bytes(), type=list[EventExample]):
        found.setdefault(one.topic, []).append(one.data)
    return found


def catalogue() -> list[EventKind]:
    """Return every topic, in the order of their names."""
    shown = examples()
    return [_kind(topic, shown[topic]) for topic in sorted(TOPICS)]


def _kind(topic: str, shown: list[dict[str, Any]]) -> EventKind:
    event = TOPICS[topic]
    about = cleandoc(event.__doc__ or "")
    under = UNDER.get(topic, UNDER.get(event.category(), _OWN_KEY))
    return EventKind(
        topic=topic,
        category=event.category(),
        schema=event.SCHEMA,
        title=re.split(r"(?<=[.;])\s", about, maxsplit=1)[0].rstrip(".;"),
        description=about,
        recorded=WHEN[topic],
        encrypted=under != CLEAR,
        under="" if under == CLEAR else under,
        quiet=event.category() in QUIET,
        body={"$ref": _TEMPLATE.format(name=event.__name__)},
        examples=shown,
    )
