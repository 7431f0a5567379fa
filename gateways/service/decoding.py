"""Decoding a request: strictly, into the type of its verb, with one way to say what does not fit."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from domain.errors import InvalidInputError
from umbriel._surrogates import EXPECTED, MESSAGE, lone

__all__ = ["decoded"]


def decoded(verb: str, body: bytes, request: type[msgspec.Struct]) -> Any:
    """Return the request that a body is; an empty one has no fields. Raises InvalidInputError."""
    try:
        return msgspec.json.decode(body or b"{}", type=request, strict=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if found := _surrogate(body):
            raise InvalidInputError(MESSAGE, expected=EXPECTED, found=found) from error
        fields = ", ".join(request.__struct_fields__)
        raise InvalidInputError(
            f"the {verb} request does not fit", expected=f"fields {fields}" if fields else "no fields", found=str(error)
        ) from error


def _surrogate(body: bytes) -> str:
    """Return the first lone surrogate of a body, in words; empty where there is none: it is wrong in another way.

    The strict decoder takes one for a cut text, which would tell nobody what to mend.
    """
    try:
        waiting: list[Any] = [json.loads(body.decode("utf-8", "surrogatepass"))]
    except (ValueError, RecursionError):
        return ""
    while waiting:
        match waiting.pop():
            case str() as text:
                try:
                    text.encode()
                except UnicodeEncodeError as error:
                    return lone(text, error.start)
            case dict() as fields:
                waiting += [part for pair in reversed(fields.items()) for part in reversed(pair)]
            case list() as values:
                waiting += reversed(values)
    return ""
