"""The aggregate kernel: identity, version, and an emit that folds through one ``on_…`` per event."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Self, TypeVar

import msgspec

from domain.envelope import Actor, Envelope
from domain.events import Event, Unreadable

__all__ = ["Aggregate", "Context", "projector"]


A = TypeVar("A", bound="Aggregate")


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Who commands, when, and what it follows from; a command reads no clock of its own."""

    actor: Actor
    now: datetime
    cause: str = ""
    correlation: str = ""


class Aggregate:
    """A consistency boundary: one subject of the log.

    A subclass defines ``on_<name>(event)`` for every topic ``<category>.<name>`` it emits; that
    method alone changes state, both for new events and for replayed ones.
    """

    CATEGORY: ClassVar[str] = ""

    def __init__(self, aggregate_id: str) -> None:
        self.id = aggregate_id
        self.version = 0
        self.author = Actor("", "service")
        self.at = datetime.min.replace(tzinfo=UTC)
        #: whether some of its events cannot be read any more
        self.erased = False
        self._pending: list[Envelope] = []

    @property
    def pending_events(self) -> list[Envelope]:
        """Events emitted and not yet saved."""
        return self._pending

    def collect_events(self) -> Sequence[Envelope]:
        """Return the events that are not saved yet, and forget them."""
        pending, self._pending = self._pending, []
        return pending

    def emit(self, event: Event, context: Context, *, key_scope: str) -> None:
        """Record that ``event`` happened, under the key of ``key_scope``."""
        envelope = Envelope(
            originator_id=self.id,
            originator_version=self.version + 1,
            event_id=uuid.uuid4().hex,
            recorded_at=context.now,
            actor=context.actor,
            data=event,
            cause=context.cause,
            correlation=context.correlation,
            key_scope=key_scope,
        )
        self.fold(envelope)
        self._pending.append(envelope)

    def fold(self, envelope: Envelope) -> None:
        """Apply one event to the state; one that nobody can read any more counts, and changes nothing."""
        self.version = envelope.originator_version
        if isinstance(envelope.data, Unreadable):
            self.erased = True
            return
        self.author, self.at = envelope.actor, envelope.recorded_at
        name = envelope.topic.split(".", 1)[1]
        getattr(self, f"on_{name}")(envelope.data)

    @classmethod
    def replay(cls, aggregate_id: str, envelopes: Iterable[Envelope]) -> Self:
        """Return the aggregate that these events make; with none it is new."""
        aggregate = cls(aggregate_id)
        for envelope in envelopes:
            aggregate.fold(envelope)
        return aggregate


def projector(cls: type[A], aggregate_id: str) -> Callable[[A | None, Iterable[Envelope]], A]:
    """Return the ``projector_func`` that `eventsourcing`'s repository folds an aggregate with."""

    def project(initial: A | None, envelopes: Iterable[Envelope]) -> A:
        aggregate = initial if initial is not None else cls(aggregate_id)
        for envelope in envelopes:
            aggregate.fold(envelope)
        return aggregate

    return project
