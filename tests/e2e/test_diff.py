"""What a profile learned, changed and lost between two points, as the client, the command line and a page show it."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.processes import ServiceProcess
from tests.e2e.test_cli import Cli
from tests.e2e.test_past import now
from umbriel import InvalidInputError, Umbriel
from umbriel._past import Point
from umbriel.diffs import Difference


async def told(client: Umbriel, start: Point = "", end: Point = "", contact: str = "*") -> dict[str, Difference]:
    """The differences by what each is about."""
    reply = await client.diff(start, end, contact=contact)
    assert reply.cursor == ""
    return {one.text or one.id: one for one in reply.entries}


async def test_each_kind_of_difference_is_told_once(client: Umbriel, person: Umbriel) -> None:
    """Learned, changed over several steps, ended, restored, forgotten, adjusted; what came and went is nothing."""
    home = await client.remember("Ana lives in Porto", key="home")
    car = await client.remember("Ana drives a van", key="car")
    cat = await client.remember("Ana has a cat", key="cat")
    old = await client.remember("Ana rows", key="sport")
    tea = await client.remember("Ana drinks tea", key="drink")
    await client.remember("Ana is tall", key="size")
    await client.retract(old.memory.id)
    start = await now(client)
    await client.remember("Ana lives in Faro", key="home")
    lisbon = await client.remember("Ana lives in Lisbon", key="home")
    await client.retract(car.memory.id)
    await client.forget(cat.memory.id)
    await client.restore(old.memory.id)
    await person.pin(tea.memory.id)
    await person.expire(tea.memory.id, at=datetime.now(UTC) + timedelta(days=9))
    await client.remember("Ana hums", key="habit")
    passing = await client.remember("Ana sneezed", key="passing")
    await client.retract(passing.memory.id)
    end = await now(client)
    await client.remember("Ana moved to the moon", key="home")

    found = await told(client, start, end)
    assert {text: one.what for text, one in found.items()} == {
        "Ana lives in Lisbon": "changed",
        "Ana drives a van": "ended",
        cat.memory.id: "forgotten",
        "Ana rows": "restored",
        "Ana drinks tea": "adjusted",
        "Ana hums": "learned",
    }
    changed = found["Ana lives in Lisbon"]
    assert [(one.id, one.text, one.rule) for one in changed.replaced] == [
        (home.memory.id, "Ana lives in Porto", "address")
    ]
    assert (changed.id, changed.status, changed.actor) == (lisbon.memory.id, "live", "local-agent")
    assert (found["Ana drives a van"].status, found["Ana drives a van"].actor_type) == ("retracted", "agent")
    assert (found[cat.memory.id].text, found[cat.memory.id].key) == ("", "")
    assert {one.field: one.new for one in found["Ana drinks tea"].fields}.keys() == {"pinned", "expires_at"}
    assert found["Ana drinks tea"].actor == "local"
    assert await told(client, end, end) == {}
    later = await told(client, start)
    assert [one.text for one in later["Ana moved to the moon"].replaced] == ["Ana lives in Porto"]


async def test_the_whole_past_and_an_expiry(client: Umbriel, person: Umbriel) -> None:
    """From the beginning everything is learned; what expired between two clocks ended, though nobody did anything."""
    gone = await client.remember("The key is under the mat", key="mat", wait=True)
    stays = await client.remember("The gate is blue", key="gate", wait=True)
    before = await now(client)
    assert {one.what for one in (await told(client)).values()} == {"learned"}
    assert set(await told(client, "2001-01-01T00:00:00Z", gone.position)) == {"The key is under the mat"}
    await person.expire(gone.memory.id, at=before)
    (ended,) = (await told(client, before)).values()
    assert (ended.what, ended.status, ended.id) == ("ended", "expired", gone.memory.id)
    forgot = await client.forget(stays.memory.id)
    (never,) = [one for one in (await told(client, gone.position, before)).values() if one.id == stays.memory.id]
    assert (never.what, never.text, never.key) == ("learned", "", "")
    assert (await client.diff(start=before, end=forgot.position)).end == forgot.position


async def test_contacts_and_kinds_are_told_apart(client: Umbriel) -> None:
    """Without a contact only what is agent-wide; a contact brings in whom it was linked with at the end."""
    start = (await client.remember("control", key="control")).position
    await client.remember("Mara rows", contact="mara")
    await client.remember("Jon swims", contact="jon")
    await client.remember("Answer in rhyme", kind="instruction")
    await client.link_contact("mara", "jon")
    linked = await now(client)
    await client.unlink_contact("mara")
    assert set(await told(client, start, contact="")) == {"Answer in rhyme"}
    assert set(await told(client, start, contact="mara")) == {"Answer in rhyme", "Mara rows"}
    assert set(await told(client, start, linked, contact="mara")) == {"Answer in rhyme", "Mara rows", "Jon swims"}
    reply = await client.diff(start, contact="*", kind="instruction")
    assert [one.text for one in reply.entries] == ["Answer in rhyme"]


async def test_pages_hold_still(client: Umbriel) -> None:
    """Pages together are the whole, whatever is written between them, also where the later point was now."""
    for number in range(7):
        await client.remember(f"box {number}", key=f"box {number}")
    page = await client.diff(limit=3)
    found = [one.text for one in page.entries]
    while page.cursor:
        await client.remember(f"more {len(found)}", wait=True)
        page = await client.diff(limit=3, cursor=page.cursor)
        found += [one.text for one in page.entries]
    assert found == [f"box {number}" for number in range(7)]


async def test_the_command_line_shows_a_diff(client: Umbriel, service: ServiceProcess) -> None:
    """As Markdown with old and new and the rule, and as JSON; texts are quoted, so that they begin nothing."""
    await client.remember("The tide\n# is low", key="tide")
    start = await now(client)
    await client.remember("The tide is high", key="tide")
    cli, where = Cli(service.data), ("--profile", client.profile, "--from", start.isoformat())
    shown = (await asyncio.to_thread(cli.run, "diff", *where)).stdout
    assert "## Changed (1)" in shown
    assert '- "The tide is high"\n  was: "The tide # is low" (address)' in shown
    raw = json.loads((await asyncio.to_thread(cli.run, "diff", *where, "--json")).stdout)
    assert [one["what"] for one in raw["entries"]] == ["changed"]


BAD = [("2999-01-01T00:00:00Z", "", "in the future"), ("", "soon", "neither a time nor a position")]


@pytest.mark.parametrize("start, end, named", BAD)
async def test_what_are_no_points_is_refused(client: Umbriel, start: str, end: str, named: str) -> None:
    """Each point is checked by itself, and the later one may not be before the other."""
    kept = await client.remember("control", key="control", wait=True)
    with pytest.raises(InvalidInputError, match=named):
        await client.diff(start, end)
    later = await client.remember("more", key="more", wait=True)
    with pytest.raises(InvalidInputError, match="wrong order"):
        await client.diff(later.position, kept.position)
    with pytest.raises(InvalidInputError, match="not a cursor"):
        await client.diff(cursor="x")
