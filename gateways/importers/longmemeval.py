"""LongMemEval items: a haystack of dated chat sessions with a question about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from gateways.importers.conversation import BadValueError, Conversation, as_name, checked, split_long
from umbriel import Message

__all__ = ["is_longmemeval", "read_haystack"]

_TIME = "%Y/%m/%d (%a) %H:%M"


def is_longmemeval(value: object) -> bool:
    """Return whether a JSON value is one item."""
    return isinstance(value, Mapping) and isinstance(value.get("haystack_sessions"), list)


def read_haystack(item: Mapping[str, object]) -> Iterator[Conversation]:
    """Yield the sessions of one item under its own name; messages are ``<session>:<number>`` and have its time.

    A haystack may hold a session twice; it is one conversation then.
    """
    hint = as_name(item.get("question_id"), field="question_id")
    sessions = item["haystack_sessions"]
    assert isinstance(sessions, list)  # noqa: S101 - is_longmemeval has seen to it
    ids, dates = _column(item, "haystack_session_ids", len(sessions)), _column(item, "haystack_dates", len(sessions))
    seen: set[str] = set()
    for index, session in enumerate(sessions):
        name, where = as_name(ids[index], field="session id"), ("haystack_sessions", index)
        if name in seen:
            continue
        seen.add(name)
        if not isinstance(session, list):
            raise BadValueError("not a session", expected="messages", found=type(session).__name__, path=where)
        at = _time(dates[index], index)
        messages = [_message(value, f"{name}:{n}", at, (*where, n)) for n, value in enumerate(session) if _said(value)]
        if messages:
            yield Conversation(profile_hint=hint, session=name, messages=list(split_long(messages)))


def _column(item: Mapping[str, object], field: str, length: int) -> list[object]:
    values = item.get(field)
    if not isinstance(values, list) or len(values) != length:
        found = f"{len(values)}" if isinstance(values, list) else type(values).__name__
        raise BadValueError(f"{field} does not fit the sessions", expected=f"{length}", found=found, path=(field,))
    return values


def _time(text: object, index: int) -> datetime:
    try:
        return datetime.strptime(str(text), _TIME).replace(tzinfo=UTC)
    except ValueError as error:
        raise BadValueError(
            "not a session's time",
            expected="a time as '2023/07/12 (Wed) 10:14'",
            found=ascii(text)[:60],
            path=("haystack_dates", index),
        ) from error


def _said(value: object) -> bool:
    """Whether there is anything in a message: some of the data set's are empty."""
    return not isinstance(value, Mapping) or bool(str(value.get("content", "")).strip())


def _message(value: object, identity: str, at: datetime, where: tuple[int | str, ...]) -> Message:
    if not isinstance(value, Mapping) or not isinstance(value.get("content"), str):
        raise BadValueError(
            "not a message", expected="an object with role and content", found=type(value).__name__, path=where
        )
    try:
        return checked(Message(role=str(value.get("role")), content=value["content"], id=identity, at=at))
    except BadValueError as error:
        raise error.under(*where) from error
