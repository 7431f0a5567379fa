"""Wire types as JSON Schema, from the very Structs that decode requests, with the limits on their sizes.

One description for every surface that shows one: the OpenAPI document and the tools of a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from domain.settings import Limits

__all__ = ["Schema", "schemas_of"]

Schema = dict[str, Any]
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
    ("ListRequest", "text"): {"maxLength": _SIZES.query_bytes},
    ("SessionsRequest", "limit"): {"minimum": 1, "maximum": _SIZES.list_limit},
    ("FeedRequest", "limit"): {"minimum": 1, "maximum": _SIZES.feed_limit},
    ("FeedRequest", "wait"): {"minimum": 0, "maximum": _SIZES.feed_wait_seconds},
}


def schemas_of(types: Sequence[type], template: str) -> dict[str, Schema]:
    """Return the schemas of types and of what they are made of, by name; ``template`` is how one names another."""
    _, made = msgspec.json.schema_components(types, ref_template=template)
    found: dict[str, Schema] = _as_of_2020(msgspec.to_builtins(made))
    for info in _structs(types):
        for field in info.fields:
            _refine(info.cls.__name__, field, found[info.cls.__name__]["properties"][field.encode_name])
    return found


def _as_of_2020(schema: Any) -> Any:
    """Return a schema in which tuples are said as JSON Schema 2020-12 says them, which OpenAPI 3.1 and MCP use."""
    match schema:
        case {"items": list() | tuple() as items, **rest}:
            return {**rest, "prefixItems": _as_of_2020(items), "items": False}
        case dict():
            return {name: _as_of_2020(value) for name, value in schema.items()}
        case list() | tuple():
            return [_as_of_2020(value) for value in schema]
    return schema


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
    if not struct.endswith("Request") and struct != "Message":
        return
    if schema.get("type") == "string" and field.encode_name in _LENGTHS:
        schema["maxLength"] = _LENGTHS[field.encode_name]
    schema |= _LIMITS.get((struct, field.encode_name), {})
