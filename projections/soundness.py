"""Whether a profile's views on disk are as they were written, looked at without opening them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from domain.errors import DamagedError, MismatchError
from projections.generations import current_generations
from projections.manifest import Manifest

__all__ = ["Standpoint", "damage", "profile_name", "profile_roots", "view_positions"]

_INDEXES = ("vectors", "keywords")
_Depth = Literal["quick_check", "integrity_check"]


class Standpoint(msgspec.Struct, frozen=True):
    """Where a view stands: its position, and the position and id of the last event it holds (0, empty: none)."""

    position: int = 0
    event_position: int = 0
    event_id: str = ""


def profile_roots(data: Path) -> list[Path]:
    """Return the directories of profiles that have views."""
    return sorted(path for path in (data / "profiles").glob("p.*") if path.is_dir())


def profile_name(root: Path) -> str:
    """Return the name of the profile whose directory this is."""
    return re.sub(r"\+(.)", lambda match: match[1].upper(), root.name.removeprefix("p."))


def damage(root: Path, depth: _Depth = "quick_check") -> Iterator[str]:
    """Yield what is wrong with the views that are served; a view that is just being written is looked at again."""
    generations = current_generations(root)
    for view in _INDEXES:
        try:
            _verify(root / view / generations[view])
        except DamagedError:
            try:
                _verify(root / view / current_generations(root)[view])
            except DamagedError as error:
                yield str(error)
    ledger = root / "ledger" / generations["ledger"] / "ledger.sqlite"
    if ledger.exists() and (found := _sqlite_check(ledger, depth)) != "ok":
        yield f"{ledger} is damaged: {found}"


def _verify(directory: Path) -> None:
    manifest = Manifest.load(directory)
    for entry in manifest.files if manifest is not None else ():
        entry.verify(directory)


def _sqlite_check(path: Path, depth: _Depth) -> str:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as db:
            return str(db.execute(f"PRAGMA {depth}(1)").fetchone()[0])
    except sqlite3.Error as error:
        return str(error)


def view_positions(root: Path) -> dict[str, Standpoint]:
    """Return where each of a profile's views stands that has begun; DamagedError where that cannot be read."""
    generations = current_generations(root)
    found = {}
    ledger = root / "ledger" / generations["ledger"] / "ledger.sqlite"
    if ledger.exists():
        found["ledger"] = _ledger_at(ledger)
    for view in _INDEXES:
        try:
            manifest = Manifest.load(root / view / generations[view])
        except MismatchError:
            continue  # of another version: it is made again
        if manifest is not None:
            at = manifest.position
            found[view] = Standpoint(at, at if manifest.event_id else 0, manifest.event_id)
    return found


def _ledger_at(path: Path) -> Standpoint:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as db:
            row = db.execute("SELECT position, event_position, event_id FROM checkpoint").fetchone()
    except sqlite3.Error as error:
        raise DamagedError(
            "a ledger's position cannot be read", expected="a ledger", found=f"{path}: {error}"
        ) from error
    return Standpoint(int(row[0]), int(row[1]), str(row[2])) if row else Standpoint()
