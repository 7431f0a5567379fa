"""The four kinds of memory, the fact types that fold into them, sources, trust and key scopes."""

from __future__ import annotations

from typing import Literal

from domain.errors import InvalidInputError

__all__ = [
    "CLEAR",
    "CONFIDENCE",
    "ITEM",
    "Kind",
    "Source",
    "agent_scope",
    "contact_scope",
    "contacts_scope",
    "conversation_scope",
    "fold_kind",
    "memory_scope",
    "memory_session",
    "profile_scope",
    "questions_scope",
]

Kind = Literal["fact", "event", "instruction", "task"]
Source = Literal["explicit", "turn", "ingest", "pre-compaction", "reflection", "consolidation", "copy"]

_KINDS: dict[str, Kind] = {"fact": "fact", "event": "event", "instruction": "instruction", "task": "task"}
_KIND_OF: dict[str, Kind] = {
    "event": "event",
    "workflow-outcome": "event",
    "workflow-failure": "event",
    "instruction": "instruction",
    "skill": "instruction",
    "suppression": "instruction",
    "task": "task",
}

#: The fact type of what a caller keeps under a key in a store of items: nothing but another item at its own address
#: replaces it, however like it another one is.
ITEM = "item"
#: Stands for a key scope where there is no key: what must be read when every key is gone, and says nothing.
CLEAR = "-"
#: Paths on which a memory comes from conversations; of one alone, it goes with that one's key.
_DRAWN = frozenset({"turn", "ingest", "pre-compaction", "consolidation", "reflection"})

#: Confidence by the path that writes (U14-U16); a payload never sets it.
CONFIDENCE: dict[str, float] = {
    "explicit": 0.9,
    "turn": 0.5,
    "ingest": 0.5,
    "pre-compaction": 0.6,
    "reflection": 0.85,
    "consolidation": 0.85,
    # the most that a copy has; never more than its original
    "copy": 0.9,
}


def fold_kind(kind: str | None, fact_type: str | None) -> tuple[Kind, str]:
    """Return (kind, fact type): an explicit kind wins, else the fact type decides, else fact.

    ``preference, identity, relationship, decision, reflection`` and every unknown type are facts.
    """
    folded = fact_type.strip().casefold() if fact_type else ""
    if kind is None:
        return _KIND_OF.get(folded, "fact"), folded
    known = _KINDS.get(kind)
    if known is None:
        raise InvalidInputError("unknown kind", expected="fact, event, instruction or task", found=repr(kind))
    return known, folded


def conversation_scope(session: str) -> str:
    """Key scope of a conversation: its messages and what was extracted from them."""
    return f"conversation:{session}"


def contact_scope(contact: str) -> str:
    """Key scope of a contact as written: its explicit memories."""
    return f"contact:{contact}"


def contacts_scope(first: str, second: str) -> str:
    """Key scope of a link: a key of the pair's own, which goes when either of the two is erased.

    One event has one key, and under the key of only one contact the other's name would outlive its erasure.
    """
    one, other = sorted((first, second))
    return f"contacts:{len(one)}:{one}:{other}"


def memory_scope(memory: str) -> str:
    """Key scope of one memory that no single conversation or contact answers for: a copy, or what stands for several.

    It goes alone, without what else is under the key of a contact.
    """
    return f"memory:{memory}"


def questions_scope() -> str:
    """Key scope of questions that are about nobody in particular.

    They may repeat what was said by anybody, so the key goes with every erasure, and another one begins.
    """
    return "questions"


def agent_scope() -> str:
    """Key scope of agent-wide memories."""
    return "agent"


def memory_session(source: str, session: str) -> str:
    """Return the conversation under whose key a memory is that was written on such a path, empty without one."""
    return session if source in _DRAWN else ""


def profile_scope() -> str:
    """Key scope of the profile's own events: settings, usage, access."""
    return "profile"
