"""Generations: where a profile's views lie on disk, which of them are served, and how they are switched.

::

    <profile>/current.json              view name → generation that is served
    <profile>/<view>/<generation>/…     one view's files

A rebuild makes a new generation beside the one that is served; the switch replaces ``current.json``
atomically. Older generations are removed once nobody reads them any more.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import msgspec

from domain.envelope import Envelope
from domain.errors import DamagedError, UnavailableError
from domain.indexing import Indexing
from projections.keywords import KeywordView
from projections.ledger import Ledger
from projections.outcome import Outcome
from projections.vectors import VectorView

__all__ = ["VIEWS", "View", "ViewSet", "current_generations", "next_generation", "prune", "switch"]

#: The ledger comes first: it decides liveness, so it is never behind the indexes.
VIEWS = ("ledger", "vectors", "keywords")
_FIRST = "g000001"


class View(Protocol):
    """What every view offers to the reader."""

    @property
    def position(self) -> int:
        """Stream sequence of the last event that was committed."""

    def close(self) -> None:
        """Release files."""


def current_generations(root: Path) -> dict[str, str]:
    """Return the generation served for each view of the profile at ``root``."""
    file = root / "current.json"
    if not file.exists():
        return dict.fromkeys(VIEWS, _FIRST)
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except msgspec.DecodeError as error:
        raise DamagedError(
            "the list of served generations cannot be read; rebuild the profile", expected="JSON", found=str(file)
        ) from error


def next_generation(root: Path) -> str:
    """Return a generation name that no view of the profile has used."""
    taken = [int(path.name[1:]) for view in VIEWS for path in (root / view).glob("g[0-9]*") if path.name[1:].isdigit()]
    return f"g{max(taken, default=0) + 1:06d}"


def switch(root: Path, generations: Mapping[str, str]) -> None:
    """Serve these generations from now on, atomically."""
    root.mkdir(parents=True, exist_ok=True)
    temporary = root / "current.json.new"
    with temporary.open("wb") as file:
        file.write(msgspec.json.encode(dict(generations)))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(root / "current.json")


def prune(root: Path, generations: Mapping[str, str]) -> None:
    """Remove the files of every generation before these; a later one is being made."""
    for view in VIEWS:
        for path in (root / view).glob("g[0-9]*"):
            if path.name < generations[view]:
                shutil.rmtree(path, ignore_errors=True)


def _directory(root: Path, view: str, generation: str) -> Path:
    directory = root / view / generation
    directory.mkdir(parents=True, exist_ok=True)
    return directory


class ViewSet:
    """The three views of one profile, fed together. One writer at a time; readers are free."""

    def __init__(self, root: Path, generations: Mapping[str, str], indexing: Indexing) -> None:
        """Open (or create) the views; raises DamagedError naming the view, or MismatchError."""
        self.root = root
        self.indexing = indexing
        self.generations = dict(generations)
        self.stopped: dict[str, str] = {}
        with ExitStack() as opened:
            self.ledger = Ledger(_directory(root, "ledger", generations["ledger"]), indexing)
            opened.callback(self.ledger.close)
            self.vectors = VectorView(
                _directory(root, "vectors", generations["vectors"]), indexing.model, indexing.dimension
            )
            opened.callback(self.vectors.close)
            self.keywords = KeywordView(_directory(root, "keywords", generations["keywords"]))
            opened.pop_all()

    @property
    def position(self) -> int:
        """The lowest position of the views that run."""
        return min((view.position for name, view in self._views() if name not in self.stopped), default=0)

    def _views(self) -> list[tuple[str, View]]:
        return [("ledger", self.ledger), ("vectors", self.vectors), ("keywords", self.keywords)]

    def apply(self, envelopes: Sequence[Envelope]) -> None:
        """Apply events of this profile in log order, one commit per view.

        A view that cannot apply an event stops, with its reason; the others go on. Raises UnavailableError
        when a view cannot be written now; applying the same events again is right then.
        """
        if not envelopes:
            return
        upto, event_id = envelopes[-1].position, envelopes[-1].event_id
        changes = [change for change in map(self.indexing.change, envelopes) if change is not None]
        self._guard("ledger", lambda: self.ledger.apply(envelopes, upto=upto))
        self._guard("vectors", lambda: self.vectors.apply(changes, upto=upto, event_id=event_id))
        self._guard("keywords", lambda: self.keywords.apply(changes, upto=upto, event_id=event_id))

    def _guard(self, name: str, step: Callable[[], Outcome]) -> None:
        if name in self.stopped:
            return
        try:
            if step() is Outcome.MISMATCH:
                self.stopped[name] = "the log is not the one this view was made from"
        except UnavailableError:
            raise  # the view is as it was; the same events are applied again
        except Exception as error:  # noqa: BLE001 -- whatever a poison event raises, only its view may stop
            self.stopped[name] = f"{type(error).__name__}: {error}"

    def stop(self, reason: str) -> None:
        """Stop every view that still runs: an event cannot be read and must not be skipped."""
        for name in VIEWS:
            self.stopped.setdefault(name, reason)

    def close(self) -> None:
        """Close the three views."""
        for _, view in reversed(self._views()):
            view.close()
