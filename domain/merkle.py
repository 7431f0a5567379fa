"""Merkle trees as RFC 6962 defines them (section 2.1): SHA-256, a prefix for leaves and another for nodes.

The prefixes keep a node from being taken for a leaf. A tree of n leaves splits at the largest power of two below n,
so that no leaf is ever doubled and two different lists never have one root.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "MerkleRoot",
    "audit_path",
    "leaf_hash",
    "node_hash",
    "other_parts",
    "root_of",
    "root_of_parts",
    "root_of_path",
]

_LEAF, _NODE = b"\x00", b"\x01"


def leaf_hash(content: bytes) -> bytes:
    """Return the hash (32 bytes) of a leaf with this content."""
    return hashlib.sha256(_LEAF + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash (32 bytes) of a node over two hashes."""
    return hashlib.sha256(_NODE + left + right).digest()


class MerkleRoot:
    """The root over leaves that come one at a time; holds one hash for each bit of their number."""

    def __init__(self) -> None:
        self.count = 0
        self._whole: list[bytes] = []

    def add(self, leaf: bytes) -> None:
        """Add the hash of the next leaf."""
        hash_, number = leaf, self.count
        # Each 1 at the end of the binary number is a whole tree as large as what was made so far.
        while number & 1:
            hash_ = node_hash(self._whole.pop(), hash_)
            number >>= 1
        self._whole.append(hash_)
        self.count += 1

    def root(self) -> bytes:
        """Return the root over the leaves so far; of none it is the hash of nothing."""
        if not self._whole:
            return hashlib.sha256(b"").digest()
        found = self._whole[-1]
        for left in reversed(self._whole[:-1]):
            found = node_hash(left, found)
        return found


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Return the root (32 bytes) over the hashes of leaves."""
    tree = MerkleRoot()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def audit_path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """Return the hashes that lead from leaf ``index`` (from 0) to the root, the nearest first."""
    if len(leaves) <= 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*audit_path(leaves[:split], index), root_of(leaves[split:])]
    return [*audit_path(leaves[split:], index - split), root_of(leaves[:split])]


def root_of_path(leaf: bytes, index: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root that a path leads to from leaf ``index`` of ``count``; None for a path that cannot be one."""
    if not 0 <= index < count:
        return None
    if count == 1:
        return leaf if not path else None
    if not path:
        return None
    split, last = _split(count), path[-1]
    if index < split:
        left = root_of_path(leaf, index, split, path[:-1])
        return None if left is None else node_hash(left, last)
    right = root_of_path(leaf, index - split, count - split, path[:-1])
    return None if right is None else node_hash(last, right)


def other_parts(leaves: Sequence[bytes], known: Sequence[int]) -> list[bytes]:
    """Return the roots of the largest subtrees without any of the leaves at ``known`` (ascending), from left to right.

    Together with those leaves they make the root: one proof for all of them, shorter than a path for each.
    """
    if not known:
        return [root_of(leaves)]
    if len(leaves) == 1:
        return []
    split = _split(len(leaves))
    at = bisect_left(known, split)
    return [*other_parts(leaves[:split], known[:at]), *other_parts(leaves[split:], [one - split for one in known[at:]])]


def root_of_parts(known: Mapping[int, bytes], count: int, parts: Sequence[bytes]) -> bytes | None:
    """Return the root over ``count`` leaves that known ones and `other_parts` make; None where they cannot."""
    given = iter(parts)
    if not all(0 <= one < count for one in known):
        return None
    found = _made(known, sorted(known), 0, count, given)
    return found if next(given, None) is None else None


def _made(
    known: Mapping[int, bytes], at: Sequence[int], first: int, count: int, given: Iterator[bytes]
) -> bytes | None:
    """Return the root of the leaves from ``first`` on, of which those ``at`` are known."""
    if not at:
        return next(given, None)
    if count == 1:
        return known[first]
    split = _split(count)
    middle = bisect_left(at, first + split)
    left = _made(known, at[:middle], first, split, given)
    right = _made(known, at[middle:], first + split, count - split, given)
    return None if left is None or right is None else node_hash(left, right)


def _split(count: int) -> int:
    """Return the largest power of two below ``count``."""
    return 1 << (count - 1).bit_length() - 1
