"""What the judges over HTTP share: a model behind an endpoint, whose word counts as a judge's."""

from __future__ import annotations

from typing import ClassVar, Literal

from gateways.models.judges.endpoint import Endpoint, Patience

__all__ = ["RemoteJudge"]


class RemoteJudge(Endpoint):
    """The part of `domain.ports.Judge` that does not depend on what is asked; a subclass names its usual endpoint."""

    KIND: ClassVar[str]
    URL: ClassVar[str]
    MODEL: ClassVar[str]

    def __init__(self, key: str, *, url: str = "", model: str = "", patience: Patience | None = None) -> None:
        """``url`` is the whole address of the call; it and ``model`` are the usual ones where they are left out."""
        super().__init__(url or self.URL, key, patience=patience)
        self._model = model or self.MODEL

    @property
    def name(self) -> str:
        """What is recorded with its probabilities."""
        return f"{self.KIND}:{self._model}"

    @property
    def rule(self) -> Literal["judge", "heuristic"]:
        """A supersession that follows from it is put down to a judge."""
        return "judge"
