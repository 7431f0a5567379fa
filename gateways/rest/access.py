"""Who speaks, by a bearer token; and which names of this service a browser may have used to get here."""

from __future__ import annotations

import ipaddress
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from litestar import Request

from domain.grants import Principal
from gateways.rest.problems import HttpError, retry_later, unauthorized
from gateways.service.grants import Refusals

__all__ = ["Access", "Speaker", "check_host"]

_SCHEME = "bearer "
#: Failures that one address may have in a window, and its seconds.
_FAILURES = 20
_WINDOW = 60.0
_ADDRESSES = 10_000
_HOST = re.compile(r"(localhost|[0-9.]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?\Z")


class Speaker(msgspec.Struct, frozen=True):
    """A principal and the token it came with, to be looked at again by whatever lasts."""

    principal: Principal
    token: str


class Access:
    """Lets in who has a token; ``principal_of`` returns whose it is now, None for one that is none.

    The token of a request is looked at first and costs one hash. Only requests without a valid one are counted and
    slowed down: guessing 256 bits is hopeless at any speed, and nobody shuts out others at his address.
    """

    def __init__(self, principal_of: Callable[[str], Principal | None], refusals: Refusals) -> None:
        self._principal_of = principal_of
        self._refusals = refusals
        self._failures: OrderedDict[str, list[float]] = OrderedDict()

    def speaker(self, request: Request[Any, Any, Any], verb: str) -> Speaker:
        """Return who speaks. Raises HttpError: 401 without a valid token, 429 after too many of these."""
        given = request.headers.get("authorization", "")
        token = given[len(_SCHEME) :].strip() if given[: len(_SCHEME)].lower() == _SCHEME else ""
        principal = self.principal(token)
        if principal is None:
            raise self.failed(request, verb, "no token" if not token else "a token that is none, or no more")
        return Speaker(principal, token)

    def principal(self, token: str) -> Principal | None:
        """Return whose token this is now, or None."""
        return self._principal_of(token) if token else None

    def failed(self, request: Request[Any, Any, Any], verb: str, found: str) -> HttpError:
        """Count a failure to say who speaks, and return the error that it is answered with."""
        address = request.client.host if request.client else ""
        now = time.monotonic()
        recent = [one for one in self._failures.pop(address, []) if one > now - _WINDOW]
        if len(recent) >= _FAILURES:
            self._failures[address] = recent
            return retry_later(max(1, round(recent[0] + _WINDOW - now)))
        self._failures[address] = [*recent, now]
        while len(self._failures) > _ADDRESSES:
            self._failures.popitem(last=False)
        self._refusals.note("", verb, "", f"{found}, from {address}")
        return unauthorized("who speaks is not known", found=found)


def check_host(headers: Mapping[str, str]) -> None:
    """Raise HttpError unless a request to a loopback address names it as only this machine does.

    Any other name was made to point here, by a page that wants to read along (DNS rebinding).
    """
    host = headers.get("host", "").strip().lower()
    match = _HOST.match(host)
    if match is None or not _is_loopback(match[1]):
        raise HttpError(
            421,
            "refused",
            "this service answers under the names of this machine only",
            expected="Host: 127.0.0.1, [::1] or localhost",
            found=repr(host[:80]),
        )


def _is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
