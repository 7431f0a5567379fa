"""Transcripts of a coding agent: what the two said is kept, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateways.hooks.payload import profile_of, read_payload
from gateways.hooks.transcript import read_transcript
from umbriel import InvalidInputError


def user(content: object, **more: Any) -> dict[str, Any]:
    """A line of the user's."""
    return {"type": "user", "uuid": "u", "message": {"role": "user", "content": content}, **more}


def read(tmp_path: Path, *lines: object) -> list[str]:
    """What is kept of these lines."""
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return [message.content for message in read_transcript(path)]


def test_words_are_kept_with_who_and_when(tmp_path: Path) -> None:
    """Text and text blocks, under the line's own id and time."""
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(user("Hello", timestamp="2026-11-01T10:00:00.000Z")), "utf-8")
    (message,) = read_transcript(path)
    assert (message.role, message.content, message.id) == ("user", "Hello", "u")
    assert message.at is not None
    assert message.at.isoformat() == "2026-11-01T10:00:00+00:00"


@pytest.mark.parametrize(
    "line",
    [
        user([{"type": "tool_result", "tool_use_id": "t", "content": "secret output"}]),
        user("Hello", isMeta=True),
        user("Hello", isSidechain=True),
        user("Summary of before", isCompactSummary=True),
        user("<command-name>/clear</command-name>"),
        user("<local-command-stdout>done</local-command-stdout>"),
        user("  "),
        user(None),
        user({"odd": 1}),
        {"type": "summary", "summary": "A title"},
        {"type": "user"},
        {"type": "user", "message": "bare"},
        '{"type": "user", "message": {"role": "us',
        "[]",
        "7",
    ],
)
def test_everything_else_is_left_out(tmp_path: Path, line: object) -> None:
    """Tools, subagents, commands, summaries, and lines that are not written to their end; the rest is read."""
    assert read(tmp_path, user("before"), line, user("after")) == ["before", "after"]


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    """One clear error."""
    with pytest.raises(InvalidInputError, match="cannot read the transcript"):
        read_transcript(tmp_path / "none.jsonl")


def test_an_empty_input_is_an_empty_payload() -> None:
    """An agent may hand over nothing, and more than is known."""
    assert read_payload(b" \n").session_id == ""
    assert read_payload(b'{"session_id": "s", "permission_mode": "plan"}').session_id == "s"


def test_a_project_is_its_repository(tmp_path: Path) -> None:
    """Folders inside share a profile; what a profile may not be named is folded away, and namesakes differ."""
    root = tmp_path / "größe & co"
    (root / "a" / "b").mkdir(parents=True)
    (root / ".git").mkdir()
    assert profile_of(root / "a" / "b") == profile_of(root)
    assert profile_of(root).startswith("gr-e-co-")
    assert profile_of(root) != profile_of(root.parent)
