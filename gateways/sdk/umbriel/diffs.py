"""Wire types of diffs: what a profile learned, changed and lost between two points."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from umbriel._wire import Reply, Request
from umbriel.types import Kind

__all__ = ["DiffReply", "DiffRequest", "Difference", "FieldChange", "Replaced", "What"]

What = Literal["learned", "changed", "restored", "ended", "forgotten", "adjusted"]


class DiffRequest(Request, frozen=True):
    """Two points, times of recording or positions: ``start`` empty is before the first event, ``end`` empty is now.

    Of a contact and agent-wide, ``*`` is every contact; a page goes on with the ``cursor`` of the one before.
    """

    start: str = ""
    end: str = ""
    contact: str = ""
    kind: Kind | None = None
    cursor: str = ""
    limit: int = 100
    at_least: str = ""


class FieldChange(Reply, frozen=True):
    """What one field said before and says after."""

    field: str
    old: Any = None
    new: Any = None


class Replaced(Reply, frozen=True):
    """A memory that another one took the place of, and how that was decided; without text where it is forgotten."""

    id: str
    text: str
    rule: str = ""
    probability: float | None = None
    model: str = ""


class Difference(Reply, frozen=True):
    """One memory that is not what it was.

    ``learned``: it is live and was not there; ``changed``: it took the place of those it ``replaced``; ``restored``: it
    is live again; ``ended``: it is live no more, as ``status`` says, replaced ``by`` what was there before or does not
    live either; ``forgotten``; ``adjusted``: it lives on with other ``fields``. ``text`` is empty where it is forgotten
    by now. ``at`` and ``actor`` are of the event that decided; an expiry has its time and nobody.
    """

    what: What
    id: str
    kind: str
    status: str
    text: str = ""
    key: str = ""
    contact: str = ""
    replaced: list[Replaced] = []
    by: str = ""
    fields: list[FieldChange] = []
    at: datetime | None = None
    actor: str = ""
    actor_type: str = ""
    position: str = ""


class DiffReply(Reply, frozen=True):
    """One page, those written first at the beginning; an empty ``cursor`` is the last page, any page may be short.

    ``start`` and ``end`` are the positions compared, ``start_at`` and ``end_at`` the clocks that expiry was judged by.
    """

    entries: list[Difference]
    start: str
    end: str
    start_at: datetime
    end_at: datetime
    cursor: str = ""
