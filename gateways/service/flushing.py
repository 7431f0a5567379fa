"""What is collected in memory and written every so often, so that nothing waits for a write."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

__all__ = ["Flusher"]


class Flusher(ABC):
    """Collects until `flush` writes what there is; what cannot be written then is kept for the next time."""

    @abstractmethod
    async def flush(self) -> None:
        """Append what was collected; never raises UmbrielError."""

    async def run(self, seconds: float) -> None:
        """Flush every so often until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            # Cut off half-way, a flush would lose what it had taken.
            flushing = asyncio.create_task(self.flush())
            try:
                await asyncio.shield(flushing)
            except asyncio.CancelledError:
                await flushing
                raise
