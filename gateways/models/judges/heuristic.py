"""The judge that needs no model: a logistic head over what two statements share and where they differ.

It reads English by rule. Precision comes first: unless both statements are tied to one attribute of one subject, a
probability that the new one replaces the old one stays at 0.5 at most, whatever the head says. What it does not
understand stays live.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import msgspec

from domain.ports import Opinion, Statement
from gateways.models.judges.features import NAMES, compare

__all__ = ["HEURISTIC", "HeuristicJudge"]

HEURISTIC = "heuristic-1"

_MOST_UNTIED = 0.5
_MOST_EARLIER = 0.25  # what was said before the other statement rarely replaces it


class _Head(msgspec.Struct, frozen=True):
    """A logistic regression: a bias and a weight for each feature."""

    bias: float
    weights: Mapping[str, float]

    def probability(self, features: Mapping[str, float]) -> float:
        """Return a probability in (0, 1)."""
        return 1 / (1 + math.exp(-self.bias - sum(self.weights[name] * value for name, value in features.items())))


# Made by `python -m gateways.bench.fit_judge` on the pairs of judge.jsonl whose authors are in FIT_AUTHORS, with the
# cosines of MiniLM; change them only by that command, and the judge's name with them.
_REPLACES = _Head(
    bias=-5.02,
    weights={
        "cosine": 4.87,
        "overlap": 2.94,
        "same subject": -0.78,
        "same attribute": -2.11,
        "update": 6.93,
        "number": 3.18,
        "change": 4.87,
        "end": 4.62,
        "flip": 4.73,
        "restates": 5.83,
        "rival": -1.10,
        "several": 0.96,
        "identifiers differ": -3.37,
        "periods differ": -2.85,
        "same key": 3.75,
        "other key": 0.00,
    },
)
_CONTRADICTS = _Head(
    bias=-4.60,
    weights={
        "cosine": 3.07,
        "overlap": 0.12,
        "same subject": -0.18,
        "same attribute": -1.07,
        "update": 7.36,
        "number": 3.81,
        "change": 6.43,
        "end": 5.22,
        "flip": 5.52,
        "restates": -2.44,
        "rival": 5.47,
        "several": 1.32,
        "identifiers differ": -2.73,
        "periods differ": -2.28,
        "same key": 4.42,
        "other key": 0.00,
    },
)


class HeuristicJudge:
    """`domain.ports.Judge` by rule, offline and deterministic; English."""

    @property
    def name(self) -> str:
        """What is recorded with its probabilities; another set of weights is another name."""
        return HEURISTIC

    @property
    def rule(self) -> Literal["judge", "heuristic"]:
        """A supersession that follows from it is put down to the heuristic."""
        return "heuristic"

    async def judge(self, new: Statement, old: Statement, *, cosine: float, profile: str) -> Opinion:
        """Return both probabilities; ``profile`` is not looked at, and nothing leaves the process."""
        del profile
        compared = compare(new, old, cosine=cosine)
        features = dict(zip(NAMES, compared.values, strict=True))
        most = 1.0 if compared.tied else _MOST_UNTIED
        if new.at is not None and old.at is not None and new.at < old.at:
            most = min(most, _MOST_EARLIER)
        replaces = min(most, _REPLACES.probability(features))
        return Opinion(replaces=replaces, contradicts=_CONTRADICTS.probability(features))
