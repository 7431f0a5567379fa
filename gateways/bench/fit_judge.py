"""Fit the heuristic judge's head: ``python -m gateways.bench.fit_judge`` prints the weights to write down."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gateways.bench.pairs import FIT_AUTHORS, Pair, cosines, read_pairs
from gateways.models.judges.features import NAMES, compare
from gateways.models.minilm import MiniLMEmbedder

__all__ = ["fit", "main"]

_PENALTY = 0.05
_STEPS = 50

_Rows = NDArray[np.float64]


def fit(rows: _Rows, labels: _Rows) -> _Rows:
    """Return the bias and the weights of a logistic regression with a quadratic penalty, by Newton's method.

    ``rows`` is (pairs, features), ``labels`` 0 or 1 for each pair; the bias carries no penalty.
    """
    inputs = np.hstack([np.ones((len(rows), 1)), rows])
    penalty = np.diag([0.0, *[_PENALTY] * rows.shape[1]])
    weights = np.zeros(inputs.shape[1])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (chances - labels) + penalty @ weights
        curve = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + penalty
        weights -= np.linalg.solve(curve, slope)
    return weights


def main() -> None:
    """Print the weights for both questions, fitted on the pairs of the authors that are for it."""
    pairs = [pair for pair in read_pairs() if pair.author in FIT_AUTHORS]
    rows = _features(pairs)
    for question in ("replaces", "contradicts"):
        labels = np.array([float(getattr(pair, question)) for pair in pairs])
        bias, *weights = fit(rows, labels)
        print(f"_{question.upper()} = _Head(\n    bias={bias:.2f},\n    weights={{")
        for name, weight in zip(NAMES, weights, strict=True):
            print(f'        "{name}": {weight:.2f},')
        print("    },\n)")


def _features(pairs: list[Pair]) -> _Rows:
    found = zip(pairs, cosines(pairs, MiniLMEmbedder()), strict=True)
    return np.array([compare(*pair.statements(), cosine=cosine).values for pair, cosine in found])


if __name__ == "__main__":
    main()
