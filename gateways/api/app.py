"""One subscriber a verb, on a connection that has no rights on the log.

A responder cannot see who sent a request, so the principal is in the subject and the server's permissions
tie a user to its own. Replies go to ``_INBOX_<principal>.…`` only: a request that names another reply
subject is neither carried out nor answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import msgspec
import structlog
from faststream import Path
from faststream.exceptions import SkipMessage
from faststream.nats import NatsBroker, NatsMessage, NatsResponse

from domain.errors import InvalidInputError, RefusedError, UmbrielError
from domain.grants import Principal
from gateways.service.service import VERBS, Service
from umbriel.types import ErrorReply

__all__ = ["ERROR_HEADER", "Api"]

#: Header that marks a reply as an ErrorReply; its value is the error's code.
ERROR_HEADER = "Umbriel-Error"
_WORKERS = 64
#: NATS carries 1 MiB a message; headers need some of it.
_REPLY_BYTES = 1_000_000
_FEED_WORKERS = 256
_log = structlog.get_logger(__name__)


class Api:
    """Answers requests on one NATS connection; ``principals`` returns who may speak now under a name, or None."""

    def __init__(self, service: Service, principals: Callable[[str], Principal | None], broker: NatsBroker) -> None:
        self._service = service
        self._principals = principals
        self._broker = broker
        self.last_request = time.monotonic()
        self.active = 0
        for verb in VERBS:
            self._subscribe(verb)

    def _subscribe(self, verb: str) -> None:
        # The feed's parked waiters have workers of their own, so that they never starve calls.
        workers = _FEED_WORKERS if verb == "feed" else _WORKERS

        @self._broker.subscriber(
            f"umbriel.api.{{principal}}.{{profile}}.{verb}", queue="umbriel", max_workers=workers, title=verb
        )
        async def answer(
            message: NatsMessage, principal: Annotated[str, Path()], profile: Annotated[str, Path()]
        ) -> NatsResponse:
            return await self._answer(verb, principal, profile, message)

    async def _answer(self, verb: str, principal: str, profile: str, message: NatsMessage) -> NatsResponse:
        self.last_request = time.monotonic()
        self.active += 1
        try:
            caller = self._speaker(principal, verb, message.reply_to)
            reply = _encode(await self._service.call(verb, caller, profile, message.body))
            # A parked feed may outlive its principal's revocation.
            self._speaker(principal, verb, message.reply_to)
            return NatsResponse(reply)
        except UmbrielError as error:
            return _error(error.code, error.message, error.expected, error.found, retryable=error.retryable)
        except SkipMessage:
            raise
        except Exception as error:  # noqa: BLE001 -- a defect must answer too, or the caller waits for nothing
            _log.exception("request_failed", verb=verb, profile=profile)
            return _error("internal", f"{verb} failed: {type(error).__name__}", "", "", retryable=False)
        finally:
            self.active -= 1
            self.last_request = time.monotonic()

    def _speaker(self, principal: str, verb: str, reply_to: str) -> Principal:
        if not reply_to.startswith(f"_INBOX_{principal}."):
            self._service.refusals.note(principal, verb, "", f"reply to {reply_to[:120]}")
            # Not even a refusal goes to a subject that is somebody else's.
            raise SkipMessage
        caller = self._principals(principal)
        if caller is None:
            # A NATS server of one's own may still let a revoked principal in.
            self._service.refusals.note(principal, verb, "", "unknown or revoked principal")
            raise RefusedError("no such principal", expected="a principal that is not revoked", found=principal[:80])
        return caller


def _encode(reply: msgspec.Struct) -> bytes:
    body = msgspec.json.encode(reply)
    if len(body) > _REPLY_BYTES:
        raise InvalidInputError(
            "the reply is too large for one message; ask for less",
            expected=f"at most {_REPLY_BYTES} bytes",
            found=f"{len(body)} bytes",
        )
    return body


def _error(code: str, message: str, expected: str, found: str, *, retryable: bool) -> NatsResponse:
    reply = ErrorReply(code=code, message=message, expected=expected, found=found, retryable=retryable)
    return NatsResponse(msgspec.json.encode(reply), headers={ERROR_HEADER: code})
