"""A statement as the patterns find it, and the patterns' own shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from domain.kinds import Kind
from gateways.extraction.offline.grammar import Voice, third

__all__ = ["Rule", "Statement", "first_of", "rule"]


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a clause says: ``attribute`` is its topic key without the subject, ``asks`` what it answers."""

    text: str
    fact_type: str
    attribute: str = ""
    kind: Kind = "fact"
    asks: tuple[str, ...] = ()


Build: TypeAlias = Callable[[re.Match[str], Voice], Statement | Sequence[Statement] | None]
Rule: TypeAlias = tuple[re.Pattern[str], Build]


def rule(pattern: str, build: Build) -> Rule:
    """Return a rule for whole clauses; case counts only where what is found is judged."""
    return re.compile(rf"{pattern}\Z", re.IGNORECASE), build


def first_of(rules: Iterable[Rule], clause: str, voice: Voice) -> list[Statement]:
    """Return what the first rule finds that finds anything."""
    for pattern, build in rules:
        match = pattern.match(clause)
        found = build(match, voice) if match is not None else None
        if found:
            return [found] if isinstance(found, Statement) else list(found)
    return []


def sentence(voice: Voice, verb: str, rest: str) -> str:
    """Return ``<subject> <verb in the third person> <rest>``."""
    return f"{voice.noun} {third(verb)} {rest}".strip()
