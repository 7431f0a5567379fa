"""Usage in the running service: recorded once, whatever becomes of an append."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from domain.errors import UnavailableError
from domain.ports import Tokens
from gateways.bootstrap import Runtime
from gateways.jetstream.log import Append
from gateways.models.meter import Meter, Prices
from gateways.service.usage import Usages
from projections.ledger.records import UsageRecord
from tests.integration.test_running import call, running


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    """A running service with two profiles."""
    async with running(tmp_path / "data") as started:
        for profile in ("p", "q"):
            await call(started, "remember", profile, content="tea at four")
        yield started


def count(meter: Meter, profile: str = "p") -> None:
    """Count one call of 10 tokens in and 5 out."""
    prices = Prices(input=100_000, output=200_000)
    meter.count(profile, provider="openai", model="m", purpose="test", tokens=Tokens(10, 5), prices=prices)


async def recorded(runtime: Runtime, profile: str = "p") -> list[UsageRecord]:
    """What the profile's ledger has, once it has seen all of the log."""
    core = runtime.service.core
    end = await core.events.log.last_position()
    await core.reader.wait_until(lambda: core.reader.passed >= end, 10)
    async with core.profiles.use(profile) as opened:
        return opened.views.ledger.usage()


async def test_what_is_counted_is_recorded_by_profile(runtime: Runtime) -> None:
    """Each profile's ledger gets its own figures; flushes add up, and an empty one writes nothing."""
    meter = Meter()
    usages = Usages(runtime.service.core.events, meter)
    for profile in ("p", "p", "q"):
        count(meter, profile)
    await usages.flush()
    count(meter)
    await usages.flush()
    position = await runtime.service.core.events.log.last_position()
    await usages.flush()
    assert await runtime.service.core.events.log.last_position() == position
    (entry,) = await recorded(runtime)
    assert (entry.calls, entry.input_tokens, entry.output_tokens) == (3, 30, 15)
    assert entry.cost == pytest.approx(6.0)
    assert [entry.calls for entry in await recorded(runtime, "q")] == [1]


@pytest.mark.parametrize("outcome", ["written", "not written"])
async def test_a_failed_append_neither_loses_nor_doubles(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    """An append that says it failed, whether it did or not, is made good by the next flush."""
    log, meter = runtime.service.core.events.log, Meter()
    usages, append = Usages(runtime.service.core.events, meter), log.append

    async def fails(appends: Sequence[Append]) -> list[int]:
        if outcome == "written":
            await append(appends)
        raise UnavailableError("no acknowledgement")

    count(meter)
    with monkeypatch.context() as patch:
        patch.setattr(log, "append", fails)
        await usages.flush()
        count(meter)
        await usages.flush()
    await usages.flush()
    assert [entry.calls for entry in await recorded(runtime)] == [2]


async def test_the_status_shows_it_by_model(runtime: Runtime) -> None:
    """Calls, tokens, cost, and whose figures they are; a profile's own, and of the service those of all."""
    meter = Meter()
    usages = Usages(runtime.service.core.events, meter)
    for profile in ("p", "q"):
        count(meter, profile)
    for purpose, estimated in (("extract.full", False), ("judge", True)):
        tokens = Tokens(1_000, 1, estimated=estimated)
        meter.count("p", provider="local", model="small", purpose=purpose, tokens=tokens)
    meter.count("p", provider="jev", model="guess", purpose="judge", tokens=Tokens(2, 3, estimated=True))
    await usages.flush()
    await recorded(runtime)
    shown = {one.model: one for one in (await call(runtime, "status")).usage}
    assert list(shown) == ["small", "m", "guess"]
    small = shown["small"]
    assert (small.calls, small.input_tokens, small.output_tokens, small.cost) == (2, 2_000, 2, None)
    assert (small.figures, small.purposes) == ("both", ["extract.full", "judge"])
    assert (shown["m"].provider, shown["m"].cost, shown["m"].figures) == ("openai", 2.0, "provider")
    assert (shown["guess"].figures, shown["guess"].first_day) == ("estimated", shown["guess"].last_day)
    whole = {one.model: one.calls for one in (await call(runtime, "status", "_")).usage}
    assert whole["m"] == 2
    assert (await call(runtime, "status", "q")).usage[0].calls == 1
