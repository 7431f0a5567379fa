"""Events of who may do what: they belong to no profile."""

from __future__ import annotations

from typing import Literal

from domain.events.base import Event

__all__ = ["PrincipalChanged"]


class PrincipalChanged(Event, frozen=True):
    """A principal was added or revoked, or its secret replaced, by another one.

    ``grants`` are as ``support:write``; of one for some contacts it is said for how many, never for whom: this event
    is under no contact's key.
    """

    TOPIC = "principal.changed"
    principal: str
    change: Literal["added", "revoked", "rotated"]
    by: str
    by_type: str
    type: str = ""
    grants: tuple[str, ...] = ()
