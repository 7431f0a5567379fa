"""Where the master key comes from: the environment, a file that it names, or a private file of the data directory.

``UMBRIEL_MASTER_KEY`` is 64 hexadecimal digits, ``UMBRIEL_MASTER_KEY_FILE`` a file with them or with 32 bytes, as a
secret store mounts it. While one replaces another, ``UMBRIEL_MASTER_KEY_OLD`` (or ``…_OLD_FILE``) is the one before.
In the data directory ``master.key`` is replaced by ``master.key.next`` when everything is wrapped under that.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from domain.errors import InvalidInputError, NotFoundError
from gateways.jetstream.secret_files import MASTER_KEY_BYTES, Secrets

__all__ = ["MasterKeys", "fingerprint"]

_NAME = "UMBRIEL_MASTER_KEY"
_FILE, _NEXT = "master.key", "master.key.next"


class MasterKeys:
    """The master key of a service, and the one before it while that is needed."""

    def __init__(self, files: Secrets, environ: Mapping[str, str] | None = None) -> None:
        self._files = files
        self._environ = os.environ if environ is None else environ

    @property
    def given(self) -> bool:
        """Whether the environment says which one to use."""
        return any(self._environ.get(name) for name in (_NAME, f"{_NAME}_FILE"))

    def present(self) -> tuple[bytes, bytes | None]:
        """Return the master key, made on first use where none is given, and the one before it or None.

        Raises InvalidInputError for what cannot be a key, NotFoundError for a file that is not there.
        """
        if self.given:
            key, old = self._named(_NAME), self._named(f"{_NAME}_OLD")
            assert key is not None  # noqa: S101 -- it is given
            return key, None if old == key else old
        current, following = self._files.master_key(), self._files.read(_NEXT)
        return (current, None) if following in (None, current) else (following or current, current)

    def known(self) -> list[bytes]:
        """Return what there is, without making any."""
        if self.given:
            return [key for key in self.present() if key is not None]
        return [key for key in (self._files.read(_NEXT), self._files.read(_FILE)) if key is not None]

    def following(self) -> bytes:
        """Return the key that is to replace the present one: on disk before anything is wrapped under it.

        Raises InvalidInputError where the environment gives a key and not the one before: a key that is given is
        never made here.
        """
        if self.given:
            key, old = self.present()
            if old is None:
                raise InvalidInputError(
                    "the master key is given by the environment",
                    expected=f"the present key as {_NAME}_OLD, the new one as {_NAME}, and a restart",
                    found=f"{_NAME} alone",
                )
            return key
        found = self._files.read(_NEXT)
        if found is None:
            found = secrets.token_bytes(MASTER_KEY_BYTES)
            self._files.write(_NEXT, found)
        return found

    def replaced(self) -> None:
        """Note that nothing is wrapped under the key before: its file holds the new one, and there is no next."""
        found = None if self.given else self._files.read(_NEXT)
        if found is not None:
            self._files.write(_FILE, found)
            self._files.remove(_NEXT)

    def _named(self, name: str) -> bytes | None:
        text, path = self._environ.get(name), self._environ.get(f"{name}_FILE")
        if text:
            return _key(text.encode(), name)
        if not path:
            return None
        try:
            return _key(Path(path).read_bytes(), f"{name}_FILE")
        except OSError as error:
            raise NotFoundError(f"the file that {name}_FILE names cannot be read", found=str(error)) from error


def _key(raw: bytes, name: str) -> bytes:
    if len(raw) == MASTER_KEY_BYTES:
        return raw
    try:
        key = bytes.fromhex(raw.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != MASTER_KEY_BYTES:
        raise InvalidInputError(f"{name} is not a key", expected="64 hexadecimal digits", found="another value")
    return key


def fingerprint(key: bytes) -> str:
    """Return what a key can be told by: eight hexadecimal digits of its hash."""
    return hashlib.sha256(b"umbriel fingerprint " + key).hexdigest()[:8]
