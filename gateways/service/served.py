"""What recall handed out: counted as accesses, and recorded for audit, both after the reply and in batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime

from domain.envelope import Actor
from domain.events import Event, RecallServed, Served
from domain.grants import ALL
from domain.kinds import contact_scope, conversation_scope, questions_scope
from domain.settings import AccessSettings
from gateways.service.access import Accesses
from gateways.service.context import Caller
from gateways.service.events import EventReader
from gateways.service.flushing import Flusher

__all__ = ["HandedOut", "Recalls"]

#: questions in one event: each has a kilobyte of text and a hundred ids at most
_PER_EVENT = 100
#: whom a question is about: contact and session, empty for none
_Subject = tuple[str, str]


class Recalls(Flusher):
    """Records every question with who asked it and what it was given."""

    actor = Actor("recall-audit", "service")

    def __init__(self, events: EventReader) -> None:
        super().__init__(events)
        self._served: dict[str, dict[_Subject, list[Served]]] = defaultdict(lambda: defaultdict(list))

    def note(self, profile: str, served: Served, *, contact: str = "", session: str = "") -> None:
        """Keep one question until the next flush; ``contact`` or ``session`` says under whose key."""
        subject = ("", session) if session else (contact, "")
        self._served[profile][subject].append(served)

    def _take(self, without: AbstractSet[str]) -> Mapping[str, list[RecallServed]]:
        taken = {profile: self._served.pop(profile) for profile in self._served.keys() - without}
        return {
            profile: [event for subject, entries in subjects.items() for event in self._events_of(subject, entries)]
            for profile, subjects in taken.items()
        }

    def _events_of(self, subject: _Subject, entries: Sequence[Served]) -> list[RecallServed]:
        contact, session = subject
        return [
            RecallServed(
                entries=tuple(entries[start : start + _PER_EVENT]),
                contact=contact,
                session=session,
                instance=self._instance,
            )
            for start in range(0, len(entries), _PER_EVENT)
        ]

    def _scope(self, event: Event) -> str:
        assert isinstance(event, RecallServed)  # noqa: S101 -- it makes no others
        if event.session:
            return conversation_scope(event.session)
        return contact_scope(event.contact) if event.contact not in {"", ALL} else questions_scope()


class HandedOut:
    """Where use cases say what they handed out; nobody waits for it to be written."""

    def __init__(self, events: EventReader) -> None:
        self.accesses = Accesses(events)
        self.recalls = Recalls(events)

    def note(
        self,
        settings: AccessSettings,
        profile: str,
        caller: Caller,
        *,
        verb: str,
        query: str,
        results: Sequence[str],
        memories: Sequence[str] = (),
        contact: str = "",
        session: str = "",
        provider: str = "local",
        answered: bool = False,
    ) -> None:
        """Count the ``memories`` as accessed, and keep the question with the ids of its ``results``."""
        now = datetime.now(UTC)
        if settings.counted:
            self.accesses.count(profile, memories, now)
        if not settings.recalls:
            return
        served = Served(
            query=query,
            results=tuple(results),
            principal=caller.principal,
            principal_type=caller.type,
            at=now,
            verb=verb,
            provider=provider,
            answered=answered,
        )
        self.recalls.note(profile, served, contact=contact, session=session)
