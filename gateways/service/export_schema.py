"""The JSON Schema of an export's lines, made of the event types: ``python -m gateways.service.export_schema``.

The client ships what this writes, and a test says when it is to be written anew.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

import umbriel
from domain.events import TOPICS, Event
from umbriel.exports import FORMAT, HEADER, SEAL, TRAILER, ExportedEvent, Header, SealLine, Trailer, data_schema

__all__ = ["FILE", "export_schema", "main"]

FILE = Path(umbriel.__file__).with_name("export.schema.json")
_REF = "#/$defs/{name}"
_JSON = dict[str, Any]


def export_schema() -> bytes:
    """Return the schema (draft 2020-12), indented."""
    topics = dict(sorted(TOPICS.items()))
    (header, trailer, seal, event, *data), defs = msgspec.json.schema_components(
        (Header, Trailer, SealLine, ExportedEvent, *topics.values()), ref_template=_REF
    )
    for topic, ref in zip(topics, data, strict=True):
        _resolve(defs, ref)["title"] = data_schema(topic, topics[topic].SCHEMA)
    shape = _resolve(defs, event)
    shape["allOf"] = [_UNLESS_HIDDEN, *(_data_of(topics[topic], ref) for topic, ref in zip(topics, data, strict=True))]
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:umbriel:export:{FORMAT}",
        "title": "One line of an Umbriel export: CloudEvents 1.0 in JSON",
        "if": _typed(HEADER),
        "then": header,
        "else": {
            "if": _typed(TRAILER),
            "then": trailer,
            "else": {"if": _typed(SEAL), "then": seal, "else": event},
        },
        "$defs": defs,
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"


def _resolve(defs: _JSON, ref: _JSON) -> _JSON:
    found: _JSON = defs[ref["$ref"].rpartition("/")[2]]
    return found


def _typed(topic: str) -> _JSON:
    return {"properties": {"type": {"const": topic}}, "required": ["type"]}


#: A readable event has data; an encrypted one has its body, an erased one neither.
_UNLESS_HIDDEN: _JSON = {
    "if": {
        "properties": {"umbrielcontent": {"enum": ["redacted"]}, "datacontenttype": {"const": "application/json"}},
    },
    "then": {"required": ["data", "umbrielactor", "umbrielactortype"]},
}


def _data_of(event: type[Event], ref: _JSON) -> _JSON:
    """Return that lines of a topic have this data; those of an older schema are read as they were."""
    same = {"type": {"const": event.TOPIC}, "umbrielschema": {"const": event.SCHEMA}}
    return {"if": {"properties": same}, "then": {"properties": {"data": ref}}}


def main() -> None:
    """Write the file."""
    FILE.write_bytes(export_schema())
    sys.stdout.write(f"{FILE.name} written\n")


if __name__ == "__main__":
    main()
