"""What goes wrong between here and a provider, as the domain's errors.

========================================  ==========================================================
time limit, lost connection, cut-off or   UnavailableError: the same call may succeed later
unreadable body, 402, 408, 409, 429, 5xx
input beyond the model's window, 413      InvalidInputError: must be cut, not sent again
stopped by the provider's content filter  RefusedError: the model declines
401, 403                                  MismatchError: the key is missing, wrong or not allowed this
404 and every other 3xx and 4xx           MismatchError: the configured endpoint does not take the call
========================================  ==========================================================

Redirects are not followed: content goes where it was configured to go and nowhere else.
What a provider says in words may repeat what it was sent, so only its status and code get into an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from domain.errors import InvalidInputError, MismatchError, RefusedError, UmbrielError, UnavailableError
from gateways.retry_after import asked_to_wait

__all__ = ["RETRIES", "RETRY_AFTER_LIMIT", "end_long_waits", "of_status", "read_body", "says", "wait_asked_for"]

#: times that a client repeats a call by itself
RETRIES = 2
#: seconds; a provider that asks for more is asked again by the worker, not waited for
RETRY_AFTER_LIMIT = 20.0

_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)|maximum context|prompt is too long|input (is )?too (long|large)|too many tokens"
    r"|maximum.{0,20}tokens|string_above_max_length|request_too_large|exceeds? the (available|maximum) (context|batch)"
    r"|larger than the max context|too large to process",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content_?filter|content_policy|content management policy|flagged", re.IGNORECASE)
_PASSING = frozenset({402, 408, 409, 425, 429})
_KEY = frozenset({401, 403})
_INPUT = frozenset({400, 422})
_TOO_LARGE, _SERVER, _BEYOND = 413, 500, 600
_MILLISECONDS = 1_000.0
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,60}\Z")


def says(body: object) -> str:
    """Return what an error's body says, as one text to look for words in; never to be shown."""
    return body if isinstance(body, str) else json.dumps(body, default=str)


def of_status(provider: str, status: int, body: object) -> UmbrielError:
    """Return the error for an answer whose HTTP status says that it is none."""
    found = f"status {status}{_code(body)}"
    words = says(body)
    if status in _PASSING or status >= _SERVER:
        return UnavailableError(f"{provider} cannot answer now", found=found)
    if status == _TOO_LARGE or (status in _INPUT and _TOO_LONG.search(words)):
        return InvalidInputError(f"the input is too long for {provider}", expected="what fits its window", found=found)
    if _FILTERED.search(words):
        return RefusedError(f"{provider} declined the content", found=found)
    if status in _KEY:
        return MismatchError(f"{provider} refused the key", expected="a key that is allowed this", found=found)
    return MismatchError(
        f"{provider} does not take this call", expected="the configured endpoint and model", found=found
    )


def _code(body: object) -> str:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return ""
    for name in ("code", "type"):
        value = error.get(name)
        if isinstance(value, str) and _CODE.match(value):
            return f", {value}"
    return ""


def read_body(provider: str, content: bytes) -> dict[str, Any]:
    """Return the JSON object of a successful answer; raises UnavailableError where it is none, or an error within."""
    try:
        body = json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise UnavailableError(f"{provider} answered something else", expected="a JSON object", found="another body")
    if isinstance(error := body.get("error"), dict):
        code = error.get("code")
        raise of_status(provider, code if isinstance(code, int) and min(_INPUT) <= code < _BEYOND else _SERVER, body)
    return body


def end_long_waits(response: Any) -> None:
    """Let a client give up at once where it would have to wait longer than it may: a hook on its answers."""
    if response.is_error and wait_asked_for(response.headers) > RETRY_AFTER_LIMIT:
        response.headers["x-should-retry"] = "false"


def wait_asked_for(headers: Mapping[str, str]) -> float:
    """Return the seconds that an answer asks to wait, 0 where it says nothing readable."""
    try:
        return float(headers["retry-after-ms"]) / _MILLISECONDS
    except (KeyError, ValueError):
        return asked_to_wait(headers.get("retry-after", "")) or 0.0
