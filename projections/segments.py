r"""Segment files of the vector index: what one commit changed, and the vectors that came with it.

::

    "UMBVEC1\n" · header length (uint32, little-endian) · header (MessagePack) · zeros up to a multiple of 64
    · rows (float32, little-endian, shape (rows, dimension))

A segment is immutable. Reading all segments in order and folding their records gives the index.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from domain.errors import DamagedError

__all__ = ["Added", "Computed", "Record", "Removed", "Rows", "read_segment", "write_segment"]

Rows = npt.NDArray[np.float32]

_MAGIC = b"UMBVEC1\n"
_LENGTH = struct.Struct("<I")
_ALIGN = 64


class Added(msgspec.Struct, frozen=True, array_like=True, tag="add"):
    """An item entered the index; its vectors are those of ``embedding``, known already or to come."""

    id: str
    kind: str
    scope: str
    embedding: str
    position: int


class Removed(msgspec.Struct, frozen=True, array_like=True, tag="remove"):
    """An item left the index."""

    id: str


class Computed(msgspec.Struct, frozen=True, array_like=True, tag="computed"):
    """The vectors of an embedding: ``chunks`` rows of this segment from row ``first``."""

    embedding: str
    first: int
    chunks: int


Record = Added | Removed | Computed


class _Header(msgspec.Struct, frozen=True):
    dimension: int
    rows: int
    records: list[Record]


def write_segment(path: Path, dimension: int, records: Sequence[Record], rows: Sequence[bytes]) -> None:
    """Write a segment; ``rows`` are pieces of the row matrix, in order. The caller makes the file durable."""
    size = sum(map(len, rows)) // (4 * dimension)
    header = msgspec.msgpack.encode(_Header(dimension, size, list(records)))
    with path.open("wb") as file:
        file.write(_MAGIC + _LENGTH.pack(len(header)) + header)
        file.write(b"\0" * (-file.tell() % _ALIGN))
        file.writelines(rows)


def read_segment(path: Path, dimension: int) -> tuple[list[Record], Rows]:
    """Return a segment's records, and its rows mapped from the file; raises DamagedError."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC) + _LENGTH.size)
            length = _LENGTH.unpack(start[len(_MAGIC) :])[0]
            header = msgspec.msgpack.decode(file.read(length), type=_Header)
            offset = file.tell() + (-file.tell() % _ALIGN)
        if not start.startswith(_MAGIC) or header.dimension != dimension:
            raise DamagedError(f"{path} is no segment of this index", expected=str(dimension), found="another header")
        shape = (header.rows, dimension)
        mapped = np.memmap(path, dtype="<f4", mode="r", offset=offset, shape=shape) if header.rows else np.empty(shape)
    except (OSError, ValueError, struct.error, msgspec.DecodeError) as error:
        raise DamagedError(f"{path} cannot be read", expected="a segment", found=str(error)) from error
    return header.records, np.asarray(mapped, dtype=np.float32)
