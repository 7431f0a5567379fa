"""What an HTTP request says, as the body that the same verb has on NATS; decoding it stays the service's.

A path, a query and a body become one JSON object. Nothing is guessed: a query's ``limit=07`` is no number, and goes on
as the text that it is, to be refused as a text in that place is refused everywhere.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec
from litestar import Request
from litestar.exceptions import HTTPException

from domain.errors import InvalidInputError
from gateways.rest.problems import too_large, too_slow, wrong_type
from gateways.rest.routes import PROFILE, Route
from gateways.service.service import VERBS

__all__ = ["BODY_BYTES", "BODY_SECONDS", "body_of", "kinds_of", "profile_of", "read"]

#: As large as a NATS message.
BODY_BYTES = 1_048_576
#: Seconds a body may take to arrive.
BODY_SECONDS = 30.0
_QUERY_FIELDS = 100
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?\Z")
_BOOLEANS = {"true": True, "false": False}
_SERVICE = "_"

AnyRequest = Request[Any, Any, Any]
Fields = dict[str, Any]


async def read(request: AnyRequest, route: Route) -> bytes:
    """Return the verb's request as JSON. Raises InvalidInputError, or HttpError for what only HTTP refuses."""
    body = await body_of(request, taken=route.method not in {"GET", "DELETE"})
    given = {name: _text(request.path_params[name], name) for name in route.in_path}
    given |= _headers(request, route)
    if route.method in {"GET", "DELETE"}:
        given = _joined(_query(request, route), given)
        if route.verb == "feed" and (last := request.headers.get("last-event-id")):
            # A stream that comes back has the query that it began with, and is further by now.
            given["after"] = last
        return msgspec.json.encode(given)
    if request.scope["query_string"]:
        raise InvalidInputError(
            "this operation takes its parameters in the body",
            expected="no query",
            found=request.scope["query_string"][:80].decode("latin-1"),
        )
    return _merged(body, given)


def profile_of(request: AnyRequest) -> str:
    """Return the profile that the path names, ``_`` where it is about the service."""
    named = request.path_params.get(PROFILE)
    return _SERVICE if named is None else _text(named, PROFILE)


async def body_of(request: AnyRequest, *, taken: bool = True) -> bytes:
    """Return the body, all of it and in time: JSON, or nothing where none is ``taken``. Raises HttpError."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > BODY_BYTES:
        raise too_large(BODY_BYTES, f"{length} bytes")
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await request.body()
    except TimeoutError:
        raise too_slow(BODY_SECONDS) from None
    except HTTPException as error:
        raise too_large(BODY_BYTES, "more") from error
    if body and not taken:
        raise InvalidInputError(
            "this operation takes its parameters in the query", expected="no body", found=f"{len(body)} bytes"
        )
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and kind != "application/json":
        raise wrong_type(kind or "no content type")
    return body


def _headers(request: AnyRequest, route: Route) -> Fields:
    """Return the fields of a write that have a header of their own: Idempotency-Key and If-Match."""
    given: Fields = {}
    fields = VERBS[route.verb].request.__struct_fields__
    for header, field in (("idempotency-key", "request_id"), ("if-match", "expected")):
        value = request.headers.get(header)
        if value is None or route.method == "GET":
            continue
        if field not in fields:
            raise InvalidInputError(
                f"{route.verb} takes no {header.title()}", expected="no such header", found=repr(value[:80])
            )
        given[field] = value if header != "if-match" else _typed(_tag(value), kinds_of(route.verb)[field])
    return given


def _tag(value: str) -> str:
    """Return the version that an entity tag names."""
    match = re.fullmatch(r'"([^"]+)"', value.strip())
    if match is None:
        raise InvalidInputError(
            "If-Match is not one entity tag", expected='"<version>", as ETag gives it', found=repr(value[:80])
        )
    return match[1]


def _query(request: AnyRequest, route: Route) -> Fields:
    raw = request.scope["query_string"].decode("latin-1")
    try:
        pairs = parse_qsl(
            raw,
            keep_blank_values=True,
            strict_parsing=bool(raw),
            encoding="utf-8",
            errors="strict",
            max_num_fields=_QUERY_FIELDS,
        )
    except ValueError as error:
        raise InvalidInputError("the query cannot be read", expected="name=value&…", found=str(error)[:120]) from error
    kinds, given = kinds_of(route.verb), Fields()
    for name, value in pairs:
        if kinds.get(name) == "list":
            given.setdefault(name, []).append(value)
        elif name in given:
            raise InvalidInputError(f"{name[:40]} is given twice", expected="one", found=repr(value[:80]))
        else:
            given[name] = _typed(value, kinds.get(name, ""))
    _check_only(route, given)
    return given


def _check_only(route: Route, given: Mapping[str, Any]) -> None:
    """Raise InvalidInputError for a field that this way to the verb does not have."""
    if route.only is not None and (others := sorted(set(given) - set(route.only))):
        raise InvalidInputError(
            "there is no such parameter here",
            expected=", ".join(route.only) or "no parameter",
            found=", ".join(others)[:120],
        )


def _typed(value: str, kind: str) -> Any:
    """Return a query's value as the type that its field has, or as it is where it is none of that type."""
    if kind == "number" and _NUMBER.match(value):
        return msgspec.Raw(value.encode())
    return _BOOLEANS.get(value, value) if kind == "boolean" else value


@cache
def kinds_of(verb: str) -> Mapping[str, str]:
    """Return what kind of JSON value each field of a verb's request is."""
    info = msgspec.inspect.type_info(VERBS[verb].request)
    assert isinstance(info, msgspec.inspect.StructType)  # noqa: S101 -- every request is one
    return {field.encode_name: _kind(field.type) for field in info.fields}


def _kind(of: msgspec.inspect.Type) -> str:
    match of:
        case msgspec.inspect.UnionType():
            kinds = {_kind(one) for one in of.types} - {""}
            return kinds.pop() if len(kinds) == 1 else ""
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            return "number"
        case msgspec.inspect.BoolType():
            return "boolean"
        case msgspec.inspect.ListType() | msgspec.inspect.VarTupleType() | msgspec.inspect.SetType():
            return "list"
        case _:
            return ""


def _merged(body: bytes, given: Fields) -> bytes:
    """Return a body with the fields of path and headers in it; a body that is no object is left to the service."""
    if not given:
        return body
    try:
        said = msgspec.json.decode(body or b"{}", type=dict[str, msgspec.Raw], strict=True)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body
    return msgspec.json.encode(_joined(said, given))


def _joined(said: Mapping[str, Any], given: Fields) -> Fields:
    if twice := sorted(set(said) & set(given)):
        raise InvalidInputError(
            f"{twice[0]} is said in the path or a header already",
            expected=f"no {twice[0]} beside it",
            found=f"{twice[0]} twice",
        )
    return {**said, **given}


def _text(raw: str, field: str) -> str:
    """Return a path's part as text; it is split before it is decoded, so that a name may hold a slash."""
    try:
        return unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{field} is not UTF-8", expected="percent-encoded UTF-8", found=repr(raw[:80])
        ) from error
