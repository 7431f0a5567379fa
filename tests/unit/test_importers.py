"""Importers: what each kind of file becomes, and what a bad one is told."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInputError
from gateways.importers import Conversation, read_conversations
from gateways.importers.conversation import as_time, split_long
from gateways.importers.locate import line_of
from umbriel import Message

LOCOMO = [
    {
        "sample_id": "talk-1",
        "qa": [],
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_2_date_time": "12:05 am on 1 June, 2024",
            "session_10_date_time": "1:56 pm on 8 May, 2025",
            "session_11_date_time": "9:00 am on 9 May, 2025",
            "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "Later."}],
            "session_2": [
                {"speaker": "Ada", "dia_id": "D2:1", "text": "I moved to Porto."},
                {"speaker": "Ben", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a cat on a roof"},
            ],
        },
    }
]


def write(tmp_path: Path, content: object, name: str = "file.json") -> Path:
    """Write JSON (or text as it is) and return the path."""
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return path


def test_locomo_keeps_sessions_speakers_ids_times_and_photos(tmp_path: Path) -> None:
    """Each session is a conversation, in order of its number, with the file's own names and times."""
    first, second = read_conversations(write(tmp_path, LOCOMO))
    assert (first.profile_hint, first.session, second.session) == ("talk-1", "session_2", "session_10")
    assert first.messages == [
        Message(
            role="user", content="I moved to Porto.", id="D2:1", name="Ada", at=datetime(2024, 6, 1, 0, 5, tzinfo=UTC)
        ),
        Message(
            role="assistant",
            content="Look! [shared a photo: a cat on a roof]",
            id="D2:2",
            name="Ben",
            at=datetime(2024, 6, 1, 0, 5, tzinfo=UTC),
        ),
    ]
    assert second.messages[0].at == datetime(2025, 5, 8, 13, 56, tzinfo=UTC)


def test_the_real_locomo_file_is_read_whole() -> None:
    """Ten conversations, 272 sessions, 5,882 turns, each turn with its id, name and time."""
    path = Path(__file__).parents[3] / "shared" / "data" / "locomo" / "locomo10.json"
    if not path.exists():
        pytest.skip(f"NOT TESTED: the evaluation data is missing: {path}")
    found = read_conversations(path)
    messages = [message for conversation in found for message in conversation.messages]
    assert len({conversation.profile_hint for conversation in found}) == 10
    assert (len(found), len(messages)) == (272, 5882)
    assert all(message.id and message.name and message.at for message in messages)


HELLO = {"role": "user", "content": "Hello"}
BYE = {"role": "assistant", "content": "Bye"}


@pytest.mark.parametrize(
    "document, sessions",
    [
        ([HELLO, BYE], [""]),
        ({"messages": [HELLO, BYE]}, [""]),
        ({"session": "s1", "messages": [HELLO, BYE]}, ["s1"]),
        ([{"session": "s1", "messages": [HELLO]}, {"session_id": "s2", "messages": [BYE]}], ["s1", "s2"]),
        ([[HELLO, BYE], [HELLO]], ["", ""]),
        ([{**HELLO, "session": "s1"}, {**HELLO, "session": "s2"}, {**BYE, "session": "s1"}], ["s1", "s2"]),
    ],
)
def test_chat_json_in_every_usual_shape(tmp_path: Path, document: object, sessions: list[str]) -> None:
    """Messages, a conversation, or a list of either; a session named by a message groups it."""
    found = read_conversations(write(tmp_path, document))
    assert [conversation.session for conversation in found] == sessions
    assert found[0].messages[0] == Message(role="user", content="Hello")


def test_json_lines_hold_messages_or_conversations(tmp_path: Path) -> None:
    """One message a line is one conversation; a conversation a line is itself; blank lines say nothing."""
    lines = "\n\n".join(json.dumps(line) for line in (HELLO, {"session": "s", "messages": [BYE]}, BYE))
    for name in ("file.jsonl", "file.json"):
        found = read_conversations(write(tmp_path, lines + "\n", name))
        assert [(one.session, len(one.messages)) for one in found] == [("s", 1), ("", 2)]


def test_content_may_be_null_or_parts(tmp_path: Path) -> None:
    """Text parts are joined, pictures left out, and messages that say nothing are counted as skipped."""
    document = [
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url"}, "this"]},
        {"role": "assistant", "content": "  "},
    ]
    assert read_conversations(write(tmp_path, document)) == [
        Conversation(
            messages=[Message(role="user", content="See\nthis")],
            skipped={"without text": 2},
            left_out={"image_url": 1},
        )
    ]


@pytest.mark.parametrize(
    "value", ["2024-05-01T10:00:00Z", "2024-05-01T12:00:00+02:00", "2024-05-01 10:00", 1714557600, 1714557600000.0]
)
@pytest.mark.parametrize("field", ["at", "timestamp", "created_at", "time"])
def test_times_in_every_usual_form(tmp_path: Path, field: str, value: object) -> None:
    """ISO 8601 with or without a zone (UTC then), epoch seconds and milliseconds, under the usual names."""
    (found,) = read_conversations(write(tmp_path, [{**HELLO, field: value, "id": 7, "name": "Ada"}]))
    assert found.messages == [
        Message(role="user", content="Hello", id="7", name="Ada", at=datetime(2024, 5, 1, 10, tzinfo=UTC))
    ]


def test_epoch_text_is_a_time() -> None:
    """Some exports write epoch numbers as text."""
    assert as_time("1714557600.5") == datetime(2024, 5, 1, 10, 0, 0, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "name, text, line, complaint",
    [
        ("a.jsonl", '{"role": "user", "content": "x"}\n{"role": "user", "content": }\n', 2, "not JSON"),
        ("a.jsonl", '{"role": "user", "content": "x"}\n\n{"role": "dog", "content": "x"}\n', 3, "unknown role"),
        ("a.jsonl", '{"role": "user", "content": "x", "at": "soon"}\n', 1, "not a time"),
        ("a.jsonl", "7\n", 1, "neither a message nor a conversation"),
        ("a.json", '[\n {"role": "user",\n  "content": "x"},\n {"content": "y"}\n]', 4, "neither a message"),
        ("a.json", '{\n "messages": [\n  {"role": "user", "content": 3}\n ]\n}', 3, "content is not text"),
        ("a.json", '{\n "messages": [\n  {"role": "user", "content": "\\ud800"}\n ]\n}', 3, "lone surrogate"),
        ("a.json", '{\n "messages": [\n', 3, "not JSON"),
    ],
)
def test_a_bad_file_is_told_where_and_what(tmp_path: Path, name: str, text: str, line: int, complaint: str) -> None:
    """The error names file, line, what was expected and what was found."""
    path = write(tmp_path, text, name)
    with pytest.raises(InvalidInputError, match=complaint) as caught:
        read_conversations(path)
    assert f"{path}, line {line}: " in str(caught.value)
    assert caught.value.expected
    assert caught.value.found


def test_a_bad_locomo_time_is_told_where(tmp_path: Path) -> None:
    """LoCoMo errors point into the file too."""
    sample = json.loads(json.dumps(LOCOMO))
    sample[0]["conversation"]["session_2_date_time"] = "yesterday"
    path = write(tmp_path, sample)
    line = next(n for n, text in enumerate(path.read_text().splitlines(), start=1) if "yesterday" in text)
    with pytest.raises(InvalidInputError, match=rf"line {line}: not a session's time"):
        read_conversations(path)


def test_files_that_hold_nothing_are_refused(tmp_path: Path) -> None:
    """Missing, empty, not UTF-8, and without any text: one clear error each."""
    for content in ("", "[]", '[{"role": "user", "content": null}]'):
        with pytest.raises(InvalidInputError):
            read_conversations(write(tmp_path, content))
    with pytest.raises(InvalidInputError, match="cannot read"):
        read_conversations(tmp_path / "missing.json")
    (tmp_path / "latin.json").write_bytes(b'["\n\xe9"]')
    with pytest.raises(InvalidInputError, match="line 2: not UTF-8"):
        read_conversations(tmp_path / "latin.json")


@given(text=st.text(alphabet="aé😀 \n", min_size=1, max_size=300), max_bytes=st.integers(4, 80))
def test_parts_of_a_long_message_join_to_the_whole(text: str, max_bytes: int) -> None:
    """No character is cut, nothing but white space is lost, and the ids link the parts."""
    parts = list(split_long([Message(role="user", content=text, id="m")], max_bytes=max_bytes))
    assert all(len(part.content.encode()) <= max_bytes for part in parts)
    assert "".join("".join(part.content for part in parts).split()) == "".join(text.split())
    if len(parts) > 1:
        assert [part.id for part in parts] == [f"m#{number}/{len(parts)}" for number in range(1, len(parts) + 1)]


def test_a_long_message_without_an_id_gets_a_stable_one() -> None:
    """A second import makes the same ids, and an equal message later in the call makes others."""
    long = Message(role="user", content="word " * 20)
    first, again = (list(split_long([long, long], max_bytes=60)) for _ in range(2))
    assert first == again
    assert len({part.id for part in first}) == len(first) == 4


def test_a_line_is_found_for_a_path() -> None:
    """The locator follows keys and indexes and stops where the path ends."""
    text = '{\n"a": [1,\n {"b": "x"},\n 3],\n"c": {}\n}'
    assert [line_of(text, path) for path in ((), ("a",), ("a", 1, "b"), ("a", 2), ("c", "z"))] == [1, 2, 3, 4, 5]
