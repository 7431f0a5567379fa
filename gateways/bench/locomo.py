"""LoCoMo as a benchmark: the conversations by the importer, the questions with their evidence cleaned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from domain.errors import InvalidInputError
from gateways.bench.samples import Observation, Question, Sample, label_of
from gateways.importers import Conversation, read_conversations

__all__ = ["dialogue_ids", "read_observations", "read_samples"]

# "D8:6; D9:17" names two turns, "D:11:26" and "D30:05" one each (D11:26, D30:5), "D" none.
_DIALOGUE_ID = re.compile(r"D:?\s*([0-9]{1,6})\s*:\s*([0-9]{1,6})", re.IGNORECASE)


class _Asked(msgspec.Struct, frozen=True):
    question: str
    category: int | str
    evidence: list[str] = []


class _Dialogue(msgspec.Struct, frozen=True):
    sample_id: str
    qa: list[_Asked]
    observation: dict[str, dict[str, list[tuple[str, str | list[str]]]]] = {}


def read_samples(path: Path, *, limit: int | None = None) -> list[Sample]:
    """Return the first ``limit`` samples (all when None) of a LoCoMo file, in its order.

    Raises InvalidInputError where the file is not LoCoMo, or two samples have one name.
    """
    sessions: dict[str, list[Conversation]] = {}
    for one in read_conversations(path):
        sessions.setdefault(one.profile_hint, []).append(one)
    dialogues = _read_questions(path)
    if len({one.sample_id for one in dialogues}) != len(dialogues):
        raise InvalidInputError(f"{path}: two samples of one name", expected="one sample_id each", found="a repetition")
    return [_sample(one, sessions.get(one.sample_id, [])) for one in dialogues[:limit]]


def read_observations(path: Path, *, limit: int | None = None) -> list[Sample]:
    """Return the samples with the statements that the file itself draws from each conversation, in place of its turns.

    A statement that names no turn of the conversation is left out.
    """
    noted = {one.sample_id: one.observation for one in _read_questions(path)}
    found = []
    for sample in read_samples(path, limit=limit):
        known = {label_of(message.id) for session in sample.sessions for message in session.messages}
        observations = [
            Observation(text=text, turns=turns)
            for by_speaker in noted[sample.name].values()
            for entries in by_speaker.values()
            for text, entry in entries
            if (turns := _evidence([entry] if isinstance(entry, str) else entry, known, []))
        ]
        found.append(msgspec.structs.replace(sample, observations=tuple(observations)))
    return found


def dialogue_ids(entry: str) -> list[str]:
    """Return the turns that one entry of evidence names, in the file's own spelling of turns."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _DIALOGUE_ID.findall(entry)]


def _read_questions(path: Path) -> list[_Dialogue]:
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
        return msgspec.convert(document if isinstance(document, list) else [document], type=list[_Dialogue])
    except (json.JSONDecodeError, msgspec.ValidationError) as error:
        raise InvalidInputError(
            f"{path}: no LoCoMo questions",
            expected="sample_id, and qa with question, category and evidence",
            found=str(error),
        ) from error


def _sample(dialogue: _Dialogue, sessions: list[Conversation]) -> Sample:
    known = {label_of(message.id) for session in sessions for message in session.messages}
    unresolved: list[str] = []
    questions = [
        Question(text=one.question, category=str(one.category), evidence=evidence)
        for one in dialogue.qa
        if (evidence := _evidence(one.evidence, known, unresolved))
    ]
    return Sample(
        name=dialogue.sample_id,
        sessions=tuple(sessions),
        questions=tuple(questions),
        skipped=len(dialogue.qa) - len(questions),
        unresolved=tuple(unresolved),
    )


def _evidence(entries: Iterable[str], known: set[str], unresolved: list[str]) -> tuple[str, ...]:
    """Return the known turns among the entries, each once; what names none is added to ``unresolved``."""
    found: dict[str, None] = {}
    for entry in entries:
        named = dialogue_ids(entry)
        unresolved.extend([entry] if not named else [turn for turn in named if turn not in known])
        found.update(dict.fromkeys(turn for turn in named if turn in known))
    return tuple(found)
