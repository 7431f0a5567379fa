"""One NATS connection: requests, replies, errors and retries."""

from __future__ import annotations

import asyncio
import random
import re
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from umbriel._errors import (
    BuildingError,
    InvalidInputError,
    MismatchError,
    RefusedError,
    UmbrielError,
    UnavailableError,
    error_from,
)
from umbriel._surrogates import lone_surrogate
from umbriel.types import ErrorReply

__all__ = ["ERROR_HEADER", "RETRY_SECONDS", "TOKEN_HEADER", "Transport", "check_name", "trusting"]

ERROR_HEADER = "Umbriel-Error"
#: A bearer token: whoever it belongs to speaks, instead of the principal of the connection.
TOKEN_HEADER = "Umbriel-Token"  # noqa: S105 -- where it is, not what it is
#: How long a call is repeated while nothing answers; outages of a replicated log last 4 to 8 seconds.
RETRY_SECONDS = 10.0
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")

Reply = TypeVar("Reply", bound=msgspec.Struct)


def check_name(name: str, *, field: str) -> str:
    """Return a name that may stand in a subject, or raise InvalidInputError."""
    if not _NAME.match(name):
        raise InvalidInputError(
            f"not a valid {field} name", expected="1 to 64 of A-Z a-z 0-9 _ -", found=ascii(name[:80])
        )
    return name


class _LostError(Exception):
    """The connection was re-made while a reply was awaited; the reply may never come."""


class Transport:
    """A connection as one principal. Open it with `connect`; it reconnects by itself until closed."""

    def __init__(self, principal: str) -> None:
        self.principal = check_name(principal, field="principal")
        self.retry_seconds = RETRY_SECONDS
        self._client = Client()
        self._reconnected = asyncio.Event()
        self._last_error: Exception | None = None
        self._tls: ssl.SSLContext | None = None
        self._nkey_seed: str | None = None
        self._refusal: Exception | None = None
        self._failures = 0
        self._failed = asyncio.Event()

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        principal: str,
        password: str = "",
        nkey_seed: Path | None = None,
        tls: ssl.SSLContext | None = None,
        timeout: float = 5.0,
    ) -> Transport:
        """Connect, or raise UnavailableError (nothing there) or RefusedError (wrong name or password)."""
        servers, seed = [part.strip() for part in url.split(",")], _seed(nkey_seed)
        deadline = time.monotonic() + timeout
        while True:
            transport = cls(principal)
            transport._tls, transport._nkey_seed = tls, seed
            try:
                await transport._open(servers, password, max(deadline - time.monotonic(), _FIRST_PAUSE))
            except UnavailableError as error:
                # A server that refuses may close before its reason was read; the next try reads it.
                if (
                    not isinstance(error.__cause__, (ConnectionResetError, BrokenPipeError))
                    or time.monotonic() > deadline
                ):
                    raise
                await asyncio.sleep(_FIRST_PAUSE)
            else:
                return transport

    async def _open(self, servers: list[str], password: str, timeout: float) -> None:
        opening = asyncio.ensure_future(
            self._client.connect(
                servers=servers,
                user=self.principal if password else None,
                password=password or None,
                name=f"umbriel-{self.principal}",
                inbox_prefix=f"_INBOX_{self.principal}",
                max_reconnect_attempts=-1,
                reconnect_time_wait=1,
                nkeys_seed=self._nkey_seed,
                tls=self._tls,
                error_cb=self._on_error,
                reconnected_cb=self._on_reconnected,
            )
        )
        giving_up = asyncio.ensure_future(self._all_failed(len(servers)))
        try:
            await asyncio.wait({opening, giving_up}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if opening.done():
                await opening
                return
        except (OSError, ValueError, nats.errors.Error) as error:
            self._last_error = error
        finally:
            giving_up.cancel()
            opening.cancel()
        await asyncio.gather(opening, giving_up, return_exceptions=True)
        await self.close()
        raise self._connect_error(",".join(servers)) from self._last_error

    async def _all_failed(self, servers: int) -> None:
        while self._failures < servers:
            await self._failed.wait()
            self._failed.clear()

    def _connect_error(self, url: str) -> UmbrielError:
        # A refused connection breaks as well, and that may be noticed last.
        reason = self._refusal or self._last_error
        found = str(reason or "no answer").strip() or type(reason).__name__
        if "uthoriz" in found:
            return RefusedError(
                f"the NATS server at {url} does not accept {self.principal!r}",
                expected="a known principal and its password",
                found=found,
            )
        return UnavailableError(
            f"cannot connect to {url}",
            expected=f"a NATS server that accepts {self.principal!r} and its password",
            found=found,
        )

    async def _on_error(self, error: Exception) -> None:
        self._last_error = error
        if "uthoriz" in str(error):
            self._refusal = error
        self._failures += 1
        self._failed.set()

    async def _on_reconnected(self) -> None:
        reconnected, self._reconnected = self._reconnected, asyncio.Event()
        reconnected.set()

    @property
    def connected(self) -> bool:
        """Whether the connection stands now."""
        return self._client.is_connected

    async def close(self) -> None:
        """Close the connection; closing twice does nothing, nor does it matter whether the server is still there."""
        if self._client.is_closed:
            return
        try:
            await self._client.close()
        except OSError:
            # What was to be flushed is lost with the server. nats-py stopped half-way; now it has nothing to flush.
            self._client._status = Client.DISCONNECTED  # noqa: SLF001
            await self._client.close()

    async def call(
        self,
        profile: str,
        verb: str,
        request: msgspec.Struct | Mapping[str, Any],
        reply: type[Reply],
        *,
        timeout: float,
        idempotent: bool = True,
        retry: bool = True,
        token: str = "",
    ) -> Reply:
        """Send one request and return its reply decoded, or raise what the server answered.

        ``timeout`` is the seconds one attempt may take. Errors marked retryable and a missing
        service are tried again for ``retry_seconds``, with the same bytes and so the same request id,
        unless ``retry`` is off; a lost reply only where ``idempotent``. With a ``token`` its
        principal is who speaks.
        """
        subject = f"umbriel.api.{self.principal}.{profile}.{verb}"
        body, headers = _encode(request), {TOKEN_HEADER: token} if token else None
        deadline = time.monotonic() + (self.retry_seconds if retry else 0.0)
        pause = _FIRST_PAUSE
        while True:
            try:
                return _decode(await self._attempt(subject, body, headers, timeout, idempotent=idempotent), reply)
            except _LostError:
                continue
            except UmbrielError as error:
                if not error.retryable or isinstance(error, _ONCE) or time.monotonic() + pause > deadline:
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads retries, guards nothing
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _attempt(
        self, subject: str, body: bytes, headers: dict[str, str] | None, timeout: float, *, idempotent: bool
    ) -> Msg:
        asked = asyncio.ensure_future(self._request(subject, body, headers, timeout))
        if not idempotent:
            return await asked
        moved = asyncio.ensure_future(self._reconnected.wait())
        try:
            await asyncio.wait({asked, moved}, return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result()
            raise _LostError
        finally:
            asked.cancel()
            moved.cancel()

    async def _request(self, subject: str, body: bytes, headers: dict[str, str] | None, timeout: float) -> Msg:
        try:
            return await self._client.request(subject, body, timeout=timeout, headers=headers)
        except nats.errors.NoRespondersError as error:
            raise UnavailableError(
                "no Umbriel service answers", expected="a running `umbriel serve`", found=str(error)
            ) from error
        except nats.errors.MaxPayloadError as error:
            raise InvalidInputError("the request is too long", expected="at most 1 MiB", found=str(error)) from error
        except nats.errors.TimeoutError as error:
            detail = f"; last error {self._last_error}" if self._last_error else ""
            raise _NoAnswerError(
                "the service did not answer in time",
                expected=f"an answer within {timeout:g} s",
                found=f"nothing{detail}",
            ) from error
        except nats.errors.Error as error:
            raise UnavailableError("the connection failed", expected="an open connection", found=str(error)) from error


def _seed(path: Path | None) -> str | None:
    """Return the file of an nkey's seed as the NATS client takes it, once it is known to be usable."""
    if path is None:
        return None
    try:
        import nkeys

        nkeys.from_seed(bytearray(path.read_bytes().strip())).wipe()
    except ImportError as error:
        raise InvalidInputError(
            "nkeys are an extra", expected="`pip install umbriel[nkeys]`", found=str(error)
        ) from error
    except Exception as error:
        raise InvalidInputError(
            "the nkey seed cannot be used",
            expected="a file with one seed, SU…",
            found=f"{path}: {type(error).__name__}",
        ) from error
    return str(path)


def trusting(authority: str | Path) -> ssl.SSLContext:
    """Return a TLS context that trusts the authorities in one PEM file, and checks host names."""
    try:
        return ssl.create_default_context(cafile=str(authority))
    except (OSError, ssl.SSLError) as error:
        raise InvalidInputError(
            "the TLS authority cannot be used", expected="a PEM file of certificates", found=f"{authority}: {error}"
        ) from error


class _NoAnswerError(UnavailableError):
    """The whole time-out passed, so that trying again at once would only double it."""


#: What is not tried again here: it has taken its time, or is asked again by whoever shows how far it is.
_ONCE = (_NoAnswerError, BuildingError)


def _encode(request: msgspec.Struct | Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(request)
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from error
    except (TypeError, ValueError) as error:
        raise InvalidInputError("the request cannot be sent", expected="JSON values", found=str(error)) from error


def _decode(answer: Msg, reply: type[Reply]) -> Reply:
    failed = bool(answer.headers and answer.headers.get(ERROR_HEADER))
    try:
        if failed:
            raise error_from(msgspec.json.decode(answer.data, type=ErrorReply))
        return msgspec.json.decode(answer.data, type=reply)
    except msgspec.MsgspecError as error:
        raise MismatchError(
            "the service's answer is not one this client understands",
            expected=(ErrorReply if failed else reply).__name__,
            found=str(error),
        ) from error
