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
    bias=-4.05,
    weights={
        "cosine": 4.55,
        "overlap": 1.74,
        "same subject": -0.75,
        "same attribute": -2.81,
        "update": 7.11,
        "number": 3.68,
        "change": 4.50,
        "end": 3.31,
        "flip": 5.15,
        "restates": 6.41,
        "rival": -0.83,
        "several": 0.96,
        "identifiers differ": -2.75,
        "periods differ": -2.29,
        "same key": 4.18,
        "other key": 0.00,
    },
)
_CONTRADICTS = _Head(
    bias=-3.90,
    weights={
        "cosine": 2.99,
        "overlap": -0.19,
        "same subject": -0.41,
        "same attribute": -1.57,
        "update": 7.33,
        "number": 4.09,
        "change": 6.37,
        "end": 4.27,
        "flip": 5.62,
        "restates": -2.14,
        "rival": 5.48,
        "several": 1.24,
        "identifiers differ": -2.40,
        "periods differ": -2.02,
        "same key": 4.62,
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
