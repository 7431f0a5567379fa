"""Keys against a real server: made once, wrapped, and gone from the disk when they are destroyed."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import msgspec
import pytest

from domain.errors import DamagedError, ErasedError, InvalidInputError, MismatchError, NotFoundError
from domain.ids import partition_of
from gateways.jetstream.connection import Connection
from gateways.jetstream.keys import SECRET, KeyRing
from gateways.jetstream.server import NatsServer
from gateways.jetstream.streams import KEYS_STREAM


class Record(msgspec.Struct):
    """A stored message, as the operator's API shows it."""

    subject: str
    seq: int
    data: str = ""


class Answer(msgspec.Struct):
    """The answer of MSG.GET."""

    message: Record


async def record(connection: Connection, profile: str, key_id: str) -> Record:
    """The last record of a key."""
    subject = f"umbriel.keys.{partition_of(profile):02d}.{profile}.{key_id}"
    request = msgspec.json.encode({"last_by_subj": subject})
    return (await connection.call(f"$JS.API.STREAM.MSG.GET.{KEYS_STREAM}", request, Answer)).message


def files_with(directory: Path, needle: bytes) -> list[str]:
    """Names of the files that hold these bytes."""
    return [path.name for path in directory.rglob("*") if path.is_file() and needle in path.read_bytes()]


def another(connection: Connection, server: NatsServer) -> KeyRing:
    """A ring that has read nothing yet."""
    return KeyRing(connection, server.secrets.master_key())


async def test_a_key_is_made_once(key_ring: KeyRing, connection: Connection, nats_server: NatsServer) -> None:
    """The same scope has the same key for every instance and from every direction."""
    key = await key_ring.key("p", "conversation:s")
    other = another(connection, nats_server)
    assert await other.key("p", "conversation:s") == key
    assert await other.by_id("p", key.key_id) == key
    assert await other.secret("p") == await key_ring.secret("p")
    assert len(key.material) == len(await other.secret("p")) == 32
    scopes = [await key_ring.key("p", "agent"), await key_ring.key("q", "conversation:s")]
    assert len({key.material, *(one.material for one in scopes)}) == 3


async def test_many_writers_agree_on_a_new_key(connection: Connection, nats_server: NatsServer) -> None:
    """Instances that need a key at the same moment all get the one that was written first."""
    keys = await asyncio.gather(*(another(connection, nats_server).key("p", "agent") for _ in range(20)))
    assert len(set(keys)) == 1


async def test_a_record_holds_no_key(key_ring: KeyRing, connection: Connection, nats_server: NatsServer) -> None:
    """What lies on the disk is wrapped, and its subject says nothing of its scope."""
    key = await key_ring.key("p", "contact:ada@example.org")
    found = await record(connection, "p", key.key_id)
    assert len(base64.b64decode(found.data)) == 40
    assert files_with(nats_server.store, key.material) == []
    assert files_with(nats_server.store, b"ada@example.org") == []
    assert "ada" not in repr(key)
    assert key.material.hex() not in repr(key)


async def test_a_destroyed_key_leaves_nothing_on_the_disk(
    key_ring: KeyRing, connection: Connection, nats_server: NatsServer
) -> None:
    """The wrapped bytes are in the store before the destruction and nowhere after it."""
    key = await key_ring.key("p", "conversation:s")
    kept = await key_ring.key("p", "conversation:t")
    wrapped = base64.b64decode((await record(connection, "p", key.key_id)).data)
    wrapped_kept = base64.b64decode((await record(connection, "p", kept.key_id)).data)
    assert files_with(nats_server.store, wrapped) != []
    await key_ring.destroy("p", key.key_id)
    assert files_with(nats_server.store, wrapped) == []
    assert files_with(nats_server.store, wrapped_kept) != []
    for ring in (key_ring, another(connection, nats_server)):
        assert await ring.by_id("p", key.key_id) is None
        assert await ring.by_id("p", kept.key_id) == kept


async def test_a_destroyed_key_cannot_be_revived(
    key_ring: KeyRing, connection: Connection, nats_server: NatsServer
) -> None:
    """After a destruction the scope gets the next generation, also from a writer that knew nothing of it."""
    key = await key_ring.key("p", "conversation:s")
    await key_ring.destroy("p", key.key_id)
    successor = await another(connection, nats_server).key("p", "conversation:s")
    assert successor.key_id != key.key_id
    assert await key_ring.key("p", "conversation:s") == successor
    found = await record(connection, "p", key.key_id)
    with pytest.raises(Exception, match="wrong last sequence"):
        await connection.call(found.subject, b"late", Answer, {"Nats-Expected-Last-Subject-Sequence": "0"})
    await key_ring.destroy("p", successor.key_id)
    third = await key_ring.key("p", "conversation:s")
    assert len({key.key_id, successor.key_id, third.key_id}) == 3


async def test_destroying_races_with_making(connection: Connection, nats_server: NatsServer) -> None:
    """Whoever makes a key while it is destroyed ends with one that lives, or the destruction came later."""
    ring = another(connection, nats_server)
    first = (await ring.key("p", "agent")).key_id
    rings = [another(connection, nats_server) for _ in range(8)]
    await asyncio.gather(*(one.key("p", "agent") for one in rings), ring.destroy("p", first), ring.destroy("p", first))
    assert await another(connection, nats_server).by_id("p", first) is None
    assert (await another(connection, nats_server).key("p", "agent")).key_id != first


async def test_an_unfinished_destruction_is_finished(
    key_ring: KeyRing, connection: Connection, nats_server: NatsServer
) -> None:
    """A crash between tombstone and erasure leaves bytes that the next destruction removes."""
    key = await key_ring.key("p", "agent")
    found = await record(connection, "p", key.key_id)
    await connection.js.publish(found.subject, b"")
    assert files_with(nats_server.store, base64.b64decode(found.data)) != []
    await key_ring.destroy("p", key.key_id)
    assert files_with(nats_server.store, base64.b64decode(found.data)) == []


async def test_a_key_that_never_was_stays_destroyed(key_ring: KeyRing) -> None:
    """Destroying an unknown key leaves a tombstone; a key without any trace is damage, not an erasure."""
    with pytest.raises(DamagedError):
        await key_ring.by_id("p", "a" * 26)
    await key_ring.destroy("p", "a" * 26)
    assert await key_ring.by_id("p", "a" * 26) is None


async def test_an_erased_profile_begins_with_a_new_secret(key_ring: KeyRing) -> None:
    """Nothing of the old secret comes back under the same profile name."""
    before = await key_ring.secret("p")
    await key_ring.destroy("p", SECRET)
    assert await key_ring.secret("p") != before


async def test_a_closed_scope_gets_no_other_key(
    key_ring: KeyRing, connection: Connection, nats_server: NatsServer
) -> None:
    """Not from a writer that knew nothing, nor where there was no key yet; opened again, the next one is made."""
    key = await key_ring.key("p", "contact:ana")
    await key_ring.destroy("p", key.key_id, closed=True)
    (never,) = await key_ring.generations("p", "contact:bea")
    await key_ring.destroy("p", never, closed=True)
    for scope in ("contact:ana", "contact:bea"):
        for ring in (key_ring, another(connection, nats_server)):
            with pytest.raises(ErasedError):
                await ring.key("p", scope)
    await key_ring.destroy("p", key.key_id)
    with pytest.raises(ErasedError):
        await key_ring.key("p", "contact:ana")
    await key_ring.open("p", key.key_id)
    successor = await another(connection, nats_server).key("p", "contact:ana")
    assert await key_ring.generations("p", "contact:ana") == [key.key_id, successor.key_id]
    with pytest.raises(ErasedError):
        await key_ring.key("p", "contact:bea")
    await key_ring.destroy("p", SECRET, closed=True)
    with pytest.raises(ErasedError):
        await another(connection, nats_server).secret("p")


async def test_what_there_is_of_a_profile(key_ring: KeyRing) -> None:
    """Every key with its state, the secret among them, and no other profile's; nothing of them is shown."""
    kept, gone = await key_ring.key("p", "agent"), await key_ring.key("p", "contact:ana")
    await key_ring.key("q", "agent")
    await key_ring.destroy("p", gone.key_id, closed=True)
    states = await key_ring.states("p")
    assert {key: (state.destroyed, state.closed) for key, state in states.items()} == {
        SECRET: (False, False),
        kept.key_id: (False, False),
        gone.key_id: (True, True),
    }
    assert key_ring.unwrapped(kept.key_id, states[kept.key_id]) == kept
    assert repr(states[kept.key_id].wrapped)[2:-1] not in repr(states)
    await key_ring.destroy("p", SECRET)
    await key_ring.secret("p")
    assert (await key_ring.states("p"))[SECRET].reborn


async def test_keys_that_must_exist(key_ring: KeyRing) -> None:
    """Without leave to make a key a missing one is not found; names that are no profiles are refused."""
    with pytest.raises(NotFoundError):
        await key_ring.key("p", "agent", create=False)
    with pytest.raises(InvalidInputError):
        await key_ring.key("a.b", "agent")


async def test_another_master_key_is_noticed(key_ring: KeyRing, connection: Connection) -> None:
    """A wrong master key is refused at the start, and never opens a key."""
    await key_ring.check()
    await key_ring.check()
    key = await key_ring.key("p", "agent")
    wrong = KeyRing(connection, bytes(32))
    with pytest.raises(MismatchError):
        await wrong.check()
    with pytest.raises(DamagedError):
        await wrong.by_id("p", key.key_id)
