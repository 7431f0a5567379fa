"""Proofs in an export: what ties a line to the log that was sealed, and each line to the one before it.

A line holds what its event says, the leaf of the log's tree is a hash over ciphertext: only who has the key can tell
that one is the other. So the service that made the line signs both together. That the leaf was in the log when it was
sealed needs nobody's word: the leaves of a stretch and the rest of its tree make the sealed root.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

import msgspec

from domain.sealing import framed

__all__ = ["PROOF_CHARS", "LineProof", "end_statement", "line_statement", "seal_statement"]

_LINE, _END, _VOUCHED = b"umbriel export line 1", b"umbriel export end 1", b"umbriel export seal 1"
_LEAF, _POSITION, _SIGNATURE = 32, 8, 64
#: how long a line's proof is
PROOF_CHARS = -(-(_LEAF + _POSITION + _SIGNATURE) // 3) * 4


class LineProof(msgspec.Struct, frozen=True):
    """What a line's proof holds: its leaf, the position of the line before it, and a signature over all of it."""

    leaf: bytes
    previous: int
    signature: bytes

    def shown(self) -> str:
        """Return it as base64, always `PROOF_CHARS` long."""
        raw = self.leaf + self.previous.to_bytes(_POSITION, "big") + self.signature
        return base64.b64encode(raw).decode()

    @classmethod
    def read(cls, shown: str) -> LineProof | None:
        """Return what `shown` returned it as, None for anything else."""
        try:
            raw = base64.b64decode(shown, validate=True)
        except (binascii.Error, ValueError):
            return None
        if len(raw) != _LEAF + _POSITION + _SIGNATURE or len(shown) != PROOF_CHARS:
            return None
        at = _LEAF + _POSITION
        return cls(raw[:_LEAF], int.from_bytes(raw[_LEAF:at], "big"), raw[at:])


def line_statement(terms: bytes, position: int, previous: int, leaf: bytes, line: bytes) -> bytes:
    """Return what a line's signature is over.

    ``line`` are its bytes without the proof, ``terms`` what was asked for.
    """
    places = str(position).encode(), str(previous).encode()
    return framed(_LINE, terms, *places, leaf, hashlib.sha256(line).digest())


def end_statement(terms: bytes, last: int) -> bytes:
    """Return what is signed when no line follows the one at ``last``."""
    return framed(_END, terms, str(last).encode())


def seal_statement(seal_hash: str) -> bytes:
    """Return what a service signs that believes a seal made with another key."""
    return framed(_VOUCHED, seal_hash.encode())
