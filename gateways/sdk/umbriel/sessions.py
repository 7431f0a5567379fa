"""Wire types of the verbs that end or delete a session."""

from __future__ import annotations

from umbriel._wire import Reply, Request

__all__ = ["DeleteSessionReply", "DeleteSessionRequest", "EndSessionReply", "EndSessionRequest"]


class EndSessionRequest(Request, frozen=True):
    """One session; ``wait`` until what was said in it last is read for memories."""

    session: str
    wait: bool = False


class EndSessionReply(Reply, frozen=True):
    """The tasks that ended with the session (those still to be read in it end when they are)."""

    session: str
    tasks: list[str]
    position: str


class DeleteSessionRequest(Request, frozen=True):
    """One session; ``preview`` says what would be forgotten and forgets nothing."""

    session: str
    preview: bool = False


class DeleteSessionReply(Reply, frozen=True):
    """How many messages were forgotten and which memories with them; ``kept`` rest on something else as well.

    Of more than 10,000 memories the rest is left out of the lists.
    """

    session: str
    messages: int
    memories: list[str]
    kept: list[str]
    position: str
    preview: bool = False
