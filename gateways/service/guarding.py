"""What sees to it that the log stays what was written to it, joined: checks at the start, seals, looks at all of it."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path

from gateways.jetstream.log import Log
from gateways.jetstream.seal_keys import SealKey, trusted_keys
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.streams import StreamState
from gateways.service.context import Core
from gateways.service.continuity import Continuity
from gateways.service.examining import Examination
from gateways.service.integrity import (
    Known,
    Standing,
    check_newest,
    check_standing,
    check_views,
    standing_of,
)
from gateways.service.sealing import Sealer
from gateways.service.verifications import Verifications
from gateways.service.witness import WitnessFile
from projections.directory import Directory

__all__ = ["Guard", "check_log"]


async def check_log(log: Log, state: StreamState, directory: Directory, data: Path, files: Secrets) -> Standing:
    """Return how the log stands; raises MismatchError or DamagedError when it is not the one this directory knows."""
    standing = await standing_of(log, state)
    known = Known(directory.incarnation, directory.low_water_mark(), WitnessFile(data).read())
    await check_standing(log, standing, known)
    await check_newest(log, standing, trusted_keys(files))
    await check_views(log, data)
    directory.incarnation = standing.incarnation
    return standing


class Guard:
    """The sealer and the watch of one running service, and the looks at the whole log that somebody asks it for."""

    def __init__(self, core: Core, state: StreamState, data: Path, files: Secrets) -> None:
        self._core = core
        self._data = data
        self._files = files
        log, positions = core.events.log, core.positions
        key = core.seal_key = SealKey.of(files)
        self._sealer = Sealer(log, key, positions, WitnessFile(data), core.settings.sealing, core.events.lost, log.halt)
        self._continuity = Continuity(log, state, lambda: core.reader.passed)
        log.guard_with(self._continuity.check)
        core.seal = self._sealer.seal
        core.verifications = Verifications(self._examination, positions)

    def work(self) -> dict[str, Coroutine[None, None, None]]:
        """Return what is to be run until it is cancelled, by name."""
        return {"continuity": self._continuity.run(), "sealing": self._sealer.run(lambda: self._core.reader.passed)}

    async def _examination(self) -> Examination:
        core, log, positions = self._core, self._core.events.log, self._core.positions
        standing = Standing(positions.stream, positions.incarnation, await log.last_position(), core.events.lost)
        known = Known(positions.incarnation, core.directory.low_water_mark(), WitnessFile(self._data).read())
        return Examination(log, core.events.keys, self._data, standing, known, trusted_keys(self._files))

    async def close(self) -> None:
        """Give up a look that is under way, and seal what was written last."""
        if self._core.verifications is not None:
            await self._core.verifications.close()
        await self._sealer.finish()
