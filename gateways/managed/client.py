"""The client of a managed memory: its calls, its retries, and its errors as ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from domain.errors import DamagedError, InvalidInputError, NotFoundError, RefusedError, UmbrielError, UnavailableError
from domain.ids import digest128
from gateways.managed.shapes import Envelope, ManagedSettings, RemoteMemory, RemoteMessage, RemoteRecall
from gateways.retry_after import asked_to_wait

__all__ = ["ManagedClient"]

T = TypeVar("T")
Level = Literal["low", "medium", "high"]
Length = Literal["short", "medium", "long"]
_PASSING = frozenset({408, 429})
_SERVER = 500
_FAILED = 400
_DECODER = msgspec.json.Decoder(Envelope)
#: characters of the service's own words that an error repeats
_WORDS = 200


class ManagedClient:
    """Calls one namespace of a managed memory; every local profile has a remote one of its own.

    Raises UnavailableError for what may succeed later, RefusedError when the key is not accepted, NotFoundError for
    what is not there, InvalidInputError for what the service will not take, DamagedError for an answer of no known
    shape.
    """

    def __init__(self, settings: ManagedSettings) -> None:
        if not settings.base_url.startswith(("http://", "https://")):
            raise InvalidInputError("the managed memory's address is none", expected="a URL", found=settings.base_url)
        self.settings = settings
        self._http = httpx2.AsyncClient(
            headers={"authorization": f"Bearer {settings.key}", "accept": "application/json"},
            timeout=settings.timeout,
            follow_redirects=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def remote_profile(self, profile: str) -> str:
        """Return the name of a profile over there: it tells nothing but that it is the same one."""
        return f"{self.settings.prefix}{digest128('managed-profile', profile)}"

    async def ingest(self, profile: str, session: str, messages: Sequence[RemoteMessage]) -> None:
        """Send messages of one session to be read for memories; sending them again changes nothing."""
        await self._call("POST", profile, ("ingest",), {"messages": list(messages), "sessionId": session})

    async def remember(self, profile: str, content: str, session: str = "") -> RemoteMemory:
        """Send one memory; returns it as it is kept there."""
        body = {"content": content} | ({"sessionId": session} if session else {})
        return _as(RemoteMemory, await self._call("POST", profile, ("remember",), body))

    async def recall(
        self,
        profile: str,
        query: str,
        *,
        thinking: Level = "low",
        length: Length = "medium",
        reference: datetime | None = None,
    ) -> RemoteRecall:
        """Ask for what answers a query; a profile that nothing was sent to answers nothing."""
        body: dict[str, Any] = {"query": query, "thinkingLevel": thinking, "responseLength": length}
        if reference is not None:
            body["referenceDate"] = reference
        try:
            return _as(RemoteRecall, await self._call("POST", profile, ("recall",), body))
        except NotFoundError:
            return RemoteRecall()

    async def memories(
        self, profile: str, *, session: str = "", kind: str = "", per_page: int = 100
    ) -> AsyncIterator[RemoteMemory]:
        """Return every memory of a profile, a page at a time."""
        asked = {"per_page": str(per_page), "session_id": session, "type": kind, "cursor": ""}
        while True:
            parameters = {name: value for name, value in asked.items() if value}
            envelope = await self._envelope("GET", profile, ("memories",), parameters=parameters)
            for one in _as(list[RemoteMemory], envelope):
                yield one
            cursor = envelope.result_info.cursor if envelope.result_info else None
            if not cursor or cursor == asked["cursor"]:
                return
            asked["cursor"] = cursor

    async def memory(self, profile: str, memory: str) -> RemoteMemory:
        """Return one memory with its content."""
        return _as(RemoteMemory, await self._call("GET", profile, ("memories", memory)))

    async def delete_memory(self, profile: str, memory: str) -> None:
        """Delete a memory; one that is not there is deleted."""
        await self._delete(profile, ("memories", memory))

    async def delete_session(self, profile: str, session: str) -> None:
        """Delete a session with what was made from it; one that is not there is deleted."""
        await self._delete(profile, ("sessions", session))

    async def summary(self, profile: str) -> str:
        """Return the service's own summary of a profile."""
        found = _as(dict[str, Any], await self._call("POST", profile, ("summary",), {}))
        return str(found.get("summary", ""))

    async def _delete(self, profile: str, path: Sequence[str]) -> None:
        try:
            await self._call("DELETE", profile, path)
        except NotFoundError:
            return

    async def _call(
        self, method: str, profile: str, path: Sequence[str], body: Mapping[str, Any] | None = None
    ) -> Envelope:
        return await self._envelope(method, profile, path, body=body)

    async def _envelope(
        self,
        method: str,
        profile: str,
        path: Sequence[str],
        *,
        body: Mapping[str, Any] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Envelope:
        segments = ("namespaces", self.settings.namespace, "profiles", self.remote_profile(profile), *path)
        url = "/".join((self.settings.base_url.rstrip("/"), *(quote(one, safe="") for one in segments)))
        pause = self.settings.pause
        for left in range(self.settings.tries - 1, -1, -1):
            try:
                return await self._once(method, url, body, parameters)
            except _PassingError as error:
                if not left:
                    raise error.shown from error
                await asyncio.sleep(min(self.settings.retry_after, max(pause, error.seconds)))
                pause *= 2
        raise InvalidInputError("a call needs a try", expected="at least 1", found=str(self.settings.tries))

    async def _once(
        self, method: str, url: str, body: Mapping[str, Any] | None, parameters: Mapping[str, str] | None
    ) -> Envelope:
        content = None if body is None else msgspec.json.encode(body)
        headers = {"content-type": "application/json"} if content is not None else {}
        try:
            response = await self._http.request(method, url, content=content, params=parameters, headers=headers)
        except httpx2.HTTPError as error:
            raise _PassingError(
                UnavailableError("the managed memory does not answer", found=type(error).__name__)
            ) from error
        if response.status_code in _PASSING or response.status_code >= _SERVER:
            shown = UnavailableError("the managed memory cannot answer now", found=_found(response))
            raise _PassingError(shown, max(0.0, asked_to_wait(response.headers.get("retry-after", "")) or 0.0))
        if response.status_code >= _FAILED:
            raise _error(response)
        return _read(response)


class _PassingError(Exception):
    """The call may succeed when it is tried again, not before so many seconds."""

    def __init__(self, shown: UmbrielError, seconds: float = 0.0) -> None:
        super().__init__(shown.message)
        self.shown = shown
        self.seconds = seconds


def _read(response: httpx2.Response) -> Envelope:
    try:
        envelope = _DECODER.decode(response.content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        found = f"HTTP {response.status_code}, {response.headers.get('content-type', 'no type')}"
        raise DamagedError("the managed memory's answer has another shape", expected="JSON", found=found) from error
    if not envelope.success:
        raise InvalidInputError("the managed memory did not do it", expected="success", found=_found(response))
    return envelope


def _error(response: httpx2.Response) -> UmbrielError:
    match response.status_code:
        case 401 | 403:
            return RefusedError(
                "the managed memory does not accept the key", expected="a key for it", found=_found(response)
            )
        case 404:
            return NotFoundError("the managed memory does not have it", found=_found(response))
        case _:
            return InvalidInputError("the managed memory will not take it", found=_found(response))


def _found(response: httpx2.Response) -> str:
    """Return the status and what the service says went wrong, cut short."""
    try:
        problems = _DECODER.decode(response.content).errors
    except (msgspec.DecodeError, UnicodeDecodeError):
        problems = []
    said = "; ".join(f"{one.code} {one.message}".strip() for one in problems)[:_WORDS]
    return f"HTTP {response.status_code}" + (f": {said}" if said else "")


def _as(kind: type[T], envelope: Envelope) -> T:
    try:
        return msgspec.convert(envelope.result, kind)
    except msgspec.ValidationError as error:
        raise DamagedError(
            "the managed memory's answer has another shape", expected=str(kind), found=str(error)
        ) from error
