"""Jev over plain HTTP: both questions about one state, in one call."""

from __future__ import annotations

from typing import Any

import msgspec

from domain.errors import RefusedError
from domain.ports import Opinion, Statement
from gateways.models.judges.endpoint import Probability
from gateways.models.judges.questions import QUESTIONS, opinion, shown
from gateways.models.judges.remote import RemoteJudge

__all__ = ["JevJudge"]

_ASKED = {
    name: {"type": "noul", "instructions": one.instructions, "criteria": {"true": one.yes, "false": one.no}}
    for name, one in QUESTIONS.items()
}


class _Noul(msgspec.Struct, tag_field="type", tag="noul"):
    """A probability that the answer is yes."""

    noul: Probability


class _Refusal(msgspec.Struct, tag_field="type", tag="refusal"):
    """The model declines to answer."""


class _Answers(msgspec.Struct):
    """An answer to each question."""

    replaces: _Noul | _Refusal
    contradicts: _Noul | _Refusal


class _Reply(msgspec.Struct):
    """What the endpoint returns."""

    answers: _Answers


class JevJudge(RemoteJudge):
    """`domain.ports.Judge` by Jev, or whoever serves the same call; errors as `Endpoint`'s, RefusedError for a refusal.

    OpenRouter serves it at ``https://openrouter.ai/api/alpha/decisions`` as ``typesafe/jev-latest``.
    """

    KIND = "jev"
    URL = "https://api.typesafe.ai/v1/systemone"
    MODEL = "jev-latest"

    async def judge(self, new: Statement, old: Statement, *, cosine: float, profile: str) -> Opinion:
        """Return both probabilities; the cosine is not told."""
        del cosine
        state = {"new": shown("new", new), "old": shown("old", old)}
        body: dict[str, Any] = {"model": self._model, "state": state, "questions": _ASKED}
        answers = (await self.post(body, _Reply, profile=profile)).answers
        if isinstance(answers.replaces, _Refusal) or isinstance(answers.contradicts, _Refusal):
            raise RefusedError("the judge declines to answer", expected="a probability", found="a refusal")
        return opinion(answers.replaces.noul, answers.contradicts.noul)
