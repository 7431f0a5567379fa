"""One HTTP endpoint of a judge: what is sent, how often, and which error of ours a failure is.

::

    no connection, time limit, 408, 429, 5xx    tried again, then UnavailableError
    400, 413, 422                               InvalidInputError: the same request fails again
    401, 402, 403, 404 and other refusals       RefusedError
    no JSON of the expected shape               DamagedError
"""

from __future__ import annotations

import asyncio
import math
from http import HTTPStatus
from types import TracebackType
from typing import Annotated, Any, Self, TypeVar

import httpx2
import msgspec

from domain.errors import DamagedError, InvalidInputError, RefusedError, UnavailableError
from gateways.models.affinity import affinity
from gateways.retry_after import asked_to_wait

__all__ = ["Endpoint", "Patience", "Probability"]

T = TypeVar("T")

#: What a reply must give for a probability; NaN and text are refused before the bounds are looked at.
Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]

_AGAIN = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
_INVALID = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY})
_MOST_BYTES = 1_048_576
_MOST_NAMED = 3


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long a call may take, in seconds, and how often it is tried again.

    The pause doubles; a provider's Retry-After goes before it, up to ``longest_pause``.
    """

    timeout: float = 10.0
    retries: int = 2
    pause: float = 0.5
    longest_pause: float = 10.0


class _Place(msgspec.Struct):
    """One entry of a 422: where in the request, and what sort of mistake; its message may quote the request."""

    loc: tuple[str | int, ...] = ()
    type: str = ""


class _Problem(msgspec.Struct):
    """The detail of any other error."""

    error_type: str = ""


class _Failure(msgspec.Struct):
    """The body of an error."""

    detail: list[_Place] | _Problem | str | None = None


class _PassingError(Exception):
    """A failure that the next try may not meet."""

    def __init__(self, found: str, wait: float | None = None) -> None:
        super().__init__(found)
        self.wait = wait


class Endpoint:
    """Posts JSON to one URL; close it, or use it with ``async with``. Belongs to one event loop."""

    def __init__(self, url: str, key: str = "", *, patience: Patience | None = None) -> None:
        """``url`` is the whole address of the call; ``key`` the bearer token, none where empty."""
        try:
            self._url = httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise InvalidInputError("not the address of a judge", expected="a URL", found=str(error)) from error
        if self._url.scheme not in {"http", "https"} or not self._url.host:
            raise InvalidInputError("not the address of a judge", expected="http:// or https://", found=url[:80])
        if not (key.isascii() and (key.strip().isprintable())):
            raise InvalidInputError(
                "the judge's key cannot be sent", expected="printable ASCII", found="other characters"
            )
        self._patience = patience or Patience()
        self._headers = {"authorization": f"Bearer {key.strip()}"} if key.strip() else {}
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close its connections; a later call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def post(self, body: Any, shape: type[T], *, profile: str) -> T:
        """Return the reply as a ``shape``; what fails in passing is tried again. The module says which errors come."""
        content = msgspec.json.encode(body)
        for tried in range(self._patience.retries + 1):
            try:
                raw = await self._try(content, profile)
            except _PassingError as error:
                failed, wait = str(error), self._wait(error, tried)
            else:
                return _decoded(raw, shape)
            if tried < self._patience.retries:
                await asyncio.sleep(wait)
        raise UnavailableError(
            "the judge does not answer", expected=f"an answer in {self._patience.retries + 1} tries", found=failed
        )

    async def _try(self, content: bytes, profile: str) -> bytes:
        headers = {"content-type": "application/json", **affinity(profile), **self._headers}
        try:
            async with (
                asyncio.timeout(self._patience.timeout),
                self._opened().stream("POST", self._url, content=content, headers=headers) as reply,
            ):
                raw = await _read(reply)
        except TimeoutError:
            raise _PassingError(f"nothing within {self._patience.timeout:g} s") from None
        except httpx2.HTTPError as error:
            raise _PassingError(type(error).__name__) from error
        if reply.is_success:
            return raw
        raise _failure(reply, raw)

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            # The limit of a whole try is asyncio's: a library's own is per read, and a slow body has many.
            self._client = httpx2.AsyncClient(timeout=None)
        return self._client

    def _wait(self, error: _PassingError, tried: int) -> float:
        wait = self._patience.pause * 2**tried if error.wait is None else error.wait
        return min(wait, self._patience.longest_pause)


async def _read(reply: httpx2.Response) -> bytes:
    raw = bytearray()
    async for part in reply.aiter_bytes():
        raw += part
        if len(raw) > _MOST_BYTES:
            raise DamagedError("the judge's reply is too long", expected=f"at most {_MOST_BYTES} bytes", found="more")
    return bytes(raw)


def _decoded(raw: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedError("the judge's reply cannot be read", expected="its answers", found=str(error)) from error


def _failure(reply: httpx2.Response, raw: bytes) -> Exception:
    found = f"{reply.status_code} {_reason(raw)}".strip()
    if reply.status_code in _AGAIN or reply.is_server_error:
        return _PassingError(found, _retry_after(reply.headers.get("retry-after", "")))
    if reply.status_code in _INVALID:
        return InvalidInputError("the judge does not accept the request", expected="200", found=found)
    if reply.is_client_error:
        return RefusedError("the judge refuses the call", expected="200", found=found)
    return DamagedError("the judge's reply is no answer", expected="200", found=found)


def _reason(raw: bytes) -> str:
    """Return what an error's body says went wrong, without its prose, which may quote a statement."""
    try:
        detail = msgspec.json.decode(raw, type=_Failure).detail
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    match detail:
        case _Problem():
            return detail.error_type[:80]
        case list():
            named = (f"{'.'.join(map(str, one.loc))} {one.type}".strip() for one in detail[:_MOST_NAMED])
            return "; ".join(named)[:240]
    return ""


def _retry_after(header: str) -> float | None:
    """Return the seconds that a header asks to wait; None where it asks for nothing that can be waited for."""
    seconds = asked_to_wait(header)
    return None if seconds is None or not math.isfinite(seconds) else max(0.0, seconds)
