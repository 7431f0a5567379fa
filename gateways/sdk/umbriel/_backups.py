"""The verb ``backup``; a part of the client."""

from __future__ import annotations

from typing import Literal

from umbriel import backups as wire
from umbriel._transport import Transport

__all__ = ["BackupVerbs"]

_SECONDS = 60.0
_SERVICE = "_"


class BackupVerbs:
    """Backups of the whole service; for persons who administer every profile."""

    _transport: Transport

    async def backup(
        self,
        path: str = "",
        *,
        action: Literal["start", "status"] = "start",
        master_key: bool = False,
        timeout: float = _SECONDS,
    ) -> wire.BackupReply:
        """Begin a backup into a directory or a new file on the service's machine, or ask how the last one stands.

        It goes on by itself: ask until its ``state`` is ``made`` or ``failed``.
        """
        request = wire.BackupRequest(action=action, path=path, master_key=master_key)
        idempotent = action == "status"
        return await self._transport.call(
            _SERVICE, "backup", request, wire.BackupReply, timeout=timeout, idempotent=idempotent
        )
