"""Analyses of queries, kept for a while; a model that does not answer is left alone for a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

import structlog

from domain.answers import Analysis
from domain.errors import UmbrielError
from domain.ports import Analyst
from domain.settings import AnalysisLimits
from gateways.service.models import Provided, answered

__all__ = ["Analyses"]

#: profile, model, query and the keys it may choose from
_Asked: TypeAlias = tuple[str, str, str, tuple[str, ...]]
_log = structlog.get_logger(__name__)


class Analyses:
    """Asks analysts, keeps what they said for a while, and leaves one alone that does not answer."""

    def __init__(self, limits: AnalysisLimits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._kept: OrderedDict[_Asked, tuple[float, Analysis]] = OrderedDict()
        self._failed: dict[str, int] = {}
        self._resting: dict[str, float] = {}

    async def of(self, profile: str, analyst: Provided[Analyst], query: str, known: tuple[str, ...]) -> Analysis | str:
        """Return the analysis of a query, or why there is none.

        What is kept is of one profile, one model and the same known keys: it tells nobody anything new.
        """
        asked = (profile, analyst.name, query, known)
        if (kept := self._remembered(asked)) is not None:
            return kept
        if (left := self._resting.get(analyst.name, 0.0) - self._clock()) > 0:
            return f"{analyst.name} did not answer lately; it is asked again in {left:.0f} s"
        try:
            answer = analyst.value.analyse(query, known, profile=profile)
            found = await answered(analyst.value.name, answer, seconds=self._limits.seconds)
        except UmbrielError as error:
            _log.warning("no_analysis", profile=profile, model=analyst.name, error=error.code)
            self._note_failure(analyst.name)
            return str(error)
        self._failed.pop(analyst.name, None)
        self._keep(asked, found)
        return found

    def forget(self, profile: str) -> None:
        """Forget what was asked in a profile."""
        for asked in [one for one in self._kept if one[0] == profile]:
            del self._kept[asked]

    def _remembered(self, asked: _Asked) -> Analysis | None:
        until, found = self._kept.get(asked, (0.0, None))
        if found is None or until <= self._clock():
            self._kept.pop(asked, None)
            return None
        self._kept.move_to_end(asked)
        return found

    def _keep(self, asked: _Asked, found: Analysis) -> None:
        self._kept[asked] = (self._clock() + self._limits.kept_seconds, found)
        while len(self._kept) > self._limits.kept:
            self._kept.popitem(last=False)

    def _note_failure(self, name: str) -> None:
        self._failed[name] = self._failed.get(name, 0) + 1
        if self._failed[name] >= self._limits.tries:
            self._resting[name] = self._clock() + self._limits.rest_seconds
            del self._failed[name]
