"""Generations: where a profile's views lie on disk, which of them are served, and how they are switched.

::

    <profile>/current.json              view name → generation that is served
    <profile>/previous.json             view name → generation kept for a rollback
    <profile>/rebuild.json              which generation is being made, of which views, and why
    <profile>/<view>/<generation>/…     one view's files
    <profile>/past/…                    generations replayed up to an earlier point, for a while

A rebuild makes a new generation beside the one that is served; the switch replaces ``current.json``
atomically. One generation is kept for a rollback, until the next rebuild or until something is forgotten: what was
forgotten must not stay in files that nobody feeds. Older ones are removed once nobody reads them any more.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import msgspec

from domain.envelope import Envelope
from domain.errors import DamagedError, MismatchError, UnavailableError
from domain.indexing import Indexing
from domain.settings import VectorGrowth
from projections.keywords import KeywordView
from projections.ledger import Ledger, model_of
from projections.manifest import replace_file
from projections.off import OffView
from projections.outcome import Outcome
from projections.vectors import VectorView

__all__ = [
    "PAST",
    "VIEWS",
    "Parts",
    "Plan",
    "View",
    "ViewSet",
    "current_generations",
    "drop_kept",
    "keep",
    "load_plan",
    "next_generation",
    "previous_generations",
    "prune",
    "store_plan",
    "switch",
    "view_directory",
]

#: The ledger comes first: it decides liveness, so it is never behind the indexes.
VIEWS = ("ledger", "vectors", "keywords")
#: Where generations of the past lie.
PAST = "past"
_FIRST = "g000001"
_GENERATION = re.compile(r"g[0-9]{6,}")


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
        served = msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except msgspec.DecodeError as error:
        raise DamagedError(
            "the list of served generations cannot be read; rebuild the profile", expected="JSON", found=str(file)
        ) from error
    if set(served) != set(VIEWS) or not all(map(_GENERATION.fullmatch, served.values())):
        raise DamagedError(
            "the list of served generations is not one; rebuild the profile",
            expected=f"a generation for each of {', '.join(VIEWS)}",
            found=str(file),
        )
    return served


def next_generation(root: Path) -> str:
    """Return a generation name that no view of the profile has used."""
    taken = [int(path.name[1:]) for view in VIEWS for path in (root / view).glob("g[0-9]*") if path.name[1:].isdigit()]
    return f"g{max(taken, default=0) + 1:06d}"


def switch(root: Path, generations: Mapping[str, str]) -> None:
    """Serve these generations from now on, atomically."""
    replace_file(root / "current.json", msgspec.json.encode(dict(generations)))


def keep(root: Path, generations: Mapping[str, str] | None) -> None:
    """Keep these generations for a rollback; None keeps nothing."""
    if generations is None:
        (root / "previous.json").unlink(missing_ok=True)
    else:
        replace_file(root / "previous.json", msgspec.json.encode(dict(generations)))


def previous_generations(root: Path) -> dict[str, str] | None:
    """Return the generations kept for a rollback, or None."""
    try:
        found = msgspec.json.decode((root / "previous.json").read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return None
    whole = set(found) == set(VIEWS) and all((root / view / name).is_dir() for view, name in found.items())
    return found if whole and found != current_generations(root) else None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A rebuild as it stands on disk: ``generations`` is what is served after it, ``views`` what it makes."""

    id: str
    profile: str
    state: Literal["running", "paused", "failed", "switched"]
    views: tuple[str, ...]
    generations: dict[str, str]
    reason: str
    model: str
    dimension: int
    error: str = ""


def load_plan(root: Path) -> Plan | None:
    """Return the last rebuild of a profile; None without one, or when its file cannot be read."""
    try:
        return msgspec.json.decode((root / "rebuild.json").read_bytes(), type=Plan)
    except (OSError, msgspec.DecodeError):
        return None


def store_plan(root: Path, plan: Plan) -> None:
    """Replace the record of a profile's rebuild, atomically."""
    replace_file(root / "rebuild.json", msgspec.json.encode(plan))


def prune(root: Path) -> None:
    """Remove the files of every generation that is neither served, nor kept, nor being made."""
    plan = load_plan(root)
    kept = [current_generations(root), previous_generations(root) or {}]
    if plan is not None and plan.state in ("running", "paused"):
        kept.append(plan.generations)
    for view in VIEWS:
        names = {generations.get(view) for generations in kept}
        for path in (root / view).glob("g[0-9]*"):
            if path.name not in names:
                shutil.rmtree(path, ignore_errors=True)


def drop_kept(root: Path) -> None:
    """Remove every generation that is not fed: one kept for a rollback, those of the past, that of a paused rebuild."""
    keep(root, None)
    shutil.rmtree(root / PAST, ignore_errors=True)
    plan, served = load_plan(root), current_generations(root)
    if plan is not None and plan.state == "paused":
        for view in plan.views:
            if plan.generations[view] != served[view]:
                shutil.rmtree(root / view / plan.generations[view], ignore_errors=True)
    prune(root)


def view_directory(root: Path, view: str, generation: str) -> Path:
    """Return the directory of one view's generation, made when it is missing."""
    directory = root / view / generation
    directory.mkdir(parents=True, exist_ok=True)
    return directory


V = TypeVar("V", VectorView, KeywordView)


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Views that are open already; None is opened by whoever needs it."""

    ledger: Ledger | None = None
    vectors: VectorView | OffView | None = None
    keywords: KeywordView | OffView | None = None

    def opened(self) -> dict[str, View]:
        """Return the views there are, the ledger first."""
        return {name: view for name in VIEWS if (view := getattr(self, name)) is not None}


_NO_PARTS = Parts()
_GROWTH = VectorGrowth()
#: What a profile takes that holds next to nothing: connections with their caches, readers of segments.
_OPEN_BYTES = 1024**2


class ViewSet:
    """The three views of one profile, fed together. One writer at a time; readers are free.

    ``outdated`` says why a view does not fit this version or model: the ledger serves on as it was made, an index is
    off (it finds nothing) until it is made again.
    """

    def __init__(
        self,
        root: Path,
        generations: Mapping[str, str],
        indexing: Indexing,
        parts: Parts = _NO_PARTS,
        growth: VectorGrowth = _GROWTH,
    ) -> None:
        """Open (or create) the views that ``parts`` does not give.

        Raises DamagedError naming the view, or MismatchError for a ledger that this version cannot read.
        """
        self.root = root
        self._growth = growth
        self.generations = dict(generations)
        self.stopped: dict[str, str] = {}
        self.outdated: dict[str, str] = {}
        with ExitStack() as opened:
            directory = view_directory(root, "ledger", generations["ledger"])
            self.indexing = indexing if parts.ledger else self._made_with(directory, indexing)
            self.ledger = parts.ledger or Ledger(directory, self.indexing)
            if parts.ledger is None:
                opened.callback(self.ledger.close)
            self.vectors = self._rebound(parts.vectors) or self._open_vectors(indexing)
            if parts.vectors is None:
                opened.callback(self.vectors.close)
            self.keywords = self._rebound(parts.keywords) or self._open_keywords()
            opened.pop_all()

    def _made_with(self, directory: Path, indexing: Indexing) -> Indexing:
        found = model_of(directory)
        if found is None or found == (indexing.model, indexing.dimension):
            return indexing
        self.outdated["ledger"] = f"embeddings of {found[0]}, now {indexing.model}"
        return indexing.for_model(*found)

    def _rebound(self, view: V | OffView | None) -> V | OffView | None:
        return OffView(lambda: self.ledger.position) if isinstance(view, OffView) else view

    def _open_vectors(self, indexing: Indexing) -> VectorView | OffView:
        directory = view_directory(self.root, "vectors", self.generations["vectors"])
        if "ledger" in self.outdated:
            self.outdated["vectors"] = self.outdated["ledger"]
            return OffView(lambda: self.ledger.position)
        try:
            return VectorView(directory, indexing.model, indexing.dimension, self._growth)
        except MismatchError as error:
            return self._off("vectors", error)

    def _open_keywords(self) -> KeywordView | OffView:
        try:
            return KeywordView(view_directory(self.root, "keywords", self.generations["keywords"]))
        except MismatchError as error:
            return self._off("keywords", error)

    def _off(self, view: str, error: MismatchError) -> OffView:
        self.outdated[view] = f"made for {error.found}, now {error.expected}"
        return OffView(lambda: self.ledger.position)

    @property
    def off(self) -> dict[str, str]:
        """Why an index finds nothing, by view."""
        return {name: why for name, why in self.outdated.items() if name != "ledger"}

    @property
    def position(self) -> int:
        """The lowest position of the views that run."""
        return min((view.position for name, view in self._views() if name not in self.stopped), default=0)

    @property
    def resident_bytes(self) -> int:
        """About how many bytes of memory the views take."""
        return _OPEN_BYTES + self.vectors.resident_bytes + self.keywords.resident_bytes

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

    def close(self, views: Sequence[str] = VIEWS) -> None:
        """Close these views, all three by default."""
        for name, view in reversed(self._views()):
            if name in views:
                view.close()
