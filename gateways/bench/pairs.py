"""Labelled pairs of statements, ours or a file that people bring: which of two replaces, and contradicts, the other."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec
import numpy as np

from domain.ports import Embedder, Statement
from umbriel import InvalidInputError

__all__ = ["FIT_AUTHORS", "OURS", "Pair", "cosines", "read_pairs"]

OURS = "judge.jsonl"
#: The heuristic judge's weights and rules were made on the pairs of these authors of ours; the others are held out. One
#: hand wrote rules and pairs: of the held-out ones, those of `k` came last and were looked at by nobody before they
#: were measured, so that their figures promise least.
FIT_AUTHORS = frozenset("abcdij")


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two statements, the older one said before; ``kind`` and ``author`` are what results are grouped and split by.

    ``replaces``: the older one need not be kept, for the newer one outdates it or says all it says. ``contradicts``:
    both cannot hold now.
    """

    new: str
    old: str
    replaces: bool
    contradicts: bool
    kind: str = "any"
    author: str = ""
    key: str = ""

    def statements(self) -> tuple[Statement, Statement]:
        """Return the newer and the older statement as a judge is given them."""
        new = Statement(id="new", text=self.new, kind="fact", key=self.key)
        return new, Statement(id="old", text=self.old, kind="fact", key=self.key)


def read_pairs(path: Path | None = None) -> list[Pair]:
    """Return the pairs of a file of JSON lines, by default ours.

    Raises InvalidInputError for a file that cannot be read, holds no pair or a line that is none.
    """
    if path is None:
        text = resources.files("gateways.bench").joinpath("data", OURS).read_bytes()
    else:
        try:
            text = path.read_bytes()
        except OSError as error:
            raise InvalidInputError(f"cannot read {path}", expected="a file of pairs", found=str(error)) from error
    numbered = enumerate(text.splitlines(), start=1)
    pairs = [_pair(line, number, path) for number, line in numbered if line.strip()]
    if not pairs:
        raise InvalidInputError("no pairs", expected="JSON lines with new, old, replaces, contradicts", found="none")
    return pairs


def cosines(pairs: list[Pair], embedder: Embedder) -> list[float]:
    """Return the cosine of the two texts of each pair: of the likest chunks of both."""
    found = []
    for new, old in zip(
        embedder.embed([pair.new for pair in pairs]), embedder.embed([pair.old for pair in pairs]), strict=True
    ):
        rows = (np.frombuffer(one.vectors, dtype="<f4").reshape(one.chunks, -1) for one in (new, old))
        left, right = rows
        found.append(float(np.max(left @ right.T)))
    return found


def _pair(line: bytes, number: int, path: Path | None) -> Pair:
    try:
        return msgspec.json.decode(line, type=Pair)
    except msgspec.DecodeError as error:
        where = f"line {number} of {path or OURS} is no pair"
        raise InvalidInputError(where, expected="new, old, replaces, contradicts", found=str(error)) from error
