"""BEAM as a benchmark: one folder per chat, with ``chat.json`` and ``probing_questions.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from domain.errors import InvalidInputError
from gateways.bench.samples import Question, Sample, label_of
from gateways.importers import read_conversations

__all__ = ["read_samples"]

_CHAT = "chat.json"


class _Asked(msgspec.Struct, frozen=True):
    question: str
    source_chat_ids: Any = None


def read_samples(path: Path, *, limit: int | None = None) -> list[Sample]:
    """Return the first ``limit`` chats of a folder, in the order of their numbers.

    Raises InvalidInputError where there is no chat, or one has no questions.
    """
    folders = sorted((file.parent for file in path.glob(f"*/{_CHAT}")), key=_order)
    if not folders:
        raise InvalidInputError(f"{path}: no BEAM chats", expected=f"folders with {_CHAT}", found="none")
    return [_sample(folder) for folder in folders[:limit]]


def _order(folder: Path) -> tuple[int, str]:
    return (int(folder.name) if folder.name.isdecimal() else 0, folder.name)


def _sample(folder: Path) -> Sample:
    sessions = read_conversations(folder / _CHAT)
    known = {label_of(message.id) for session in sessions for message in session.messages}
    asked = _read_questions(folder / "probing_questions.json")
    questions = [
        Question(text=one.question, category=category, evidence=evidence)
        for category, entries in asked.items()
        for one in entries
        if (evidence := tuple(dict.fromkeys(id_ for id_ in _ids(one.source_chat_ids) if id_ in known)))
    ]
    return Sample(
        name=f"beam-{folder.name}",
        sessions=tuple(sessions),
        questions=tuple(questions),
        skipped=sum(map(len, asked.values())) - len(questions),
    )


def _read_questions(path: Path) -> dict[str, list[_Asked]]:
    try:
        return msgspec.convert(json.loads(path.read_text(encoding="utf-8-sig")), type=dict[str, list[_Asked]])
    except (OSError, json.JSONDecodeError, msgspec.ValidationError) as error:
        raise InvalidInputError(
            f"{path}: no BEAM questions", expected="questions by category", found=str(error)
        ) from error


def _ids(value: object) -> Iterator[str]:
    """Yield every message id of a value: a number, or lists and objects of them."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _ids(one)
    elif isinstance(value, list):
        for one in value:
            yield from _ids(one)
    elif isinstance(value, (int, str)) and not isinstance(value, bool):
        yield str(value)
