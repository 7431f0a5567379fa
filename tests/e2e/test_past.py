"""Asked as of an earlier point, the service answers as it did then; what was forgotten since stays forgotten."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.ids import directory_name
from tests.e2e.processes import ServiceProcess
from tests.e2e.test_cli import Cli
from umbriel import InvalidInputError, Memory, Message, MismatchError, NotFoundError, Umbriel, sequence_of


async def listed(client: Umbriel, as_of: str | datetime, status: str = "live") -> dict[str, str]:
    """What is listed as of a point, with each one's status."""
    return {one.text: one.status for one in (await client.list(as_of=as_of, contact="*", status=status)).entries}


async def now(client: Umbriel) -> datetime:
    """A time after everything that is written, once all of it can be read."""
    status = await client.status()
    await client.list(at_least=status.log_position)
    return datetime.now(UTC)


async def test_a_list_is_as_it_was_at_a_time_and_at_a_position(client: Umbriel) -> None:
    """What was live, superseded or not there yet; a page goes on where the one before ended."""
    await client.remember("Ana lives in Porto", key="home")
    tea = await client.remember("Ana drinks tea", key="drink")
    then = await now(client)
    new = await client.remember("Ana lives in Lisbon", key="home")
    assert await listed(client, then) == {"Ana lives in Porto": "live", "Ana drinks tea": "live"}
    assert await listed(client, tea.position) == await listed(client, then)
    assert await listed(client, new.position, status="superseded") == {"Ana lives in Porto": "superseded"}
    later = await now(client)
    assert await listed(client, later, status="all") == {
        "Ana lives in Lisbon": "live",
        "Ana drinks tea": "live",
        "Ana lives in Porto": "superseded",
    }
    first = await client.list(as_of=then, limit=1)
    rest = await client.list(as_of=then, limit=1, cursor=first.cursor)
    assert [one.text for one in (*first.entries, *rest.entries)] == ["Ana drinks tea", "Ana lives in Porto"]
    assert rest.cursor == ""
    assert await listed(client, first.position) == await listed(client, then)


async def test_a_memory_is_as_it_was(client: Umbriel, person: Umbriel) -> None:
    """Pin, expiry, status and successor of then, by id and by key; looking back counts as no access."""
    kept = await client.remember("The door is green", key="door")
    then = await now(client)
    await person.pin(kept.memory.id)
    await person.expire(kept.memory.id, at=datetime.now(UTC) - timedelta(days=1))
    ended = await now(client)
    new = await client.remember("The door is blue", key="door")
    later = await now(client)

    async def seen(as_of: datetime) -> tuple[str, bool, str, bool]:
        found: Memory = await client.get(kept.memory.id, as_of=as_of)
        return found.status, found.pinned, found.superseded_by, found.expires_at is not None

    assert await seen(then) == ("live", False, "", False)
    assert await seen(ended) == ("expired", True, "", True)
    assert await seen(later) == ("superseded", True, new.memory.id, True)
    assert (await client.get(key="door", as_of=then)).id == kept.memory.id
    with pytest.raises(NotFoundError):
        await client.get(key="door", as_of=ended)
    with pytest.raises(NotFoundError):
        await client.get(new.memory.id, as_of=then)
    assert (await client.get(kept.memory.id, as_of=later)).accesses == 0


async def test_forgotten_never_comes_back(client: Umbriel) -> None:
    """It shows as forgotten, without text, where it was; it is nowhere else, and nothing finds it by id or key."""
    gone = await client.remember("The canary sings", key="canary", metadata={"note": "canary"})
    await client.remember("The cat sleeps", key="cat")
    then = await now(client)
    forgot = await client.forget(gone.memory.id)
    assert await listed(client, then) == {"The cat sleeps": "live"}
    (shown,) = (await client.list(as_of=then, status="forgotten", at_least=forgot.position)).entries
    assert (shown.id, shown.text, shown.key, shown.metadata) == (gone.memory.id, "", "", {})
    for id_, key in ((gone.memory.id, ""), ("", "canary")):
        with pytest.raises(NotFoundError):
            await client.get(id_, key=key, as_of=then)
    assert (await client.get(key="cat", as_of=then)).text == "The cat sleeps"


async def test_who_was_one_person_is_as_it_was(client: Umbriel) -> None:
    """Links of then decide what is shown together, whatever was linked or unlinked since."""
    await client.remember("Mara rows", contact="mara")
    await client.remember("M. swims", contact="t:12")
    apart = await now(client)
    await client.link_contact("mara", "t:12")
    together = await now(client)
    await client.unlink_contact("mara")
    after = await now(client)

    async def seen(as_of: datetime) -> set[str]:
        return {one.text for one in (await client.list(as_of=as_of, contact="mara")).entries}

    assert await seen(apart) == {"Mara rows"}
    assert await seen(together) == {"Mara rows", "M. swims"}
    assert await seen(after) == {"Mara rows"}


BAD = [
    ("tomorrow", InvalidInputError, "neither a time nor a position"),
    ("2026-01-01T10:00:00", InvalidInputError, "no time zone"),
    ("2999-01-01T10:00:00Z", InvalidInputError, "in the future"),
    ("2001-01-01T10:00:00Z", InvalidInputError, "did not exist"),
    ("{stream}:0", InvalidInputError, "did not exist"),
    ("{stream}:999999999", MismatchError, "not reached"),
    ("UMBRIEL.other:7", MismatchError, "another log"),
]


@pytest.mark.parametrize("as_of, error, named", BAD)
async def test_what_is_no_point_of_the_past_is_refused(
    client: Umbriel, as_of: str, error: type[Exception], named: str
) -> None:
    """Each says what is wrong with it, on every verb alike; a profile that was never there is not found."""
    kept = await client.remember("control", key="control", wait=True)
    point = as_of.format(stream=kept.position.partition(":")[0])
    with pytest.raises(error, match=named):
        await client.list(as_of=point)
    with pytest.raises(error, match=named):
        await client.get(kept.memory.id, as_of=point)
    with pytest.raises(error, match=named):
        await client.recall("control", as_of=point)
    with pytest.raises(NotFoundError, match="no such profile"):
        await client.for_profile("never").list(as_of=kept.position)


async def answered(client: Umbriel, query: str, **fields: Any) -> list[tuple[str, float, float]]:
    """What a question finds, best first: ids with score and relevance."""
    reply = await client.recall(query, contact="*", limit=30, **fields)
    return [(one.id, round(one.score, 6), round(one.relevance, 6)) for one in (*reply.suppressions, *reply.results)]


ASKED = ("who sails the boat", "anchor", "what about the harbour yesterday")


async def test_recall_answers_as_it_did(client: Umbriel) -> None:
    """Whatever was written, replaced or linked since: the same ids, in the same order, with the same scores."""
    lines = ["I sail the boat on Sundays.", "The anchor is heavy.", "Bea keeps the harbour."]
    await client.ingest([Message(role="user", content=line) for line in lines], session="s", contact="ana")
    await client.remember("The anchor lies at the harbour", key="anchor", contact="ana")
    await client.remember("Do not mention the anchor to Bea", kind="instruction")
    written = await client.remember("Ana paints the boat", contact="ana", wait=True)
    before = {query: await answered(client, query, at_least=written.position) for query in ASKED}
    position = (await client.recall("boat")).position
    then = await now(client)
    assert all(before.values())
    await client.remember("The anchor is lost", key="anchor", contact="ana", wait=True)
    await client.ingest([Message(role="user", content="The boat and its anchor sank.")], session="s", contact="ana")
    await client.link_contact("ana", "bea")
    after = await client.remember("The harbour is closed to every boat and anchor", wait=True)
    assert await answered(client, "anchor", at_least=after.position) != before["anchor"]
    for point in (position, then):
        assert {query: await answered(client, query, as_of=point) for query in ASKED} == before
    reply = await client.recall("what happened yesterday", as_of=then, contact="*")
    assert reply.facts[0].startswith(f"The reference date is {then:%Y-%m-%d}")
    assert sequence_of(reply.position) <= sequence_of(after.position)


async def test_recall_of_then_holds_nothing_forgotten_since(client: Umbriel, service: ServiceProcess) -> None:
    """Memory and message are gone from the past's answers and files at once, and what stood beside them is not."""
    said = await client.ingest([Message(role="user", content="The xylophone is in the cellar.")], session="s")
    gone = await client.remember("The xylophone is out of tune", key="xylophone", wait=True)
    kept = await client.remember("The trumpet is out of tune", key="trumpet", wait=True)
    then = await now(client)
    found = {one for one, _, _ in await answered(client, "xylophone trumpet tune cellar", as_of=then)}
    assert found >= {said.outcomes[0].id, gone.memory.id, kept.memory.id}
    past = service.data / "profiles" / directory_name(client.profile) / "past"
    assert list(past.iterdir())
    await client.forget(said.outcomes[0].id)
    forgot = await client.forget(gone.memory.id)
    await client.list(at_least=forgot.position)
    assert not past.exists()
    found = {one for one, _, _ in await answered(client, "xylophone trumpet tune cellar", as_of=then)}
    assert found == {kept.memory.id}
    for file in (path for path in past.rglob("*") if path.is_file()):
        assert b"xylophone" not in file.read_bytes(), file


async def test_the_past_is_read_from_the_command_line(client: Umbriel, service: ServiceProcess) -> None:
    """A time without a zone is one in UTC."""
    await client.remember("The tide is low", key="tide", wait=True)
    then = await now(client)
    await client.remember("The tide is high", key="tide", wait=True)
    where = ("--profile", client.profile, "--as-of", f"{then:%Y-%m-%dT%H:%M:%S.%f}")
    cli = Cli(service.data)
    for command in (("get", "--key", "tide"), ("recall", "tide")):
        shown = (await asyncio.to_thread(cli.run, *command, *where)).stdout
        assert "The tide is low" in shown
        assert "The tide is high" not in shown
