"""Errors as RFC 9457 problems: the same code, message, expected, found and retryable as on every surface."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Response

from domain.errors import UmbrielError

__all__ = [
    "PROBLEM_TYPE",
    "STATUS",
    "HttpError",
    "Problem",
    "no_such_path",
    "not_allowed",
    "precondition",
    "problem",
    "problem_of",
    "retry_later",
    "too_large",
    "too_slow",
    "unauthorized",
    "wrong_type",
]

PROBLEM_TYPE = "application/problem+json"

#: the status that stands for each code
STATUS = {
    "invalid": 400,
    "refused": 403,
    "not_found": 404,
    "erased": 410,
    "conflict": 409,
    "mismatch": 409,
    "already_running": 409,
    "unavailable": 503,
    "building": 503,
    "log_full": 507,
    "damaged": 500,
    "internal": 500,
}
_TITLES = {
    "invalid": "The input can never be accepted as it is",
    "refused": "The grant does not allow it",
    "not_found": "No such thing is visible to the caller",
    "erased": "It was erased, and stays so",
    "conflict": "Somebody else wrote first",
    "mismatch": "Configuration and stored data disagree",
    "already_running": "Another process serves this",
    "unavailable": "Nothing can answer now",
    "building": "What is to answer is being made",
    "log_full": "The log reached its size limit",
    "damaged": "Stored bytes are not what was written",
    "internal": "A defect of the service",
}
_RETRY_SECONDS = "1"


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error: the members of RFC 9457, and those of an error on every surface.

    ``done`` of ``total`` steps is how far what is to answer has been made, where that is the reason.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    message: str
    expected: str
    found: str
    retryable: bool
    done: int = 0
    total: int = 0


class HttpError(Exception):
    """An error that only HTTP has a status for; ``code`` is the one of the tree that it is a kind of."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        expected: str = "",
        found: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.expected = expected
        self.found = found
        self.headers = headers or {}


def unauthorized(message: str, *, found: str) -> HttpError:
    """Who speaks is not known."""
    return HttpError(
        401,
        "refused",
        message,
        expected="Authorization: Bearer <token>, as `umbriel principal token NAME` makes them",
        found=found,
        headers={"WWW-Authenticate": 'Bearer realm="umbriel"'},
    )


def retry_later(seconds: int) -> HttpError:
    """Too many failures from one address."""
    return HttpError(
        429,
        "refused",
        "too many requests without a valid token from this address",
        expected="a valid token, which is let through at any time",
        found="none",
        headers={"Retry-After": str(seconds)},
    )


def too_large(limit: int, found: str) -> HttpError:
    """A body over the limit."""
    return HttpError(413, "invalid", "the body is too large", expected=f"at most {limit} bytes", found=found)


def too_slow(seconds: float) -> HttpError:
    """A body that does not arrive."""
    return HttpError(408, "invalid", "the body did not arrive in time", expected=f"all within {seconds:g} s", found="")


def wrong_type(found: str) -> HttpError:
    """A body that is said to be something else than JSON."""
    return HttpError(
        415, "invalid", "the body must be JSON", expected="Content-Type: application/json", found=found[:80]
    )


def not_allowed(method: str, allowed: str) -> HttpError:
    """A path that has no such method."""
    return HttpError(
        405,
        "invalid",
        "the path has no such method",
        expected=allowed,
        found=method[:20],
        headers={"Allow": allowed},
    )


def no_such_path(path: str) -> HttpError:
    """A path that nothing answers under."""
    return HttpError(404, "not_found", "no such path", expected="a path of /schema/openapi.json", found=path[:120])


def precondition(error: UmbrielError) -> HttpError:
    """A memory that is no longer what ``If-Match`` says."""
    return HttpError(412, error.code, error.message, expected=error.expected, found=error.found)


def problem_of(error: UmbrielError | HttpError | Exception, verb: str = "") -> Problem:
    """Return the problem that an error is."""
    match error:
        case HttpError():
            code, status = error.code, error.status
            message, expected, found = error.message, error.expected, error.found
            retryable = status in {408, 412, 429}
        case UmbrielError():
            code, status = error.code, STATUS.get(error.code, 500)
            message, expected, found, retryable = error.message, error.expected, error.found, error.retryable
        case _:
            code, status, retryable = "internal", 500, False
            message, expected, found = f"{verb or 'the request'} failed: {type(error).__name__}", "", ""
    return Problem(
        type=f"urn:umbriel:error:{code}",
        title=_TITLES.get(code, "An error"),
        status=status,
        detail=message,
        code=code,
        message=message,
        expected=expected,
        found=found,
        retryable=retryable,
        done=getattr(error, "done", 0),
        total=getattr(error, "total", 0),
    )


def problem(error: UmbrielError | HttpError | Exception, verb: str = "") -> Response[Any]:
    """Return the response that says what an error is."""
    said = problem_of(error, verb)
    headers = dict(error.headers) if isinstance(error, HttpError) else {}
    if said.status == STATUS["unavailable"]:
        headers["Retry-After"] = _RETRY_SECONDS
    return Response(
        msgspec.json.encode(said),
        status_code=said.status,
        media_type=PROBLEM_TYPE,
        headers={"Cache-Control": "no-store", **headers},
    )
