"""The reflection aggregate: what was thought about one topic on one day."""

from __future__ import annotations

from domain.events import ReflectionDrafted, ReflectionRecorded
from domain.ids import digest128
from domain.kernel import Aggregate, Context
from domain.kinds import agent_scope, contact_scope, conversation_scope, profile_scope
from domain.text import fold_content, fold_key

__all__ = ["DayDraft", "Reflection", "draft_id", "learning_key", "reflection_address", "reflection_key_scope"]


def reflection_address(topic: str, day: str, contact: str | None = None) -> str:
    """Return the id of what is thought about a topic on a day (``2026-01-31``), of one contact where one is named."""
    return digest128("reflection", day, fold_key(topic), *(() if contact is None else (contact,)))


def draft_id(day: str, contact: str | None) -> str:
    """Return the id of the draft that a day with one contact (None: nobody's conversations) comes to."""
    return digest128("reflection draft", day, *(() if contact is None else (contact,)))


def reflection_key_scope(contact: str | None, session: str = "") -> str:
    """Return whose key the words of a daily reflection are under: a conversation's own where all is from one."""
    if session:
        return conversation_scope(session)
    return agent_scope() if contact is None else contact_scope(contact)


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

    def record(self, event: ReflectionRecorded, context: Context, *, key_scope: str = "") -> None:
        """Record what was thought, with the memories that came of it; under the profile's own key unless told."""
        self.emit(event, context, key_scope=key_scope or profile_scope())

    def on_recorded(self, event: ReflectionRecorded) -> None:
        """Take it."""
        self.recorded.append(event)
        self.keys.update(one.key for one in event.learnings if one.key)


def _said(event: ReflectionRecorded) -> tuple[str, ...]:
    return (fold_content(event.text), *(fold_content(one.text) for one in event.learnings))


class DayDraft(Aggregate):
    """What one day with one contact came to: the first draft of it."""

    CATEGORY = "reflection"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self.drafted: ReflectionDrafted | None = None

    def draft(self, event: ReflectionDrafted, context: Context, *, key_scope: str) -> ReflectionDrafted:
        """Record a draft, and return the one that stands: this, or the one that was recorded before."""
        if self.drafted is None:
            self.emit(event, context, key_scope=key_scope)
        return self.drafted or event

    def on_drafted(self, event: ReflectionDrafted) -> None:
        """Take it."""
        self.drafted = event
