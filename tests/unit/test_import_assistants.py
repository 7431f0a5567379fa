"""Exports of talks with assistants: ChatGPT, Claude, and lists of messages whose content is blocks."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from domain.errors import InvalidInputError
from gateways.importers import Conversation, Hints, read_conversations, read_export
from umbriel import Message

AT = 1714557600.0
TEN = datetime(2024, 5, 1, 10, tzinfo=UTC)


def node(key: str, parent: str | None, role: str, *parts: object, **fields: object) -> dict[str, Any]:
    """Return a node of ChatGPT's tree with a text message."""
    content = {"content_type": "text", "parts": list(parts)}
    message = {"id": f"m-{key}", "author": {"role": role}, "create_time": AT, "content": content, **fields}
    return {"id": key, "parent": parent, "children": [], "message": message}


def tree(*nodes: dict[str, Any], current: str | None = None, **fields: object) -> dict[str, Any]:
    """Return a conversation of ChatGPT's export with a root and these nodes."""
    mapping = {one["id"]: deepcopy(one) for one in ({"id": "root", "parent": None, "children": []}, *nodes)}
    for one in nodes:
        mapping[one["parent"]]["children"].append(one["id"])
    named = {"current_node": current} if current else {}
    return {"conversation_id": "c-1", "title": "Boats", "create_time": AT, "mapping": mapping, **named, **fields}


BOATS = tree(
    node("s", "root", "system", "Be kind."),
    node("h", "s", "user", "I live in Porto.", metadata={"is_visually_hidden_from_conversation": True}),
    node("q", "h", "user", "Which boat should I buy?"),
    node("old", "q", "assistant", "A raft."),
    node("call", "q", "assistant", "search()", recipient="browser"),
    node("out", "call", "tool", "seven boats"),
    node(
        "think", "out", "assistant", content={"content_type": "thoughts", "thoughts": []}, metadata={}, create_time=None
    ),
    node("a", "think", "assistant", "A dinghy\ue200cite\ue202turn0\ue201.", create_time=None),
    node(
        "pic",
        "a",
        "user",
        content={"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "Like this?"]},
    ),
    node("e", "pic", "assistant", ""),
    current="e",
)


def write(tmp_path: Path, content: object, name: str = "conversations.json") -> Path:
    """Write JSON, or a line for each of a tuple, and return the path."""
    path = tmp_path / name
    lines = [json.dumps(one) for one in content] if isinstance(content, tuple) else [json.dumps(content)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def told(path: Path) -> list[tuple[str, str]]:
    """Return role and text of every message of a file."""
    return [(message.role, message.content) for one in read_conversations(path) for message in one.messages]


def test_chatgpt_is_read_along_its_current_branch(tmp_path: Path) -> None:
    """What was answered before and asked again is not read; ids are the export's; what is skipped is counted."""
    (found,) = read_conversations(write(tmp_path, [BOATS]))
    assert found == Conversation(
        session="c-1",
        channel="chatgpt",
        messages=[
            Message(role="user", content="Which boat should I buy?", id="m-q", at=TEN),
            Message(role="assistant", content="A dinghy.", id="m-a", at=TEN),
            Message(role="user", content="Like this?", id="m-pic", at=TEN),
        ],
        skipped={"system": 1, "hidden": 1, "tool": 2, "reasoning": 1, "without text": 1},
        left_out={"image_asset_pointer": 1},
    )


def test_without_a_current_node_the_newest_branch_is_read(tmp_path: Path) -> None:
    """The last child of each node is the one that was shown last."""
    talk = tree(node("q", "root", "user", "Hi"), node("a", "q", "assistant", "Old"), node("b", "q", "assistant", "New"))
    assert told(write(tmp_path, [talk])) == [("user", "Hi"), ("assistant", "New")]


def test_a_spoken_message_keeps_its_words(tmp_path: Path) -> None:
    """A part that is a transcript is text, the sound beside it is not."""
    parts = [{"content_type": "audio_transcription", "text": "Good morning"}, {"content_type": "audio_asset_pointer"}]
    talk = tree(node("q", "root", "user", content={"content_type": "multimodal_text", "parts": parts}), current="q")
    found = read_export(write(tmp_path, [talk]))
    assert [one.messages[0].content for one in found] == ["Good morning"]
    assert found.left_out == {"audio_asset_pointer": 1}


def broken(path: str, value: object) -> dict[str, Any]:
    """Return the boats with something else at a path of keys."""
    talk: Any = deepcopy(BOATS)
    *steps, last = path.split("/")
    at = talk
    for step in steps:
        at = at[step]
    at[last] = value
    return talk  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "path, value, complaint",
    [
        ("mapping/q", 7, r"not a node in conversations\[1\]\.mapping\.q"),
        ("mapping/q/parent", "gone", r"a parent that is not there in conversations\[1\]\.mapping\.q\.parent"),
        ("mapping/s/parent", "e", r"parents in a circle in conversations\[1\]\.mapping\.e"),
        ("mapping/q/message/author", None, r"not an author in conversations\[1\]\.mapping\.q\.message"),
        ("mapping/q/message/create_time", "soon", r"not a time in conversations\[1\]\.mapping\.q\.message"),
        ("mapping/q/message/content", "text", r"not a content in conversations\[1\]\.mapping\.q\.message"),
        ("current_node", "gone", r"a current node that is not there in conversations\[1\]\.current_node"),
        ("mapping", [], r"not a ChatGPT conversation in conversations\[1\]"),
    ],
)
def test_a_broken_conversation_is_told_its_place(tmp_path: Path, path: str, value: object, complaint: str) -> None:
    """The first conversation is sound, and yet nothing is taken: the error names the place in the second."""
    with pytest.raises(InvalidInputError, match=complaint):
        read_export(write(tmp_path, [BOATS, broken(path, value)]))


def test_a_broken_conversation_can_be_left_out_as_a_whole(tmp_path: Path) -> None:
    """Nothing of it is read, also not what stood before the broken place; it is named among what is skipped."""
    found = read_export(write(tmp_path, [broken("mapping/e/message", 7), BOATS]), Hints(skip_broken=True))
    assert [one.session for one in found] == ["c-1"]
    assert found.messages == 3
    assert found.skipped["broken: not a message in [0].mapping.e.message"] == 1
    with pytest.raises(InvalidInputError, match="no messages"):
        read_export(write(tmp_path, [broken("mapping/e/message", 7)]), Hints(skip_broken=True))


CLAUDE = {
    "uuid": "c-2",
    "name": "Boats",
    "chat_messages": [
        {"uuid": "m-1", "sender": "human", "text": "I bought a dinghy.", "created_at": "2024-05-01T10:00:00.000000Z"},
        {
            "uuid": "m-2",
            "sender": "assistant",
            "text": "This block is not supported.\nA fine boat.",
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "text", "text": "A fine"},
                {"type": "tool_use", "name": "search", "input": {}},
                {"type": "tool_result", "content": [{"type": "text", "text": "seven boats"}]},
                {"type": "text", "text": "boat."},
            ],
            "created_at": "2024-05-01T12:00:00+02:00",
        },
        {"uuid": "m-3", "sender": "human", "text": "", "content": [], "files": [{"file_name": "boat.png"}]},
    ],
}


def test_claude_keeps_ids_times_and_the_text_of_blocks(tmp_path: Path) -> None:
    """Blocks of text go before the plain text, which tells of what cannot be shown; other blocks are counted."""
    (found,) = read_conversations(write(tmp_path, [CLAUDE]))
    assert found == Conversation(
        session="c-2",
        channel="claude",
        messages=[
            Message(role="user", content="I bought a dinghy.", id="m-1", at=TEN),
            Message(role="assistant", content="A fine\nboat.", id="m-2", at=TEN),
        ],
        skipped={"without text": 1},
        left_out={"thinking": 1, "tool_use": 1, "tool_result": 1, "files": 1},
    )


@pytest.mark.parametrize(
    "message, complaint",
    [
        (7, r"not a message in conversations\[0\]\.chat_messages\[0\]"),
        ({"sender": None, "text": "x"}, r"a message without a sender in conversations\[0\]\.chat_messages\[0\]"),
        ({"sender": "dog", "text": "x"}, r"unknown role in conversations\[0\]\.chat_messages\[0\]"),
        ({"sender": "human", "text": 7}, r"content is not text in conversations\[0\]\.chat_messages\[0\]"),
    ],
)
def test_a_broken_claude_message_is_told_its_place(tmp_path: Path, message: object, complaint: str) -> None:
    """The place is the conversation and the message in it."""
    with pytest.raises(InvalidInputError, match=complaint):
        read_export(write(tmp_path, [{**CLAUDE, "chat_messages": [message]}]))


ANTHROPIC = {
    "system": "Be kind.",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "How warm is it?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "21 degrees"}]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Warm."}, {"type": "text", "text": "Warm."}],
        },
    ],
}
RESPONSES = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How warm is it?"}]},
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "call_id": "t1", "name": "weather", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "t1", "output": "21 degrees"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Warm."}]},
]
COMPLETIONS = {
    "messages": [
        {"role": "user", "content": "How warm is it?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t1"}]},
        {"role": "tool", "tool_call_id": "t1", "content": "21 degrees"},
        {"role": "assistant", "content": [{"type": "text", "text": "Warm."}]},
    ]
}


@pytest.mark.parametrize(
    "document, skipped",
    [
        (ANTHROPIC, {"tool call": 1}),
        (RESPONSES, {"reasoning": 1, "function_call": 1}),
        ([RESPONSES], {"reasoning": 1, "function_call": 1}),
        (COMPLETIONS, {"tool call": 1}),
        ((COMPLETIONS, COMPLETIONS), {"tool call": 2}),
    ],
)
def test_calls_are_skipped_and_what_tools_answered_is_the_tools(
    tmp_path: Path, document: object, skipped: dict[str, int]
) -> None:
    """In each of the usual spellings, as one document, a list of conversations or one a line."""
    found = read_export(write(tmp_path, document))
    talk = [("user", "How warm is it?"), ("tool", "21 degrees"), ("assistant", "Warm.")]
    assert [[(one.role, one.content) for one in talk.messages] for talk in found] == [talk] * found.conversations
    assert found.skipped == skipped


@pytest.mark.parametrize("packed", [False, True])
def test_an_export_of_any_length_takes_little_memory(tmp_path: Path, *, packed: bool) -> None:
    """Of a list that is one line of many megabytes no more is held than its largest conversation needs."""
    long = {**CLAUDE, "chat_messages": [{"uuid": "m", "sender": "human", "text": "boats " * 10_000}]}
    path = write(tmp_path, [long] * 200)
    if packed:
        with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(path, "conversations.json")
        path = tmp_path / "export.zip"
    tracemalloc.start()
    try:
        assert read_export(path).messages == 200 * 2
        assert tracemalloc.get_traced_memory()[1] < 5_000_000 < (tmp_path / "conversations.json").stat().st_size
    finally:
        tracemalloc.stop()


def test_a_list_is_read_piece_by_piece(tmp_path: Path) -> None:
    """A list of many megabytes gives its first conversation before the end is looked at."""
    path = write(tmp_path, [CLAUDE] * 3)
    text = path.read_text()
    path.write_text(text[:-1] + ", " + json.dumps({**CLAUDE, "name": "x" * 3_000_000}) + ", 7]")
    with pytest.raises(InvalidInputError, match=r"not a Claude conversation in conversations\[4\]"):
        read_export(path)
    path.write_text(text[:-1] + " , {]")
    with pytest.raises(InvalidInputError, match="line 1: not JSON"):
        read_export(path)


@pytest.mark.parametrize(
    "content", ['{"a": 1}', '[{"a": 1}]', '["a"]', "7", "Dear diary,\nit rains.", '{"messages": 7}']
)
def test_a_file_of_no_known_shape_is_told_which_are(tmp_path: Path, content: str) -> None:
    """One error lists what can be read."""
    path = tmp_path / "file.json" if content[0] in "[{7" else tmp_path / "file.txt"
    path.write_text(content)
    with pytest.raises(InvalidInputError) as caught:
        read_export(path)
    assert all(
        name in caught.value.expected for name in ("ChatGPT", "Claude", "Slack", "Telegram", "WhatsApp", "LoCoMo")
    )
