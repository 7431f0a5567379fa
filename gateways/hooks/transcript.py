"""Claude Code's transcripts: one JSON object a line, of which the words of the two who speak are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from gateways.importers.blocks import read_blocks
from gateways.importers.conversation import BadValueError, as_name, as_time, checked
from umbriel import InvalidInputError, Message

__all__ = ["read_transcript"]

#: what the program writes itself: commands, their output, reminders
_NOT_SAID = ("<command-", "<local-command-", "<system-reminder>", "<bash-", "Caveat: ")
_NOT_OURS = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")


def read_transcript(path: Path) -> list[Message]:
    """Return what the user and the assistant said, oldest first, each under its own id.

    Tool calls and their results, subagents, commands and summaries are left out, and so is a line that is not
    written to its end yet. Raises InvalidInputError where there is no such file.
    """
    try:
        with path.open("rb") as lines:
            return list(_messages(lines))
    except OSError as error:
        raise InvalidInputError(
            "cannot read the transcript", expected="a readable file", found=f"{path}: {error.strerror}"
        ) from error


def _messages(lines: Iterator[bytes]) -> Iterator[Message]:
    for line in lines:
        try:
            entry = msgspec.json.decode(line)
            message = _message(entry) if isinstance(entry, Mapping) else None
        except (msgspec.DecodeError, BadValueError):
            continue
        if message is not None:
            yield message


def _message(entry: Mapping[str, object]) -> Message | None:
    said = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or not isinstance(said, Mapping):
        return None
    if any(entry.get(mark) for mark in _NOT_OURS):
        return None
    text = read_blocks(said.get("content")).text.strip()
    if not text or text.startswith(_NOT_SAID):
        return None
    message = Message(
        role=str(said.get("role") or entry["type"]),
        content=text,
        id=as_name(entry.get("uuid"), field="uuid"),
        at=as_time(entry.get("timestamp")),
    )
    return checked(message)
