"""Envelopes for tests, built as a log would hand them out: rising positions, one event id each."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import numpy as np

from domain.addresses import address_of
from domain.envelope import Actor, Envelope
from domain.events import (
    ContactSet,
    EmbeddingComputed,
    Event,
    MemoryForgotten,
    MemoryRemembered,
    MemorySuperseded,
    MessageForgotten,
    MessageRecorded,
)
from domain.ids import keyed_id, memory_id, message_id
from domain.indexing import Indexing
from domain.kinds import CONFIDENCE, Kind, Source
from domain.text import fold_content

__all__ = ["DIMENSION", "MODEL", "NOW", "PERSON", "Log", "indexing", "unit"]

MODEL = "test-model"
DIMENSION = 4
NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
PERSON = Actor("ana", "person")
_SECRET = b"s" * 32


def indexing() -> Indexing:
    """An indexing rule with a fixed secret and a tiny model."""
    return Indexing(lambda *parts: keyed_id(_SECRET, *parts), MODEL, DIMENSION)


def unit(*components: float) -> bytes:
    """A unit vector as float32 bytes."""
    vector = np.asarray(components, dtype=np.float32)
    return (vector / np.linalg.norm(vector)).astype("<f4").tobytes()


class Log:
    """Appends envelopes in memory, with gaps between positions as other profiles would leave them."""

    def __init__(self, *, step: int = 1) -> None:
        self.envelopes: list[Envelope] = []
        self._positions = itertools.count(step, step)
        self._indexing = indexing()

    @property
    def position(self) -> int:
        """Position of the last envelope."""
        return self.envelopes[-1].position if self.envelopes else 0

    def append(self, event: Event, *, at: datetime | None = None, actor: Actor = PERSON, key_id: str = "k1") -> int:
        """Append one event and return its position."""
        position = next(self._positions)
        self.envelopes.append(
            Envelope(
                originator_id=f"p.{event.category()}.x",
                originator_version=1,
                event_id=f"e{position}",
                recorded_at=at or NOW + timedelta(seconds=position),
                actor=actor,
                data=event,
                key_id=key_id,
                position=position,
            )
        )
        return position

    def message(
        self, content: str, *, session: str = "s1", role: str = "user", name: str = "", at: datetime | None = None
    ) -> str:
        """Append a message and return its id."""
        public = message_id(session, role, content)
        event = MessageRecorded(message=public, session=session, role=role, content=content, name=name, at=at)
        self.append(event)
        return public

    def contact(self, session: str, contact: str) -> int:
        """Attach a session to a contact."""
        return self.append(ContactSet(session=session, contact=contact))

    def remember(
        self,
        text: str,
        *,
        key: str = "",
        kind: Kind = "fact",
        scope: str | None = None,
        version: int = 1,
        session: str = "",
        source: Source = "explicit",
        confidence: float | None = None,
        expires_at: datetime | None = None,
        at: datetime | None = None,
        occurred_at: datetime | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        sources: tuple[str, ...] = (),
    ) -> str:
        """Append one version of a memory and return its id; ``at`` is when it was recorded."""
        address = address_of(kind, contact=scope, key=key, content=text, session=session)
        event = MemoryRemembered(
            memory=memory_id(address, version),
            address=address,
            version=version,
            kind=kind,
            text=text,
            folded=fold_content(text),
            source=source,
            confidence=CONFIDENCE[source] if confidence is None else confidence,
            scope=scope,
            key=key,
            session=session,
            sources=sources,
            expires_at=expires_at,
            occurred_at=occurred_at,
            valid_from=valid_from,
            valid_to=valid_to,
        )
        self.append(event, at=at)
        return event.memory

    def replace(self, text: str, *, key: str, version: int, scope: str | None = None) -> str:
        """Append the next version under a key, and the supersession of the one before."""
        new = self.remember(text, key=key, scope=scope, version=version)
        address = new.partition("@")[0]
        self.append(MemorySuperseded(memory=f"{address}@{version - 1}", by=new, rule="address"))
        return new

    def forget(self, memory: str) -> int:
        """Forget one version of a memory."""
        return self.append(MemoryForgotten(address=memory.partition("@")[0], memories=(memory,)))

    def forget_message(self, message: str, *, session: str = "s1") -> int:
        """Forget a message."""
        return self.append(MessageForgotten(message=message, session=session))

    def embed(self, text: str, vector: bytes, *, key_id: str = "k1") -> int:
        """Append the vectors of one exact indexed text."""
        return self.append(
            EmbeddingComputed(
                embedding=self._indexing.embedding_id(key_id, text),
                model=MODEL,
                dimension=DIMENSION,
                chunks=len(vector) // (4 * DIMENSION),
                vectors=vector,
            )
        )
