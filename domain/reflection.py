"""The reflection aggregate: what was thought about one topic on one day."""

from __future__ import annotations

from domain.events import ReflectionRecorded
from domain.ids import digest128
from domain.kernel import Aggregate, Context
from domain.kinds import profile_scope
from domain.text import fold_content, fold_key

__all__ = ["Reflection", "learning_key", "reflection_address"]


def reflection_address(topic: str, day: str) -> str:
    """Return the id of what is thought about a topic on a day (``2026-01-31``)."""
    return digest128("reflection", day, fold_key(topic))


def learning_key(topic: str, day: str, number: int) -> str:
    """Return the key of the day's n-th learning about a topic: ``reflection:{day}:{topic}``, then ``…:2``."""
    key = f"reflection:{day}:{topic}"
    return key if number == 1 else f"{key}:{number}"


class Reflection(Aggregate):
    """Every reflection of one day on one topic.

    Its learnings are numbered through, so that a later one takes nothing from an earlier one: what is learnt at noon
    does not make untrue what was learnt in the morning.
    """

    CATEGORY = "reflection"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self.recorded: list[ReflectionRecorded] = []
        self.keys: set[str] = set()

    def same(self, event: ReflectionRecorded) -> ReflectionRecorded | None:
        """Return what was recorded with the same words, or for the same request; None when it is new."""
        return next((one for one in self.recorded if _said(one) == _said(event)), self.by_request(event.request_id))

    def by_request(self, request_id: str) -> ReflectionRecorded | None:
        """Return what was recorded for a request before, or None."""
        return next((one for one in self.recorded if request_id and one.request_id == request_id), None)

    def next_key(self, topic: str, day: str, taken: int) -> str:
        """Return the key of the day's next learning, when so many were taken since the last event."""
        return learning_key(topic, day, len(self.keys) + taken + 1)

    def record(self, event: ReflectionRecorded, context: Context) -> None:
        """Record what was thought, with the memories that came of it."""
        self.emit(event, context, key_scope=profile_scope())

    def on_recorded(self, event: ReflectionRecorded) -> None:
        """Take it."""
        self.recorded.append(event)
        self.keys.update(one.key for one in event.learnings if one.key)


def _said(event: ReflectionRecorded) -> tuple[str, ...]:
    return (fold_content(event.text), *(fold_content(one.text) for one in event.learnings))
