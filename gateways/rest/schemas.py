"""The JSON Schemas of the wire types, from the very Structs that decode requests, with the limits on their sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from domain.settings import Limits
from gateways.rest.health import Ready
from gateways.rest.problems import STATUS, Problem
from gateways.service.service import VERBS

__all__ = ["Schema", "components", "made_of", "properties"]

Schema = dict[str, Any]
_TEMPLATE = "#/components/schemas/{name}"
_SIZES = Limits()
#: Limits by field, wherever it stands in a request; bytes are at least as many as characters.
_LENGTHS = {
    "session": _SIZES.session_chars,
    "contact": _SIZES.contact_chars,
    "channel": _SIZES.name_chars,
    "key": _SIZES.key_chars,
    "request_id": _SIZES.name_chars,
    "query": _SIZES.query_bytes,
    "description": _SIZES.query_bytes,
    "content": _SIZES.memory_bytes,
    "notes": _SIZES.notes_bytes,
    "task": _SIZES.task_bytes,
}
_LIMITS: dict[tuple[str, str], Schema] = {
    ("IngestRequest", "messages"): {"minItems": 1, "maxItems": _SIZES.messages_per_ingest},
    ("ListRequest", "limit"): {"minimum": 1, "maximum": _SIZES.list_limit},
    ("FeedRequest", "limit"): {"minimum": 1, "maximum": _SIZES.feed_limit},
    ("FeedRequest", "wait"): {"minimum": 0, "maximum": _SIZES.feed_wait_seconds},
    ("Problem", "code"): {"enum": sorted(STATUS)},
    ("ErrorReply", "code"): {"enum": sorted(STATUS)},
}


def components(besides: Sequence[type[msgspec.Struct]] = (Problem, Ready)) -> dict[str, Schema]:
    """Return the schema of every request and reply, and of what they are made of, by name; and of some ``besides``."""
    return made_of([*(one for verb in VERBS.values() for one in (verb.request, verb.reply)), *besides], _TEMPLATE)


def made_of(types: Sequence[type[msgspec.Struct]], template: str) -> dict[str, Schema]:
    """Return the schema of Structs and of what they are made of, by name; ``template`` is how one refers to another."""
    _, made = msgspec.json.schema_components(types, ref_template=template)
    found: dict[str, Schema] = _as_of_2020(msgspec.to_builtins(made))
    for info in _structs(types):
        for field in info.fields:
            _refine(info.cls.__name__, field, found[info.cls.__name__]["properties"][field.encode_name])
    return found


def _as_of_2020(schema: Any) -> Any:
    """Return a schema in which tuples are said as JSON Schema 2020-12, which OpenAPI 3.1 uses, says them."""
    match schema:
        case {"items": list() | tuple() as items, **rest}:
            return {**rest, "prefixItems": _as_of_2020(items), "items": False}
        case dict():
            return {name: _as_of_2020(value) for name, value in schema.items()}
        case list() | tuple():
            return [_as_of_2020(value) for value in schema]
    return schema


def properties(of: type[msgspec.Struct], schemas: dict[str, Schema]) -> dict[str, Schema]:
    """Return the schemas of the fields of a request or a reply."""
    found: dict[str, Schema] = schemas[of.__name__]["properties"]
    return found


def _structs(types: Iterable[type]) -> list[msgspec.inspect.StructType]:
    """Return every Struct that types are made of, once."""
    seen: dict[type, msgspec.inspect.StructType] = {}
    waiting: list[Any] = list(msgspec.inspect.multi_type_info(types))
    while waiting:
        one = waiting.pop()
        match one:
            case msgspec.inspect.StructType() if one.cls not in seen:
                seen[one.cls] = one
                waiting += [field.type for field in one.fields]
            case msgspec.inspect.UnionType():
                waiting += one.types
            case msgspec.inspect.ListType() | msgspec.inspect.VarTupleType():
                waiting.append(one.item_type)
            case msgspec.inspect.DictType():
                waiting.append(one.value_type)
    return list(seen.values())


def _refine(struct: str, field: msgspec.inspect.Field, schema: Schema) -> None:
    """Say of a field what its type alone does not: that it is a time, and how large it may be."""
    of = field.type.types if isinstance(field.type, msgspec.inspect.UnionType) else (field.type,)
    if any(isinstance(one, msgspec.inspect.DateTimeType) for one in of):
        for one in schema.get("anyOf", [schema]):
            if one.get("type") == "string":
                one["format"] = "date-time"
    if not struct.endswith("Request") and struct not in {"Message", "Problem", "ErrorReply"}:
        return
    if schema.get("type") == "string" and field.encode_name in _LENGTHS:
        schema["maxLength"] = _LENGTHS[field.encode_name]
    schema |= _LIMITS.get((struct, field.encode_name), {})
