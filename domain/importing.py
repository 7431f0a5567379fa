"""The import aggregate: one file that is imported into a profile, from its first line to its last."""

from __future__ import annotations

from collections.abc import Mapping

from domain.events import ImportStarted, ProfileImported
from domain.kernel import Aggregate, Context
from domain.kinds import profile_scope

__all__ = ["ImportRun"]


class ImportRun(Aggregate):
    """Whether a file is being imported. It may be imported again: what is there already changes nothing."""

    CATEGORY = "profile"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self.open = False

    def start(self, event: ImportStarted, context: Context) -> bool:
        """Record that lines of the file are about to be written; False while that is so already."""
        if self.open:
            return False
        self.emit(event, context, key_scope=profile_scope())
        return True

    def end(self, run: str, counts: Mapping[str, int], context: Context, *, abandoned: bool = False) -> bool:
        """Record that nothing more comes; False where nothing had begun."""
        if not self.open:
            return False
        event = ProfileImported(run=run, counts=dict(counts), abandoned=abandoned)
        self.emit(event, context, key_scope=profile_scope())
        return True

    def on_import_started(self, _: ImportStarted) -> None:
        """It is under way."""
        self.open = True

    def on_imported(self, _: ProfileImported) -> None:
        """It is over."""
        self.open = False
