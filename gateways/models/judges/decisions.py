"""OpenAI Decisions over plain HTTP: both questions are predicates of one call."""

from __future__ import annotations

from typing import Any

import msgspec

from domain.errors import DamagedError, RefusedError
from domain.ports import Opinion, Statement
from gateways.models.judges.endpoint import Probability
from gateways.models.judges.questions import QUESTIONS, opinion, quoted
from gateways.models.judges.remote import RemoteJudge

__all__ = ["DecisionsJudge"]

_ASKED = [
    {"type": "predicate", "name": name, "instructions": f"{one.instructions} True: {one.yes} False: {one.no}"}
    for name, one in QUESTIONS.items()
]


class _Predicate(msgspec.Struct, tag_field="type", tag="predicate"):
    """A probability that a predicate holds."""

    name: str
    probability: Probability


class _Refusal(msgspec.Struct, tag_field="type", tag="refusal"):
    """The model declines to answer one question."""

    name: str


class _Reply(msgspec.Struct):
    """What the endpoint returns: an answer to each question, in any order."""

    answers: list[_Predicate | _Refusal]


class DecisionsJudge(RemoteJudge):
    """`domain.ports.Judge` by a Decisions endpoint; errors as `Endpoint`'s, RefusedError for a refusal."""

    KIND = "decisions"
    URL = "https://api.openai.com/v1/decisions"
    MODEL = "gpt-6-luna"

    async def judge(self, new: Statement, old: Statement, *, cosine: float, profile: str) -> Opinion:
        """Return both probabilities; the cosine is not told."""
        del cosine
        body: dict[str, Any] = {"model": self._model, "input": quoted(new, old), "questions": _ASKED}
        answers = (await self.post(body, _Reply, profile=profile)).answers
        return opinion(_probability(answers, "replaces"), _probability(answers, "contradicts"))


def _probability(answers: list[_Predicate | _Refusal], name: str) -> float:
    found = [answer for answer in answers if answer.name == name]
    if any(isinstance(answer, _Refusal) for answer in found):
        raise RefusedError("the judge declines to answer", expected="a probability", found=f"a refusal of {name}")
    match found:
        case [_Predicate(probability=probability)]:
            return probability
    raise DamagedError("the judge's reply cannot be read", expected=f"one answer to {name}", found=f"{len(found)}")
