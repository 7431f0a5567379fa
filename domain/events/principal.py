"""Events of who may do what: they belong to no profile."""

from __future__ import annotations

from typing import Literal

from domain.events.base import Event

__all__ = ["PrincipalChange", "PrincipalChanged"]

#: What happened to a principal.
PrincipalChange = Literal["added", "revoked", "rotated", "token made", "token revoked"]


class PrincipalChanged(Event, frozen=True):
    """A principal was added or revoked, its secret replaced, or a token of it made or revoked, by another one.

    ``grants`` are as ``support:write``; of one for some contacts it is said for how many, never for whom: this event
    is under no contact's key.
    """

    TOPIC = "principal.changed"
    principal: str
    change: PrincipalChange
    by: str
    by_type: str
    type: str = ""
    grants: tuple[str, ...] = ()
