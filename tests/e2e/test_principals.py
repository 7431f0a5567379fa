"""Principals as the NATS server knows them: added, revoked and rotated while it runs, kept to their own subjects."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import nats
import nkeys
import pytest

from tests.e2e.grants_world import PROFILE, World, ask, make_world, speaking
from tests.e2e.processes import ServiceProcess
from tests.nats_fixtures import flushed
from umbriel import GrantSpec, InvalidInputError, RefusedError, Umbriel, UmbrielError

pytestmark = pytest.mark.timeout(180)

ALL = [GrantSpec(profile=PROFILE, access="write")]
SECONDS = 5.0


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A service of its own: principals come and go here."""
    with ServiceProcess(tmp_path_factory.mktemp("principals") / "data", thinking=False) as service:
        yield service


@pytest.fixture(scope="module")
def world(running: ServiceProcess) -> World:
    """Two contacts, two profiles, principals of every reach."""
    return make_world(running)


@pytest.fixture
async def person(running: ServiceProcess) -> AsyncIterator[Umbriel]:
    """The person of the data directory."""
    async with await running.client(profile=PROFILE, principal="local") as connected:
        yield connected


async def refused(url: str, name: str, password: str) -> bool:
    """Whether the server lets nobody in under this name and password."""
    try:
        async with await Umbriel.connect(url, principal=name, password=password, profile=PROFILE):
            return False
    except RefusedError:
        return True


async def test_a_revoked_principal_is_disconnected_and_refused(world: World, person: Umbriel) -> None:
    """Its connection ends, nobody connects as it again; another's parked feed and the service never notice."""
    secret = (await person.principal_add("gone", grants=ALL)).secret
    assert not await refused(world.url, "gone", secret)
    closed = asyncio.Event()

    async def on_closed() -> None:
        closed.set()

    async def quiet(_: Exception) -> None:
        """Losing the connection is the point."""

    async with await Umbriel.connect(
        world.url, principal="writer", password=world.passwords["writer"], profile=PROFILE
    ) as other:
        last = (await other.feed(limit=1000)).position
        parked = asyncio.create_task(other.feed(after=last, kinds=["memory"], wait=20))
        doomed = await nats.connect(
            world.url,
            user="gone",
            password=secret,
            inbox_prefix=b"_INBOX_gone",
            allow_reconnect=False,
            closed_cb=on_closed,
            error_cb=quiet,
        )
        done = await person.principal_revoke("gone")
        assert (done.principal.revoked, done.applied) == (True, True)
        await asyncio.wait_for(closed.wait(), SECONDS)
        await doomed.close()
        assert await refused(world.url, "gone", secret)
        written = await person.remember("still here", key="still here")
        page = await asyncio.wait_for(parked, 20)
        assert [event.position for event in page.events] == [written.position]
        assert (await person.status(service=True)).log_position
    with pytest.raises(InvalidInputError):
        await person.principal_add("gone", grants=ALL)


async def test_a_rotated_secret(world: World, person: Umbriel) -> None:
    """The old password is refused at once and its connections end; the new one works."""
    old = (await person.principal_add("turning", grants=ALL)).secret
    closed = asyncio.Event()

    async def on_closed() -> None:
        closed.set()

    async def quiet(_: Exception) -> None:
        """Losing the connection is the point."""

    doomed = await nats.connect(
        world.url, user="turning", password=old, allow_reconnect=False, closed_cb=on_closed, error_cb=quiet
    )
    new = (await person.principal_rotate("turning")).secret
    assert new != old
    await asyncio.wait_for(closed.wait(), SECONDS)
    await doomed.close()
    assert await refused(world.url, "turning", old)
    assert not await refused(world.url, "turning", new)


async def test_principals_survive_a_restart(tmp_path: Path) -> None:
    """Passwords, grants and revocations hold after the service was started again; secrets lie on disk as hashes."""
    service = ServiceProcess(tmp_path / "data")
    with service:
        async with await service.client(principal="local") as person:
            kept = (await person.principal_add("kept", grants=ALL)).secret
            gone = (await person.principal_add("gone", grants=ALL)).secret
            await person.principal_revoke("gone")
    for path in (service.data / "secrets", service.data / "nats"):
        for file in (one for one in path.rglob("*") if one.is_file()):
            assert kept.encode() not in file.read_bytes(), file
    with service:
        url = json.loads((service.data / "endpoint.json").read_text())["url"]
        async with await Umbriel.connect(url, principal="kept", password=kept, profile=PROFILE) as client:
            assert (await client.remember("x is y")).outcome == "remembered"
        assert await refused(url, "gone", gone)


FOREIGN = [
    ">",
    "*",
    "umbriel.>",
    "umbriel.events.>",
    "umbriel.keys.>",
    "umbriel.api.>",
    "umbriel.api.limited.>",
    "umbriel.api.*.iso.recall",
    "_INBOX.>",
    "_INBOX_full.>",
    "_INBOX_limited2.>",
    "*.>",
    "$JS.>",
    "$SYS.>",
    "$KV.>",
    "$JS.EVENT.ADVISORY.>",
]


@pytest.mark.parametrize("subject", FOREIGN)
async def test_nothing_else_can_be_subscribed(world: World, subject: str) -> None:
    """A principal hears its own inbox and nothing more; the log, others' requests and replies are closed to it."""
    errors: list[str] = []
    heard: list[str] = []

    async def note(message: Any) -> None:
        heard.append(message.subject)

    async with speaking(world.url, "limited", world.passwords["limited"], errors) as connection:
        own = await connection.subscribe("_INBOX_limited.mine", cb=note)
        await flushed(connection)
        assert errors == []
        await connection.subscribe(subject, cb=note)
        await flushed(connection)
        await asyncio.sleep(0.05)
        assert any("permissions violation" in error.lower() for error in errors), errors
        assert (await ask(world, "full", "recall", PROFILE, {"query": "green"}))[0] == ""
        await connection.publish("umbriel.api.limited.iso.recall", b'{"query": "green"}', reply="_INBOX_limited.mine")
        for _ in range(100):
            if heard:
                break
            await asyncio.sleep(0.05)
        await own.unsubscribe()
    assert heard == ["_INBOX_limited.mine"]


@pytest.mark.parametrize(
    "subject",
    [
        "umbriel.api.full.iso.recall",
        "umbriel.api.local._.principal_list",
        "umbriel.events.00.iso.memory.x",
        "umbriel.keys.iso.x",
        "$JS.API.STREAM.INFO.UMBRIEL",
        "$JS.API.STREAM.MSG.GET.UMBRIEL",
        "$JS.API.DIRECT.GET.UMBRIEL",
        "$JS.API.CONSUMER.CREATE.UMBRIEL",
        "$SYS.REQ.SERVER.PING",
        "_INBOX_full.x",
        "_INBOX_service.x",
    ],
)
async def test_nothing_else_can_be_published(world: World, subject: str) -> None:
    """A principal asks in its own name; it writes to no log, no key, no stream's interface and no other inbox."""
    errors: list[str] = []
    async with speaking(world.url, "limited", world.passwords["limited"], errors) as connection:
        await connection.publish("umbriel.api.limited.iso.recall", b"{}", reply="_INBOX_limited.x")
        await flushed(connection)
        assert errors == []
        await connection.publish(subject, b'{"query": "green"}', reply="_INBOX_limited.x")
        await flushed(connection)
        await asyncio.sleep(0.05)
    assert any("permissions violation" in error.lower() for error in errors), errors


@pytest.mark.parametrize(
    "reply", ["_INBOX_full.here", "_INBOX_service.x", "umbriel.events.00.iso.memory.x", "", "_INBOX_limited"]
)
async def test_a_reply_goes_to_the_callers_inbox_only(world: World, person: Umbriel, reply: str) -> None:
    """A request that names another's inbox, the log or nothing is not carried out, and nobody gets its answer."""
    before = (await person.feed(limit=1000)).position
    body = json.dumps({"content": "planted", "contact": "ann", "key": "planted"}).encode()
    async with speaking(world.url, "full", world.passwords["full"]) as victim:
        inbox = await victim.subscribe("_INBOX_full.here")
        await flushed(victim)
        async with speaking(world.url, "limited", world.passwords["limited"]) as connection:
            await connection.publish("umbriel.api.limited.iso.remember", body, reply=reply)
            await flushed(connection)
            with pytest.raises(nats.errors.TimeoutError):
                await inbox.next_msg(timeout=0.5)
            assert (await person.feed(after=before, kinds=["memory"])).events == []
            await connection.request("umbriel.api.limited.iso.remember", body, timeout=10)
    assert len((await person.feed(after=before, kinds=["memory"])).events) <= 1


async def test_an_nkey_instead_of_a_password(world: World, person: Umbriel, tmp_path: Path) -> None:
    """Who signs with the key that was added is let in as its principal; another key, or none, is not."""
    seeds = []
    for number in (7, 8):
        raw = nkeys.encode_seed(bytes([number]) * 32, nkeys.PREFIX_BYTE_USER)
        path = tmp_path / f"{number}.seed"
        path.write_bytes(raw)
        seeds.append((path, bytes(nkeys.from_seed(bytearray(raw)).public_key).decode()))
    (right, public), (wrong, _) = seeds
    added = await person.principal_add("signer", grants=ALL, nkey=public)
    assert (added.secret, added.principal.credential) == ("", "nkey")
    async with await Umbriel.connect(world.url, principal="signer", nkey_seed=right, profile=PROFILE) as client:
        assert (await client.remember("signed", key="signed")).memory.author == "signer"
    for attempt in (
        Umbriel.connect(world.url, principal="signer", nkey_seed=wrong, profile=PROFILE),
        Umbriel.connect(world.url, principal="signer", password=public, profile=PROFILE),
        Umbriel.connect(world.url, principal="signer", profile=PROFILE),
    ):
        with pytest.raises(RefusedError):
            await attempt
    # The key is the principal's: under another name its subjects and inbox stay closed.
    async with await Umbriel.connect(world.url, principal="full", nkey_seed=right, profile=PROFILE) as liar:
        with pytest.raises(UmbrielError):
            await liar.recall("green", timeout=1.0)
    with pytest.raises(InvalidInputError):
        await Umbriel.connect(world.url, principal="signer", nkey_seed=tmp_path / "absent", profile=PROFILE)


def cli(service: ServiceProcess, *arguments: str, code: int = 0) -> str:
    """Run one command on the service's data directory; return what it printed."""
    command = [sys.executable, "-m", "gateways.cli", "principal", *arguments, "--data", str(service.data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


async def test_the_commands(running: ServiceProcess, world: World) -> None:
    """Adding shows the password once, listing never; rotate and revoke hold; refusals have their exit code."""
    added = json.loads(cli(running, "add", "typed", "--grant", "iso:write:ann,bob", "--grant", "iso:read", "--json"))
    assert [one["access"] for one in added["principal"]["grants"]] == ["write", "read"]
    assert not await refused(world.url, "typed", added["secret"])
    shown = cli(running, "list")
    assert "iso:write:ann,bob" in shown
    assert added["secret"] not in shown
    rotated = json.loads(cli(running, "rotate", "typed", "--json"))["secret"]
    assert await refused(world.url, "typed", added["secret"])
    cli(running, "revoke", "typed")
    assert await refused(world.url, "typed", rotated)
    listed = {one["name"]: one for one in json.loads(cli(running, "list", "--json"))["principals"]}
    assert listed["typed"]["revoked"]
    assert "grant" in cli(running, "add", "x", "--grant", "iso", code=2)
    assert "taken" in cli(running, "add", "typed", code=2)
    cli(running, "add", "x", "--grant", "iso:write:", code=2)
    cli(running, "revoke", "nobody-at-all", code=3)
    cli(running, "list", "--principal", "local-agent", code=4)
    block = cli(running, "config")
    assert "authorization {" in block
    for password in (running.data / "secrets").glob("*.password"):
        assert password.read_text().strip() not in block


async def test_the_commands_of_tokens(running: ServiceProcess, world: World) -> None:
    """A token is printed once and alone on its line, listed by its id, taken away by it; agents make none."""
    made = cli(running, "token", "reader", "--label", "laptop", "--days", "30").strip()
    assert made.startswith("umb_")
    assert " " not in made
    token_id = made.split("_")[1]
    listed = cli(running, "list")
    assert f"{token_id} (laptop)" in " ".join(listed.split())
    assert made not in listed
    assert token_id in cli(running, "revoke-token", token_id)
    tokens = {one["name"]: one.get("tokens", []) for one in json.loads(cli(running, "list", "--json"))["principals"]}
    assert token_id not in {one["id"] for one in tokens["reader"]}
    cli(running, "revoke-token", token_id, code=3)
    cli(running, "token", "reader", "--principal", "local-agent", code=4)
