"""One subscriber a verb, on a connection that has no rights on the log.

A responder cannot see who sent a request, so the principal is in the subject and the server's permissions
tie a user to its own. Replies go to ``_INBOX_<principal>.…`` only: a request that names another reply
subject is neither carried out nor answered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import nullcontext

import msgspec
import nats.errors
import structlog
from faststream.exceptions import SkipMessage
from faststream.nats import NatsBroker, NatsMessage, NatsResponse

from domain.errors import BuildingError, InvalidInputError, RefusedError, UmbrielError
from domain.grants import Principal
from gateways.service.feed_places import check_unchanged
from gateways.service.service import VERBS, Service
from umbriel._json import encoded
from umbriel._transport import TOKEN_HEADER
from umbriel.types import ErrorReply

__all__ = ["ERROR_HEADER", "Api"]

#: Header that marks a reply as an ErrorReply; its value is the error's code.
ERROR_HEADER = "Umbriel-Error"
_FEED = "feed"
_WORKERS = 64
#: NATS carries 1 MiB a message; headers need some of it.
_REPLY_BYTES = 1_000_000
_CLOSE_SECONDS = 2.0
_PING_SECONDS = 1.0
_log = structlog.get_logger(__name__)


class Api:
    """Answers requests on one NATS connection; ``principals`` returns who may speak now under a name, or None.

    ``principal_of`` returns whose a bearer token is now. A request that carries one is its principal's: a gateway
    speaks so for its callers, and what they may is what they were granted, whatever the gateway may.
    """

    def __init__(
        self,
        service: Service,
        principals: Callable[[str], Principal | None],
        principal_of: Callable[[str], Principal | None],
        broker: NatsBroker,
    ) -> None:
        self._service = service
        self._principals = principals
        self._principal_of = principal_of
        self._broker = broker
        self.last_request = time.monotonic()
        self.active = 0
        self._feeds: set[asyncio.Task[None]] = set()
        for verb in VERBS:
            if verb == _FEED:
                self._subscribe_feed()
            else:
                self._subscribe(verb)

    def _subscribe(self, verb: str) -> None:
        @self._broker.subscriber(
            f"umbriel.api.{{principal}}.{{profile}}.{verb}",
            queue="umbriel",
            max_workers=_WORKERS,
            title=verb,
            decoder=_as_it_came,
        )
        async def answer(message: NatsMessage) -> NatsResponse:
            return await self._answer(verb, *_names(message), message)

    def _subscribe_feed(self) -> None:
        # A feed may wait for half a minute: it is a task of its own, which answers by itself, and holds no worker.
        @self._broker.subscriber(
            f"umbriel.api.{{principal}}.{{profile}}.{_FEED}",
            queue="umbriel",
            max_workers=_WORKERS,
            title=_FEED,
            no_reply=True,
            decoder=_as_it_came,
        )
        async def park(message: NatsMessage) -> None:
            task = asyncio.create_task(self._feed(*_names(message), message))
            self._feeds.add(task)
            task.add_done_callback(self._feeds.discard)

    async def _feed(self, principal: str, profile: str, message: NatsMessage) -> None:
        try:
            reply = await self._answer(_FEED, principal, profile, message)
            await self._broker.publish(reply.body, message.reply_to, headers=dict(reply.headers or {}))
        except SkipMessage:
            return
        except nats.errors.Error as error:
            # Whoever asked asks again from the same position.
            _log.warning("feed_not_answered", principal=principal, profile=profile, reason=str(error))

    async def connected(self) -> bool:
        """Whether requests arrive here now."""
        return await self._broker.ping(_PING_SECONDS)

    async def close(self) -> None:
        """Answer the feeds that wait, so that their clients ask elsewhere at once."""
        self._service.core.feeds.close()
        if self._feeds:
            _, late = await asyncio.wait(self._feeds, timeout=_CLOSE_SECONDS)
            for task in late:
                task.cancel()

    async def _answer(self, verb: str, principal: str, profile: str, message: NatsMessage) -> NatsResponse:
        self.last_request = time.monotonic()
        self.active += 1
        try:
            caller = self._speaker(principal, verb, message)
            with self._service.feed_places.place(caller.name) if verb == _FEED else nullcontext():
                reply = await self._service.call(verb, caller, profile, message.body)
            if verb == _FEED:
                check_unchanged(caller, self._now(principal, message))
            return NatsResponse(_encode(reply))
        except BuildingError as error:
            return _answered(msgspec.structs.replace(_reply(error), done=error.done, total=error.total))
        except UmbrielError as error:
            return _answered(_reply(error))
        except SkipMessage:
            raise
        except Exception as error:  # noqa: BLE001 -- a defect must answer too, or the caller waits for nothing
            _log.exception("request_failed", verb=verb, profile=profile)
            return _answered(ErrorReply(code="internal", message=f"{verb} failed: {type(error).__name__}"))
        finally:
            self.active -= 1
            self.last_request = time.monotonic()

    def _speaker(self, principal: str, verb: str, message: NatsMessage) -> Principal:
        reply_to = message.reply_to
        if not reply_to.startswith(f"_INBOX_{principal}."):
            self._service.refusals.note(principal, verb, "", f"reply to {reply_to[:120]}")
            # Not even a refusal goes to a subject that is somebody else's.
            raise SkipMessage
        caller = self._principals(principal)
        if caller is None:
            # A NATS server of one's own may still let a revoked principal in.
            self._service.refusals.note(principal, verb, "", "unknown or revoked principal")
            raise RefusedError("no such principal", expected="a principal that is not revoked", found=principal[:80])
        speaker = self._now(principal, message)
        if speaker is None:
            self._service.refusals.note(principal, verb, "", "a token that is none, or no more")
            raise RefusedError(
                "who speaks is not known", expected="the token of a principal", found="a token that is none, or no more"
            )
        return speaker

    def _now(self, principal: str, message: NatsMessage) -> Principal | None:
        """Return who speaks: the principal of the token that came with a request, else that of its subject."""
        token = message.headers.get(TOKEN_HEADER)
        return self._principals(principal) if token is None else self._principal_of(token)


async def _as_it_came(message: NatsMessage) -> NatsMessage:
    """Hand a message on whole: its body is decoded once it is known who sent it."""
    return message


def _names(message: NatsMessage) -> tuple[str, str]:
    """Return the principal and the profile of a request's subject."""
    return message.path["principal"], message.path["profile"]


def _encode(reply: msgspec.Struct) -> bytes:
    body = encoded(reply)
    if len(body) > _REPLY_BYTES:
        raise InvalidInputError(
            "the reply is too large for one message; ask for less",
            expected=f"at most {_REPLY_BYTES} bytes",
            found=f"{len(body)} bytes",
        )
    return body


def _reply(error: UmbrielError) -> ErrorReply:
    return ErrorReply(
        code=error.code,
        message=error.message,
        expected=error.expected,
        found=error.found,
        retryable=error.retryable,
    )


def _answered(reply: ErrorReply) -> NatsResponse:
    return NatsResponse(msgspec.json.encode(reply), headers={ERROR_HEADER: reply.code})
