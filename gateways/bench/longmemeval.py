"""LongMemEval as a benchmark: the sessions that hold the answer are the evidence."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from domain.errors import InvalidInputError
from gateways.bench.samples import Question, Sample
from gateways.importers import Conversation, read_conversations

__all__ = ["read_samples"]


class _Item(msgspec.Struct, frozen=True):
    """One item of the set, or several questions about one haystack."""

    question_id: str
    question_type: str
    answer_session_ids: list[str | list[str]]
    question: str = ""
    questions: list[str] = []

    def asked(self) -> list[tuple[str, list[str]]]:
        """Return each question with the sessions that answer it."""
        if self.questions:
            answers = [one for one in self.answer_session_ids if isinstance(one, list)]
            return list(zip(self.questions, answers, strict=True))
        return [(self.question, [one for one in self.answer_session_ids if isinstance(one, str)])]


def read_samples(path: Path, *, limit: int | None = None) -> list[Sample]:
    """Return the first ``limit`` haystacks of a file. Raises InvalidInputError where it is not LongMemEval."""
    sessions: dict[str, list[Conversation]] = {}
    for one in read_conversations(path):
        sessions.setdefault(one.profile_hint, []).append(one)
    return [_sample(item, sessions.get(item.question_id, [])) for item in _read_items(path)[:limit]]


def _read_items(path: Path) -> list[_Item]:
    try:
        items = msgspec.convert(json.loads(path.read_text(encoding="utf-8-sig")), type=list[_Item])
        for item in items:
            item.asked()
    except (json.JSONDecodeError, msgspec.ValidationError, ValueError) as error:
        raise InvalidInputError(
            f"{path}: no LongMemEval items",
            expected="question_id, question and answer_session_ids",
            found=str(error),
        ) from error
    return items


def _sample(item: _Item, sessions: list[Conversation]) -> Sample:
    known = {one.session for one in sessions}
    questions = [
        Question(text=text, category=item.question_type, sessions=found)
        for text, evidence in item.asked()
        if (found := tuple(dict.fromkeys(one for one in evidence if one in known)))
    ]
    return Sample(
        name=item.question_id,
        sessions=tuple(sessions),
        questions=tuple(questions),
        skipped=len(item.asked()) - len(questions),
    )
