"""NATS errors as errors of the domain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import nats.errors
import nats.js.errors

from domain.errors import InvalidInputError, LogFullError, UmbrielError, UnavailableError

__all__ = ["BATCH_AGAIN", "CONFLICTS", "FULL", "ServerError", "translated"]

#: wrong last sequence, in its two forms
CONFLICTS = frozenset({10071, 10164})
#: the stream (10077) or the server's storage (10047, 10023) is full
FULL = frozenset({10077, 10047, 10023})
#: a batch that did not commit, for reasons of the moment: send it again under a new id
BATCH_AGAIN = frozenset({10176, 10201, 10210, 10211})
_UNAVAILABLE = 503


class ServerError(Exception):
    """What JetStream answered: HTTP-like ``code``, its own ``err_code``, and a description."""

    def __init__(self, code: int, err_code: int, description: str) -> None:
        super().__init__(f"{description} ({code}/{err_code})")
        self.code = code
        self.err_code = err_code

    def translate(self, doing: str) -> UmbrielError:
        """Return the domain's error for it."""
        if self.err_code in FULL:
            return LogFullError("the log is full, nothing was written", expected="free space", found=str(self))
        return UnavailableError(f"{doing} failed", expected="an answer of the log", found=str(self))


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise UnavailableError (or InvalidInputError for an oversized message) for errors of the NATS client."""
    try:
        yield
    except nats.errors.MaxPayloadError as error:
        raise InvalidInputError("the event is too large", expected="at most 1 MiB", found=str(error)) from error
    except ServerError as error:
        raise error.translate(doing) from error
    except nats.js.errors.APIError as error:
        answer = ServerError(error.code or _UNAVAILABLE, error.err_code or 0, error.description or str(error))
        raise answer.translate(doing) from error
    except (nats.errors.Error, TimeoutError, OSError) as error:
        found = str(error).strip() or type(error).__name__
        raise UnavailableError(f"{doing} failed", expected="an answer of the log", found=found) from error
