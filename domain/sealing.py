"""Seals and proofs of the log: what a leaf is made of, what is signed, and how both are checked.

Everything here is a pure function of bytes; who can check an Ed25519 signature is a parameter, so that proofs are
checked without a log, a network or a key of ours.

A leaf is what one message of the stream was when it was sealed: its position, its subject, the headers that the
writer set (``Umbriel-…``: what transport and server add may change with their version) and its body as stored, which
is ciphertext. So a seal stays valid when a key is destroyed, and says nothing of what was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from domain.errors import DamagedError, InvalidInputError
from domain.events.seal import LostRange, SealMade
from domain.merkle import audit_path, leaf_hash, root_of_path

__all__ = [
    "RECOVERIES",
    "SYSTEM",
    "Checker",
    "Proof",
    "Stored",
    "chain_of",
    "chain_problem",
    "check_proof",
    "framed",
    "is_lost",
    "leaf_at",
    "leaf_of",
    "proof_of",
    "seal_hash",
    "seal_problem",
    "statement_of",
    "touches",
]

#: what stands for the profile in what belongs to none
SYSTEM = "_"
#: the aggregate of the recoveries of a stream
RECOVERIES = f"{SYSTEM}.recovery.log"
_OURS = "umbriel-"
_SEAL, _MESSAGE, _LOST = b"umbriel seal 1", b"umbriel message 1", b"umbriel lost 1"
_FORMAT = "umbriel-proof/1"

#: whether (public key, signature, content) fit together
Checker = Callable[[bytes, bytes, bytes], bool]


def chain_of(incarnation: str) -> str:
    """Return the aggregate that the seals of an incarnation are appended to.

    A recovered log goes on in a new one: a server that cannot read the last seal of the old one cannot append to it.
    """
    return f"{SYSTEM}.seal.{incarnation}"


class Stored(msgspec.Struct, frozen=True):
    """One message of the stream as it is stored."""

    position: int
    subject: str
    headers: Mapping[str, str]
    body: bytes


def framed(*parts: bytes) -> bytes:
    """Return parts as one, each after its length (64-bit), so that no two lists of parts are the same bytes."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def leaf_of(message: Stored) -> bytes:
    """Return the leaf hash (32 bytes) of a stored message."""
    ours = sorted((name, value) for name, value in message.headers.items() if name.lower().startswith(_OURS))
    headers = [part.encode() for pair in ours for part in pair]
    body = framed(
        _MESSAGE,
        str(message.position).encode(),
        message.subject.encode(),
        str(len(ours)).encode(),
        *headers,
        message.body,
    )
    return leaf_hash(body)


def leaf_at(position: int, message: Stored | None, lost: Iterable[LostRange]) -> bytes | None:
    """Return the leaf hash of a position, None where a message is missing.

    Where a loss is on record, its position alone is the leaf, whatever is there.
    """
    if is_lost(position, lost):
        return leaf_hash(framed(_LOST, str(position).encode()))
    return None if message is None else leaf_of(message)


def is_lost(position: int, lost: Iterable[LostRange]) -> bool:
    """Whether the loss of what was at a position is on record."""
    return any(one.first <= position <= one.last for one in lost)


def touches(lost: Iterable[LostRange], first: int, last: int) -> bool:
    """Whether a loss on record lies in a stretch, so that what was sealed before it cannot be recomputed."""
    return any(one.first <= last and first <= one.last for one in lost)


def statement_of(seal: SealMade) -> bytes:
    """Return what a seal's signature is over."""
    fields = (seal.stream, str(seal.number), str(seal.first), str(seal.last), seal.root, seal.previous)
    return framed(_SEAL, *(field.encode() for field in fields), seal.public_key.encode())


def seal_hash(seal: SealMade) -> str:
    """Return the hash (hexadecimal SHA-256) that the next seal names."""
    return hashlib.sha256(framed(statement_of(seal), seal.signature.encode())).hexdigest()


def seal_problem(seal: SealMade, check: Checker, trusted: frozenset[str]) -> str:
    """Return what is wrong with a seal in itself; empty when nothing is."""
    if seal.last < seal.first:
        return f"seal {seal.number} seals nothing"
    if not _signed(seal, check):
        return f"seal {seal.number} does not have its signature"
    if seal.public_key not in trusted:
        return f"seal {seal.number} is signed with a key that is not trusted here: {seal.public_key}"
    return ""


def chain_problem(seal: SealMade, before: SealMade | None) -> str:
    """Return what is wrong with a seal's place behind the one before; empty when nothing is."""
    expected = (1, 1, "") if before is None else (before.number + 1, before.last + 1, seal_hash(before))
    if (seal.number, seal.first, seal.previous) != expected or (before is not None and seal.stream != before.stream):
        return f"seal {seal.number} does not follow " + (f"seal {before.number}" if before else "the log's beginning")
    return ""


def _signed(seal: SealMade, check: Checker) -> bool:
    try:
        return check(bytes.fromhex(seal.public_key), bytes.fromhex(seal.signature), statement_of(seal))
    except ValueError:
        return False


# -- proofs -------------------------------------------------------------------------------------


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """That one message was in the log when it was sealed; holds all that is needed to check it.

    ``headers`` and ``body`` (base64 in JSON) are what the leaf is made of, the body as stored; ``path`` leads from the
    leaf to the seal's root, nearest first, in hexadecimal.
    """

    format: str = _FORMAT
    position: int
    subject: str
    headers: dict[str, str]
    body: bytes
    leaf: str
    path: list[str]
    seal: SealMade


def proof_of(message: Stored, leaves: Sequence[bytes], seal: SealMade) -> Proof:
    """Return the proof of a message, given the leaves of its seal's stretch in order."""
    index = message.position - seal.first
    if len(leaves) != seal.last - seal.first + 1 or not 0 <= index < len(leaves):
        raise InvalidInputError(
            "not the leaves of this seal", expected=str(seal.last - seal.first + 1), found=str(len(leaves))
        )
    return Proof(
        position=message.position,
        subject=message.subject,
        headers={name: value for name, value in sorted(message.headers.items()) if name.lower().startswith(_OURS)},
        body=message.body,
        leaf=leaves[index].hex(),
        path=[one.hex() for one in audit_path(leaves, index)],
        seal=seal,
    )


def check_proof(proof: Proof, check: Checker) -> None:
    """Raise DamagedError naming the first thing that does not fit; whose key signed is the caller's to judge."""
    seal = proof.seal
    if proof.format != _FORMAT:
        raise InvalidInputError("a proof of another format", expected=_FORMAT, found=proof.format[:40])
    leaf = leaf_of(Stored(proof.position, proof.subject, proof.headers, proof.body))
    if leaf.hex() != proof.leaf:
        raise DamagedError("the message is not the one that the leaf stands for", expected=proof.leaf, found=leaf.hex())
    try:
        path = [bytes.fromhex(one) for one in proof.path]
    except ValueError as error:
        raise DamagedError("the path is not one", expected="hexadecimal hashes", found=str(error)) from error
    root = root_of_path(leaf, proof.position - seal.first, seal.last - seal.first + 1, path)
    if root is None or root.hex() != seal.root:
        found = root.hex() if root is not None else "no root"
        raise DamagedError("the path does not lead to the sealed root", expected=seal.root, found=found)
    if not _signed(seal, check):
        raise DamagedError(
            "the seal does not have its signature", expected=f"one by {seal.public_key}", found="another"
        )
