"""The key that seals are signed with, and the keys whose seals are believed: small files outside JetStream.

``UMBRIEL_SEAL_KEY`` (64 hexadecimal digits) stands in for the file ``secrets/seal.key``, and
``UMBRIEL_SEAL_TRUSTED`` (public keys, with commas) adds to the lines of ``secrets/seal.trusted``: services that share a
log share a key or trust each other's.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from domain.errors import DamagedError
from gateways.jetstream.secret_files import Secrets

__all__ = ["KEY_BYTES", "TRUSTED", "SealKey", "check_signature", "known_keys", "trusted_keys"]

KEY_BYTES = 32
#: the file of public keys whose seals are believed beside the own one's
TRUSTED = "seal.trusted"
_FILE = "seal.key"


class SealKey:
    """An Ed25519 key; ``public`` is hexadecimal."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = self._key.public_key().public_bytes_raw().hex()

    @classmethod
    def of(cls, files: Secrets) -> SealKey:
        """Return the key of the environment or of a data directory, made on first use; DamagedError for no key."""
        named = os.environ.get("UMBRIEL_SEAL_KEY", "").strip()
        try:
            seed = bytes.fromhex(named) if named else files.get(_FILE, secrets.token_bytes(KEY_BYTES))
        except ValueError:
            seed = b""
        if len(seed) != KEY_BYTES:
            where = "UMBRIEL_SEAL_KEY" if named else f"secrets/{_FILE}"
            raise DamagedError(
                f"{where} is not a key", expected=f"{KEY_BYTES} bytes", found="something else than that many"
            )
        return cls(seed)

    def sign(self, content: bytes) -> str:
        """Return the signature over ``content`` in hexadecimal."""
        return self._key.sign(content).hex()


def check_signature(public_key: bytes, signature: bytes, content: bytes) -> bool:
    """Whether an Ed25519 signature over ``content`` is by this key."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def known_keys(directory: Path) -> frozenset[str]:
    """Return what `trusted_keys` does of a directory of secrets that may not be there; makes no key."""
    there = (directory / _FILE).is_file() or os.environ.get("UMBRIEL_SEAL_KEY")
    return trusted_keys(Secrets(directory)) if there else frozenset(_named())


def trusted_keys(files: Secrets) -> frozenset[str]:
    """Return the public keys (hexadecimal) whose seals are believed here, the own one among them."""
    listed = (files.read(TRUSTED) or b"").decode("ascii", "replace").split()
    return frozenset({SealKey.of(files).public, *(one.lower() for one in listed), *_named()})


def _named() -> list[str]:
    return os.environ.get("UMBRIEL_SEAL_TRUSTED", "").lower().replace(",", " ").split()
