"""LoCoMo files: two speakers over many sessions, each with its own time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from gateways.importers.conversation import BadValueError, Conversation, as_name, checked, split_long
from umbriel import Message

__all__ = ["is_locomo", "parse_time", "read_sample"]

_SESSION = re.compile(r"session_([0-9]{1,6})\Z")
_TIME_FORMAT = "%I:%M %p on %d %B, %Y"


def is_locomo(value: object) -> bool:
    """Return whether a JSON value is one LoCoMo sample."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("conversation"), Mapping)
        and "speaker_a" in value["conversation"]
    )


def parse_time(text: object) -> datetime:
    """Return a session's time, as ``1:56 pm on 8 May, 2023``, taken as UTC."""
    try:
        return datetime.strptime(str(text).strip().upper(), _TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError as error:
        raise BadValueError(
            "not a session's time", expected="a time as '1:56 pm on 8 May, 2023'", found=ascii(text)[:60]
        ) from error


def read_sample(sample: Mapping[str, object]) -> Iterator[Conversation]:
    """Yield the sessions of one sample in order; its name is the hint for the profile."""
    conversation = sample["conversation"]
    assert isinstance(conversation, Mapping)  # noqa: S101 - is_locomo has seen to it
    roles = {str(conversation.get("speaker_a")): "user", str(conversation.get("speaker_b")): "assistant"}
    hint = as_name(sample.get("sample_id"), field="sample_id")
    names = (name for name, turns in conversation.items() if _SESSION.match(name) and isinstance(turns, list))
    for name in sorted(names, key=_number):
        at = _session_time(conversation, name)
        messages = [_message(turn, roles, at, (name, index)) for index, turn in enumerate(conversation[name])]
        if messages:
            yield Conversation(profile_hint=hint, session=name, messages=list(split_long(messages)))


def _number(name: str) -> int:
    return int(name.removeprefix("session_"))


def _session_time(conversation: Mapping[str, object], name: str) -> datetime | None:
    field = f"{name}_date_time"
    if not conversation.get(field):
        return None
    try:
        return parse_time(conversation[field])
    except BadValueError as error:
        raise error.under("conversation", field) from error


def _message(turn: object, roles: Mapping[str, str], at: datetime | None, where: tuple[str, int]) -> Message:
    try:
        return checked(_read_turn(turn, roles, at))
    except BadValueError as error:
        raise error.under("conversation", *where) from error


def _read_turn(turn: object, roles: Mapping[str, str], at: datetime | None) -> Message:
    if not isinstance(turn, Mapping):
        raise BadValueError("not a turn", expected="an object with speaker and text", found=type(turn).__name__)
    speaker = str(turn.get("speaker"))
    if speaker not in roles:
        raise BadValueError("unknown speaker", expected=" or ".join(roles), found=ascii(speaker[:40]))
    text = turn.get("text")
    if not isinstance(text, str):
        raise BadValueError("a turn without text", expected="text", found=type(text).__name__)
    caption = turn.get("blip_caption")
    content = f"{text} [shared a photo: {caption}]".strip() if caption else text
    identity = as_name(turn.get("dia_id"), field="dia_id")
    return Message(role=roles[speaker], content=content, id=identity, at=at, name=speaker)
