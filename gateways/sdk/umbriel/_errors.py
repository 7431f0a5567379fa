"""Every error the client raises, as one tree; the codes are those of the server.

::

    UmbrielError
    ├── InvalidInputError      (invalid)          what was sent can never be accepted
    ├── NotFoundError          (not_found)        what was named does not exist, or is not visible to you
    ├── RefusedError           (refused)          your grant does not allow it
    ├── ErasedError            (erased)           what was named was erased, and stays so until a person lifts that
    ├── ConflictError          (conflict)         somebody else wrote first
    ├── UnavailableError       (unavailable)      nothing answers now; the same call may succeed later
    │   ├── LogFullError       (log_full)         the log reached its size limit
    │   └── BuildingError      (building)         views of the past are being made; ask again
    ├── DamagedError           (damaged)          stored bytes are not what was written
    ├── MismatchError          (mismatch)         configuration and stored data disagree
    └── AlreadyRunningError    (already_running)  another process serves this data directory
"""

from __future__ import annotations

from umbriel.types import ErrorReply

__all__ = [
    "AlreadyRunningError",
    "BuildingError",
    "ConflictError",
    "DamagedError",
    "ErasedError",
    "InvalidInputError",
    "LogFullError",
    "MismatchError",
    "NotFoundError",
    "RefusedError",
    "UmbrielError",
    "UnavailableError",
    "error_from",
]


class UmbrielError(Exception):
    """Base of every error: one sentence, what was expected, what was found, and whether to try again."""

    code: str = "internal"
    retryable: bool = False

    def __init__(self, message: str, *, expected: str = "", found: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        detail = []
        if self.expected:
            detail.append(f"expected {self.expected}")
        if self.found:
            detail.append(f"found {self.found}")
        return f"{self.message} ({', '.join(detail)})" if detail else self.message


class InvalidInputError(UmbrielError):
    """The input can never be accepted as it is."""

    code = "invalid"


class NotFoundError(UmbrielError):
    """Nothing with that name is visible to the caller."""

    code = "not_found"


class RefusedError(UmbrielError):
    """The caller's grant does not cover this."""

    code = "refused"


class ErasedError(UmbrielError):
    """What was named was erased; a person may lift that."""

    code = "erased"


class ConflictError(UmbrielError):
    """Another writer was first; read again and decide again."""

    code = "conflict"
    retryable = True


class UnavailableError(UmbrielError):
    """Nothing answers at the moment."""

    code = "unavailable"
    retryable = True


class LogFullError(UnavailableError):
    """The log reached its size limit; nothing was written."""

    code = "log_full"
    retryable = False


class BuildingError(UnavailableError):
    """What is to answer is being made: ``done`` of ``total`` steps of it."""

    code = "building"
    done: int = 0
    total: int = 0


class DamagedError(UmbrielError):
    """Bytes on disk are not the bytes that were written."""

    code = "damaged"


class MismatchError(UmbrielError):
    """Configuration and stored data disagree."""

    code = "mismatch"


class AlreadyRunningError(UmbrielError):
    """A second server on one data directory, or a port that is taken."""

    code = "already_running"


_BY_CODE: dict[str, type[UmbrielError]] = {
    error.code: error
    for error in (
        InvalidInputError,
        NotFoundError,
        RefusedError,
        ErasedError,
        ConflictError,
        UnavailableError,
        LogFullError,
        BuildingError,
        DamagedError,
        MismatchError,
        AlreadyRunningError,
    )
}


def error_from(reply: ErrorReply) -> UmbrielError:
    """Return the error a reply stands for; an unknown code is an `UmbrielError` that carries it."""
    error = _BY_CODE.get(reply.code, UmbrielError)(reply.message, expected=reply.expected, found=reply.found)
    error.code = reply.code
    error.retryable = reply.retryable
    if isinstance(error, BuildingError):
        error.done, error.total = reply.done, reply.total
    return error
