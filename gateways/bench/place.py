"""Where a benchmark runs: a running service, a data directory, or a temporary one that is gone afterwards."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from umbriel import InvalidInputError, Umbriel

__all__ = ["Place", "temporary"]

_POLL_SECONDS = 0.05
#: Fifteen seconds: a service closes its views and its server before it goes.
_STOP_POLLS = 300


class _Endpoint(msgspec.Struct, frozen=True):
    pid: int


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The service to measure: at ``nats``, else on ``data``, else on a temporary data directory."""

    data: Path | None = None
    nats: str | None = None
    principal: str = "local"

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Umbriel]:
        """Yield a client; a temporary service is stopped and its data removed at the end."""
        if self.nats is not None:
            if self.data is not None:
                raise InvalidInputError("two places named", expected="--data or --nats", found="both")
            password = os.environ.get("UMBRIEL_PASSWORD", "")
            async with await Umbriel.connect(self.nats, principal=self.principal, password=password) as client:
                yield client
        elif self.data is not None:
            async with await Umbriel.embedded(self.data, principal=self.principal) as client:
                yield client
        else:
            async with temporary() as data, await Umbriel.embedded(data, principal=self.principal) as client:
                yield client


@asynccontextmanager
async def temporary() -> AsyncIterator[Path]:
    """Lend a data directory; the service on it is stopped and the directory removed at the end."""
    data = Path(tempfile.mkdtemp(prefix="umbriel-bench-"))
    try:
        yield data
    finally:
        await _stop(data)
        shutil.rmtree(data, ignore_errors=True)


async def _stop(data: Path) -> None:
    """Stop the service of a data directory that nobody else knows; it would stop by itself, but only when idle."""
    try:
        pid = msgspec.json.decode((data / "endpoint.json").read_bytes(), type=_Endpoint).pid
        os.kill(pid, signal.SIGTERM)
    except (OSError, msgspec.MsgspecError):
        return
    for _ in range(_STOP_POLLS):
        if not _alive(pid):
            return
        await asyncio.sleep(_POLL_SECONDS)


def _alive(pid: int) -> bool:
    try:
        # A service that this process started is its child and stays a zombie until it is waited for.
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    except ChildProcessError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
