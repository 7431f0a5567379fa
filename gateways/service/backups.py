"""Backups: the streams as the server gives them, while it serves, in one archive; asked for, or by themselves.

The keys are taken after the log: a key is acknowledged before the first event under it, so every event of the archive
has its key in it, or the key's tombstone. Taken again and compared before it counts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import structlog
from filelock import FileLock, Timeout

from domain.errors import AlreadyRunningError, InvalidInputError, UmbrielError
from domain.settings import BackupSettings
from gateways.jetstream.connection import Connection
from gateways.jetstream.destroyed import FILE as DESTROYED
from gateways.jetstream.destroyed import DestroyedKey, add_destroyed, destroyed_in, shown
from gateways.jetstream.keys import KeyRing
from gateways.jetstream.seal_keys import TRUSTED, trusted_keys
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.snapshots import Snapshot, take
from gateways.jetstream.streams import KEYS_STREAM, SCHEDULES_STREAM, TURNS_STREAM
from gateways.service.archive import Archive, ArchiveWriter, Manifest
from gateways.service.backup_files import KeptBackup, kept_in, name_for, remove_old
from gateways.service.positions import Positions
from umbriel.backups import BackupReply, BackupRequest, BackupsStatus

__all__ = ["CONFIGURATION", "MASTER_KEY", "PRINCIPALS", "Backups"]

_log = structlog.get_logger(__name__)
#: files of a data directory that say how the service runs, and of its secrets those that may be in a backup
CONFIGURATION = ("providers.toml", "server.toml")
PRINCIPALS = "principals.json"
MASTER_KEY = "master.key"
_LOCK = ".umbriel-backups.lock"
#: seconds after which a backup that failed is tried again, and between two looks at whether one is due
_AGAIN = 300.0
_LOOK = 60.0


class _Job:
    """One backup, as it stands."""

    def __init__(self, path: Path, *, master_key: bool) -> None:
        self.path = path
        self.master_key = master_key
        self.state: Literal["running", "made", "failed"] = "running"
        self.doing = ""
        self.done = 0
        self.total = 0
        self.error = ""
        self.manifest: Manifest | None = None
        self.removed: list[Path] = []
        self.started = time.monotonic()
        self.seconds = 0.0
        self.task: asyncio.Task[None] | None = None


class Backups:
    """Makes the backups of one service, one at a time; ``clock`` tells when the next is due."""

    def __init__(
        self,
        data: Path,
        connection: Connection,
        keys: KeyRing,
        positions: Positions,
        settings: BackupSettings,
        clock: Callable[[], datetime],
    ) -> None:
        self._data = data
        self._secrets = Secrets(data / "secrets")
        self._connection = connection
        self._positions = positions
        self._settings = settings
        self._clock = clock
        self._job: _Job | None = None
        self._error = ""
        self._failed_at: datetime | None = None
        self.directory = Path(settings.directory).expanduser() if settings.directory else None
        keys.destroyed.append(self._note_destroyed)

    @property
    def idle(self) -> bool:
        """Whether no backup is being made, and none is due."""
        return self._job is None or self._job.state != "running"

    # -- asked for ------------------------------------------------------------------------------

    async def ask(self, request: BackupRequest) -> BackupReply:
        """Begin a backup, or say how the last one stands."""
        if request.action == "start":
            self._start(await asyncio.to_thread(self._target, request.path), master_key=request.master_key)
        return self._reply()

    def _target(self, path: str) -> Path:
        place = Path(path).expanduser() if path else self.directory
        if place is None or not place.is_absolute():
            raise InvalidInputError("where is the backup to go?", expected="an absolute path", found=repr(path[:200]))
        target = place / name_for(self._clock()) if place.is_dir() else place
        if target.exists():
            raise InvalidInputError("a file of that name is there", expected="a new name", found=str(target))
        if not target.parent.is_dir():
            raise InvalidInputError("there is no such directory", expected="a directory", found=str(target.parent))
        return target

    def _start(self, target: Path, *, master_key: bool = False) -> _Job:
        if self._job is not None and self._job.state == "running":
            raise AlreadyRunningError("a backup is being made", expected="its end", found=str(self._job.path))
        self._job = job = _Job(target, master_key=master_key)
        job.task = asyncio.create_task(self._run_job(job))
        return job

    def _reply(self) -> BackupReply:
        job = self._job
        if job is None:
            return BackupReply(state="none")
        manifest = job.manifest
        return BackupReply(
            state=job.state,
            file=str(job.path),
            doing=job.doing,
            done=job.done,
            total=max(job.total, job.done),
            seconds=round(job.seconds or time.monotonic() - job.started, 3),
            bytes=manifest.bytes if manifest else 0,
            events=manifest.events if manifest else 0,
            position=self._positions.show(manifest.last_position) if manifest else "",
            removed=[str(one) for one in job.removed],
            error=job.error,
        )

    # -- making one -----------------------------------------------------------------------------

    async def _run_job(self, job: _Job) -> None:
        try:
            job.manifest = await self._make(job)
            job.state = "made"
            _log.info("backup_made", file=str(job.path), bytes=job.manifest.bytes, events=job.manifest.events)
        except (UmbrielError, OSError) as error:
            job.error, job.state = str(error), "failed"
            _log.error("backup_failed", file=str(job.path), reason=str(error))
        finally:
            if job.state == "running":
                job.error, job.state = "the service stopped", "failed"
            job.seconds, job.doing = time.monotonic() - job.started, ""

    async def _make(self, job: _Job) -> Manifest:
        writer = await asyncio.to_thread(ArchiveWriter, job.path)
        try:
            log = await self._stream(job, writer, self._positions.stream)
            for stream in (KEYS_STREAM, SCHEDULES_STREAM, TURNS_STREAM):
                await self._stream(job, writer, stream)
            destroyed = await destroyed_in(self._connection)
            manifest = Manifest(
                version=version("umbriel-server"),
                created_at=self._clock().astimezone(UTC),
                stream=self._positions.stream,
                incarnation=self._positions.incarnation,
                last_position=log.end.last_seq,
                events=log.end.messages,
                parts=(),
            )
            await asyncio.to_thread(self._add_files, job, writer, destroyed)
            manifest = await asyncio.to_thread(writer.finish, manifest, self._secrets.master_key())
        finally:
            await asyncio.to_thread(writer.close)
        await self._verify(job, manifest)
        if job.path.parent == self.directory:
            await asyncio.to_thread(add_destroyed, self.directory, destroyed)
        return manifest

    async def _stream(self, job: _Job, writer: ArchiveWriter, stream: str) -> Snapshot:
        job.doing = stream
        job.total += (await self._connection.js.stream_info(stream)).state.bytes
        name = f"streams/{stream}.snapshot"
        await asyncio.to_thread(writer.begin, name)

        async def sink(chunk: bytes) -> None:
            await asyncio.to_thread(writer.write, chunk)
            job.done += len(chunk)

        snapshot = await take(self._connection, stream, sink)
        await asyncio.to_thread(writer.end, name, snapshot)
        return snapshot

    def _add_files(self, job: _Job, writer: ArchiveWriter, destroyed: list[DestroyedKey]) -> None:
        files = {name: self._data / name for name in CONFIGURATION}
        found = {name: path.read_bytes() for name, path in files.items() if path.is_file()}
        found[PRINCIPALS] = self._secrets.read(PRINCIPALS) or b""
        found[DESTROYED] = shown(destroyed)
        # Whoever restores it has a key of its own, and goes on behind seals of this one.
        found[TRUSTED] = "\n".join(sorted(trusted_keys(self._secrets))).encode()
        if job.master_key:
            found[MASTER_KEY] = self._secrets.master_key()
        for name, content in found.items():
            if content:
                writer.add(name, content)

    async def _verify(self, job: _Job, manifest: Manifest) -> None:
        """Read what was written again; what is not as it must be does not stay under its name."""
        job.doing, job.done, job.total = "verifying", 0, manifest.bytes

        def verified() -> None:
            archive = Archive(job.path)
            try:
                archive.verify(lambda count: setattr(job, "done", job.done + count))
            finally:
                archive.close()

        try:
            await asyncio.to_thread(verified)
        except UmbrielError:
            await asyncio.to_thread(job.path.unlink, missing_ok=True)
            raise

    # -- by themselves --------------------------------------------------------------------------

    async def run(self) -> None:
        """Make a backup whenever one is due, also one that was missed; until cancelled."""
        if self.directory is None:
            await asyncio.Event().wait()
        while True:
            due = await self.look()
            left = (due - self._clock()).total_seconds() if due is not None else _LOOK
            await asyncio.sleep(min(max(left, 1.0), _LOOK))

    async def look(self) -> datetime | None:
        """Make a backup if one is due; returns when the next one is, None without a directory."""
        if self.directory is None:
            return None
        try:
            due = await self._due(self.directory)
            if due <= self._clock() and self.idle:
                await self._make_due(self.directory)
                due = await self._due(self.directory)
        except (UmbrielError, OSError) as error:
            self._error, self._failed_at = str(error), self._clock()
            _log.error("backup_failed", directory=str(self.directory), reason=str(error))
            return self._failed_at + timedelta(seconds=_AGAIN)
        return due

    async def _due(self, directory: Path) -> datetime:
        last = await self._last(directory)
        due = self._clock() if last is None else last.manifest.created_at + timedelta(hours=self._settings.every)
        return due if self._failed_at is None else max(due, self._failed_at + timedelta(seconds=_AGAIN))

    async def _last(self, directory: Path) -> KeptBackup | None:
        kept = await asyncio.to_thread(kept_in, directory, self._positions.incarnation)
        return kept[0] if kept else None

    async def _make_due(self, directory: Path) -> None:
        """Make one, unless another service on this log is making it; then remove what is beyond those to be kept."""
        await asyncio.to_thread(directory.mkdir, mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(directory / _LOCK, thread_local=False)
        try:
            await asyncio.to_thread(lock.acquire, timeout=0)
        except Timeout:
            return
        try:
            if await self._due(directory) > self._clock():
                return
            job = self._start(directory / name_for(self._clock()))
            if job.task is not None:
                await job.task
            self._error, self._failed_at = job.error, self._clock() if job.error else None
            if job.state == "made":
                kept = await asyncio.to_thread(kept_in, directory, self._positions.incarnation)
                job.removed = await asyncio.to_thread(remove_old, kept, self._settings.keep, job.path)
        finally:
            await asyncio.to_thread(lock.release)

    async def _note_destroyed(self, profile: str, key_id: str, record: str, says: str) -> None:
        """Keep beside the backups that a key must not come back, before anybody is told that it is destroyed."""
        if self.directory is not None and await asyncio.to_thread(self.directory.is_dir):
            await asyncio.to_thread(add_destroyed, self.directory, [DestroyedKey(profile, key_id, record, says)])

    async def status(self) -> BackupsStatus | None:
        """Return what is done about backups, None where nothing is."""
        if self.directory is None:
            return None
        last, now = await self._last(self.directory), self._clock()
        return BackupsStatus(
            directory=str(self.directory),
            every_hours=self._settings.every,
            kept=self._settings.keep,
            last=last.manifest.created_at if last else None,
            age_seconds=round((now - last.manifest.created_at).total_seconds(), 3) if last else None,
            file=str(last.path) if last else "",
            bytes=last.manifest.bytes if last else 0,
            due=await self._due(self.directory),
            error=self._error,
        )

    async def close(self) -> None:
        """End a backup that is under way; nothing of it stays."""
        if self._job is not None and self._job.task is not None:
            self._job.task.cancel()
            await asyncio.gather(self._job.task, return_exceptions=True)
