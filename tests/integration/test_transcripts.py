"""A session read message by message: in order, in pages, with what was kept beside the words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Literal

import pytest

from tests.rest_service import RestService
from umbriel import InvalidInputError, Umbriel
from umbriel.messages import SaidMessage
from umbriel.types import Message

_names = count(1)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestService]:
    """A running service that only keeps what it is told."""
    with RestService(tmp_path_factory.mktemp("transcripts") / "data") as running:
        yield running


@pytest.fixture
async def memory(service: RestService) -> AsyncIterator[Umbriel]:
    """An agent's client on a new profile."""
    async with await service.client(profile=f"t{next(_names)}") as connected:
        yield connected


async def pages(memory: Umbriel, order: Literal["oldest", "newest"], limit: int) -> list[SaidMessage]:
    """Everything said in the session, page by page."""
    found: list[SaidMessage] = []
    cursor = ""
    while True:
        page = await memory.messages("s", order=order, limit=limit, cursor=cursor)
        assert len(page.messages) <= limit
        found += page.messages
        cursor = page.cursor
        if not cursor:
            return found


async def test_messages_come_in_order_from_either_end(memory: Umbriel) -> None:
    """Roles, names, times, ids and repetitions are as they were; another session's are not among them."""
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    said = [
        Message(role="user", content="Yes.", name="Mara", at=at),
        Message(role="assistant", content="Good."),
        Message(role="tool", content="42", turn_id="t1", id="call-1"),
        Message(role="user", content="Yes."),
        Message(role="system", content="Be brief."),
    ]
    await memory.ingest(said, session="s", contact="mara")
    await memory.ingest([Message(role="user", content="elsewhere")], session="other")
    oldest = await pages(memory, "oldest", 2)
    assert [(one.role, one.content) for one in oldest] == [(one.role, one.content) for one in said]
    assert (oldest[0].name, oldest[0].at, oldest[2].turn_id, oldest[2].client_id) == ("Mara", at, "t1", "call-1")
    assert [one.occurrence for one in oldest] == [1, 1, 1, 2, 1]
    assert (oldest[0].author, oldest[0].author_type) == ("local-agent", "agent")
    assert await pages(memory, "newest", 2) == oldest[::-1]
    page = await memory.messages("s", after=oldest[2].position)
    assert (page.messages, page.cursor, page.contact) == (oldest[3:], "", "mara")
    newest = await memory.messages("s", order="newest", after=oldest[2].position, limit=1)
    assert newest.messages == oldest[4:]


async def test_what_is_forgotten_is_absent(memory: Umbriel) -> None:
    """A forgotten message leaves no gap and no attachment; a session that never was has no messages."""
    said = [Message(role="user", content=str(number), attachment=f"<{number}>") for number in range(3)]
    ids = [one.id for one in (await memory.ingest(said, session="s")).outcomes]
    await memory.forget(ids[1])
    found = await pages(memory, "oldest", 1)
    assert [(one.id, one.attachment) for one in found] == [(ids[0], "<0>"), (ids[2], "<2>")]
    assert (await memory.messages("none")).messages == []
    assert (await memory.for_profile("never").messages("s")).messages == []


async def test_a_forgotten_attachment_is_gone(memory: Umbriel, service: RestService, tmp_path: Path) -> None:
    """From the feed and from exports; what is left is in a copy of the profile, exactly. Erased it is in no file."""
    names = ("olive", "walnut")
    said = [Message(role="tool", content=name, attachment=f"{name} {name * 20}" * 2_000) for name in names]
    first, _ = [one.id for one in (await memory.ingest(said, session="s")).outcomes]
    assert len((await memory.messages("s")).messages) == 2
    assert _held(service.data, b"walnut walnutwalnut")
    await memory.forget(first)
    events = str((await memory.feed(limit=100)).events)
    assert "walnutwalnut" in events
    assert "oliveolive" not in events
    file = tmp_path / "profile.jsonl"
    async with await service.client(profile=memory.profile, principal="local") as person:
        lines = [line async for line in person.export()]
        file.write_bytes(b"".join(lines))
        assert b"oliveolive" not in file.read_bytes()
        copy = person.for_profile(f"{memory.profile}-2")
        position = (await copy.import_export(file)).position
        (left,) = (await copy.messages("s", at_least=position)).messages
        assert (left.content, left.attachment) == ("walnut", said[1].attachment)
        for profile in (person, copy):
            await profile.erase(session="s")
            assert (await profile.messages("s")).messages == []
    assert not _held(service.data, b"walnut walnutwalnut")


def _held(data: Path, words: bytes) -> bool:
    return any(words in one.read_bytes() for one in data.glob("profiles/**/*") if one.is_file())


async def test_an_attachment_is_kept_exactly_and_found_by_nothing(memory: Umbriel) -> None:
    """Any text comes back as it was, page by page within what a reply carries; no search finds its words."""
    large = ['\\"\n\u2028é🙂' * 16_000, "zebra " * 40_000, "x" * 262_000]
    said = [Message(role="tool", content=f"part {n}", attachment=one) for n, one in enumerate(large)]
    written = await memory.ingest(said * 2, session="s")
    found = await pages(memory, "newest", 500)
    assert [one.attachment for one in found[::-1]] == large * 2
    hits = await memory.recall_conversation("zebra", session="s", mode="keyword", at_least=written.position)
    assert hits.messages == []


@pytest.mark.parametrize(
    "attachment, why",
    [("x" * 262_143, "too long"), ("\x01" * 50_000, "too long"), ("a\0b", "NUL")],
)
async def test_an_attachment_that_cannot_be_kept_is_refused(memory: Umbriel, attachment: str, why: str) -> None:
    """Before anything of the call is written."""
    said = [Message(role="user", content="fine"), Message(role="user", content="not", attachment=attachment)]
    with pytest.raises(InvalidInputError, match=why):
        await memory.ingest(said, session="s")
    assert (await memory.messages("s")).messages == []


async def test_bad_questions_are_refused(memory: Umbriel) -> None:
    """A limit out of range, a cursor and a position that are none, a session without a name."""
    await memory.ingest([Message(role="user", content="hello")], session="s")
    for asked in ({"limit": 0}, {"limit": 501}, {"cursor": "zz"}, {"after": "7"}, {"order": "best"}):
        with pytest.raises(InvalidInputError):
            await memory.messages("s", **asked)
    with pytest.raises(InvalidInputError):
        await memory.messages("")


async def test_http_pages_too(memory: Umbriel, service: RestService) -> None:
    """The same page over HTTP."""
    await memory.ingest([Message(role="user", content="hello"), Message(role="user", content="there")], session="s/1")
    with service.speaking("local-agent") as client:
        reply = client.get(f"/v1/profiles/{memory.profile}/sessions/s%2F1/messages", params={"order": "newest"})
    assert [one["content"] for one in reply.json()["messages"]] == ["there", "hello"]
