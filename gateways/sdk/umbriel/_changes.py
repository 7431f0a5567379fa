"""The verbs that change or end a memory that exists; a part of the client."""

from __future__ import annotations

import uuid
from datetime import datetime

from umbriel import changes as wire
from umbriel._transport import Transport

__all__ = ["ChangeVerbs"]

_WRITE = 60.0


class ChangeVerbs:
    """Each names a memory by ``id``, by ``key`` or by a ``description``; ``preview`` touches nothing.

    A description means the memory whose key it is, the ones that hold the identifier it names (an e-mail address, a
    phone, card or account number, a UUID, a URL, a handle, however it is written), or the one that says what it
    says: every word must be accounted for. Of a memory that says several things only the part is meant. Raises
    NotFoundError where nothing fits, InvalidInputError with the candidates where several fit equally well and ``all``
    is not asked for. The reply's ``why`` tells what was meant and why; a preview lists exactly what would be touched.

    A repeated request is carried out once: a ``request_id`` is made up when none is given. ``expected`` is the id of
    the version that must still be the newest one (ConflictError).
    """

    _transport: Transport
    _profile: str

    async def correct(
        self,
        id: str = "",
        content: str = "",
        *,
        key: str = "",
        description: str = "",
        all: bool = False,
        contact: str = "",
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        preview: bool = False,
        request_id: str = "",
        expected: str = "",
        timeout: float = _WRITE,
    ) -> wire.TouchedReply:
        """Let a memory say ``content`` from now on, as its next version; the reply's ``memory`` is that version.

        A time of validity that is not given stays as it was. Raises RefusedError when an agent corrects what a
        person stated or states what a person rejected.
        """
        request = wire.CorrectRequest(
            content=content,
            id=id,
            key=key,
            description=description,
            all=all,
            contact=contact,
            valid_from=valid_from,
            valid_to=valid_to,
            preview=preview,
            request_id=request_id or _new_request_id(),
            expected=expected,
        )
        return await self._transport.call(
            self._profile, "correct", request, wire.TouchedReply, timeout=timeout, retry=not expected
        )

    async def forget(
        self,
        id: str = "",
        *,
        key: str = "",
        description: str = "",
        all: bool = False,
        contact: str = "",
        with_sources: bool = False,
        preview: bool = False,
        request_id: str = "",
        expected: str = "",
        timeout: float = _WRITE,
    ) -> wire.TouchedReply:
        """Forget a memory, or a message by its id with what was drawn from it.

        By an identifier every memory of the scope that holds it goes, in any version. The reply's ``messages`` hold it
        too; ``with_sources`` forgets them as well. ``preview`` says what would be touched and touches nothing.
        """
        request = wire.ForgetRequest(
            id=id,
            key=key,
            description=description,
            all=all,
            contact=contact,
            with_sources=with_sources,
            preview=preview,
            request_id=request_id or _new_request_id(),
            expected=expected,
        )
        return await self._transport.call(
            self._profile, "forget", request, wire.TouchedReply, timeout=timeout, retry=not expected
        )

    async def expire(
        self,
        id: str = "",
        *,
        key: str = "",
        description: str = "",
        all: bool = False,
        contact: str = "",
        at: datetime | None = None,
        never: bool = False,
        preview: bool = False,
        request_id: str = "",
        expected: str = "",
        timeout: float = _WRITE,
    ) -> wire.TouchedReply:
        """Set when a memory stops being live: ``at`` a time (one that has passed: now), or ``never``."""
        request = wire.ExpireRequest(
            id=id,
            key=key,
            description=description,
            all=all,
            contact=contact,
            at=at,
            never=never,
            preview=preview,
            request_id=request_id or _new_request_id(),
            expected=expected,
        )
        return await self._transport.call(
            self._profile, "expire", request, wire.TouchedReply, timeout=timeout, retry=not expected
        )

    async def retract(
        self,
        id: str = "",
        *,
        key: str = "",
        description: str = "",
        all: bool = False,
        contact: str = "",
        preview: bool = False,
        request_id: str = "",
        expected: str = "",
        timeout: float = _WRITE,
    ) -> wire.TouchedReply:
        """Withdraw a live memory without a replacement; it can be stated again."""
        request = _change(id, key, description, contact, request_id, expected, all=all, preview=preview)
        return await self._transport.call(
            self._profile, "retract", request, wire.TouchedReply, timeout=timeout, retry=not expected
        )

    async def reject(
        self,
        id: str = "",
        *,
        key: str = "",
        description: str = "",
        all: bool = False,
        contact: str = "",
        preview: bool = False,
        request_id: str = "",
        expected: str = "",
        timeout: float = _WRITE,
    ) -> wire.TouchedReply:
        """Declare a memory wrong, as a person: in its scope no agent can state it again, in whatever disguise."""
        request = _change(id, key, description, contact, request_id, expected, all=all, preview=preview)
        return await self._transport.call(
            self._profile, "reject", request, wire.TouchedReply, timeout=timeout, retry=not expected
        )

    async def restore(
        self,
        id: str = "",
        *,
        key: str = "",
        description: str = "",
        all: bool = False,
        contact: str = "",
        preview: bool = False,
        request_id: str = "",
        expected: str = "",
        timeout: float = _WRITE,
    ) -> wire.TouchedReply:
        """Make a version live again; the one that is live now is superseded by it."""
        request = _change(id, key, description, contact, request_id, expected, all=all, preview=preview)
        return await self._transport.call(
            self._profile, "restore", request, wire.TouchedReply, timeout=timeout, retry=not expected
        )

    async def pin(
        self,
        id: str = "",
        *,
        key: str = "",
        description: str = "",
        all: bool = False,
        contact: str = "",
        preview: bool = False,
        request_id: str = "",
        expected: str = "",
        timeout: float = _WRITE,
    ) -> wire.TouchedReply:
        """Exempt a memory from decay and consolidation."""
        request = _change(id, key, description, contact, request_id, expected, all=all, preview=preview)
        return await self._transport.call(
            self._profile, "pin", request, wire.TouchedReply, timeout=timeout, retry=not expected
        )

    async def unpin(
        self,
        id: str = "",
        *,
        key: str = "",
        description: str = "",
        all: bool = False,
        contact: str = "",
        preview: bool = False,
        request_id: str = "",
        expected: str = "",
        timeout: float = _WRITE,
    ) -> wire.TouchedReply:
        """Make a memory subject to decay again."""
        request = _change(id, key, description, contact, request_id, expected, all=all, preview=preview)
        return await self._transport.call(
            self._profile, "unpin", request, wire.TouchedReply, timeout=timeout, retry=not expected
        )


def _change(
    id: str, key: str, description: str, contact: str, request_id: str, expected: str, *, all: bool, preview: bool
) -> wire.ChangeRequest:
    return wire.ChangeRequest(
        id=id,
        key=key,
        description=description,
        all=all,
        contact=contact,
        preview=preview,
        request_id=request_id or _new_request_id(),
        expected=expected,
    )


def _new_request_id() -> str:
    return uuid.uuid4().hex
