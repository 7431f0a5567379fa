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
    bias=-6.32,
    weights={
        "cosine": 6.79,
        "overlap": 3.27,
        "same subject": -1.09,
        "same attribute": -2.48,
        "update": 6.39,
        "number": 3.29,
        "change": 5.01,
        "end": 5.02,
        "flip": 4.75,
        "restates": 5.97,
        "rival": -1.12,
        "several": 1.40,
        "identifiers differ": -3.75,
        "periods differ": -3.26,
        "same key": 3.89,
        "other key": 0.00,
    },
)
_CONTRADICTS = _Head(
    bias=-5.91,
    weights={
        "cosine": 5.32,
        "overlap": 0.39,
        "same subject": -0.72,
        "same attribute": -1.40,
        "update": 6.73,
        "number": 3.68,
        "change": 6.61,
        "end": 5.40,
        "flip": 5.28,
        "restates": -3.21,
        "rival": 6.00,
        "several": 1.92,
        "identifiers differ": -3.29,
        "periods differ": -2.76,
        "same key": 4.50,
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
