"""A generation in the making: any subset of a profile's views, each fed from its own position.

Unlike what is served, nothing here is lenient: the first event that a view cannot apply fails the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from domain.envelope import Envelope
from domain.errors import MismatchError
from domain.indexing import Indexing
from domain.settings import VectorGrowth
from projections.generations import Parts, Plan, view_directory
from projections.keywords import KeywordView
from projections.ledger import Ledger
from projections.outcome import Outcome
from projections.vectors import VectorView

__all__ = ["Building"]

_GROWTH = VectorGrowth()


class Building:
    """The views that a plan makes; one writer at a time."""

    def __init__(self, root: Path, plan: Plan, indexing: Indexing, growth: VectorGrowth = _GROWTH) -> None:
        """Open (or create) the plan's generations; raises DamagedError or MismatchError."""
        self.plan = plan
        self.indexing = indexing
        with ExitStack() as opened:
            ledger = vectors = keywords = None
            if "ledger" in plan.views:
                ledger = Ledger(view_directory(root, "ledger", plan.generations["ledger"]), indexing)
                opened.callback(ledger.close)
            if "vectors" in plan.views:
                directory = view_directory(root, "vectors", plan.generations["vectors"])
                vectors = VectorView(directory, indexing.model, indexing.dimension, growth)
                opened.callback(vectors.close)
            if "keywords" in plan.views:
                keywords = KeywordView(view_directory(root, "keywords", plan.generations["keywords"]))
            opened.pop_all()
        self.ledger, self.vectors, self.keywords = ledger, vectors, keywords

    @property
    def parts(self) -> Parts:
        """The views, to be served."""
        return Parts(ledger=self.ledger, vectors=self.vectors, keywords=self.keywords)

    @property
    def position(self) -> int:
        """The lowest position of the views."""
        return min(view.position for view in self.parts.opened().values())

    def apply(self, envelopes: Sequence[Envelope]) -> None:
        """Apply events in log order, one commit per view; raises whatever an event that does not fit raises."""
        if not envelopes:
            return
        upto, event_id = envelopes[-1].position, envelopes[-1].event_id
        changes = [change for change in map(self.indexing.change, envelopes) if change is not None]
        outcomes = []
        if self.ledger is not None:
            outcomes.append(self.ledger.apply(envelopes, upto=upto))
        if self.vectors is not None:
            outcomes.append(self.vectors.apply(changes, upto=upto, event_id=event_id))
        if self.keywords is not None:
            outcomes.append(self.keywords.apply(changes, upto=upto, event_id=event_id))
        if Outcome.MISMATCH in outcomes:
            raise MismatchError("the log is not the one this generation was begun from", expected=event_id)

    def finish(self) -> None:
        """Merge the keyword index, and read every file back; raises DamagedError for what is not as written."""
        if self.keywords is not None:
            self.keywords.optimize()
        for view in self.parts.opened().values():
            match view:
                case Ledger():
                    view.check()
                case VectorView() | KeywordView():
                    view.verify()

    def close(self) -> None:
        """Close the views."""
        for view in reversed(self.parts.opened().values()):
            view.close()
