"""The service as its users meet it: over NATS, through the client."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import nats
import pytest

from tests.e2e.processes import ServiceProcess
from tests.nats_fixtures import flushed
from umbriel import InvalidInputError, NotFoundError, RefusedError, Umbriel
from umbriel.types import Message

LISBON = "Ana lives in Lisbon and teaches chemistry"


def talk(*lines: str) -> list[Message]:
    """A conversation of alternating roles."""
    return [Message(role=("user", "assistant")[i % 2], content=line) for i, line in enumerate(lines)]


async def test_a_conversation_is_found_again(client: Umbriel) -> None:
    """What was said comes back for a question in other words, with its role, session and channels."""
    said = await client.ingest(
        talk("My cat Miso hates thunder.", "Poor Miso!", "I fly to Oslo on Friday."), session="s"
    )
    found = await client.recall("which animal is afraid of storms", at_least=said.position)
    assert found.results[0].text == "My cat Miso hates thunder."
    assert found.results[0].kind == "message"
    assert found.results[0].session == "s"
    assert {hit.channel for hit in found.results[0].channels}


async def test_ingesting_again_changes_nothing(client: Umbriel) -> None:
    """A second ingest of the same conversation writes zero events."""
    messages = talk("one", "two", "one", "two", "one")
    first = await client.ingest(messages, session="s")
    second = await client.ingest(messages, session="s")
    assert [o.outcome for o in first.outcomes] == ["recorded"] * 5
    assert [o.outcome for o in second.outcomes] == ["duplicate"] * 5
    assert [o.id for o in first.outcomes] == [o.id for o in second.outcomes]
    assert (await client.feed(after=first.position)).events == []


async def test_read_your_writes(client: Umbriel) -> None:
    """A recall that asks for a write's position sees it at once, twenty times in a row."""
    for number in range(20):
        written = await client.remember(f"The locker code of room {number} is {number * 37}", key=f"locker {number}")
        found = await client.recall(f"locker code of room {number}", at_least=written.position, limit=3)
        assert written.memory.id in [result.id for result in found.results]


async def test_a_correction_supersedes_and_why_tells(client: Umbriel) -> None:
    """The same key with other content is a new version; the old one leaves recall and stays in the history."""
    old = await client.remember("Ana lives in Porto", key="ana home")
    new = await client.remember("Ana lives in Lisbon", key="Ana-Home")
    assert new.outcome == "superseded"
    assert new.superseded == old.memory.id
    found = await client.recall("where does Ana live", at_least=new.position)
    ids = [result.id for result in found.results]
    assert new.memory.id in ids
    assert old.memory.id not in ids
    why = await client.why(old.memory.id, at_least=new.position)
    assert [version.status for version in why.versions] == ["superseded", "live"]
    assert why.versions[0].superseded_by == new.memory.id
    assert any(event.topic == "memory.superseded" and event.detail["rule"] == "address" for event in why.events)


async def test_the_same_memory_three_times_is_one(client: Umbriel) -> None:
    """Exact duplicates are ignored, whatever the case and the quotes."""
    first = await client.remember("Prefers “tea”.", key="drink")
    outcomes = [(await client.remember(text, key="drink")).outcome for text in ('prefers "tea"', "PREFERS  'tea'")]
    assert outcomes[0] == "duplicate"
    listed = await client.list(at_least=first.position, status="all")
    assert first.memory.id in [memory.id for memory in listed.entries]


async def test_a_retry_does_not_undo_a_later_write(client: Umbriel) -> None:
    """A, then B, then A again by retry leaves B."""
    await client.remember("colour is red", key="colour", request_id="r1")
    await client.remember("colour is blue", key="colour", request_id="r2")
    retried = await client.remember("colour is red", key="colour", request_id="r1")
    assert retried.outcome == "repeated"
    assert (await client.get(key="colour", at_least=retried.position)).text == "colour is blue"


async def test_an_agent_cannot_overrule_a_person(client: Umbriel, person: Umbriel) -> None:
    """A person's statement stands against an agent's; the contradiction is on record."""
    stated = await person.remember("My birthday is 3 May", key="birthday")
    claimed = await client.remember("The birthday is 4 June", key="birthday", metadata={"author_type": "person"})
    assert claimed.outcome == "noted"
    assert (await client.get(key="birthday", at_least=claimed.position)).id == stated.memory.id
    history = await client.history(stated.memory.id, at_least=claimed.position)
    assert any(event.topic == "memory.contradiction_noted" for event in history.events)


async def test_forgotten_is_gone_from_every_channel(client: Umbriel) -> None:
    """After forget neither words, meaning nor key find the memory; its message goes with sources asked."""
    kept = await client.remember("Zanzibar is the code word", key="code word")
    control = await client.recall("Zanzibar", at_least=kept.position)
    assert kept.memory.id in [result.id for result in control.results]
    gone = await client.forget(id=kept.memory.id)
    assert gone.touched == [kept.memory.id]
    for query in ("Zanzibar", "code word", "secret phrase"):
        found = await client.recall(query, at_least=gone.position)
        assert kept.memory.id not in [result.id for result in found.results]
    with pytest.raises(NotFoundError):
        await client.get(id=kept.memory.id, at_least=gone.position)
    again = await client.remember("Zanzibar is the code word", key="code word")
    assert again.outcome == "remembered"


async def test_a_forgotten_message_stays_forgotten(client: Umbriel) -> None:
    """A message that was forgotten is blocked when its conversation is ingested again."""
    messages = talk("The alarm code is 4711.", "Noted.")
    said = await client.ingest(messages, session="s")
    gone = await client.forget(id=said.outcomes[0].id)
    again = await client.ingest(messages, session="s")
    assert [outcome.outcome for outcome in again.outcomes] == ["blocked", "duplicate"]
    found = await client.recall("alarm code 4711", at_least=gone.position)
    assert said.outcomes[0].id not in [result.id for result in found.results]


async def test_a_forgotten_message_does_not_return_under_another_guise(client: Umbriel) -> None:
    """A forgotten message is blocked when its id, its time or nothing but its text is sent again."""
    when = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
    message = Message(role="user", content="The safe is behind the mirror.", id="m1", at=when)
    said = await client.ingest([message], session="s")
    await client.forget(id=said.outcomes[0].id)
    copies = [
        Message(role="user", content=message.content, id="m1", at=when, occurrence=2),
        Message(role="user", content=message.content, at=when),
        Message(role="user", content=message.content),
    ]
    for copy in copies:
        again = await client.ingest([copy], session="s")
        assert [outcome.outcome for outcome in again.outcomes] == ["blocked"]


async def test_a_message_named_twice_in_one_call_is_one(client: Umbriel) -> None:
    """The same caller id twice in a call, and the call twice: one message."""
    twice = [Message(role="user", content="Hello", id="a"), Message(role="user", content="Hello", id="a")]
    for expected in (["recorded", "duplicate"], ["duplicate", "duplicate"]):
        reply = await client.ingest(twice, session="s")
        assert [outcome.outcome for outcome in reply.outcomes] == expected


async def test_a_late_occurrence_sent_alone_is_one(client: Umbriel) -> None:
    """The fourth of equal messages, sent alone four times, is one message; the others still find their places."""
    fourth = Message(role="user", content="ok", occurrence=4)
    outcomes = [(await client.ingest([fourth], session="s")).outcomes[0] for _ in range(4)]
    assert [outcome.outcome for outcome in outcomes] == ["recorded", *["duplicate"] * 3]
    everything = [Message(role="user", content="ok")] * 4
    reply = await client.ingest(everything, session="s")
    assert [outcome.outcome for outcome in reply.outcomes] == [*["recorded"] * 3, "duplicate"]
    assert reply.outcomes[3].id == outcomes[0].id
    again = await client.ingest(everything, session="s")
    assert {outcome.outcome for outcome in again.outcomes} == {"duplicate"}


async def test_a_preview_touches_nothing(client: Umbriel) -> None:
    """Forget with preview lists and leaves everything."""
    kept = await client.remember("The red door sticks", key="door")
    shown = await client.forget(key="door", preview=True)
    assert shown.touched == [kept.memory.id]
    assert (await client.get(key="door", at_least=kept.position)).status == "live"


async def test_contacts_do_not_see_each_other(client: Umbriel) -> None:
    """The best match for one contact's query is absent from another's, by query and by key; agent-wide is shared."""
    mine = await client.remember("The parcel is at the bakery", key="parcel", contact="ann")
    theirs = await client.remember("The parcel is at the station", key="parcel", contact="ann1")
    shared = await client.remember("Parcels are insured", key="insurance")
    for contact, own, foreign in (("ann", mine, theirs), ("ann1", theirs, mine)):
        found = await client.recall("where is the parcel", contact=contact, at_least=shared.position)
        ids = [result.id for result in found.results]
        assert own.memory.id in ids
        assert shared.memory.id in ids
        assert foreign.memory.id not in ids
        assert (await client.get(key="parcel", contact=contact)).id == own.memory.id
    nobody = await client.recall("where is the parcel", at_least=shared.position)
    assert {mine.memory.id, theirs.memory.id}.isdisjoint(result.id for result in nobody.results)


async def test_profiles_do_not_see_each_other(client: Umbriel, service: ServiceProcess) -> None:
    """A memory of one profile is absent from another one, by query, list and id."""
    mine = await client.remember(LISBON, key="ana")
    control = await client.recall("who teaches chemistry", at_least=mine.position)
    assert control.results
    async with await service.client(profile=f"{client.profile}-other") as other:
        await other.remember("Something else entirely", key="x", wait=True)
        found = await other.recall("who teaches chemistry")
        assert mine.memory.id not in [result.id for result in found.results]
        with pytest.raises(NotFoundError):
            await other.get(id=mine.memory.id)
        with pytest.raises(NotFoundError):
            await other.forget(id=mine.memory.id)


async def test_expiry_is_judged_when_read(client: Umbriel) -> None:
    """A memory is gone the moment its time has passed, without any pass over the store."""
    soon = datetime.now(UTC) + timedelta(seconds=1.5)
    kept = await client.remember("The offer ends soon", key="offer", expires_at=soon, wait=True)
    assert kept.memory.id in [result.id for result in (await client.recall("offer")).results]
    await asyncio.sleep(1.6)
    assert kept.memory.id not in [result.id for result in (await client.recall("offer")).results]
    assert (await client.get(id=kept.memory.id)).status == "expired"


async def test_eight_writers_on_one_address(client: Umbriel, service: ServiceProcess) -> None:
    """One winner a version, no lost write: every statement is a version and one is live."""
    clients = [await service.client(profile=client.profile) for _ in range(8)]
    replies = await asyncio.gather(
        *(one.remember(f"value {number}", key="shared") for number, one in enumerate(clients))
    )
    await asyncio.gather(*(one.close() for one in clients))
    last = max(replies, key=lambda reply: int(reply.position.rsplit(":", 1)[1]))
    why = await client.why(last.memory.id, at_least=last.position)
    assert sorted(version.text for version in why.versions) == sorted(f"value {n}" for n in range(8))
    assert [version.status for version in why.versions].count("live") == 1
    assert why.versions[-1].status == "live"


async def test_two_agents_one_feed(client: Umbriel, service: ServiceProcess) -> None:
    """What one agent writes the other's feed sees in order, and resumes after a disconnect without loss or repeat."""
    seen: list[Any] = []

    async def follow(after: str | None, until: int) -> str:
        async with await service.client(profile=client.profile) as reader:
            async for event in reader.subscribe(after=after, kinds=["memory"]):
                seen.append(event)
                if len(seen) == until:
                    return str(event.position)
        raise AssertionError

    first = asyncio.create_task(follow(None, 10))
    for number in range(15):
        await client.remember(f"step {number}", key=f"step {number}")
    position = await asyncio.wait_for(first, 20)
    for number in range(15, 25):
        await client.remember(f"step {number}", key=f"step {number}")
    await asyncio.wait_for(follow(position, 25), 20)
    assert [event.data["text"] for event in seen] == [f"step {number}" for number in range(25)]


async def test_rebuild_gives_the_same_answers(client: Umbriel) -> None:
    """All views rebuilt from the log: the same ids in the same order with the same scores."""
    await client.ingest(talk(*(f"Line {n} about {w}" for n, w in enumerate(["tea", "rain", "chess", "bread"] * 8))))
    await client.remember("Ana likes oolong tea", key="ana tea")
    last = await client.remember("Ana likes green tea", key="ana tea", wait=True)
    before = [await client.recall(query, limit=20) for query in ("tea", "who bakes bread", "ana tea")]
    rebuilt = await client.rebuild()
    assert rebuilt.events > 0
    after = [await client.recall(q, limit=20, at_least=last.position) for q in ("tea", "who bakes bread", "ana tea")]
    for one, other in zip(before, after, strict=True):
        assert [result.id for result in one.results] == [result.id for result in other.results]
        assert [result.relevance for result in one.results] == pytest.approx(
            [result.relevance for result in other.results], abs=1e-5
        )


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("ingest", {"messages": []}, "messages"),
    ("ingest", {"messages": [{"role": "user", "content": ""}]}, "content"),
    ("ingest", {"messages": [{"role": "user", "content": " \n\t "}]}, "content"),
    ("ingest", {"messages": [{"role": "user", "content": "x" * 32_769}]}, "content"),
    ("ingest", {"messages": [{"role": "user", "content": "a\0b"}]}, "content"),
    ("ingest", {"messages": [{"role": "king", "content": "x"}]}, "role"),
    ("ingest", {"messages": [{"role": "user", "content": 7}]}, "content"),
    ("ingest", {"messages": [{"role": "user"}]}, "content"),
    ("ingest", {"messages": [{"role": "user", "content": "x"}] * 501}, "500"),
    ("ingest", {"messages": [{"role": "user", "content": "x"}], "session": "s" * 65}, "session"),
    ("ingest", {"messages": [{"role": "user", "content": "x"}], "session": "a\nb"}, "session"),
    ("ingest", {"messages": [{"role": "user", "content": "x"}], "sesion": "typo"}, "sesion"),
    ("ingest", {"messages": [{"role": "user", "content": "x", "at": "2024-01-01T10:00:00"}]}, "at"),
    ("ingest", {"messages": [{"role": "user", "content": "x", "occurrence": 10_001}]}, "occurrence"),
    ("ingest", {"messages": [{"role": "user", "content": "x"}], "contact": "*"}, "contact"),
    ("remember", {"content": "x", "contact": "*"}, "contact"),
    ("remember", {"content": "   "}, "content"),
    ("remember", {"content": "x", "contact": "a", "scope": "agent"}, "scope"),
    ("remember", {"content": "x", "kind": "rumour"}, "kind"),
    ("remember", {"content": "x", "metadata": {"k": "v" * 5000}}, "metadata"),
    ("remember", {"content": "x", "metadata": {"k": [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}}, "metadata"),
    ("remember", {"content": "x", "expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
    ("remember", {"content": "x", "confidence": 1.0}, "confidence"),
    ("recall", {"query": ""}, "query"),
    ("recall", {"query": "x" * 1025}, "query"),
    ("recall", {"query": "x", "limit": 0}, "limit"),
    ("recall", {"query": "x", "limit": "7"}, "limit"),
    ("recall", {"query": "x", "at_least": "yesterday"}, "at_least"),
    ("recall", {"query": "x", "kinds": ["dream"]}, "kind"),
    ("recall", {"query": "x", "as_of": "2024-01-01T00:00:00Z"}, "as_of"),
    ("recall_conversation", {"query": "x", "as_of": "2024-01-01T00:00:00Z"}, "as_of"),
    ("context", {"session": "s", "as_of": "2024-01-01T00:00:00Z"}, "as_of"),
    ("get", {}, "id or a key"),
    ("get", {"id": "../../etc/passwd"}, "memory id"),
    ("list", {"limit": 501}, "limit"),
    ("list", {"status": "zombie"}, "status"),
    ("feed", {"kinds": ["gossip"]}, "category"),
    ("rebuild", {"views": ["crystal-ball"]}, "view"),
]


@pytest.fixture
async def raw(service: ServiceProcess) -> Any:
    """A plain NATS connection as the local agent, without the client's own checks."""
    endpoint = json.loads((service.data / "endpoint.json").read_text())
    password = (service.data / "secrets" / "local-agent.password").read_text().strip()
    connection = await nats.connect(
        endpoint["url"], user="local-agent", password=password, inbox_prefix=b"_INBOX_local-agent"
    )
    yield connection
    await connection.close()


@pytest.mark.parametrize("verb, body, named", BAD)
async def test_bad_input_gets_one_clear_error(client: Umbriel, raw: Any, verb: str, body: Any, named: str) -> None:
    """Each bad request names the field, what was expected and what was found, and writes nothing."""
    await client.remember("control", key="control", wait=True)
    before = await client.feed(limit=500)
    reply = await raw.request(f"umbriel.api.local-agent.{client.profile}.{verb}", json.dumps(body).encode(), timeout=10)
    error = json.loads(reply.data)
    assert reply.headers["Umbriel-Error"] == "invalid"
    assert error["code"] == "invalid"
    assert error["expected"]
    assert error["found"]
    assert named in json.dumps(error)
    assert (await client.feed(after=before.position, limit=500)).events == []


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff\xfe", b'{"query": "\\ud800"}', b'"text"', b"null"])
async def test_bytes_that_are_no_request(client: Umbriel, raw: Any, body: bytes) -> None:
    """Broken JSON, other types, broken UTF-8 and lone surrogates are answered, not dropped."""
    reply = await raw.request(f"umbriel.api.local-agent.{client.profile}.recall", body, timeout=10)
    assert json.loads(reply.data)["code"] == "invalid"


@pytest.mark.parametrize("name", ["a b", "ä", "x" * 65, "_"])
async def test_bad_profile_names(client: Umbriel, raw: Any, name: str) -> None:
    """A name that cannot be a profile's is refused before anything is written."""
    if " " in name:
        with pytest.raises(InvalidInputError):
            client.for_profile(name)
        return
    body = b'{"messages": [{"role": "user", "content": "x"}]}'
    reply = await raw.request(f"umbriel.api.local-agent.{name}.ingest", body, timeout=10)
    assert json.loads(reply.data)["code"] == "invalid"


async def test_a_reply_subject_cannot_reach_the_log(client: Umbriel, raw: Any) -> None:
    """A request whose reply subject is an event subject changes nothing."""
    kept = await client.remember("control", key="control", wait=True)
    body = json.dumps({"query": "control"}).encode()
    for target in ("umbriel.events.00.x.memory.y", "_INBOX_local.abc", "$JS.API.STREAM.DELETE.UMBRIEL"):
        await raw.publish(f"umbriel.api.local-agent.{client.profile}.recall", body, reply=target)
    await flushed(raw)
    await asyncio.sleep(0.3)
    status = await client.status(service=True)
    assert (await client.feed(after=kept.position, kinds=["memory", "message"])).events == []
    assert (await client.get(key="control")).id == kept.memory.id
    assert status.log_position


async def test_another_principal_cannot_be_claimed(client: Umbriel, raw: Any) -> None:
    """An agent that writes a person's name into the subject is not heard."""
    with pytest.raises(nats.errors.Error):
        await raw.request(f"umbriel.api.local.{client.profile}.status", b"{}", timeout=1.5)


async def test_wrong_password(service: ServiceProcess) -> None:
    """A connection with a wrong password is refused with one clear error."""
    endpoint = json.loads((service.data / "endpoint.json").read_text())
    with pytest.raises(RefusedError):
        await Umbriel.connect(endpoint["url"], principal="local", password="wrong", profile="p")
