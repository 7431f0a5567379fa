"""The data-flow policy in a running service: what it keeps from providers is recorded, and the rest goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from domain.errors import UnavailableError
from domain.settings import DataFlow, Reaches
from gateways.bootstrap import Runtime
from gateways.service.context import Core
from gateways.service.policy import Subject, passes
from gateways.service.refusals import PolicyRefusals
from projections.ledger.records import RefusalRecord
from tests.integration.test_running import call, running, said


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    """A running service."""
    async with running(tmp_path / "data") as started:
        yield started


async def allowed(core: Core, profile: str, subject: Subject, provider: str, reaches: Reaches) -> bool:
    """Ask the policy under the profile's settings as they are now."""
    async with core.profiles.use(profile) as opened:
        return passes(core, profile, opened.views.ledger.settings().data_flow, subject, provider, reaches)


async def recorded(runtime: Runtime, profile: str = "p") -> list[RefusalRecord]:
    """Flush what was refused and read it from the ledger."""
    core = runtime.service.core
    await core.policy_refusals.flush()
    await core.reader.wait_for(await core.events.log.last_position(), 10)
    async with core.profiles.use(profile) as opened:
        return opened.views.ledger.refusals()


async def test_a_refusal_is_one_event_with_its_count(runtime: Runtime) -> None:
    """Three times refused between two flushes is one record of three; what may go leaves none."""
    await call(runtime, "remember", content="Ana lives in Lisbon")
    core = runtime.service.core
    for _ in range(3):
        assert not await allowed(core, "p", "messages", "managed", "partner")
    assert await allowed(core, "p", "messages", "vllm", "own")
    (found,) = await recorded(runtime)
    assert (found.rule, found.subject, found.provider, found.count) == ("data-flow", "messages", "managed", 3)
    assert found.detail == "expected at most own, found partner"


async def test_the_policy_is_the_profiles_at_that_moment(runtime: Runtime) -> None:
    """A change of the settings counts for the next question; a profile that does not exist has the defaults."""
    core = runtime.service.core
    nobodys = (await call(runtime, "settings", profile="nobody")).settings
    flow = {name: value for name, value in nobodys.items() if name.startswith("data_flow.")}
    assert flow == {f"data_flow.{name}": value for name, value in msgspec.to_builtins(DataFlow()).items()}
    await call(runtime, "settings", changes={"data_flow.queries": "partner"})
    assert await allowed(core, "p", "queries", "managed", "partner")
    await call(runtime, "settings", changes={"data_flow.queries": "local"})
    assert not await allowed(core, "p", "queries", "vllm", "own")


async def test_refusals_that_cannot_be_written_are_kept(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the log does not answer, the counts wait for the next flush."""
    await call(runtime, "remember", content="Ana lives in Lisbon")
    core = runtime.service.core
    core.policy_refusals.note("p", "queries", "managed", "expected at most own, found partner")

    async def down(*_: object) -> None:
        raise UnavailableError("the log is away")

    with monkeypatch.context() as patch:
        patch.setattr(PolicyRefusals, "_append", down)
        await core.policy_refusals.flush()
    core.policy_refusals.note("p", "queries", "managed", "expected at most own, found partner")
    (found,) = await recorded(runtime)
    assert found.count == 2


async def test_refusals_are_written_when_the_service_ends(tmp_path: Path) -> None:
    """What was refused shortly before the end is there after a restart."""
    async with running(tmp_path / "data") as runtime:
        await call(runtime, "ingest", messages=said("hello"), session="s")
        assert not await allowed(runtime.service.core, "p", "messages", "managed", "partner")
    async with running(tmp_path / "data") as runtime:
        (found,) = await recorded(runtime)
        assert found.count == 1
