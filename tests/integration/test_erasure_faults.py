"""Erasures that are cut short, or done by several services, or reach a memory elsewhere: each is finished, once."""

from __future__ import annotations

import asyncio
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import pytest

from domain.conversation import Conversation
from domain.envelope import Actor
from domain.kernel import Context
from gateways import bootstrap
from gateways.doctor.scanning import scan
from gateways.service import erasure_worker
from gateways.service.aggregates import change
from gateways.service.rebuilding import Rebuilds
from tests.cheap import CheapEmbedder
from tests.integration.test_erasure import world
from tests.integration.test_forwarding import FORWARD
from tests.integration.test_running import SmallEmbedder
from tests.managed_server import ManagedServer
from tests.thinkers import Thinkers
from tests.thinking_world import PERSON, World, thinking, until

Here = World[Thinkers]
WORD = "QuetzalFaultZyx"


async def killed(*_: object, **__: object) -> NoReturn:
    """What a process does that is killed here: nothing more."""
    raise asyncio.CancelledError


@pytest.mark.parametrize("at", ["announce", "destroy_recorded", "afresh", "note_followed"])
async def test_a_kill_is_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Cut off before each step, what was erased is out of sight at once, and gone after the next start."""
    async with world(tmp_path / "data") as here:
        await here.say(f"note home = {WORD}", session="s", contact="ana")
        await here.remember("Bea drinks tea", contact="bea")
        with monkeypatch.context() as patch:
            if at == "afresh":
                patch.setattr(Rebuilds, "afresh", killed)
            elif at == "note_followed":
                patch.setattr(erasure_worker, at, lambda *_: asyncio.run(killed()))
            else:
                patch.setattr(erasure_worker, at, killed)
            reply = await here.call("erase", PERSON, contact="ana", wait=False)
            assert not reply.done
            (worker,) = [task for task in here.runtime.tasks if task.get_name() == "erasure"]
            await asyncio.wait({worker}, timeout=20)
            assert worker.done()
            assert await here.texts(contact="*") == ["Bea drinks tea"]
            assert WORD not in str((await here.call("recall", query=WORD, contact="*")).results)
    async with world(tmp_path / "data") as here:
        done = await here.call("erase", PERSON, contact="ana")
        assert (done.done, done.proof.holds) == (True, True)
        assert await here.texts(contact="*", status="all") == ["Bea drinks tea"]
        topics = await here.topics()
        assert topics.count("profile.erased") == 1
        sighted = await asyncio.to_thread(scan, tmp_path / "data", [WORD])
        assert sighted.found == []


async def test_who_comes_late_is_reached(tmp_path: Path) -> None:
    """A session of an erased contact that somebody began without knowing goes as well, and so does what it said."""
    async with world(tmp_path / "data") as here:
        await here.say("hello", session="s", contact="ana")
        core = here.runtime.service.core
        await here.call("erase", PERSON, contact="ana")
        await late(here, "conversation", f"late {WORD}")
        position = await core.events.log.last_position()
        assert core.erasures is not None
        assert await core.erasures.settle("p", position, 20)
        done = await here.call("erase", PERSON, contact="ana")
        assert (done.done, done.proof.holds) == (True, True)
        assert [one.events for one in done.proof.left if one.category == "conversation"] == [2]
        assert (await asyncio.to_thread(scan, tmp_path / "data", [WORD])).found == []


async def late(here: Here, category: str, session: str) -> None:
    """Attach a session to ana as a service would that has not heard of her erasure."""
    core = here.runtime.service.core
    subject = await core.events.subject_id("p", category, session)
    context = Context(actor=Actor("late", "agent"), now=datetime.now(UTC))
    await change(core, Conversation, subject, lambda one: one.set_contact(session, "ana", "", context))


async def test_another_service_follows(tmp_path: Path) -> None:
    """A second service with files of its own makes them anew as well, and uses no key that the first one destroyed."""
    data, twin = tmp_path / "data", tmp_path / "twin"
    async with world(data) as here:
        await here.say(f"note home = {WORD}", session="s", contact="ana")
        shutil.copytree(data / "secrets", twin / "secrets")
        async with thinking(twin, Thinkers(), embedder=CheapEmbedder(), nats=here.runtime.url) as there:
            await until(lambda: says(there, [WORD]))
            assert (await asyncio.to_thread(scan, twin, [WORD])).found
            done = await here.call("erase", PERSON, contact="ana")
            core = there.runtime.service.core
            assert core.erasures is not None
            assert await core.erasures.settle("p", core.positions.read(done.position, field="position"), 20)
            assert (await asyncio.to_thread(scan, twin, [WORD])).found == []
            reply = await there.call("ingest", messages=[{"role": "user", "content": "x"}], session="s")
            assert [one.outcome for one in reply.outcomes] == ["blocked"]


async def test_a_managed_memory_is_told(tmp_path: Path) -> None:
    """What was forwarded is deleted there; where nobody answers, that is said, and made up for."""
    with ManagedServer() as server:
        managed = server.settings(tries=1)
        async with bootstrap.running(tmp_path / "data", embedder=SmallEmbedder(), managed=managed) as runtime:
            here = World(runtime, None)
            await here.call("settings", PERSON, changes=FORWARD)
            for contact in ("ana", "bea"):
                said = [{"role": "user", "content": f"{contact} says hello"}]
                await here.call("ingest", messages=said, session=f"s-{contact}", contact=contact)
                await here.call("remember", content=f"{contact} sings", key="art", contact=contact)
            await until(lambda: has(server, 4))
            server.down = True
            done = await here.call("erase", PERSON, contact="ana")
            assert (done.done, done.proof.elsewhere, done.proof.holds) == (True, 2, False)
            server.down = False
            done = await here.call("erase", PERSON, contact="ana")
            assert (done.done, done.proof.elsewhere, done.proof.holds) == (True, 0, True)
            assert sorted(server.texts()) == ["bea says hello", "bea sings"]


async def says(here: Here, texts: list[str]) -> bool:
    """Whether these are the memories there are."""
    return await here.texts(contact="*") == texts


async def has(server: ManagedServer, count: int) -> bool:
    """Whether so many things were forwarded."""
    return len(server.texts()) == count
