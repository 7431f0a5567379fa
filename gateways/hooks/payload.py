"""What a coding agent hands a hook: JSON on stdin, of which a few fields matter."""

from __future__ import annotations

import re
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from umbriel import InvalidInputError

__all__ = ["Payload", "Said", "profile_of", "read_payload"]

_NAME_CHARS = 48
_MARK_CHARS = 8


class Said(msgspec.Struct, frozen=True):
    """One message of a conversation, where the agent hands it over itself."""

    role: str
    content: str
    id: str = ""
    at: datetime | None = None


class Payload(msgspec.Struct, frozen=True):
    """The fields that are read, in Claude Code's names; every other field is ignored.

    The conversation is in ``messages``, or in the file ``transcript_path``. ``source`` is how a session starts:
    startup, resume, clear or compact.
    """

    session_id: str = ""
    cwd: str = ""
    prompt: str = ""
    source: str = ""
    transcript_path: str = ""
    messages: list[Said] = []
    agent_id: str | None = None


def read_payload(raw: bytes) -> Payload:
    """Return what stdin held, or raise InvalidInputError."""
    try:
        return msgspec.json.decode(raw.strip() or b"{}", type=Payload)
    except msgspec.DecodeError as error:
        raise InvalidInputError(
            "stdin holds no hook's input", expected="a JSON object with session_id, cwd, prompt …", found=str(error)
        ) from error


def profile_of(directory: Path) -> str:
    """Return the profile of the project that a directory is in: its name, and a mark that tells it from namesakes."""
    here = directory.resolve()
    root = next((one for one in (here, *here.parents) if (one / ".git").exists()), here)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", root.name).strip("-")[:_NAME_CHARS] or "project"
    return f"{name}-{sha256(str(root).encode(errors='surrogateescape')).hexdigest()[:_MARK_CHARS]}"
