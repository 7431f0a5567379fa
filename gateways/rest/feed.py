"""The feed as server-sent events: pages of the same long poll, one after the other, until the connection ends.

A stream that waits holds a future in the feed's waiting room and nothing else. Every page is asked for anew with the
token of the stream, so that a revoked token or a changed grant ends it, and the client comes back as what it is now.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import msgspec
import structlog
from litestar import Response
from litestar.response import Stream

from domain.errors import InvalidInputError, UmbrielError
from gateways.rest.access import Access, Speaker
from gateways.rest.answering import HEADERS, POSITION
from gateways.rest.problems import problem_of
from gateways.service.feed_places import check_unchanged
from gateways.service.service import Service

__all__ = ["EVENT_STREAM", "Feeds"]

EVENT_STREAM = "text/event-stream"
#: Seconds after which a quiet stream says that it is still there.
HEARTBEAT = 15.0
#: Milliseconds after which a client comes back.
_RETRY = 1_000
_VERB = "feed"
_log = structlog.get_logger(__name__)


class _Place(msgspec.Struct, frozen=True):
    """Of an event that is encoded already, what a stream says beside it."""

    position: str
    topic: str


class Feeds:
    """Answers the feed, once or as a stream; ``open`` counts a stream while it lasts."""

    def __init__(self, service: Service, access: Access, open: Callable[[], AbstractContextManager[None]]) -> None:
        self._service = service
        self._access = access
        self._open = open

    async def page(self, speaker: Speaker, profile: str, body: bytes) -> Any:
        """Return one page."""
        with self._service.feed_places.place(speaker.principal.name):
            reply = await self._service.call(_VERB, speaker.principal, profile, body)
        check_unchanged(speaker.principal, self._access.principal(speaker.token))
        return reply

    async def stream(self, speaker: Speaker, profile: str, body: bytes) -> Response[Any]:
        """Return the stream; what is wrong with the request is an error before it begins."""
        given = msgspec.json.decode(body, type=dict[str, Any])
        if "wait" in given:
            raise InvalidInputError("a stream waits by itself", expected="no wait", found=repr(given["wait"])[:40])
        first = await self.page(speaker, profile, body)
        return Stream(
            self._pages(speaker, profile, given, first),
            media_type=EVENT_STREAM,
            headers={**HEADERS, POSITION: first.position, "X-Accel-Buffering": "no"},
        )

    async def _pages(self, speaker: Speaker, profile: str, given: Mapping[str, Any], page: Any) -> AsyncIterator[bytes]:
        yield f"retry: {_RETRY}\n\n".encode()
        with self._open():
            try:
                with self._service.feed_places.place(speaker.principal.name):
                    while True:
                        yield _shown(page)
                        asked = msgspec.json.encode({**given, "after": page.position, "wait": HEARTBEAT})
                        page = await self._service.call(_VERB, speaker.principal, profile, asked)
                        check_unchanged(speaker.principal, self._access.principal(speaker.token))
            except UmbrielError as error:
                # The client comes back after the last position that it was given, and is told then what is wrong.
                yield b"event: problem\ndata: " + msgspec.json.encode(problem_of(error)) + b"\n\n"
            except Exception as error:  # noqa: BLE001 -- the stream has begun: this is all that can be said
                _log.exception("feed_failed", profile=profile)
                yield b"event: problem\ndata: " + msgspec.json.encode(problem_of(error, _VERB)) + b"\n\n"


def _shown(page: Any) -> bytes:
    """Return a page as server-sent events; its last line moves the position over what was left out."""
    parts = []
    for raw in page.events:
        place = msgspec.json.decode(raw, type=_Place)
        parts.append(b"id: %b\nevent: %b\ndata: %b\n\n" % (place.position.encode(), place.topic.encode(), bytes(raw)))
    parts.append(b": here\nid: %b\n\n" % page.position.encode())
    return b"".join(parts)
