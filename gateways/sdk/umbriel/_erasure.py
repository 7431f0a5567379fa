"""The verbs that erase; a part of the client."""

from __future__ import annotations

from umbriel import erasure as wire
from umbriel._transport import Transport

__all__ = ["ErasureVerbs"]

_READ = 60.0
_LONG = 600.0


class ErasureVerbs:
    """Erasure of a contact, a session or the client's whole profile; for persons who administer it."""

    _transport: Transport
    _profile: str

    async def erase(
        self,
        *,
        contact: str = "",
        session: str = "",
        whole: bool = False,
        preview: bool = False,
        wait: bool = True,
        timeout: float = _LONG,
    ) -> wire.EraseReply:
        """Erase a contact or a session, or the ``whole`` profile: its keys are destroyed, and it is blocked.

        This cannot be taken back. Doing it again finishes what was interrupted, and returns the proof.
        """
        request = wire.EraseRequest(contact=contact, session=session, whole=whole, preview=preview, wait=wait)
        return await self._transport.call(self._profile, "erase", request, wire.EraseReply, timeout=timeout)

    async def erasure_proof(
        self, *, contact: str = "", session: str = "", whole: bool = False, timeout: float = _LONG
    ) -> wire.EraseReply:
        """Return who erased something and when, and what is left of it."""
        request = wire.EraseRequest(contact=contact, session=session, whole=whole, proof=True)
        return await self._transport.call(self._profile, "erase", request, wire.EraseReply, timeout=timeout)

    async def lift_erasure(
        self, *, contact: str = "", session: str = "", whole: bool = False, timeout: float = _READ
    ) -> wire.EraseReply:
        """Let something erased be written about again; nothing of it comes back."""
        request = wire.EraseRequest(contact=contact, session=session, whole=whole, lift=True)
        return await self._transport.call(self._profile, "erase", request, wire.EraseReply, timeout=timeout)

    async def delete_profile(
        self, *, preview: bool = False, wait: bool = True, timeout: float = _LONG
    ) -> wire.EraseReply:
        """Delete the whole profile; its name stays taken until `lift_erasure` gives it free."""
        request = wire.DeleteProfileRequest(preview=preview, wait=wait)
        return await self._transport.call(self._profile, "delete_profile", request, wire.EraseReply, timeout=timeout)
