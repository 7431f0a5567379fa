"""Analyses are kept for a while, for those they are of, and a model that does not answer is left alone for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from domain.answers import Analysis
from domain.errors import UnavailableError
from domain.ports import Analyst
from domain.settings import AnalysisLimits
from gateways.service.analyses import Analyses
from gateways.service.models import Provided


class Counting:
    """Counts what it is asked; fails while it is told to, and hangs when it is told to."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, tuple[str, ...]]] = []
        self.fails = False
        self.hangs = False

    async def analyse(self, query: str, known: Sequence[str], *, profile: str) -> Analysis:
        """Return the number of the call as a term."""
        self.asked.append((profile, query, tuple(known)))
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails:
            raise UnavailableError("it is down")
        return Analysis(terms=(str(len(self.asked)),))


class Clock:
    """A clock that stands."""

    now = 1_000.0

    def __call__(self) -> float:
        """Return its time."""
        return self.now


@pytest.fixture
def analyst() -> Counting:
    """An analyst."""
    return Counting()


@pytest.fixture
def clock() -> Clock:
    """A clock."""
    return Clock()


@pytest.fixture
def analyses(clock: Clock) -> Analyses:
    """Analyses with small limits."""
    limits = AnalysisLimits(seconds=0.05, kept=2, kept_seconds=10, tries=2, rest_seconds=60)
    return Analyses(limits, clock=clock)


async def ask(
    analyses: Analyses, analyst: Analyst, query: str = "q", profile: str = "p", known: tuple[str, ...] = ()
) -> Analysis | str:
    """Let a query be analysed."""
    return await analyses.of(profile, Provided(analyst, analyst.name), query, known)


async def test_the_same_question_is_analysed_once(analyses: Analyses, analyst: Counting) -> None:
    """And its analysis is the same."""
    assert await ask(analyses, analyst) == await ask(analyses, analyst)
    assert len(analyst.asked) == 1


@pytest.mark.parametrize("other", [{"profile": "p2"}, {"query": "q2"}, {"known": ("work",)}])
async def test_nothing_is_shared(analyses: Analyses, analyst: Counting, other: dict[str, str]) -> None:
    """Another profile, question or set of keys has an analysis of its own (A3)."""
    assert await ask(analyses, analyst) != await ask(analyses, analyst, **other)  # type: ignore[arg-type]
    assert len(analyst.asked) == 2


async def test_an_analysis_grows_old(analyses: Analyses, analyst: Counting, clock: Clock) -> None:
    """After its time it is made again."""
    await ask(analyses, analyst)
    clock.now += 9.9
    await ask(analyses, analyst)
    assert len(analyst.asked) == 1
    clock.now += 0.2
    await ask(analyses, analyst)
    assert len(analyst.asked) == 2


async def test_the_one_used_longest_ago_goes_first(analyses: Analyses, analyst: Counting) -> None:
    """Of more than are kept."""
    for query in ("a", "b", "a", "c"):
        await ask(analyses, analyst, query)
    asked = len(analyst.asked)
    await ask(analyses, analyst, "a")
    assert len(analyst.asked) == asked
    await ask(analyses, analyst, "b")
    assert len(analyst.asked) == asked + 1


async def test_a_slow_model_is_not_waited_for(analyses: Analyses, analyst: Counting) -> None:
    """When its time is over there is a reason instead, and the next question is asked of it."""
    analyst.hangs = True
    said = await ask(analyses, analyst)
    assert isinstance(said, str)
    assert "does not answer" in said
    analyst.hangs = False
    assert isinstance(await ask(analyses, analyst), Analysis)


async def test_a_model_that_fails_is_left_alone(analyses: Analyses, analyst: Counting, clock: Clock) -> None:
    """After two failures in a row it is not asked for a minute; what is kept is used meanwhile."""
    kept = await ask(analyses, analyst, "kept")
    analyst.fails = True
    assert await ask(analyses, analyst) == "it is down"
    assert await ask(analyses, analyst) == "it is down"
    asked, analyst.fails = len(analyst.asked), False
    said = await ask(analyses, analyst)
    assert isinstance(said, str)
    assert "in 60 s" in said
    assert await ask(analyses, analyst, "kept") == kept
    assert len(analyst.asked) == asked
    clock.now += 61
    assert isinstance(await ask(analyses, analyst), Analysis)


async def test_one_answer_between_failures_counts(analyses: Analyses, analyst: Counting) -> None:
    """Only failures in a row send a model to rest."""
    for query, fails in (("a", True), ("b", False), ("c", True), ("d", False)):
        analyst.fails = fails
        await ask(analyses, analyst, query)
    assert len(analyst.asked) == 4
