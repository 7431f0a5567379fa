"""Wire types of the daily reflection, when it is asked for."""

from __future__ import annotations

from umbriel._wire import Reply, Request

__all__ = ["DayShown", "ReflectDayReply", "ReflectDayRequest", "ThoughtShown"]


class ReflectDayRequest(Request, frozen=True):
    """Think about a UTC ``day`` that is over (``2026-01-31``; empty: yesterday), as the daily pass does.

    What was thought about before stays. With ``dry_run`` any day is shown as it is now and nothing is written; no
    model is asked then.
    """

    day: str = ""
    dry_run: bool = False


class ThoughtShown(Reply, frozen=True):
    """What a day came to on a topic, the memory it became, and the messages and memories that it was drawn from."""

    topic: str
    text: str
    memory: str = ""
    sources: list[str] = []
    drawn_from: list[str] = []


class DayShown(Reply, frozen=True):
    """A day with one contact (empty: nobody's conversations): how much was looked at, by what, and what it came to.

    ``recorded`` says that it was just now, or in a dry run would be; what was forgotten since is left out.
    """

    contact: str
    messages: int
    memories: int
    model: str
    recorded: bool
    thoughts: list[ThoughtShown] = []


class ReflectDayReply(Reply, frozen=True):
    """A day with each contact by itself; empty where nothing happened."""

    day: str
    dry_run: bool
    position: str
    days: list[DayShown] = []
