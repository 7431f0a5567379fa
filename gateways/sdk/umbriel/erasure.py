"""What goes over the wire when something is erased: a contact, a session, a whole profile."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from umbriel._wire import Reply, Request

__all__ = [
    "DeleteProfileRequest",
    "DeletedProfile",
    "EraseReply",
    "EraseRequest",
    "Left",
    "ProfilesRequest",
    "Proof",
]


class EraseRequest(Request, frozen=True):
    """Erase one of a ``contact``, a ``session`` and, with ``whole``, the profile itself.

    ``preview`` only says what would go, ``proof`` only what is left of something erased before, ``lift`` lets it be
    written about again; nothing of it comes back. Without ``wait`` the reply comes before the keys are gone.
    """

    contact: str = ""
    session: str = ""
    whole: bool = False
    preview: bool = False
    proof: bool = False
    lift: bool = False
    wait: bool = True


class DeleteProfileRequest(Request, frozen=True):
    """Delete the whole profile; ``preview`` only says what would go, ``lift`` gives its name free again."""

    preview: bool = False
    lift: bool = False
    wait: bool = True


class Left(Reply, frozen=True):
    """Events of a category that are left in the log under destroyed keys, and their bytes."""

    category: str
    events: int
    bytes: int


class Proof(Reply, frozen=True):
    """What can be said of something erased: it is gone when ``holds``.

    ``keys`` were destroyed (``undestroyed`` are not yet). ``left`` lies in the log and ``turns`` beside it, as bytes
    that nobody can read: each was tried with every one of the ``surviving`` keys of the profile, in so many
    ``attempts``, and ``opened`` of them could be read. ``complete`` is False where there were too many to try all.
    ``stale`` are view files that are older than the erasure. ``elsewhere`` counts what a managed memory still has to
    delete, ``grants`` names principals whose grants name the contact: those are for an administrator to change.
    """

    keys: int
    undestroyed: int = 0
    left: tuple[Left, ...] = ()
    turns: int = 0
    surviving: int = 0
    attempts: int = 0
    opened: int = 0
    complete: bool = True
    stale: tuple[str, ...] = ()
    elsewhere: int = 0
    grants: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing of it can be read, here or in a managed memory that is told to delete it."""
        return not (self.undestroyed or self.opened or self.stale or self.elsewhere)


class EraseReply(Reply, frozen=True):
    """What was erased, or would be with ``preview``: how much, by whom and when, and whether it is done.

    ``linked`` are contacts that are one person with this one; each is erased by its own name.
    """

    target: Literal["contact", "session", "profile"]
    position: str
    preview: bool = False
    sessions: int = 0
    messages: int = 0
    memories: int = 0
    linked: tuple[str, ...] = ()
    at: datetime | None = None
    by: str = ""
    lifted: bool = False
    done: bool = False
    proof: Proof | None = None


class ProfilesRequest(Request, frozen=True):
    """Which profiles to list: with ``deleted`` also the tombstones of those that are no more."""

    deleted: bool = False


class DeletedProfile(Reply, frozen=True):
    """A profile that was deleted: when, by whom, and whether its name is free."""

    name: str
    at: datetime
    by: str
    lifted: bool = False
