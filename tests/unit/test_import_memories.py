"""Exports of other memories: what is stated, what is said, what is not taken over, and where it is wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInputError
from gateways.importers import read_export
from gateways.importers.memories import MemoryExport, Statement, read_memories, source_of

MEM0: dict[str, Any] = {
    "id": "1225d4fd",
    "memory": "Ana moved to Porto",
    "hash": "978970b6",
    "metadata": {"topic": "home"},
    "categories": ["places"],
    "created_at": "2026-03-01T10:00:00.5+00:00",
    "updated_at": "2026-03-02T10:00:00+00:00",
    "user_id": "ana",
    "agent_id": "helper",
    "run_id": "run-1",
    "expiration_date": "2099-12-31",
    "score": None,
}
HOSTED = {"id": "01J", "type": "instruction", "summary": "Answer in French", "sessionId": "chat-1"}
EDGE: dict[str, Any] = {
    "uuid": "e1",
    "fact": "Ana works at Acme",
    "name": "WORKS_AT",
    "source_node_uuid": "n1",
    "target_node_uuid": "n2",
    "created_at": "2026-03-01T00:00:00Z",
    "valid_at": "2025-01-01T00:00:00Z",
    "invalid_at": "2026-02-01T00:00:00Z",
    "expired_at": "2026-03-01T00:00:00Z",
    "user_id": "ana",
}
THREAD: dict[str, Any] = {
    "session_id": "t1",
    "user_id": "ana",
    "messages": [
        {"uuid": "m1", "role": "Ana", "role_type": "user", "content": "Hello", "created_at": "2026-03-01T00:00:00Z"},
        {"uuid": "m2", "role": "", "role_type": "assistant", "content": "Hi!", "created_at": "2026-03-01T00:00:01Z"},
        {"uuid": "m3", "role": "", "role_type": "tool", "content": " ", "created_at": "2026-03-01T00:00:02Z"},
    ],
    "facts": [{"uuid": "f1", "fact": "Ana says hello", "created_at": "2026-03-01T00:00:00Z", "rating": 0.5}],
}


def wrote(tmp_path: Path, value: Any, name: str = "export.json") -> Path:
    """Write a file: a JSON document, or a line for each value."""
    lines = name.endswith("l")
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in value) if lines else json.dumps(value)
    (tmp_path / name).write_text(text, "utf-8")
    return tmp_path / name


def read(tmp_path: Path, source: str, value: Any, name: str = "export.json", contact: str = "") -> MemoryExport:
    """Read what a value is as a file."""
    return read_memories(wrote(tmp_path, value, name), source, contact)


@pytest.mark.parametrize(
    "shape", ["results", "list", "pages", "lines", "page lines"], ids=lambda shape: shape.replace(" ", "-")
)
def test_mem0_in_every_shape(tmp_path: Path, shape: str) -> None:
    """A result of get_all, the bare list of older versions, pages, and both by line: the same statement."""
    page = {"count": 1, "next": None, "previous": None, "results": [MEM0]}
    value: Any = {"results": {"results": [MEM0]}, "list": [MEM0], "pages": [page], "lines": [MEM0]}.get(shape, [page])
    found = read(tmp_path, "mem0", value, "x.jsonl" if "lines" in shape else "x.json")
    assert found.statements == [
        Statement(
            content="Ana moved to Porto",
            contact="ana",
            session="run-1",
            expires_at=datetime(2100, 1, 1, tzinfo=UTC),
            origin={
                "system": "mem0",
                "id": "1225d4fd",
                "hash": "978970b6",
                "metadata": {"topic": "home"},
                "categories": ["places"],
                "created_at": "2026-03-01T10:00:00.5+00:00",
                "updated_at": "2026-03-02T10:00:00+00:00",
                "agent_id": "helper",
            },
        )
    ]
    assert (found.broken, found.unknown, found.skipped) == ([], {}, {})


def test_mem0_keeps_what_it_does_not_know_and_no_words_of_before(tmp_path: Path) -> None:
    """An unknown field is named and kept; the history says what happened, and not what was said before."""
    events = [
        {"id": "h1", "event": "ADD", "old_memory": None, "new_memory": "Ana loves sushi", "created_at": "2026-03-01"},
        {"id": "h2", "event": "UPDATE", "old_memory": "Ana loves sushi", "new_memory": "x", "created_at": "2026-03-02"},
    ]
    found = read(tmp_path, "mem0", [{**MEM0, "history": events, "owner": "org-7"}])
    (one,) = found.statements
    assert one.origin["more"] == {"owner": "org-7"}
    assert [event["event"] for event in one.origin["history"]] == ["ADD", "UPDATE"]
    assert "sushi" not in json.dumps(one.origin)
    assert (found.unknown, found.dropped) == ({"owner": 1}, {"texts of before": 1})


def test_an_origin_is_no_larger_than_metadata(tmp_path: Path) -> None:
    """What has no room goes, and is named; the id and the times stay."""
    found = read(tmp_path, "mem0", [{**MEM0, "metadata": {"long": "x" * 5_000}}])
    (one,) = found.statements
    assert len(msgspec.json.encode({"origin": one.origin})) <= 4_096
    assert (one.origin["id"], "metadata" in one.origin) == ("1225d4fd", False)
    assert found.dropped == {"metadata": 1}


def test_the_hosted_service(tmp_path: Path) -> None:
    """Its answers as they are: a list leaves the content out; the kind is its type, whose it is says the caller."""
    value = {"success": True, "errors": [], "result": [HOSTED, {**HOSTED, "content": "Always answer in French"}]}
    first, second = read(tmp_path, "hosted", value, contact="ana").statements
    assert (first.content, first.kind, first.contact, first.session) == (
        "Answer in French",
        "instruction",
        "ana",
        "chat-1",
    )
    assert second.content == "Always answer in French"
    assert second.origin["summary"] == "Answer in French"


def test_facts_of_zep(tmp_path: Path) -> None:
    """When a fact held is when it holds; its own times, its nodes and its id are its origin; nodes are left out."""
    node = {"uuid": "n1", "name": "Ana", "labels": ["Person"], "summary": "Ana works at Acme"}
    found = read(tmp_path, "zep", {"edges": [EDGE], "nodes": [node]})
    (one,) = found.statements
    assert (one.content, one.contact) == ("Ana works at Acme", "ana")
    assert (one.valid_from, one.valid_to) == (datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))
    assert one.origin["id"] == "e1"
    assert one.origin["expired_at"] == "2026-03-01T00:00:00Z"
    assert found.skipped == {"summary of a node": 1}


def test_threads_of_zep(tmp_path: Path) -> None:
    """Messages are a conversation of the thread and its user, and its facts are that user's."""
    found = read(tmp_path, "zep", [THREAD, {"thread_id": "t2", "messages": [{**THREAD["messages"][0], "name": "x"}]}])
    first, second = found.conversations
    assert (first.session, first.contact, first.channel) == ("t1", "ana", "zep")
    assert [(one.role, one.name, one.id) for one in first.messages] == [("user", "Ana", "m1"), ("assistant", "", "m2")]
    assert (second.session, second.contact) == ("t2", "")
    assert [(one.content, one.contact, one.session) for one in found.statements] == [("Ana says hello", "ana", "t1")]
    assert found.skipped == {"message without text": 1}


BROKEN: list[tuple[Any, str]] = [
    ({**MEM0, "memory": 7}, "a memory without text"),
    ({**MEM0, "memory": " "}, "the text is empty"),
    ({**MEM0, "memory": "x" * 32_769}, "the text is too long"),
    ({**MEM0, "memory": "a\ud800"}, "the text holds a lone surrogate"),
    ({**MEM0, "user_id": "u" * 257}, "the contact is too long"),
    ({**MEM0, "user_id": []}, "contact is not a name"),
    ({**MEM0, "expiration_date": "soon"}, "not a time"),
    (HOSTED, "no memory of mem0"),
    ("words", "no memory of mem0"),
    ({}, "no memory of mem0"),
]


@pytest.mark.parametrize("value, reason", [pytest.param(*one, id=f"{n}") for n, one in enumerate(BROKEN)])
def test_what_is_broken_is_named_by_its_line(tmp_path: Path, value: Any, reason: str) -> None:
    """By line, and in a document by the line that the value stands on; what is around it is read."""
    found = read(tmp_path, "mem0", [MEM0, json.dumps(value), MEM0], "x.jsonl")
    assert [(one.line, reason in one.reason) for one in found.broken] == [(2, True)]
    assert len(found.statements) == 2
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"results": [MEM0, value]}, indent=1), "utf-8")
    (broken,) = read_memories(path, "mem0").broken
    lines = path.read_text().splitlines()
    assert broken.line > lines.index('  "expiration_date": "2099-12-31",'.replace("  ", "   ")) + 1
    assert f"line {broken.line}:" in broken.reason


def test_a_user_may_be_a_number(tmp_path: Path) -> None:
    """Zero is somebody; who is not named is whom the caller names."""
    value = [{**MEM0, "user_id": 0}, {**MEM0, "user_id": None}]
    assert [one.contact for one in read(tmp_path, "mem0", value, contact="bo").statements] == ["0", "bo"]


def test_a_line_that_is_no_json(tmp_path: Path) -> None:
    """It is named, and the ones around it are read."""
    found = read(tmp_path, "mem0", [MEM0, '{"memory": ', MEM0], "x.jsonl")
    assert [(one.line, one.expected) for one in found.broken] == [(2, "JSON")]
    assert len(found.statements) == 2


def test_a_fact_that_ended_before_it_began(tmp_path: Path) -> None:
    """It would be refused, and is named."""
    (broken,) = read(tmp_path, "zep", [{**EDGE, "invalid_at": "2024-01-01T00:00:00Z"}]).broken
    assert "invalid_at is before valid_at" in broken.reason


@pytest.mark.parametrize(
    "value, source", [(MEM0, "mem0"), ([EDGE], "zep"), (THREAD, "zep"), ({"result": [HOSTED]}, "hosted"), ({}, "")]
)
def test_ingest_says_where_memories_go(tmp_path: Path, value: Any, source: str) -> None:
    """A file of memories is recognised, and is no conversation; chat messages are none of them."""
    assert source_of(value) == source
    with pytest.raises(InvalidInputError) as refusal:
        read_export(wrote(tmp_path, value))
    assert (f"--from {source}" in refusal.value.expected) is bool(source)
    assert source_of([{"role": "user", "content": "x", "id": "1", "type": "fact"}]) == ""


def test_nothing_and_nowhere(tmp_path: Path) -> None:
    """An empty export, a file that is not there, and a system that nobody knows."""
    for path, source in ((wrote(tmp_path, []), "mem0"), (tmp_path / "none.json", "mem0"), (tmp_path, "letta")):
        with pytest.raises(InvalidInputError):
            read_memories(path, source)


def test_a_second_run_asks_the_same(tmp_path: Path) -> None:
    """The same memory makes the same request; another text, id or owner another one."""
    other = [{**MEM0, "memory": "x"}, {**MEM0, "id": "2"}, {**MEM0, "user_id": "bo"}]
    (first,), (again,) = read(tmp_path, "mem0", [MEM0]).statements, read(tmp_path, "mem0", [MEM0]).statements
    asked = {one.request_id for one in read(tmp_path, "mem0", other).statements}
    assert first.request_id == again.request_id
    assert len(asked | {first.request_id}) == 4
