"""What a check finds, and how checks are run: one that cannot be carried out is a finding too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Literal

import msgspec

from domain.errors import UmbrielError
from umbriel import UmbrielError as ClientError

__all__ = ["Finding", "Report", "State", "attempt", "attempt_async", "fail", "ok", "skipped", "warn"]

State = Literal["ok", "warn", "fail", "skipped"]


class Finding(msgspec.Struct, frozen=True):
    """The outcome of one check: what was found, and where something is wrong the one thing to do."""

    check: str
    state: State
    found: str
    fix: str = ""


class Report(msgspec.Struct, frozen=True):
    """Every finding, in the order of the checks."""

    checks: list[Finding]

    def count(self, state: State) -> int:
        """Return how many checks ended so."""
        return sum(one.state == state for one in self.checks)

    @property
    def exit_code(self) -> int:
        """1 when something must be put right."""
        return int(self.count("fail") > 0)


def ok(check: str, found: str) -> Finding:
    """All is well."""
    return Finding(check, "ok", found)


def warn(check: str, found: str, fix: str) -> Finding:
    """It works, and should be looked at."""
    return Finding(check, "warn", found, fix)


def fail(check: str, found: str, fix: str) -> Finding:
    """It must be put right."""
    return Finding(check, "fail", found, fix)


def skipped(check: str, found: str) -> Finding:
    """It could not be looked at."""
    return Finding(check, "skipped", found)


def attempt(check: str, fix: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Run a check; an error is its failure."""
    try:
        return list(look())
    except (UmbrielError, ClientError, OSError) as error:
        return [fail(check, _one_line(error), fix)]


async def attempt_async(check: str, fix: str, look: Callable[[], Awaitable[Iterable[Finding]]]) -> list[Finding]:
    """Run a check that speaks with a server; an error is its failure."""
    try:
        return list(await look())
    except (UmbrielError, ClientError, OSError) as error:
        return [fail(check, _one_line(error), fix)]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
