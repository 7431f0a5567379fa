"""Answers in a given shape: the JSON Schema of a Struct, and what a model wrote read as that Struct.

Models wrap their JSON in fences and prose, and stop in the middle of it. Whole values are looked for from the outside
in and never inside one another: a part of a damaged answer is not an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

import msgspec

__all__ = ["NotInShapeError", "Schema", "parsed", "schema_of", "valid_text"]

T = TypeVar("T")

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
#: how JSON begins, as opposed to a bracket in prose
_BEGINS = re.compile(r'\{\s*["}]|\[\s*[\[{"\]\dtfn-]')
#: what of an error's text may be the model's own words
_QUOTED = re.compile(r"(?s:'.*')|(?<=unknown field )`[^`]*`")
#: keywords that strict decoding by a provider does not take; the Struct itself still checks them
_UNKNOWN = frozenset({"title", "default", "discriminator", "description", "examples"})


class NotInShapeError(ValueError):
    """What a model wrote is not the value that was asked for; the message holds none of it."""


class Schema(msgspec.Struct, frozen=True):
    """A self-contained JSON Schema of an object; ``strict`` where a provider can be held to it."""

    name: str
    schema: dict[str, Any]
    strict: bool

    def wanted(self) -> str:
        """Return the schema in words, for models that are not held to it otherwise."""
        schema = msgspec.json.encode(self.schema).decode()
        return f"Answer with one JSON object of this schema and nothing else:\n{schema}"


def valid_text(text: str) -> str:
    """Return ``text`` with its surrogate pairs joined and its lone surrogates replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def schema_of(shape: type[Any]) -> Schema:
    """Return the schema of a Struct: every property required, none besides, so that defaults are written out.

    Raises TypeError for a type that is not an object in JSON.
    """
    (found,), components = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    strict = _Strict()
    root = strict.rewritten(components.pop(shape.__name__) if shape.__name__ in components else found)
    if root.get("type") != "object":
        raise TypeError(f"{shape.__name__} is not an object in JSON")
    definitions = {name: strict.rewritten(one) for name, one in components.items()}
    if f"#/$defs/{shape.__name__}" in str((root, definitions)):
        definitions[shape.__name__] = root.copy()
    if definitions:
        root["$defs"] = definitions
    return Schema(shape.__name__, root, strict.holds)


class _Strict:
    """Rewrites schemas for strict mode and notes whether that is possible."""

    def __init__(self) -> None:
        self.holds = True

    def rewritten(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.rewritten(one) for one in node]
        if not isinstance(node, dict):
            return node
        kept = {key: self._value(key, value) for key, value in node.items() if key not in _UNKNOWN}
        if "properties" in kept:
            kept |= {"required": list(kept["properties"]), "additionalProperties": False}
        elif kept.get("type") == "object":
            self.holds = False
        if not kept or "prefixItems" in kept:
            self.holds = False
        if "type" not in kept and "enum" in kept and all(isinstance(one, str) for one in kept["enum"]):
            kept["type"] = "string"
        return kept

    def _value(self, key: str, value: Any) -> Any:
        if key in {"properties", "$defs"}:
            return {name: self.rewritten(one) for name, one in value.items()}
        return value if key in {"enum", "required", "const"} else self.rewritten(value)


def parsed(text: str, shape: type[T]) -> T:
    """Return the one value of ``shape`` in what a model wrote, or raise NotInShapeError.

    Fences, prose and a thought before it are passed over; lone surrogates are replaced. Nothing is taken from JSON
    that is cut off or damaged, and two different answers are none.
    """
    text = valid_text(_THOUGHT.sub("", text))
    if not text.strip():
        raise NotInShapeError("the answer is empty")
    found: list[T] = []
    reason = "the answer holds no JSON"
    names = {field.encode_name for field in msgspec.structs.fields(shape)}  # type: ignore[arg-type]
    for value in _values(text):
        if isinstance(value, dict) and value and not names & value.keys():
            reason = "the JSON has none of the fields asked for"
            continue  # it would pass for an answer that says nothing
        try:
            one = msgspec.convert(value, shape, strict=True, str_keys=True)
        except msgspec.ValidationError as error:
            reason = _QUOTED.sub("…", str(error))
            continue
        if one not in found:
            found.append(one)
    if len(found) > 1:
        raise NotInShapeError("the answer holds several different values of the shape")
    if not found:
        raise NotInShapeError(reason)
    return found[0]


def _values(text: str) -> Iterator[Any]:
    """Yield the outermost JSON values of a text; raises NotInShapeError for one that is cut off or damaged."""
    start = 0
    while (start := _next_bracket(text, start)) >= 0:
        begins = _BEGINS.match(text, start) is not None
        try:
            value, start = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            if begins:
                raise NotInShapeError(_why(error)) from None
            start += 1
        else:
            yield _clean(value)


def _next_bracket(text: str, start: int) -> int:
    places = [place for place in (text.find("{", start), text.find("[", start)) if place >= 0]
    return min(places, default=-1)


def _why(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"the JSON is cut off or damaged: {error.msg} at character {error.pos}"
    return "the JSON is nested too deeply" if isinstance(error, RecursionError) else "the JSON holds no plain number"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse, strict=False)


def _clean(value: Any) -> Any:
    """Replace lone surrogates that were written as escapes."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {valid_text(key): _clean(one) for key, one in value.items()}
    return value
