"""Damage to a stopped server's files, as a disk or somebody with access to it does it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["blocks", "cut_end", "cut_out", "flip"]

_HEADERS = 1 << 31


def blocks(store: Path, stream: str = "UMBRIEL") -> list[Path]:
    """The message blocks of a stream, in order."""
    found = [path for path in store.rglob("*.blk") if path.parent.parent.name == stream]
    return sorted(found, key=lambda path: int(path.stem))


def flip(store: Path, position: int, *, index: bool = True) -> None:
    """Flip one bit in the body of the message at a position; without ``index`` the server looks at every record."""
    block, raw, start, length = _find(store, position)
    # The checksum is the record's last 8 bytes; the body ends before it.
    raw[start + length - 8 - 1] ^= 1
    block.write_bytes(raw)
    _drop_index(block, keep=index)


def cut_out(store: Path, position: int) -> None:
    """Remove the message at a position, as if it had been deleted."""
    block, raw, start, length = _find(store, position)
    block.write_bytes(raw[:start] + raw[start + length :])
    _drop_index(block, keep=False)


def cut_end(store: Path, position: int) -> None:
    """Cut the stream off before the message at a position, as a server does that lost its last writes."""
    block, raw, start, _ = _find(store, position)
    block.write_bytes(raw[:start])
    _drop_index(block, keep=False)


def _find(store: Path, position: int) -> tuple[Path, bytearray, int, int]:
    """Return the block, its bytes, and where in it the record of a position lies."""
    for block in blocks(store):
        raw = bytearray(block.read_bytes())
        at = 0
        while at < len(raw):
            length = int.from_bytes(raw[at : at + 4], "little") & ~_HEADERS
            if int.from_bytes(raw[at + 4 : at + 12], "little") == position:
                return block, raw, at, length
            at += length
    raise AssertionError(f"no record of position {position} in {store}")


def _drop_index(block: Path, *, keep: bool) -> None:
    if not keep:
        (block.parent / "index.db").unlink(missing_ok=True)
