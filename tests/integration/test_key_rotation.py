"""A new master key: every record wrapped again, the old ones gone from the disk, gone on with after a kill."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from domain.errors import ErasedError, InvalidInputError, MismatchError, NotFoundError, RefusedError
from gateways.jetstream.connection import Connection
from gateways.jetstream.key_records import key_subject
from gateways.jetstream.keys import SECRET, KeyRing
from gateways.jetstream.master_keys import MasterKeys, fingerprint
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.server import NatsServer
from gateways.service.key_rotation import KeyRotation
from tests.integration.test_erasure import there, world
from tests.integration.test_keys import files_with, record
from tests.thinking_world import AGENT, PERSON
from umbriel.keys import KeysRequest

OLD, NEW = bytes(range(32)), bytes(range(32, 64))


def masters(directory: Path, **environ: str) -> MasterKeys:
    """The master keys of a directory, with an environment of the test's."""
    return MasterKeys(Secrets(directory), environ)


async def test_every_record_is_wrapped_again(connection: Connection, nats_server: NatsServer, tmp_path: Path) -> None:
    """Keys and secrets stay what they are, tombstones too; the old bytes are overwritten, the old key is of no use."""
    kept = masters(tmp_path)
    before = kept.present()[0]
    ring = KeyRing(connection, before)
    await ring.check()
    key, secret = await ring.key("p", "agent"), await ring.secret("p")
    gone = await ring.key("p", "contact:ana")
    await ring.destroy("p", gone.key_id, closed=True)
    await ring.destroy("q", SECRET)
    again = await ring.secret("q")
    wrapped = base64.b64decode((await record(connection, "p", key.key_id)).data)
    assert files_with(nats_server.store, wrapped)
    rotation = KeyRotation(ring, kept)
    done = await rotation.rotate()
    assert done.records == 3
    assert done.master == fingerprint(kept.present()[0]) != fingerprint(before)
    assert files_with(nats_server.store, wrapped) == []
    fresh = KeyRing(connection, kept.present()[0])
    await fresh.check()
    assert await fresh.by_id("p", key.key_id) == key
    assert (await fresh.secret("p"), await fresh.secret("q")) == (secret, again)
    assert await fresh.by_id("p", gone.key_id) is None
    assert (await fresh.states("q"))[SECRET].reborn
    with pytest.raises(ErasedError):
        await fresh.key("p", "contact:ana")
    with pytest.raises(MismatchError):
        await KeyRing(connection, before).check()
    shown = await rotation.show(KeysRequest())
    assert [(one.profile, one.keys, one.destroyed, one.closed, one.older) for one in shown.profiles] == [
        ("p", 2, 1, 1, 0),
        ("q", 1, 0, 0, 0),
    ]
    assert (shown.master, shown.before, shown.source) == (done.master, "", "file")
    assert (await rotation.rotate()).master != done.master


async def test_a_rotation_that_was_cut_short_goes_on(connection: Connection, tmp_path: Path) -> None:
    """After any number of records the next start reads all of them, finishes, and removes the old key's file."""
    kept = masters(tmp_path)
    ring = KeyRing(connection, kept.present()[0])
    await ring.check()
    made = [await ring.key("p", f"conversation:{number}") for number in range(6)]
    ring.renew(kept.following())
    for key in made[:3]:
        await ring.rewrap(key_subject("p", key.key_id))
    master, old = kept.present()
    assert old is not None
    started = KeyRing(connection, master, old=old)
    await started.check()
    assert [await started.by_id("p", one.key_id) for one in made] == made
    assert (await KeyRotation(started, kept).show(KeysRequest(profile="p"))).profiles[0].older == 4
    worker = asyncio.create_task(KeyRotation(started, kept).run())
    async with asyncio.timeout(10):
        while started.renewing:  # noqa: ASYNC110 -- the worker tells nobody
            await asyncio.sleep(0.01)
    worker.cancel()
    assert kept.present() == (master, None)
    last = KeyRing(connection, master)
    await last.check()
    assert [await last.by_id("p", one.key_id) for one in made] == made


async def test_the_environment_gives_the_key(connection: Connection, tmp_path: Path) -> None:
    """As digits or a file; it is replaced by giving the one before as well, and nothing is written to any file."""
    place = tmp_path / "mounted"
    place.write_bytes(OLD)
    first = masters(tmp_path / "none", UMBRIEL_MASTER_KEY_FILE=str(place))
    ring = KeyRing(connection, first.present()[0])
    await ring.check()
    key = await ring.key("p", "agent")
    with pytest.raises(InvalidInputError):
        await KeyRotation(ring, first).rotate()
    second = masters(tmp_path / "none", UMBRIEL_MASTER_KEY=NEW.hex(), UMBRIEL_MASTER_KEY_OLD=OLD.hex())
    master, old = second.present()
    assert (master, old) == (NEW, OLD)
    both = KeyRing(connection, master, old=old)
    await both.check()
    assert (await KeyRotation(both, second).rotate()).records == 2
    alone = KeyRing(connection, NEW)
    await alone.check()
    assert await alone.by_id("p", key.key_id) == key
    assert not (tmp_path / "none").exists()
    with pytest.raises(MismatchError):
        await KeyRing(connection, OLD).check()


@pytest.mark.parametrize("environ,error", [("UMBRIEL_MASTER_KEY=zz", "invalid"), ("UMBRIEL_MASTER_KEY_FILE=/no", "no")])
def test_what_is_no_key_is_refused(tmp_path: Path, environ: str, error: str) -> None:
    """A value that is no key and a file that is not there are errors, never another key."""
    name, _, value = environ.partition("=")
    with pytest.raises(InvalidInputError if error == "invalid" else NotFoundError):
        masters(tmp_path, **{name: value}).present()


async def test_a_service_rotates_while_it_serves(tmp_path: Path) -> None:
    """Only a person asks for it; memories are read and written before, meanwhile and after, also after a restart."""
    async with world(tmp_path / "data") as here:
        await here.remember("Ana sings", contact="ana")
        before = await there(here, "_", "keys", PERSON)
        with pytest.raises(RefusedError):
            await there(here, "_", "rotate_keys", AGENT)
        with pytest.raises(RefusedError):
            await there(here, "_", "keys", AGENT)
        _, done = await asyncio.gather(
            here.remember("Bea drinks", contact="bea"), there(here, "_", "rotate_keys", PERSON)
        )
        await here.remember("Cleo paints", contact="cleo")
        after = await there(here, "_", "keys", PERSON)
        assert before.master != after.master == done.master
        assert [(one.profile, one.older) for one in after.profiles] == [("p", 0)]
    async with world(tmp_path / "data") as here:
        assert sorted(await here.texts(contact="*")) == ["Ana sings", "Bea drinks", "Cleo paints"]
        await here.call("rebuild")
        assert sorted(await here.texts(contact="*")) == ["Ana sings", "Bea drinks", "Cleo paints"]
