"""What enters and leaves the indexes, event by event."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from domain.envelope import Actor, Envelope
from domain.events import (
    TOPICS,
    ContactSet,
    ContradictionNoted,
    EmbeddingComputed,
    EmbeddingFailed,
    Event,
    ExpirySet,
    MemoryDecayed,
    MemoryExpired,
    MemoryForgotten,
    MemoryJudged,
    MemoryPinned,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
    MemorySuperseded,
    MemoryUnpinned,
    MessageForgotten,
    MessageRecorded,
    ProfileCreated,
)
from domain.ids import digest128, keyed_id
from domain.indexing import (
    AGENT_TOKEN,
    IndexChange,
    Indexing,
    IndexItem,
    contact_token,
    memory_key_scope,
    memory_text,
    message_text,
    session_token,
)
from domain.kinds import Kind, Source

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
_SECRET = b"s" * 32


def _indexing(model: str = "m", dimension: int = 4, secret: bytes = _SECRET) -> Indexing:
    return Indexing(lambda *parts: keyed_id(secret, *parts), model, dimension)


def _envelope(event: Event, position: int = 7, key_id: str = "k1") -> Envelope:
    return Envelope(
        originator_id="p.x.y",
        originator_version=1,
        event_id="e1",
        recorded_at=NOW,
        actor=Actor("ana", "person"),
        data=event,
        key_id=key_id,
        position=position,
    )


def _memory(
    text: str = "Ana lives in Lisbon.",
    *,
    kind: Kind = "fact",
    scope: str | None = "Ana",
    source: Source = "explicit",
    session: str = "",
    queries: tuple[str, ...] = (),
) -> MemoryRemembered:
    return MemoryRemembered(
        memory="a@1",
        address="a",
        version=1,
        kind=kind,
        text=text,
        folded=text,
        source=source,
        confidence=0.9,
        scope=scope,
        session=session,
        queries=queries,
    )


def _message(**fields: Any) -> MessageRecorded:
    known: dict[str, Any] = {"message": "m1", "session": "s1", "role": "user", "content": "Hey Mel!"}
    return MessageRecorded(**{**known, **fields})


def _added(event: Event, key_id: str = "k1") -> IndexItem:
    change = _indexing().change(_envelope(event, key_id=key_id))
    assert change is not None
    assert change.add is not None
    return change.add


@pytest.mark.parametrize(
    "fields, text",
    [
        ({}, "user: Hey Mel!"),
        ({"name": "Caroline"}, "Caroline: Hey Mel!"),
        ({"name": "Caroline", "at": datetime(2023, 5, 8, 13, 56, tzinfo=UTC)}, "[2023-05-08] Caroline: Hey Mel!"),
        ({"role": "assistant", "at": datetime(2023, 5, 8, tzinfo=UTC)}, "[2023-05-08] assistant: Hey Mel!"),
    ],
)
def test_a_message_is_indexed_with_date_and_speaker(fields: dict[str, Any], text: str) -> None:
    """A message is found by when it was said and by whom; without a date none is made up."""
    assert message_text(_message(**fields)) == text


def test_a_message_in_the_index() -> None:
    """A message carries its session's token and an embedding of exactly the indexed text."""
    text = "user: Hey Mel!"
    assert _added(_message()) == IndexItem(
        id="m1",
        kind="message",
        scope=session_token("s1"),
        text=text,
        embedding=_indexing().embedding_id("k1", text),
        key_scope="conversation:s1",
    )


def test_a_memory_is_indexed_with_its_queries() -> None:
    """The questions a memory answers stand before its text, a line each."""
    memory = _memory(queries=("Where does Ana live?", "Ana's home"))
    assert memory_text(memory) == "Where does Ana live?\nAna's home\nAna lives in Lisbon."
    assert memory_text(_memory()) == "Ana lives in Lisbon."


@pytest.mark.parametrize("kind", ["fact", "event", "instruction"])
def test_a_memory_in_the_index(kind: Kind) -> None:
    """A memory carries its kind, its contact's token and an embedding of exactly the indexed text."""
    text = "q?\nAna lives in Lisbon."
    assert _added(_memory(kind=kind, queries=("q?",))) == IndexItem(
        id="a@1",
        kind=kind,
        scope=contact_token("Ana"),
        text=text,
        embedding=_indexing().embedding_id("k1", text),
        key_scope="contact:Ana",
    )


def test_a_task_has_no_embedding() -> None:
    """A task is found by its words and its key only."""
    item = _added(_memory(kind="task"))
    assert (item.kind, item.embedding) == ("task", "")
    assert item.text


def test_tokens_tell_scopes_apart() -> None:
    """Agent-wide, contacts and sessions never share a filter token, not even with one name or a prefix of it."""
    names = ["a", "a1", "A", "", "Ana"]
    tokens = [AGENT_TOKEN, *(contact_token(name) for name in names), *(session_token(name) for name in names)]
    assert len(set(tokens)) == len(tokens)
    assert contact_token(None) == AGENT_TOKEN
    assert contact_token("Ana") == "c" + digest128("Ana")
    assert all(token.isalnum() and token == token.lower() for token in tokens)


@pytest.mark.parametrize(
    "source, session, scope, expected",
    [
        ("explicit", "s1", "Ana", "contact:Ana"),
        ("explicit", "s1", None, "agent"),
        ("explicit", "", "", "contact:"),
        ("turn", "s1", "Ana", "conversation:s1"),
        ("ingest", "s1", None, "conversation:s1"),
        ("pre-compaction", "s1", "Ana", "conversation:s1"),
        ("turn", "", "Ana", "contact:Ana"),
        ("copy", "s1", "Ana", "memory:a@1"),
        ("consolidation", "", "Ana", "memory:a@1"),
        ("reflection", "s1", None, "conversation:s1"),
        ("consolidation", "s1", "Ana", "conversation:s1"),
    ],
)
def test_key_scopes(source: Source, session: str, scope: str | None, expected: str) -> None:
    """What was extracted goes with its conversation's key, everything else with its contact's or the agent's."""
    assert memory_key_scope(_memory(source=source, session=session, scope=scope)) == expected


def test_embedding_ids_depend_on_everything() -> None:
    """Another key, text, model, dimension or profile has other vectors; the same has the same."""
    ids = {
        _indexing().embedding_id("k1", "t"),
        _indexing().embedding_id("k2", "t"),
        _indexing().embedding_id("k1", "t "),
        _indexing(model="m2").embedding_id("k1", "t"),
        _indexing(dimension=8).embedding_id("k1", "t"),
        _indexing(secret=b"t" * 32).embedding_id("k1", "t"),
    }
    assert len(ids) == 6
    assert _indexing().embedding_id("k1", "t") == keyed_id(_SECRET, "embedding", "k1", "t", "m", "4")


def test_a_restored_memory_is_added_again() -> None:
    """A restoration brings all that the first writing brought, at its own position and under its own key."""
    memory = _memory(queries=("q?",))
    change = _indexing().change(_envelope(MemoryRestored(memory="a@1", content=memory), position=9, key_id="k2"))
    assert change == IndexChange(position=9, add=_added(memory, key_id="k2"))


@pytest.mark.parametrize(
    "event, removed",
    [
        (MemorySuperseded(memory="a@1", by="a@2", rule="address"), ("a@1",)),
        (MemoryRetracted(memory="a@1"), ("a@1",)),
        (MemoryRejected(memory="a@1", skeleton="x"), ("a@1",)),
        (MemoryExpired(memory="a@1"), ("a@1",)),
        (MemoryForgotten(address="a", memories=("a@1", "a@2")), ("a@1", "a@2")),
        (MessageForgotten(message="m1", session="s1"), ("m1",)),
    ],
)
def test_what_leaves_the_index(event: Event, removed: tuple[str, ...]) -> None:
    """Every end of a version or message takes it out; forgetting takes every version at once."""
    assert _indexing().change(_envelope(event)) == IndexChange(position=7, remove=removed)


@pytest.mark.parametrize(
    "event",
    [
        ContactSet(session="s1", contact="Ana"),
        ContradictionNoted(memory="a@1", other="", text="B"),
        EmbeddingFailed(embedding="e", model="m", reason="r"),
        ExpirySet(memory="a@1", expires_at=NOW),
        MemoryDecayed(memory="a@1", day="2026-01-01", confidence=0.5),
        MemoryJudged(memory="a@1", model="m"),
        MemoryPinned(memory="a@1"),
        MemoryRevised(memory="a@1", metadata={}),
        MemoryUnpinned(memory="a@1"),
        ProfileCreated(name="p"),
    ],
)
def test_what_changes_nothing(event: Event) -> None:
    """An expiry is judged at read, a mark is the ledger's: the indexes stay as they are."""
    assert _indexing().change(_envelope(event)) is None


def test_vectors_of_another_model_are_not_ours() -> None:
    """Vectors count only under the model and dimension of the index (memU#678, memobase#76)."""
    computed = EmbeddingComputed(embedding="e", model="m", dimension=4, chunks=1, vectors=b"\0" * 16)
    assert _indexing().change(_envelope(computed)) == IndexChange(position=7, computed=computed)
    for other in ({"model": "m2"}, {"dimension": 8}):
        assert _indexing().change(_envelope(msgspec.structs.replace(computed, **other))) is None


def test_every_topic_is_decided_about() -> None:
    """A new topic is added to one of the lists here before it can be forgotten."""
    silent = {"access.counted", "recall.served", "usage.recorded", "refusal.recorded"}
    silent |= {"extraction.completed", "extraction.failed", "reflection.drafted", "reflection.recorded"}
    silent |= {"goal.set", "goal.progressed", "goal.closed", "seal.made", "recovery.recorded", "principal.changed"}
    silent |= {"profile.import_started", "profile.imported"}
    silent |= {"conversation.notes_set", "conversation.task_set", "conversation.task_cleared"}
    silent |= {"conversation.overlay_added", "conversation.summary_rewritten"}
    added = {"message.recorded", "memory.remembered", "memory.restored", "embedding.computed"}
    removing = {"superseded", "retracted", "rejected", "expired", "forgotten"}
    nothing = {"contradiction_noted", "expiry_set", "decayed", "judged", "pinned", "revised", "unpinned"}
    nothing |= {"consolidated", "copied", "copy_followed", "origin_changed"}
    memory = {f"memory.{name}" for name in removing | nothing}
    other = {"conversation.contact_set", "embedding.failed", "profile.created", "message.forgotten"}
    other |= {"conversation.ended", "conversation.deleted"}
    other |= {"profile.contacts_linked", "profile.contacts_unlinked", "profile.settings_changed"}
    other |= {"upkeep.completed", "upkeep.kept", "upkeep.merged"}
    other |= {"profile.erased", "profile.key_destroyed", "profile.erasure_lifted", "profile.deleted"}
    assert set(TOPICS) == silent | added | memory | other
