"""Events of erasure: what was erased, by whom, and which keys are gone.

None of them holds a name. Two are in the clear, for they are read when no key is left to read them with.
"""

from __future__ import annotations

from typing import Literal

from domain.events.base import Event

__all__ = ["Erasable", "ErasureLifted", "KeyDestroyed", "ProfileDeleted", "ProfileErased", "Unreadable"]

Erasable = Literal["contact", "session", "memory", "profile"]


class ProfileErased(Event, frozen=True):
    """A contact, a session, one memory or the whole profile was erased, and is blocked from now on.

    ``name`` is the keyed hash of what it is called, ``keys`` are ids of keys that go whatever there was; a ``memory``
    is named by its id. ``erasure`` is the same for the same thing, however often it is erased.
    """

    TOPIC = "profile.erased"

    erasure: str
    target: Erasable
    name: str = ""
    keys: tuple[str, ...] = ()
    memory: str = ""


class KeyDestroyed(Event, frozen=True):
    """These keys are destroyed, by every instance and after every restore; in the clear.

    The scopes of ``again`` go on under another key; those of ``keys`` do not.
    """

    TOPIC = "profile.key_destroyed"

    erasure: str
    keys: tuple[str, ...]
    again: tuple[str, ...] = ()


class ErasureLifted(Event, frozen=True):
    """What was erased may be written about again; nothing of it comes back."""

    TOPIC = "profile.erasure_lifted"

    erasure: str


class ProfileDeleted(Event, frozen=True):
    """The profile is gone with all its keys, and its name is taken; ``by`` deleted it. In the clear."""

    TOPIC = "profile.deleted"

    erasure: str


class Unreadable(Event, frozen=True):
    """Stands for an event whose key was destroyed; it is never written."""
