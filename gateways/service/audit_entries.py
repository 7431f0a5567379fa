"""What one event says of who did what, as it is shown to auditors: ids and names, never content."""

from __future__ import annotations

from datetime import datetime

import msgspec

from domain.envelope import Envelope
from domain.events import (
    ContactSet,
    ContactsLinked,
    ContactsUnlinked,
    Event,
    LogRecovered,
    MemoryRemembered,
    MemoryRestored,
    PrincipalChanged,
    ProfileErased,
    RecallServed,
    RefusalRecorded,
    Served,
    SettingsChanged,
)
from umbriel.auditing import AuditEntry

__all__ = ["ACTIONS", "QUIET", "action_of", "entries_of", "erased_entry"]

#: what nobody does: work of the service on what somebody wrote
QUIET = frozenset({"embedding", "access", "usage", "seal"})
#: the word for each topic that is more than its own last word
ACTIONS = {
    "message.recorded": "wrote",
    "memory.forgotten": "forgot",
    "message.forgotten": "forgot",
    "conversation.deleted": "deleted",
    "conversation.ended": "ended",
    "recall.served": "recalled",
    "refusal.recorded": "refused",
    "principal.changed": "grants",
    "profile.settings_changed": "settings",
    "profile.contacts_linked": "linked",
    "profile.contacts_unlinked": "unlinked",
    "profile.key_destroyed": "erased",
    "recovery.recorded": "recovered",
    "extraction.completed": "read",
    "memory.decayed": "decayed",
}


def action_of(topic: str) -> str:
    """Return the word for what a topic stands for."""
    return ACTIONS.get(topic, topic.partition(".")[2])


def entries_of(envelope: Envelope, position: str) -> list[AuditEntry]:
    """Return the entries of one event, newest first: one for each question where questions were answered."""
    event = envelope.data
    base = AuditEntry(
        position=position,
        at=envelope.recorded_at,
        action=action_of(envelope.topic),
        topic=envelope.topic,
        principal=envelope.actor.principal,
        principal_type=envelope.actor.type,
    )
    if isinstance(event, RecallServed):
        return [_served(base, event, one) for one in reversed(event.entries)]
    if isinstance(event, RefusalRecorded):
        return [_refused(base, event)]
    if isinstance(event, PrincipalChanged):
        return [_principal(base, event)]
    return [_of(base, event)]


def _served(base: AuditEntry, event: RecallServed, one: Served) -> AuditEntry:
    via = one.verb if one.provider == "local" else f"{one.verb} by {one.provider}"
    return msgspec.structs.replace(
        base,
        at=one.at or base.at,
        principal=one.principal,
        principal_type=one.principal_type,
        via=f"{via}, answered" if one.answered else via,
        memories=list(one.results),
        session=event.session,
        contact=event.contact,
    )


def _refused(base: AuditEntry, event: RefusalRecorded) -> AuditEntry:
    where = f" in {event.profile}" if event.profile else ""
    return msgspec.structs.replace(
        base,
        principal=event.principal or base.principal,
        principal_type="" if event.principal else base.principal_type,
        via=event.rule,
        detail=f"{event.subject}{where}: {event.detail}",
        count=event.count,
    )


def _principal(base: AuditEntry, event: PrincipalChanged) -> AuditEntry:
    grants = f": {', '.join(event.grants)}" if event.grants else ""
    return msgspec.structs.replace(
        base,
        principal=event.by,
        principal_type=event.by_type,
        detail=f"{event.change} {event.principal}{grants}",
    )


def _of(base: AuditEntry, event: Event) -> AuditEntry:
    memory = getattr(event, "memory", "")
    return msgspec.structs.replace(
        base,
        via=str(getattr(event, "source", "")),
        memories=[memory] if memory else list(getattr(event, "memories", ())),
        message=str(getattr(event, "message", "")),
        session=str(getattr(event, "session", "")),
        contact=_contact(event),
        detail=_detail(event),
    )


def _contact(event: Event) -> str:
    match event:
        case ContactSet():
            return event.contact
        case MemoryRemembered():
            return event.scope or ""
        case MemoryRestored():
            return event.content.scope or ""
        case ContactsLinked() | ContactsUnlinked():
            return f"{event.first}, {event.second}"
    return ""


def _detail(event: Event) -> str:
    match event:
        case SettingsChanged():
            return f"version {event.version}"
        case ProfileErased():
            return event.target
        case LogRecovered():
            return f"incarnation {event.incarnation} after {event.end}"
    return ""


def erased_entry(topic: str, at: datetime, position: str) -> AuditEntry:
    """Return the entry of an event whose key was destroyed."""
    return AuditEntry(position=position, at=at, action=action_of(topic), topic=topic, erased=True)
