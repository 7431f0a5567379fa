"""Items of agents as messages and back: exactly, in parts that fit, with the words that they are found by."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.settings import Limits
from gateways.service.validate import check_ingest
from umbriel import InvalidInputError
from umbriel._agent_items import items_newest_first, items_oldest_first, messages_of, spoken
from umbriel.messages import SaidMessage
from umbriel.types import IngestRequest, Message

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["message", "function_call", "function_call_output", "reasoning", "x"]),
        "role": st.sampled_from(["user", "assistant", "developer", "tool"]),
        "content": JSON,
        "arguments": st.text(),
        "output": JSON,
        "summary": JSON,
        "unknown": JSON,
    },
)


def said(messages: Sequence[Message]) -> list[SaidMessage]:
    """Messages as they come back."""
    return [
        SaidMessage(
            id=f"m{at}",
            role=one.role,
            content=one.content,
            recorded_at=NOW,
            position=f"S.x:{at}",
            client_id=one.id,
            attachment=one.attachment,
        )
        for at, one in enumerate(messages)
    ]


@given(st.lists(ITEMS, max_size=6))
def test_items_come_back_byte_for_byte(items: list[dict[str, Any]]) -> None:
    """Whatever JSON they hold, in order, key order too; every message is one that the service takes."""
    messages = [one for item in items for one in messages_of(item)]
    if messages:
        check_ingest(IngestRequest(messages=messages), Limits())
    found = items_oldest_first(said(messages))
    assert [json.dumps(one.item) for one in found] == [json.dumps(item) for item in items]


@pytest.mark.parametrize(
    "item, parts",
    [
        ({"role": "user", "content": "a" * 100_000}, 4),
        ({"role": "user", "content": '記憶"\\' * 20_000}, 6),
        ({"role": "user", "content": [{"type": "input_image", "image_url": "data:;base64," + "A/+" * 200_000}]}, 3),
        ({"type": "function_call_output", "call_id": "c", "output": " " * 70_000 + "x"}, 3),
    ],
)
def test_a_large_item_is_several_messages(item: dict[str, Any], parts: int) -> None:
    """Each is within the limits; all words are there, and the item is whole again."""
    messages = messages_of(item)
    check_ingest(IngestRequest(messages=messages), Limits())
    assert len(messages) == parts
    (found,) = items_oldest_first(said(messages))
    assert found.item == item
    assert found.messages == tuple(f"m{n}" for n in range(parts))
    if isinstance(item.get("content"), str):
        assert "".join(one.content for one in messages) == item["content"]


def test_an_item_that_is_not_whole_is_not_there() -> None:
    """Without its first or another part, and between whole ones; parts that came in between do no harm."""
    one, two, three = (messages_of({"role": "user", "content": letter * 70_000}) for letter in "abc")
    kept = said([*one[:2], *two, one[2], *three[1:], *messages_of({"role": "user", "content": "d"})])
    assert [found.item["content"][0] for found in items_oldest_first(kept)] == ["a", "b", "d"]
    assert [found.item["content"][0] for found in items_oldest_first([kept[0], *kept[2:]])] == ["b", "d"]


def test_items_are_found_across_pages() -> None:
    """An item whose parts lie on two pages comes with the page that its first part is on."""
    messages = said(messages_of({"role": "user", "content": "a" * 70_000}))[::-1]
    kept: dict[str, Any] = {}
    assert list(items_newest_first(messages[:2], kept)) == []
    assert len(list(items_newest_first(messages[2:], kept))) == 1
    assert kept == {}


@pytest.mark.parametrize(
    "item, role, words",
    [
        ({"role": "user", "content": "Hi"}, "user", "Hi"),
        ({"role": "developer", "content": "Be brief"}, "system", "Be brief"),
        (
            {
                "role": "assistant",
                "type": "message",
                "content": [{"type": "output_text", "text": "Yes", "logprobs": []}],
            },
            "assistant",
            "Yes",
        ),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "No"}]}, "assistant", "No"),
        (
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "See"}, {"type": "input_image", "image_url": "x"}],
            },
            "user",
            "See\n[image]",
        ),
        ({"type": "function_call", "name": "look", "arguments": '{"q": 1}', "call_id": "1"}, "tool", 'look {"q": 1}'),
        ({"type": "function_call_output", "call_id": "1", "output": "42"}, "tool", "42"),
        ({"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}, "tool", "hm"),
        ({"type": "reasoning", "id": "r", "summary": []}, "tool", "[reasoning]"),
        ({"role": "user", "content": " "}, "user", "[message]"),
    ],
)
def test_an_item_is_found_by_its_words(item: dict[str, Any], role: str, words: str) -> None:
    """What people and models say is theirs; what tools do is a tool's."""
    assert spoken(item) == (role, words)


def test_what_was_said_by_other_ways_is_an_item() -> None:
    """Plain words of a user or an assistant are; a tool's are not, for no call of theirs is known."""
    plain = [Message(role="user", content="Hi"), Message(role="tool", content="42"), Message(role="user", content="Yo")]
    assert [one.item for one in items_oldest_first(said(plain))] == [
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": "Yo"},
    ]


def test_what_is_no_json_is_refused() -> None:
    """With what was wrong about it."""
    with pytest.raises(InvalidInputError, match="no JSON"):
        messages_of({"role": "user", "content": object()})
    loop: dict[str, Any] = {}
    loop["self"] = loop
    with pytest.raises(InvalidInputError, match="no JSON"):
        messages_of(loop)


def test_parts_are_sized_as_json_writes_them() -> None:
    """An item of quotes takes twice its size beside a message."""
    messages = messages_of({"role": "user", "content": '"' * 200_000})
    assert all(len(msgspec.json.encode(one.attachment)) <= Limits().attachment_bytes for one in messages)
