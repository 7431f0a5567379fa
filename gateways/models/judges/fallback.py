"""Several judges as one: the next is asked when one cannot answer, and the opinion says whose it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from domain.errors import DamagedError, InvalidInputError, RefusedError, UmbrielError, UnavailableError
from domain.ports import Judge, Opinion, Statement

__all__ = ["FallbackJudge"]


class FallbackJudge:
    """`domain.ports.Judge` by the first of several that answers; when none does, the last one's error is raised.

    Passed over are judges that are not available, answer what cannot be read, or decline; a request that is invalid is
    so for all. The name and rule of the whole are the first judge's, those of an opinion the answering judge's.
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        """``judges`` in order of preference. Raises InvalidInputError for none."""
        if not judges:
            raise InvalidInputError("a fallback needs judges", expected="at least one", found="none")
        self._judges = tuple(judges)

    @property
    def name(self) -> str:
        """The name of the judge that is asked first."""
        return self._judges[0].name

    @property
    def rule(self) -> Literal["judge", "heuristic"]:
        """The rule of the judge that is asked first."""
        return self._judges[0].rule

    async def judge(self, new: Statement, old: Statement, *, cosine: float, profile: str) -> Opinion:
        """Return the first opinion that comes, with the name and the rule of its judge."""
        failed: UmbrielError | None = None
        for judge in self._judges:
            try:
                found = await judge.judge(new, old, cosine=cosine, profile=profile)
            except (UnavailableError, DamagedError, RefusedError) as error:
                failed = error
            else:
                return msgspec.structs.replace(found, model=found.model or judge.name, rule=found.rule or judge.rule)
        raise failed or AssertionError("a fallback has judges")
