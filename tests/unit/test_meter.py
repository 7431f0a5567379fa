"""The meter: what adds up under which key, and what taking and putting back keep."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from domain.ports import Tokens
from gateways.models.meter import Meter, Prices


def count(meter: Meter, profile: str = "p", *, model: str = "m", prices: Prices | None = None, **tokens: bool) -> None:
    """Count one call of 10 tokens in and 5 out."""
    meter.count(profile, provider="openai", model=model, purpose="test", tokens=Tokens(10, 5, **tokens), prices=prices)


def test_calls_of_one_kind_add_up() -> None:
    """Profile, provider, model and purpose are the key; one estimate makes the sum an estimate."""
    meter = Meter()
    count(meter)
    count(meter, estimated=True)
    count(meter, model="other")
    count(meter, "q")
    taken = meter.take()
    assert {profile: len(entries) for profile, entries in taken.items()} == {"p": 2, "q": 1}
    both = taken["p"][0]
    assert (both.calls, both.input_tokens, both.output_tokens, both.estimated) == (2, 20, 10, True)
    assert both.cost is None
    assert meter.take() == {}


def test_a_price_makes_a_cost() -> None:
    """Prices are per million tokens, and costs add up."""
    meter = Meter()
    for _ in range(2):
        count(meter, prices=Prices(input=100_000, output=200_000))
    assert meter.take()["p"][0].cost == pytest.approx(4.0)


def test_what_is_put_back_is_neither_lost_nor_doubled() -> None:
    """Taken, put back and counted on, the sum is what was counted."""
    meter = Meter()
    count(meter)
    meter.put_back("p", meter.take()["p"])
    count(meter)
    assert meter.take()["p"][0].calls == 2


def test_profiles_can_be_left_out() -> None:
    """What belongs to a profile that is left out stays."""
    meter = Meter()
    count(meter)
    count(meter, "q")
    assert list(meter.take(without={"p"})) == ["q"]
    assert list(meter.take()) == ["p"]


def test_threads_count_together() -> None:
    """No call of any thread is lost."""
    meter = Meter()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: count(meter), range(400)))
    assert meter.take()["p"][0].calls == 400
