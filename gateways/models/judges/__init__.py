"""Judges: whether a new statement replaces an older one, and whether the two contradict each other."""

from gateways.models.judges.chat import ChatJudge
from gateways.models.judges.decisions import DecisionsJudge
from gateways.models.judges.endpoint import Patience
from gateways.models.judges.fallback import FallbackJudge
from gateways.models.judges.heuristic import HeuristicJudge
from gateways.models.judges.jev import JevJudge

__all__ = ["ChatJudge", "DecisionsJudge", "FallbackJudge", "HeuristicJudge", "JevJudge", "Patience"]
