"""Up to where the files of a profile have followed the destruction of keys; kept beside them, so restored with them.

::

    <profile>/erased.json       {"position": 1234}: nothing here holds what was under keys destroyed up to there
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from projections.generations import VIEWS, current_generations
from projections.manifest import replace_file

__all__ = ["followed_to", "note_followed", "stale_generations"]

_FILE = "erased.json"


class _Followed(msgspec.Struct, frozen=True):
    position: int


def followed_to(root: Path) -> int:
    """Return the position that the files of the profile at ``root`` have followed to, 0 where nobody knows."""
    try:
        return msgspec.json.decode((root / _FILE).read_bytes(), type=_Followed).position
    except (OSError, msgspec.DecodeError):
        return 0


def note_followed(root: Path, position: int) -> None:
    """Note that the files hold nothing that was under keys destroyed up to a position, atomically."""
    if position > followed_to(root):
        replace_file(root / _FILE, msgspec.json.encode(_Followed(position)))


def stale_generations(root: Path) -> list[str]:
    """Return the generations on disk that are not served, as ``<view>/<generation>``."""
    served = current_generations(root)
    found = ((view, path.name) for view in VIEWS for path in (root / view).glob("g[0-9]*"))
    return [f"{view}/{name}" for view, name in found if served[view] != name]
