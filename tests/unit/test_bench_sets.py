"""BEAM and LongMemEval: how their files become conversations and questions, and what is wrong with bad ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from domain.errors import InvalidInputError
from gateways.bench import beam, longmemeval
from gateways.bench.report import make_report
from gateways.bench.run import Answer, Measured
from gateways.importers import read_conversations


def beam_chat(**more: Any) -> list[dict[str, Any]]:
    """A chat of two batches; the second message has the day."""
    first = [{"role": "user", "id": 0, "content": "Hello ->-> 1,1"}, {"role": "assistant", "id": 1, "content": "Hi"}]
    second = {"role": "user", "id": 2, "content": "I moved.", "time_anchor": "March-15-2024", **more}
    return [{"batch_number": 1, "turns": [first]}, {"batch_number": 2, "turns": [[second]]}]


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """A folder of one chat with its questions."""
    folder = tmp_path / "beam" / "7"
    folder.mkdir(parents=True)
    (folder / "chat.json").write_text(json.dumps(beam_chat()))
    questions = {
        "knowledge_update": [{"question": "Where?", "source_chat_ids": {"first": [2], "second": [[0, 99]]}}],
        "abstention": [{"question": "Why?"}],
    }
    (folder / "probing_questions.json").write_text(json.dumps(questions))
    return tmp_path / "beam"


def haystack(**more: Any) -> dict[str, Any]:
    """An item of two sessions, one of them twice."""
    said = [{"role": "user", "content": "I studied law."}, {"role": "assistant", "content": ""}]
    return {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "What did I study?",
        "answer_session_ids": ["a"],
        "haystack_dates": ["2023/07/12 (Wed) 10:14", "2023/08/02 (Wed) 05:58", "2023/08/02 (Wed) 05:58"],
        "haystack_session_ids": ["a", "b", "b"],
        "haystack_sessions": [said, said, said],
        **more,
    }


def written(path: Path, value: object) -> Path:
    """A file with this JSON."""
    path.write_text(json.dumps(value))
    return path


def test_a_beam_chat_is_sessions_with_ids_and_days(chats: Path) -> None:
    """Batches are sessions, the set's own marks are no content, and the last anchor dates what follows."""
    first, second = read_conversations(chats / "7" / "chat.json")
    assert [(one.id, one.role, one.content, one.at) for one in first.messages] == [
        ("0", "user", "Hello", None),
        ("1", "assistant", "Hi", None),
    ]
    assert (second.session, second.messages[0].at) == ("batch_2", datetime(2024, 3, 15, tzinfo=UTC))


def test_beam_questions_have_the_messages_they_rest_on(chats: Path) -> None:
    """Evidence is found however deep it lies; a question without any is counted and left out."""
    (sample,) = beam.read_samples(chats)
    assert [(one.category, one.evidence) for one in sample.questions] == [("knowledge_update", ("2", "0"))]
    assert (sample.name, sample.skipped, sample.size) == ("beam-7", 1, 3)


def test_longmemeval_sessions_are_the_evidence(tmp_path: Path) -> None:
    """A session that is there twice is one, empty messages are none, and several questions share one haystack."""
    path = written(tmp_path / "set.json", [haystack()])
    (sample,) = longmemeval.read_samples(path)
    assert [one.session for one in sample.sessions] == ["a", "b"]
    assert [(one.id, one.at) for one in sample.sessions[0].messages] == [
        ("a:0", datetime(2023, 7, 12, 10, 14, tzinfo=UTC))
    ]
    assert [(one.text, one.sessions) for one in sample.questions] == [("What did I study?", ("a",))]
    several = haystack(questions=["One?", "Two?", "Three?"], answer_session_ids=[["a", "b"], ["b"], ["gone"]])
    (sample,) = longmemeval.read_samples(written(path, [several]))
    assert [(one.text, one.sessions) for one in sample.questions] == [("One?", ("a", "b")), ("Two?", ("b",))]
    assert sample.skipped == 1


def test_a_set_of_sessions_has_no_turns_to_score(tmp_path: Path) -> None:
    """Its report has one total, of sessions."""
    (sample,) = samples = longmemeval.read_samples(written(tmp_path / "set.json", [haystack()]))
    answer = Answer(
        question=sample.questions[0], turns=("b:0", "a:0"), sessions=("b", "a"), evidence_sessions=("a",), seconds=0.01
    )
    run = Measured(name="q1", messages=2, recorded=2, index_seconds=1.0, answers=(answer,))
    report = make_report("longmemeval", tmp_path / "set.json", samples, [run], "0")
    assert report.turns == []
    assert report.total("turns", adversarial=False) is None
    assert [(group.name, group.scores["MRR"]) for group in report.sessions] == [
        ("single-session-user", 50.0),
        ("total", 50.0),
    ]


@pytest.mark.parametrize(
    "value,line",
    [
        (beam_chat(content=None), "a message without text"),
        (beam_chat(time_anchor="yesterday"), "not a day"),
        (beam_chat(role="narrator"), "unknown role"),
        ([*beam_chat(), {"batch": 3}], "not a BEAM batch"),
        ([haystack(haystack_dates=[])], "haystack_dates does not fit"),
        ([haystack(haystack_dates=["x", "y", "z"])], "not a session's time"),
        ([haystack(haystack_sessions=[1, 2, 3])], "not a session"),
        ([haystack(), {"question_id": "q2"}], "not a LongMemEval item"),
    ],
)
def test_a_bad_file_says_what_is_wrong(tmp_path: Path, value: object, line: str) -> None:
    """One error with the line of the file, before anything is written."""
    with pytest.raises(InvalidInputError, match=line) as raised:
        read_conversations(written(tmp_path / "bad.json", value))
    assert "bad.json, line 1" in raised.value.message


def test_folders_and_files_without_questions(tmp_path: Path, chats: Path) -> None:
    """What is no benchmark is refused by name."""
    with pytest.raises(InvalidInputError, match="no BEAM chats"):
        beam.read_samples(tmp_path / "nothing")
    (chats / "7" / "probing_questions.json").write_text("[]")
    with pytest.raises(InvalidInputError, match="no BEAM questions"):
        beam.read_samples(chats)
    item = haystack(questions=["One?"], answer_session_ids=[])
    with pytest.raises(InvalidInputError, match="no LongMemEval items"):
        longmemeval.read_samples(written(tmp_path / "set.json", [item]))
