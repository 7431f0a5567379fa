"""Backups of a running service and what is restored from them: the same answers, and nothing that was destroyed."""

from __future__ import annotations

import asyncio
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from domain.errors import (
    AlreadyRunningError,
    DamagedError,
    InvalidInputError,
    MismatchError,
    NotFoundError,
    UmbrielError,
)
from domain.grants import Principal
from domain.settings import BackupSettings
from gateways.jetstream.destroyed import FILE, DestroyedKey, parse_destroyed, shown
from gateways.jetstream.keys import SECRET
from gateways.restoring import Restored, check, restore
from gateways.service.backups import Backups
from gateways.service.models import Models
from tests.cheap import CheapEmbedder
from tests.thinking_world import PERSON, QUICK, World, thinking, until
from umbriel.backups import BackupReply
from umbriel.state import StatusReply

Here = World[Models]
SETTINGS = msgspec.structs.replace(QUICK, thinking=False)
NOW = datetime.now(UTC)


@asynccontextmanager
async def world(data: Path, **backup: Any) -> AsyncIterator[Here]:
    """A service that only keeps what it is told."""
    settings = msgspec.structs.replace(SETTINGS, backup=BackupSettings(**backup))
    async with thinking(data, Models((), ()), settings=settings, embedder=CheapEmbedder()) as started:
        yield started


def backups(here: Here) -> Backups:
    """What makes the service's backups."""
    found = here.runtime.service.core.backups
    assert found is not None
    return found


async def ask(here: Here, principal: Principal = PERSON, **fields: Any) -> BackupReply:
    """Ask for a backup, or about one."""
    reply = await here.runtime.service.call("backup", principal, "_", msgspec.json.encode(fields))
    assert isinstance(reply, BackupReply)
    return reply


async def backed_up(here: Here, path: Path, **fields: Any) -> Path:
    """Make a backup and return its file."""
    reply = await ask(here, action="start", path=str(path), **fields)

    async def ended() -> bool:
        nonlocal reply
        reply = await ask(here, action="status")
        return reply.state != "running"

    await until(ended)
    assert reply.state == "made", reply.error
    return Path(reply.file)


def names_in(place: Path) -> list[str]:
    """What lies in a directory."""
    return sorted(one.name for one in place.iterdir())


def nobody(_: str, __: int, ___: int) -> None:
    """Progress that nobody looks at."""


async def restored(file: Path, data: Path, **options: Any) -> Restored:
    """Restore with the master key of the base service, unless another is named."""
    options.setdefault("master_key", file.parent / "master.key")
    return await restore(file, data, progress=nobody, **options)


async def answers(here: Here, at_least: str) -> list[tuple[str, str, float]]:
    """What recall finds about boats."""
    reply = await here.call("recall", query="where is the boat", limit=20, at_least=at_least)
    return [(one.id, one.text, one.score) for one in reply.results]


class Made(msgspec.Struct, frozen=True):
    """A backup and what its service answered when it was made; ``files`` lie beside it."""

    file: Path
    answers: list[tuple[str, str, float]]
    position: str
    secret: str = ""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One backup for all tests that only read it, with the master key's file beside it."""
    place = tmp_path_factory.mktemp("made")
    return asyncio.run(_made(place))


async def _made(place: Path) -> Made:
    async with world(place / "data") as here:
        for number in range(12):
            await here.remember(f"The boat lies at berth {number}", key=f"berth {number}")
        last = await here.call("remember", content="The boat is red", key="colour", wait=True)
        await here.runtime.service.call(
            "principal_add", PERSON, "_", msgspec.json.encode({"name": "kept", "grants": []})
        )
        found = await answers(here, last.position)
        file = await backed_up(here, place)
    (place / "master.key").write_bytes((place / "data" / "secrets" / "master.key").read_bytes())
    return Made(file, found, last.position)


async def test_a_restored_service_answers_the_same_and_goes_on(made: Made, tmp_path: Path) -> None:
    """Ids, texts and scores are those of before; principals are there; writes go on; old positions are refused."""
    assert len(made.answers) > 5
    done = await restored(made.file, tmp_path / "new")
    assert done.events > 12
    assert done.position.rpartition(":")[2] >= made.position.rpartition(":")[2]
    assert done.incarnation not in made.position
    async with world(tmp_path / "new") as here:
        assert await answers(here, done.position) == made.answers
        names = await here.runtime.service.call("principal_list", PERSON, "_", b"")
        assert "kept" in msgspec.json.encode(names).decode()
        with pytest.raises(MismatchError):
            await answers(here, made.position)
        later = await here.call("remember", content="The boat is blue", key="colour", wait=True)
        assert later.memory.id.endswith("@2")
        found = await answers(here, later.position)
        assert "The boat is red" not in [text for _, text, _ in found]
    assert names_in(tmp_path) == ["new"]


async def test_a_backup_holds_no_secret_that_was_not_asked_for(made: Made, tmp_path: Path) -> None:
    """Without the master key's file it is restored by nobody; with ``master_key`` it holds it and needs none."""
    with zipfile.ZipFile(made.file) as archive:
        assert not [name for name in archive.namelist() if ("key" in name and name != FILE) or "password" in name]
    assert made.file.stat().st_mode & 0o077 == 0
    with pytest.raises(NotFoundError):
        await restored(made.file, tmp_path / "new", master_key=None)
    async with world(tmp_path / "data") as here:
        await here.remember("The boat is red")
        whole = await backed_up(here, tmp_path / "whole.backup", master_key=True)
    assert (await check(whole, tmp_path, progress=nobody)).checked_only
    await restored(whole, tmp_path / "new", master_key=None)
    assert (tmp_path / "new" / "secrets" / "master.key").read_bytes() == (
        tmp_path / "data" / "secrets" / "master.key"
    ).read_bytes()


def _cut(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) * 2 // 3])


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _rewrite(file: Path, change: dict[str, bytes], *, without: str = "") -> None:
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if name != without}
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {**parts, **change}.items():
            archive.writestr(name, content)


def _other_bytes(file: Path) -> None:
    _rewrite(file, {"streams/UMBRIEL.snapshot": b"other"})


def _another_part(file: Path) -> None:
    _rewrite(file, {"more": b"more"})


def _part_missing(file: Path) -> None:
    _rewrite(file, {}, without="streams/UMBRIEL_KEYS.snapshot")


def _other_manifest(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        manifest = archive.read("manifest.json")
    _rewrite(file, {"manifest.json": manifest.replace(b'"events":', b'"events":1')})


def _no_archive(file: Path) -> None:
    file.write_bytes(b"nothing of it")


def _other_key(file: Path) -> None:
    (file.parent / "master.key").write_bytes(b"x" * 32)


@pytest.mark.parametrize(
    "harm, error",
    [
        (_cut, DamagedError),
        (_flip, DamagedError),
        (_other_bytes, DamagedError),
        (_another_part, DamagedError),
        (_part_missing, DamagedError),
        (_no_archive, DamagedError),
        (_other_manifest, MismatchError),
        (_other_key, MismatchError),
    ],
)
async def test_what_is_not_whole_writes_nothing(
    made: Made, tmp_path: Path, harm: Any, error: type[UmbrielError]
) -> None:
    """A backup that is cut off, altered, or another's is refused before anything is written."""
    file = tmp_path / made.file.name
    file.write_bytes(made.file.read_bytes())
    (tmp_path / "master.key").write_bytes((made.file.parent / "master.key").read_bytes())
    before = names_in(tmp_path)
    harm(file)
    with pytest.raises(error):
        await restored(file, tmp_path / "new")
    assert names_in(tmp_path) == before


async def test_a_directory_with_something_in_it_is_refused(made: Made, tmp_path: Path) -> None:
    """What lies in a data directory is never written over; an empty one is as good as none."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note").write_text("mine")
    with pytest.raises(InvalidInputError, match="not empty"):
        await restored(made.file, tmp_path / "full")
    assert names_in(tmp_path / "full") == ["note"]
    (tmp_path / "empty").mkdir()
    assert (await restored(made.file, tmp_path / "empty")).events


async def test_where_a_backup_may_go(tmp_path: Path) -> None:
    """It takes no other file's place, needs a directory that is there and a path that is whole; agents make none."""
    async with world(tmp_path / "data") as here:
        await here.remember("The boat is red")
        taken = await backed_up(here, tmp_path / "one.backup")
        size = taken.stat().st_size
        for path in (str(taken), "relative.backup", "", str(tmp_path / "none" / "one.backup")):
            with pytest.raises(InvalidInputError):
                await ask(here, action="start", path=path)
        assert taken.stat().st_size == size
        assert names_in(tmp_path) == ["data", "one.backup"]
        backups(here)._start(tmp_path / "two.backup")
        with pytest.raises(AlreadyRunningError):
            await ask(here, action="start", path=str(tmp_path / "three.backup"))
        await until(lambda: _idle(here))
        unwritable = tmp_path / "two.backup" / "below"
        with pytest.raises(InvalidInputError):
            await ask(here, action="start", path=str(unwritable))


async def _idle(here: Here) -> bool:
    return backups(here).idle


async def _holds(here: Here, messages: int) -> bool:
    return len((await here.call("feed", kinds=["message"])).events) > messages


async def test_whatever_is_written_meanwhile_has_its_key_in_it(tmp_path: Path) -> None:
    """Backups are taken while conversations begin, each under a key of its own: every restored event can be read."""
    async with world(tmp_path / "data") as here:
        await here.remember("The boat is red")
        going = True

        async def talk(name: int) -> None:
            number = 0
            while going:
                said = [{"role": "user", "content": f"line {number} of {name}"}]
                await here.call("ingest", messages=said, session=f"s{name}-{number}")
                number += 1

        talking = [asyncio.create_task(talk(name)) for name in range(3)]
        await until(lambda: _holds(here, 4))
        file = await backed_up(here, tmp_path / "one.backup", master_key=True)
        going = False
        await asyncio.gather(*talking)
    done = await restored(file, tmp_path / "new", master_key=None)
    async with world(tmp_path / "new") as here:
        events = (await here.call("feed", limit=1_000)).events
        assert sum(one.topic == "message.recorded" for one in events) > 4
        assert done.events >= len(events)


# -- keys that were destroyed -------------------------------------------------------------------


async def said(data: Path) -> list[str]:
    """What the messages of a data directory say."""
    async with world(data) as here:
        return [one.data["content"] for one in (await here.call("feed", kinds=["message"])).events]


async def test_destroyed_keys_stay_destroyed(tmp_path: Path) -> None:
    """A backup older than the destruction brings its key back only to who knows nothing of it.

    The file beside the backups knows, a later backup does, and the data directory itself.
    """
    place, later = tmp_path / "backups", tmp_path / "later.backup"
    place.mkdir()
    async with world(tmp_path / "data", directory=str(place), every=8_000.0) as here:
        await here.call("ingest", messages=[{"role": "user", "content": "kept"}], session="s1")
        await here.call("ingest", messages=[{"role": "user", "content": "erased"}], session="s2")
        await until(lambda: _idle(here))
        old = await backed_up(here, place)
        keys = here.runtime.service.core.events.keys
        key = await keys.key("p", "conversation:s2", create=False)
        await keys.destroy("p", key.key_id)
        known = parse_destroyed((place / FILE).read_bytes(), FILE)
        assert [one.key_id for one in known] == [key.key_id]
        await backed_up(here, later)
    elsewhere = tmp_path / "elsewhere.backup"
    elsewhere.write_bytes(old.read_bytes())
    key_file = tmp_path / "data" / "secrets" / "master.key"
    unknowing = await restored(elsewhere, tmp_path / "control", master_key=key_file)
    assert (unknowing.destroyed_again, await said(tmp_path / "control")) == (0, ["kept", "erased"])
    beside = await restored(old, tmp_path / "beside", master_key=key_file)
    assert (beside.destroyed_again, await said(tmp_path / "beside")) == (1, ["kept"])
    for number, honoured in enumerate((later, tmp_path / "data")):
        target = tmp_path / f"honoured{number}"
        done = await restored(elsewhere, target, master_key=key_file, honour=[honoured])
        assert (done.destroyed_again, honoured) == (1, honoured)
    with pytest.raises(NotFoundError):
        await restored(elsewhere, tmp_path / "none", master_key=key_file, honour=[tmp_path / "nowhere"])


async def test_a_secret_is_destroyed_again_only_where_it_is_the_same(made: Made, tmp_path: Path) -> None:
    """A profile that began anew has a secret under the name of the one that was destroyed: its fingerprint tells."""
    data = made.file.parent / "data"
    async with world(data) as here:
        here_is = await here.runtime.service.core.events.keys.fingerprint_of("p", SECRET)
    assert here_is is not None
    for record, again in ((here_is, 1), ("0" * 32, 0)):
        listed = tmp_path / f"{again}.jsonl"
        listed.write_bytes(shown([DestroyedKey("p", SECRET, record)]))
        done = await restored(made.file, tmp_path / f"to{again}", honour=[listed])
        assert done.destroyed_again == again


# -- by themselves ------------------------------------------------------------------------------


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


async def test_backups_by_themselves(tmp_path: Path) -> None:
    """One is made when none is there, a missed one at the next look; the newest stay, and what is no backup."""
    clock, place = Clock(), tmp_path / "backups"
    settings = msgspec.structs.replace(SETTINGS, backup=BackupSettings(directory=str(place), every=24, keep=2))
    running = thinking(tmp_path / "data", Models((), ()), settings=settings, embedder=CheapEmbedder(), clock=clock)
    async with running as here:
        made = backups(here)

        async def first() -> bool:
            return len(names()) == 1

        def names() -> list[str]:
            return sorted(one.name for one in place.glob("*.backup"))

        await until(first)
        await until(lambda: _idle(here))
        (place / "umbriel-foreign.backup").write_bytes(b"none")
        assert await made.look() == clock.now + timedelta(hours=24)
        assert len(names()) == 2
        for days in (1, 2, 3):
            clock.now = NOW + timedelta(days=days, minutes=1)
            await made.look()
        assert len(names()) == 3
        assert "umbriel-foreign.backup" in names()
        status = await here.runtime.service.call("status", PERSON, "_", b"{}")
        assert isinstance(status, StatusReply)
        assert status.backup is not None
        assert (status.backup.kept, status.backup.age_seconds) == (2, 0.0)
        assert Path(status.backup.file).name == names()[1]
        place.rename(tmp_path / "moved")
        place.write_text("in the way")
        clock.now = NOW + timedelta(days=9)
        assert await made.look() == clock.now + timedelta(seconds=300)
        failed = await made.status()
        assert failed is not None
        assert failed.error


async def test_two_services_make_one(tmp_path: Path) -> None:
    """While one service on a log makes the backup that is due, another leaves it to that one."""
    place = tmp_path / "backups"
    async with world(tmp_path / "data", directory=str(place)) as here:
        core = here.runtime.service.core
        other = Backups(
            tmp_path / "data",
            core.events.log.connection,
            core.events.keys,
            core.positions,
            BackupSettings(directory=str(place)),
            lambda: datetime.now(UTC),
        )
        await asyncio.gather(other.look(), backups(here).look())
        await until(lambda: _idle(here))
        assert len(list(place.glob("*.backup"))) == 1
