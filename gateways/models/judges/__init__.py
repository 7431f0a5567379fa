"""Judges: whether a new statement replaces an older one, and whether the two contradict each other."""

from gateways.models.judges.heuristic import HeuristicJudge

__all__ = ["HeuristicJudge"]
