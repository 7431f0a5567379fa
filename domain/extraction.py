"""The extraction aggregate: one stretch of conversation, read once."""

from __future__ import annotations

from domain.events import ExtractionCompleted, ExtractionFailed
from domain.kernel import Aggregate, Context
from domain.kinds import conversation_scope

__all__ = ["Extraction"]


class Extraction(Aggregate):
    """Work with an id of its own: whoever records its outcome first has done it."""

    CATEGORY = "extraction"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self.completed: ExtractionCompleted | None = None
        self.failed: ExtractionFailed | None = None

    def complete(self, event: ExtractionCompleted, context: Context) -> bool:
        """Record what was found; False when that was done before."""
        if self.completed is not None:
            return False
        self.emit(event, context, key_scope=conversation_scope(event.session))
        return True

    def fail(self, event: ExtractionFailed, context: Context) -> bool:
        """Record that it could not be done; False when it was done, or failed for the same reason before."""
        if self.completed is not None or (self.failed is not None and self.failed.reason == event.reason):
            return False
        self.emit(event, context, key_scope=conversation_scope(event.session))
        return True

    def on_completed(self, event: ExtractionCompleted) -> None:
        """Take the outcome; an earlier failure is made good."""
        self.completed, self.failed = event, None

    def on_failed(self, event: ExtractionFailed) -> None:
        """Take the failure."""
        self.failed = event
