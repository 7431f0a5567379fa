"""The verbs of contacts, settings and retry; a part of the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from umbriel import admin as wire
from umbriel._transport import Transport

__all__ = ["AdminVerbs"]

_READ = 30.0
_WRITE = 60.0
_RETRY = 600.0


class AdminVerbs:
    """Contacts, settings and retry of the client's profile."""

    _transport: Transport
    _profile: str

    async def link_contact(self, contact: str, to: str, *, timeout: float = _WRITE) -> wire.LinkReply:
        """Say that two contacts are one person: what is asked about either is answered from both."""
        request = wire.LinkRequest(contact=contact, to=to)
        return await self._transport.call(self._profile, "link_contact", request, wire.LinkReply, timeout=timeout)

    async def unlink_contact(self, contact: str, other: str = "", *, timeout: float = _WRITE) -> wire.LinkReply:
        """Take back one link of a contact, or all of them; each keeps what is its own."""
        request = wire.UnlinkRequest(contact=contact, other=other)
        return await self._transport.call(self._profile, "unlink_contact", request, wire.LinkReply, timeout=timeout)

    async def list_contacts(
        self, *, cursor: str = "", limit: int = 100, at_least: str = "", timeout: float = _READ
    ) -> wire.ContactsReply:
        """Return a page of contacts by name with what each has; ask again with the reply's ``cursor``."""
        request = wire.ContactsRequest(cursor=cursor, limit=limit, at_least=at_least)
        return await self._transport.call(self._profile, "list_contacts", request, wire.ContactsReply, timeout=timeout)

    async def settings(
        self, changes: Mapping[str, Any] | None = None, *, expected: int | None = None, timeout: float = _WRITE
    ) -> wire.SettingsReply:
        """Return the profile's settings, after changing some by name.

        ``expected`` is the version they were read at; ConflictError when somebody changed them since.
        """
        request = wire.SettingsRequest(changes=dict(changes or {}), expected=expected)
        return await self._transport.call(
            self._profile, "settings", request, wire.SettingsReply, timeout=timeout, retry=expected is None
        )

    async def retry(self, *, timeout: float = _RETRY) -> wire.RetryReply:
        """Try again what failed or stopped in this profile."""
        return await self._transport.call(
            self._profile, "retry", wire.RetryRequest(), wire.RetryReply, timeout=timeout, idempotent=False
        )
