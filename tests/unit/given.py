"""``given(events).when(command).then(events)`` for the memory aggregate at one address."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Self

import msgspec

from domain.envelope import Actor, Envelope
from domain.errors import UmbrielError
from domain.events import Event, MemoryForgotten, MemoryRejected, MemoryRemembered, MemoryRestored, MemorySuperseded
from domain.kernel import Context
from domain.kinds import Source
from domain.memory import Memory, Version
from domain.text import fold_content, skeleton

__all__ = [
    "ADDRESS",
    "AGENT",
    "NOW",
    "ORIGINATOR",
    "PERSON",
    "By",
    "Command",
    "Given",
    "context",
    "draft",
    "elsewhere",
    "forgotten",
    "given",
    "rejected",
    "remember",
    "remembered",
    "restored",
    "state_of",
    "superseded",
    "v",
]

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
PERSON = Actor("ana", "person")
AGENT = Actor("bot", "agent")
ADDRESS = "lxoepn6c2zcq5e7ahvgrtcwwbq"
ORIGINATOR = "p.memory.x"

Command = Callable[[Memory, Context], object]


class By(msgspec.Struct, frozen=True):
    """An event with who caused it, where it is not a person."""

    actor: Actor
    event: Event


def context(actor: Actor = PERSON, now: datetime = NOW) -> Context:
    """Who commands, and when."""
    return Context(actor=actor, now=now)


def v(version: int) -> str:
    """The id of a version at the address."""
    return f"{ADDRESS}@{version}"


def draft(
    text: str,
    *,
    request_id: str = "",
    expires_at: datetime | None = None,
    source: Source = "explicit",
    session: str = "",
) -> MemoryRemembered:
    """A statement as a caller hands it over, or as it was drawn from a session."""
    return MemoryRemembered(
        memory="",
        address=ADDRESS,
        version=0,
        kind="fact",
        text=text,
        folded=fold_content(text),
        source=source,
        session=session,
        confidence=0.9,
        scope="ana",
        key="k",
        expires_at=expires_at,
        request_id=request_id,
    )


def elsewhere(actor: Actor = PERSON, text: str = "another") -> Version:
    """A version at another address."""
    written = msgspec.structs.replace(draft(text), memory="other@1", version=1)
    return Version(written, actor.principal, actor.type, NOW)


def remember(text: str, *, request_id: str = "", expires_at: datetime | None = None) -> Command:
    """The command that states ``text``."""
    statement = draft(text, request_id=request_id, expires_at=expires_at)
    return lambda memory, ctx: memory.remember(statement, ctx)


def remembered(
    text: str, version: int = 1, *, request_id: str = "", expires_at: datetime | None = None
) -> MemoryRemembered:
    """The event that a version was written."""
    statement = draft(text, request_id=request_id, expires_at=expires_at)
    return msgspec.structs.replace(statement, memory=v(version), version=version)


def superseded(version: int, by: int, rule: str = "address") -> MemorySuperseded:
    """The event that a version was replaced."""
    return MemorySuperseded(memory=v(version), by=v(by), rule=rule)


def rejected(version: int, text: str) -> MemoryRejected:
    """The event that a person called a version wrong."""
    return MemoryRejected(memory=v(version), skeleton=skeleton(text))


def restored(version: int, text: str, *, request_id: str = "") -> MemoryRestored:
    """The event that a version came back."""
    return MemoryRestored(memory=v(version), content=remembered(text, version), request_id=request_id)


def forgotten(*versions: int, request_id: str = "") -> MemoryForgotten:
    """The event that versions left every view."""
    return MemoryForgotten(address=ADDRESS, memories=tuple(v(one) for one in versions), request_id=request_id)


def state_of(memory: Memory) -> list[tuple[object, ...]]:
    """Everything that is decided by, version by version."""
    return [
        (one.written, one.author, one.author_type, one.recorded_at, one.status, one.expires_at, one.pinned)
        for one in memory.versions
    ]


class Given:
    """A history, the command that meets it, and what comes of it."""

    def __init__(self, *history: Event | By) -> None:
        self._history = [_envelope(number, fact) for number, fact in enumerate(history, start=1)]
        self._memory = Memory.replay(ORIGINATOR, self._history)
        self._result: object = None
        self._error: UmbrielError | None = None

    def when(self, command: Command, *, by: Actor = PERSON, at: datetime = NOW) -> Self:
        """Run a command."""
        self._result, self._error = None, None
        try:
            self._result = command(self._memory, context(by, at))
        except UmbrielError as error:
            self._error = error
        return self

    def then(self, *events: Event) -> Self:
        """Exactly these events came of it, in one append, and replaying them gives the same state."""
        if self._error is not None:
            raise self._error
        emitted = self._memory.collect_events()
        assert [one.data for one in emitted] == list(events)
        self._history += emitted
        assert [one.originator_version for one in self._history] == list(range(1, self._memory.version + 1))
        assert state_of(Memory.replay(ORIGINATOR, self._history)) == state_of(self._memory)
        return self

    def then_raises(self, error: type[UmbrielError]) -> Self:
        """The command was refused, and nothing happened."""
        assert isinstance(self._error, error)
        assert not self._memory.pending_events
        return self

    def returns(self, result: object) -> Self:
        """The command answered this."""
        assert self._result == result
        return self

    def was_done(self) -> Self:
        """The command said that it changed something."""
        assert self._result is True
        return self

    def was_not_done(self) -> Self:
        """The command said that there was nothing to change."""
        assert self._result is False
        return self

    def live(self, *versions: int, at: datetime = NOW) -> Self:
        """Exactly these versions are live."""
        assert [one.written.version for one in self._memory.versions if one.live_at(at)] == list(versions)
        return self


def given(*history: Event | By) -> Given:
    """Start from a history of events, by a person unless they say otherwise."""
    return Given(*history)


def _envelope(number: int, fact: Event | By) -> Envelope:
    said = fact if isinstance(fact, By) else By(PERSON, fact)
    return Envelope(
        originator_id=ORIGINATOR,
        originator_version=number,
        event_id=f"e{number}",
        recorded_at=NOW - timedelta(days=1),
        actor=said.actor,
        data=said.event,
    )
