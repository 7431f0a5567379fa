"""Seals over a real log: what they hold, that they follow each other, and that two services make one chain."""

from __future__ import annotations

import asyncio
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from domain.errors import DamagedError, MismatchError, UmbrielError
from domain.events import LostRange
from domain.merkle import root_of
from domain.sealing import chain_problem, leaf_of, seal_problem
from gateways.jetstream.connection import Connection
from gateways.jetstream.log import Log
from gateways.jetstream.seal_keys import SealKey, check_signature, trusted_keys
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.server import NatsServer
from gateways.jetstream.streams import LOG_STREAM, ensure_streams, state_of
from gateways.service.continuity import Continuity
from gateways.service.integrity import Standing, check_newest
from gateways.service.witness import WitnessFile
from tests.damage import cut_out
from tests.nats_fixtures import operator_connection, service_connection
from tests.sealed_log import INCARNATION, sealer, seals_of, written
from tests.thinking_world import until

TRUSTED = frozenset({SealKey(bytes(32)).public})


async def test_seals_cover_everything_and_follow_each_other(fresh_log: Log, tmp_path: Path) -> None:
    """Stretches of the size asked for, each signed, chained, with the root over what the log holds."""
    await fresh_log.append([written(f"m{n}") for n in range(7)])
    one = sealer(fresh_log, tmp_path, messages=3)
    await one.seal()
    seals = await seals_of(fresh_log)
    # The stretch that ends the log holds the seals of those before it; seals alone are not sealed again.
    assert [(seal.number, seal.first, seal.last) for seal in seals] == [(1, 1, 3), (2, 4, 6), (3, 7, 9)]
    before = None
    for seal in seals:
        assert chain_problem(seal, before) == ""
        assert seal_problem(seal, check_signature, TRUSTED) == ""
        places = [place async for place in fresh_log.stretch(seal.first, seal.last)]
        assert root_of(leaf_of(place.message) for place in places if place.message).hex() == seal.root
        before = seal
    end = await fresh_log.last_position()
    await one.seal()
    assert await fresh_log.last_position() == end == one.sealed
    kept = WitnessFile(tmp_path).read()
    assert kept is not None
    assert (kept.incarnation, kept.number, kept.position) == (INCARNATION, 3, end)


async def test_seals_say_nothing_of_what_was_written(fresh_log: Log, tmp_path: Path) -> None:
    """Neither the subject nor the body of a seal holds a name, a word or an id of what it seals."""
    await fresh_log.append([written("canary-id", body=b'{"text": "canary words"}')])
    await sealer(fresh_log, tmp_path).seal()
    entry = await fresh_log.newest("seal")
    assert entry is not None
    assert entry.originator_id.startswith("_.")
    assert b"canary" not in entry.body


async def test_two_services_make_one_chain(fresh_log: Log, tmp_path: Path) -> None:
    """Whoever is first makes a seal, the other goes on behind it: no number twice, nothing sealed twice."""
    await fresh_log.append([written(f"m{n}") for n in range(40)])
    await asyncio.gather(*(sealer(fresh_log, tmp_path / str(n), messages=5).seal() for n in range(4)))
    seals = await seals_of(fresh_log)
    assert [seal.number for seal in seals] == list(range(1, len(seals) + 1))
    assert all(chain_problem(seal, before) == "" for before, seal in zip([None, *seals], seals, strict=False))
    assert seals[-1].last >= 40


async def test_a_seal_is_made_in_time(fresh_log: Log, tmp_path: Path) -> None:
    """With few messages, and nobody else writing, a seal comes after the time for it."""
    await fresh_log.append([written("one")])
    running = asyncio.create_task(sealer(fresh_log, tmp_path).run(lambda: fresh_log.reached))
    try:
        await until(lambda: _has_seal(fresh_log))
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def _has_seal(log: Log) -> bool:
    return bool(await seals_of(log))


@pytest.mark.fault
async def test_a_missing_message_is_never_sealed_over(own_server: NatsServer, tmp_path: Path) -> None:
    """What was removed is named with its position and no seal is made, until its loss is on record."""
    await own_server.start()
    connection = await service_connection(own_server)
    await ensure_streams(connection.js)
    await Log(connection).append([written(f"m{n}") for n in range(5)])
    await connection.close()
    await own_server.stop()
    cut_out(own_server.store, 3)
    await own_server.start()
    connection = await service_connection(own_server)
    log = Log(connection)
    assert await log.deleted() == [3]
    with pytest.raises(DamagedError, match="position 3"):
        await sealer(log, tmp_path).seal()
    assert await seals_of(log) == []
    lost = (LostRange(3, 3),)
    await sealer(log, tmp_path, lost=lost).seal()
    (seal,) = await seals_of(log)
    assert (seal.first, seal.last) == (1, 5)
    standing = Standing(LOG_STREAM, INCARNATION, await log.last_position(), lost)
    assert await check_newest(log, standing, TRUSTED) == 5
    await connection.close()


@pytest.mark.parametrize("trusted, problem", [(TRUSTED, ""), (frozenset({"ab"}), "not trusted")])
async def test_a_start_believes_seals_of_known_keys_only(
    fresh_log: Log, tmp_path: Path, trusted: frozenset[str], problem: str
) -> None:
    """The newest seal is recomputed at a start; one by somebody else's key is named."""
    await fresh_log.append([written(f"m{n}") for n in range(5)])
    await sealer(fresh_log, tmp_path).seal()
    standing = Standing(LOG_STREAM, INCARNATION, await fresh_log.last_position())
    if not problem:
        assert await check_newest(fresh_log, standing, trusted) == 5
    else:
        with pytest.raises(MismatchError, match=problem):
            await check_newest(fresh_log, standing, trusted)


async def test_a_log_that_comes_back_shorter_takes_nothing_more(own_server: NatsServer) -> None:
    """After a reconnect to a server without what was acknowledged, an append is refused and says why."""
    await own_server.start()
    connection = await service_connection(own_server)
    await ensure_streams(connection.js)
    log = Log(connection)
    state = await state_of(connection.js)
    assert state is not None
    guard = Continuity(log, state, lambda: 0)
    log.guard_with(guard.check)
    await log.append([written(f"m{n}") for n in range(3)])
    operator = await operator_connection(own_server)
    info = await operator.js.stream_info(LOG_STREAM)
    await operator.js.delete_stream(LOG_STREAM)
    await operator.js.add_stream(info.config)
    await operator.close()
    reconnects = connection.reconnects
    own_server.kill()
    await own_server.start()
    await until(lambda: _reconnected(connection, reconnects))
    with pytest.raises(DamagedError, match="ends at 0"):
        await log.append([written("late")])
    assert await log.last_position() == 0
    with pytest.raises(UmbrielError):
        log.check_sound()
    await connection.close()


async def _reconnected(connection: Connection, before: int) -> bool:
    return connection.reconnects > before


def test_the_key_is_private_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is made once, for its owner's eyes; the environment may give another, and more that are trusted."""
    files = Secrets(tmp_path / "secrets")
    key = SealKey.of(files)
    assert SealKey.of(files).public == key.public
    assert stat.S_IMODE((tmp_path / "secrets" / "seal.key").stat().st_mode) == 0o600
    (tmp_path / "secrets" / "seal.trusted").write_text("AA\nbb\n")
    assert trusted_keys(files) == {key.public, "aa", "bb"}
    monkeypatch.setenv("UMBRIEL_SEAL_KEY", "01" * 32)
    assert SealKey.of(files).public == SealKey(b"\x01" * 32).public
    monkeypatch.setenv("UMBRIEL_SEAL_KEY", "01")
    with pytest.raises(DamagedError, match="UMBRIEL_SEAL_KEY"):
        SealKey.of(files)
