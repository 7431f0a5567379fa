"""A reply as an HTTP response: the same JSON as on NATS, with its position and its version in headers."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec
from litestar import Response

from gateways.rest.routes import Route
from umbriel._json import encoded
from umbriel.admin import SettingsReply
from umbriel.types import Memory, RememberReply, TouchedReply

__all__ = ["ETAG", "HEADERS", "POSITION", "answered", "tag_of"]

POSITION = "Umbriel-Position"
ETAG = "ETag"
#: What people said is nobody's to keep on the way, and never anything but JSON.
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_WRITTEN = frozenset({"remembered", "superseded"})


def answered(route: Route, profile: str, reply: msgspec.Struct) -> Response[Any]:
    """Return the response of a verb's reply; a memory that was written is 201 and says where it is."""
    headers = dict(HEADERS)
    position = getattr(reply, "position", "")
    if isinstance(position, str) and position:
        headers[POSITION] = position
    if tag := tag_of(reply):
        headers[ETAG] = f'"{tag}"'
    status = 200
    if isinstance(reply, RememberReply) and route.verb == "remember" and reply.outcome in _WRITTEN:
        status = 201
        headers["Location"] = f"/v1/profiles/{quote(profile, safe='')}/memories/{quote(reply.memory.id, safe='@')}"
    return Response(encoded(reply), status_code=status, media_type="application/json", headers=headers)


def tag_of(reply: msgspec.Struct) -> str:
    """Return the version that a reply is about: a memory's id, or the number of a profile's settings."""
    match reply:
        case Memory():
            return reply.id
        case RememberReply():
            return reply.memory.id
        case TouchedReply():
            return reply.memory
        case SettingsReply():
            return str(reply.version)
    return ""
