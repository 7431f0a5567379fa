"""What stands in an export, entry by entry: a message, or the reason why it is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import msgspec

from gateways.importers.conversation import BadValueError, Conversation, one_line, place_of, split_long
from umbriel import Message

__all__ = ["Entry", "Hints", "Speakers", "by_day", "gathered", "whole"]


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """What the file cannot say: which person is the user, the order of day and month, and the chat's name.

    ``skip_broken``: a conversation that cannot be read is left out as a whole and named, and the others are read.
    """

    me: str = ""
    date_order: str = ""
    chat: str = ""
    skip_broken: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry: its message, or why it is skipped; parts of a message that are no text are left out.

    ``day`` tells the sessions of a chat apart that has no end.
    """

    message: Message | None = None
    skipped: str = ""
    left_out: tuple[str, ...] = ()
    day: str = ""


def gathered(entries: Iterable[Entry], *, session: str, channel: str) -> Conversation:
    """Return the conversation that entries form; what was skipped is counted by reason."""
    messages: list[Message] = []
    skipped: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for entry in entries:
        left_out.update(entry.left_out)
        if entry.message is None:
            skipped[entry.skipped] += 1
        else:
            messages.append(entry.message)
    return Conversation(
        messages=list(split_long(messages)),
        session=session,
        channel=channel,
        skipped=dict(skipped),
        left_out=dict(left_out),
    )


def by_day(entries: Iterable[Entry], name: Callable[[str], str], *, channel: str) -> Iterator[Conversation]:
    """Yield a conversation for each run of entries of one day; ``name`` makes a session's name of a day.

    A chat among people goes on for years: by days, a longer export of it has the same sessions and one more.
    """
    for day, group in groupby(entries, key=lambda entry: entry.day):
        yield gathered(group, session=name(day), channel=channel)


def whole(conversations: Iterator[Conversation], place: tuple[int | str, ...], hints: Hints) -> Iterator[Conversation]:
    """Yield what is read at a place of the file, or nothing of it where something in it is broken.

    Raises BadValueError with the whole path, unless what is broken is to be skipped.
    """
    try:
        yield from list(conversations) if hints.skip_broken else conversations
    except BadValueError as error:
        located = error.under(*place)
        if not hints.skip_broken:
            raise located from error
        yield Conversation(messages=[], skipped={f"broken: {located.message} in {place_of(located.path)}": 1})


class Speakers:
    """Who is who in a chat among people.

    Without ``me`` each of them is a user under their own name: nobody's words count less in recall, and a question
    that names one of them prefers that one's. With ``me``, that person alone is the user, whose words answer
    questions in the first person, and the others are the other side, by name.
    """

    def __init__(self, me: str = "") -> None:
        self._me = one_line(me).casefold()
        self._seen: dict[str, None] = {}

    def role(self, name: str) -> str:
        """Return the role of a person."""
        self._seen.setdefault(name)
        return "user" if not self._me or name.casefold() == self._me else "assistant"

    def check(self) -> None:
        """Raise BadValueError when the person who is to be the user said nothing in the whole file."""
        if self._me and not any(name.casefold() == self._me for name in self._seen):
            names = list(self._seen)
            more = f" and {len(names) - 10} more" if len(names) > 10 else ""  # noqa: PLR2004 - enough to choose from
            raise BadValueError(
                "nobody of this name says anything", expected=f"{', '.join(names[:10])}{more}", found=ascii(self._me)
            )
