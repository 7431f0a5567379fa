"""Going on with a log that lost something: what is on record, what is discarded, what is served afterwards."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from domain.errors import ConflictError, MismatchError
from domain.events import LostRange
from gateways.jetstream.log import Append
from gateways.offline import opened
from gateways.recovering import Recovery, recover, recovery_of
from gateways.restoring import restore
from gateways.service.integrity import last_recovery
from projections.salvage import known_of
from tests.cheap import CheapEmbedder
from tests.damage import cut_end, cut_out, flip
from tests.sealed_store import SETTINGS, copied_store, look, nats_store, start
from tests.thinking_world import PERSON, thinking, until

pytestmark = [pytest.mark.timeout(120), pytest.mark.fault]


@pytest.fixture
def data(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Path:
    """A data directory that a service has worked on and left."""
    return copied_store(tmp_path_factory.mktemp("sound") / "made", tmp_path / "data")


async def mend(data: Path, *, dry_run: bool = False) -> Recovery:
    """Look at a directory's log and go on with what is left of it."""
    async with opened(data) as log:
        examination = log.examination()
        await examination.run()
        recovery = recovery_of(log, examination)
        if not dry_run:
            await recover(log, recovery)
        return recovery


async def end_of(data: Path) -> int:
    """The last position of a directory's log."""
    async with opened(data) as log:
        return log.state.last_position


async def test_a_log_that_lost_its_end_goes_on(data: Path) -> None:
    """What is left is served, what is lost is on record and in no view, and old positions are refused."""
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        written = await world.call("remember", content="The last thing said", key="last")
    position, old_end = position_of(data, "The last thing said"), await end_of(data)
    cut_end(nats_store(data), position)
    before = {path: path.read_bytes() for path in (data / "profiles").rglob("*.json")}
    planned = await mend(data, dry_run=True)
    assert {path: path.read_bytes() for path in (data / "profiles").rglob("*.json")} == before
    done = await mend(data)
    assert [(one.what, one.text) for one in done.known if one.what == "memory"] == [("memory", "The last thing said")]
    assert done.known == planned.known
    event = done.event
    assert (event.end, event.seen >= old_end - 1, event.lost, event.profiles) == (position - 1, True, (), ("p",))
    assert "The last thing said" not in await start(data)
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        assert await world.texts(contact="*")
        for verb in ("feed", "list"):
            with pytest.raises(MismatchError):
                await world.call(verb, **{"after" if verb == "feed" else "at_least": written.position})
        again = await world.call("remember", content="The last thing said again", key="last", wait=True)
        assert again.memory.id.endswith("@1")
    assert (await look(data)).findings == []
    with pytest.raises(ConflictError, match="nothing to recover"):
        await mend(data)


@pytest.mark.parametrize("harm", [flip, cut_out])
async def test_a_log_with_holes_goes_on(data: Path, harm: Callable[[Path, int], None]) -> None:
    """Messages that are gone are on record with their profile; what they said can be said again, once."""
    end, gone = (
        await end_of(data),
        [position_of(data, text) for text in ("My sister is called Ana.", "Shelf 3 is green")],
    )
    for position in gone:
        harm(nats_store(data), position)
    done = await mend(data)
    assert done.event.lost == tuple(LostRange(position, position) for position in gone)
    assert (done.event.end, done.event.profiles) == (end, ("p",))
    assert {one.text for one in done.known if one.what != "change"} == {"My sister is called Ana.", "Shelf 3 is green"}
    texts = await start(data)
    assert "Shelf 3 is green" not in texts
    assert "Shelf 4 is green" in texts
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        lines = [{"role": "user", "content": line} for line in ("I live in Porto.", "My sister is called Ana.")]
        again = await world.call("ingest", messages=lines, session="s1", contact="mara")
        assert [one.outcome for one in again.outcomes] == ["duplicate", "recorded"]
        written = await world.call("remember", content="Shelf 3 is red", key="shelf 3", contact="jo")
        assert "Shelf 3 is red" in await world.texts(contact="jo", at_least=written.position)
    assert (await look(data)).findings == []


def position_of(data: Path, text: str) -> int:
    """Where in the log a memory was stated."""
    (found,) = [one for one in known_of(data / "profiles" / "p.p", 1, 10_000, 10_000) if one.text == text]
    return found.position


async def test_what_was_not_written_by_us_is_put_aside(data: Path) -> None:
    """A message that does not open stops a profile's views; on record as lost, it is passed over."""
    async with opened(data) as log:
        sound = next(entry for entry in await log.log.read(0, 100) if entry.key_id)
        bad = Append(
            f"p.message.{'b' * 26}", 1, sound.topic, 1, uuid.uuid4().hex, datetime.now(UTC), sound.key_id, b"x" * 80, 0
        )
        (position,) = await log.log.append([bad])
    assert [(one.check, one.position) for one in (await look(data)).findings] == [("body", position)]
    assert (await mend(data)).event.lost == (LostRange(position, position),)
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        await world.remember("It goes on")
        assert not [view for view in (await world.call("status")).views if view.stopped]
    assert (await look(data)).findings == []


async def test_a_sound_log_is_left_alone(data: Path) -> None:
    """With nothing wrong, or only a view damaged, there is nothing to recover and nothing is written."""
    end = await end_of(data)
    with pytest.raises(ConflictError):
        await mend(data)
    next((data / "profiles").rglob("ledger.sqlite")).write_bytes(b"x" * 5000)
    with pytest.raises(ConflictError):
        await mend(data)
    assert await end_of(data) == end


async def test_an_exchanged_log_is_taken_up(data: Path, tmp_path: Path) -> None:
    """A directory that knew another log takes this one up: views of the old one are gone, the record says so."""
    other = tmp_path / "other"
    async with thinking(other, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        await world.remember("Elsewhere it rains")
    for name in ("nats", "secrets"):
        shutil.rmtree(data / name)
        shutil.copytree(other / name, data / name)
    done = await mend(data)
    assert (done.foreign, done.record, done.event.lost) == (True, True, ())
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:

        async def read() -> bool:
            return await world.texts() == ["Elsewhere it rains"]

        await until(read)
    assert (await look(data)).findings == []


async def test_another_service_takes_a_recovery_up_without_a_second_one(data: Path) -> None:
    """Cut short after its record, or seen by a service with a directory of its own, a recovery is not made twice."""
    kept = shutil.copytree(data, data.parent / "kept")
    cut_end(nats_store(data), await end_of(data) - 2)
    first = await mend(data)
    for name in ("profiles", "directory.sqlite", "sealed.json"):
        _replace(kept / name, data / name)
    again = await mend(data)
    assert (again.record, again.foreign) == (False, False)
    async with opened(data) as log:
        recovery = await last_recovery(log.log)
        assert recovery is not None
        assert recovery.incarnation == first.event.incarnation == log.standing.incarnation
    assert await start(data)


def _replace(source: Path, target: Path) -> None:
    if target.is_dir():
        shutil.rmtree(target)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


async def test_positions_of_two_recoveries_are_told_apart(data: Path) -> None:
    """Each recovery has an incarnation of its own, and the newest is what the service shows."""
    cut_end(nats_store(data), await end_of(data) - 2)
    first = await mend(data)
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        written = await world.call("remember", PERSON, content="In between")
        assert f".{first.event.incarnation}:" in written.position
    cut_end(nats_store(data), await end_of(data) - 1)
    second = await mend(data)
    assert second.event.earlier[-1] == first.event.incarnation
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        assert f".{second.event.incarnation}:" in (await world.call("list")).position
    assert (await look(data)).findings == []


async def test_a_restored_log_goes_on_behind_the_seals_of_the_one_before(data: Path, tmp_path: Path) -> None:
    """A directory made from a backup believes the seals in it, and seals on with a key of its own."""
    file = tmp_path / "one.umbriel"
    async with thinking(data, None, settings=SETTINGS, embedder=CheapEmbedder()) as world:

        async def made() -> bool:
            return (
                getattr(await world.runtime.service.call("backup", PERSON, "_", b'{"action": "status"}'), "state", "")
                == "made"
            )

        body = msgspec.json.encode({"action": "start", "path": str(file), "master_key": True})
        await world.runtime.service.call("backup", PERSON, "_", body)
        await until(made)
    await restore(file, tmp_path / "new", progress=lambda *_: None)
    before = (await look(tmp_path / "new")).seals
    async with thinking(tmp_path / "new", None, settings=SETTINGS, embedder=CheapEmbedder()) as world:
        await world.remember("It goes on elsewhere")
    found = await look(tmp_path / "new")
    assert found.findings == []
    assert found.seals > before > 0
    with pytest.raises(ConflictError):
        await mend(tmp_path / "new")
