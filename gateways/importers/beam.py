"""BEAM chats: batches of turns between a user and an assistant, with the day a batch begins on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from gateways.importers.conversation import BadValueError, Conversation, as_name, checked, split_long
from umbriel import Message

__all__ = ["is_beam", "read_batches"]

_DAY = "%B-%d-%Y"
# The data set's own mark of which prompt made a message; nobody said it.
_MARK = re.compile(r"\s*->->\s*[\d,]+\s*\Z")


def is_beam(value: object) -> bool:
    """Return whether a JSON value is one batch of a BEAM chat."""
    return isinstance(value, Mapping) and "batch_number" in value and isinstance(value.get("turns"), list)


def read_batches(batches: Iterable[object]) -> Iterator[Conversation]:
    """Yield each batch as a session; messages keep their ids and are dated by the last anchor before them."""
    at: datetime | None = None
    for where, batch in enumerate(batches):
        if not is_beam(batch) or not isinstance(batch, Mapping):
            raise BadValueError(
                "not a BEAM batch", expected="batch_number and turns", found=type(batch).__name__, path=(where,)
            )
        messages = []
        for place, value in _messages(batch, where):
            at = _anchor(value, place) or at
            messages.append(_message(value, at, place))
        if messages:
            yield Conversation(session=f"batch_{batch['batch_number']}", messages=list(split_long(messages)))


def _messages(batch: Mapping[str, object], where: int) -> Iterator[tuple[tuple[int | str, ...], Mapping[str, object]]]:
    turns = batch["turns"]
    assert isinstance(turns, list)  # noqa: S101 - is_beam has seen to it
    for number, turn in enumerate(turns):
        for index, value in enumerate(turn if isinstance(turn, list) else [turn]):
            place = (where, "turns", number, index)
            if not isinstance(value, Mapping):
                raise BadValueError(
                    "not a message", expected="an object with role and content", found=type(value).__name__, path=place
                )
            yield place, value


def _anchor(value: Mapping[str, object], place: tuple[int | str, ...]) -> datetime | None:
    text = value.get("time_anchor")
    if not text:
        return None
    try:
        return datetime.strptime(str(text).strip(), _DAY).replace(tzinfo=UTC)
    except ValueError as error:
        raise BadValueError(
            "not a day", expected="a day as 'March-15-2024'", found=ascii(text)[:60], path=place
        ) from error


def _message(value: Mapping[str, object], at: datetime | None, place: tuple[int | str, ...]) -> Message:
    content = value.get("content")
    if not isinstance(content, str):
        raise BadValueError("a message without text", expected="text", found=type(content).__name__, path=place)
    try:
        identity = as_name(value.get("id"), field="id")
        return checked(Message(role=str(value.get("role")), content=_MARK.sub("", content), id=identity, at=at))
    except BadValueError as error:
        raise error.under(*place) from error
