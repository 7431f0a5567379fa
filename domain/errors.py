"""Every error Umbriel raises, as one tree.

::

    UmbrielError
    ├── InvalidInputError      the caller sent something that can never be accepted
    ├── NotFoundError          what was named does not exist (or is not visible to the caller)
    ├── RefusedError           the caller's grant does not allow it
    ├── ErasedError            what was named was erased, and stays so until a person lifts that
    ├── ConflictError          somebody else wrote first; read again and decide again
    ├── UnavailableError       the log or a view cannot answer now; the same call may succeed later
    │   ├── LogFullError       the stream reached its size limit
    │   └── BuildingError      views of the past are being made; asked again, they may be there
    ├── DamagedError           stored bytes are not what was written
    ├── MismatchError          configuration and stored data disagree (stream flags, model, schema)
    └── AlreadyRunningError    another process serves this data directory

Each carries what was expected, what was found and whether trying again makes sense, and has a
stable ``code`` that is the same on every surface.
"""

from __future__ import annotations

from typing import ClassVar

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
]


class UmbrielError(Exception):
    """Base of every error; ``message`` is one sentence for a person."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, expected: str = "", found: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        detail = [
            part
            for part in (
                f"expected {self.expected}" if self.expected else "",
                f"found {self.found}" if self.found else "",
            )
            if part
        ]
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
    """What was named was erased: nothing is written about it until a person lifts that."""

    code = "erased"


class ConflictError(UmbrielError):
    """Another writer was first; the state must be read again."""

    code = "conflict"
    retryable = True


class UnavailableError(UmbrielError):
    """The log or a view cannot answer at the moment."""

    code = "unavailable"
    retryable = True


class LogFullError(UnavailableError):
    """The stream reached ``max_bytes``; nothing was written."""

    code = "log_full"
    retryable = False


class BuildingError(UnavailableError):
    """What is to answer is being made: ``done`` of ``total`` steps of it."""

    code = "building"

    def __init__(self, message: str, *, expected: str = "", found: str = "", done: int = 0, total: int = 0) -> None:
        super().__init__(message, expected=expected, found=found)
        self.done = done
        self.total = total


class DamagedError(UmbrielError):
    """Bytes on disk are not the bytes that were written."""

    code = "damaged"


class MismatchError(UmbrielError):
    """Configuration and stored data disagree."""

    code = "mismatch"


class AlreadyRunningError(UmbrielError):
    """A second server on one data directory, or a port that is taken."""

    code = "already_running"
