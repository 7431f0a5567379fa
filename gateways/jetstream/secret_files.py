"""Passwords and the master key: small private files outside every export."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from domain.errors import DamagedError

__all__ = ["MASTER_KEY_BYTES", "Secrets"]

MASTER_KEY_BYTES = 32
_PASSWORD_BYTES = 24


class Secrets:
    """The secrets of one data directory; directory mode 0700, files 0600."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def password(self, user: str) -> str:
        """Return a user's password, made on first use."""
        return self.get(f"{user}.password", secrets.token_urlsafe(_PASSWORD_BYTES).encode()).decode("ascii").strip()

    def renew_password(self, user: str) -> str:
        """Replace a user's password and return the new one."""
        fresh = secrets.token_urlsafe(_PASSWORD_BYTES)
        self.write(f"{user}.password", fresh.encode())
        return fresh

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes, or None when there is no such file."""
        try:
            return (self._directory / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Replace a file as a whole, durably: it holds the old or the new bytes at any time."""
        partial = self._partial(self._directory / name, content)
        partial.replace(self._directory / name)
        self._sync()

    def remove(self, name: str) -> None:
        """Remove a file, durably; one that is not there is removed."""
        (self._directory / name).unlink(missing_ok=True)
        self._sync()

    def _sync(self) -> None:
        directory = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def master_key(self) -> bytes:
        """Return the 32 bytes every other key is wrapped under, made on first use."""
        key = self.get("master.key", secrets.token_bytes(MASTER_KEY_BYTES))
        if len(key) != MASTER_KEY_BYTES:
            raise DamagedError(
                "the master key is damaged", expected=f"{MASTER_KEY_BYTES} bytes", found=f"{len(key)} bytes"
            )
        return key

    def get(self, name: str, fresh: bytes) -> bytes:
        """Return a file's bytes, which are ``fresh`` when there was none: of two makers one wins."""
        path = self._directory / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return self._create(path, fresh)

    def _create(self, path: Path, fresh: bytes) -> bytes:
        # Complete or not there at all, and never replaced: of two makers one wins, both read its file.
        partial = self._partial(path, fresh)
        try:
            os.link(partial, path)
        except FileExistsError:
            pass
        finally:
            partial.unlink()
        return path.read_bytes()

    def _partial(self, path: Path, content: bytes) -> Path:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return partial
