"""Recall with an answer in words: a language model answers from the results, as far as the policy lets it see them.

Whatever becomes of the answer, the results are handed out, and the reply says why there is none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
import structlog

from domain.answers import Entry, Prose
from domain.errors import UmbrielError
from domain.ports import Synthesiser
from domain.settings import DataFlow
from gateways.service.context import Caller, Core
from gateways.service.inspector import with_prompt
from gateways.service.models import KEPT, Provided, answered
from gateways.service.policy import Subject, passes
from gateways.service.reads import recall
from gateways.service.recalling import reference_of
from gateways.service.recalling_then import recall_then
from gateways.service.served import HandedOut
from umbriel.answers import Synthesis
from umbriel.types import RecallReply, RecallRequest, RecallResult

__all__ = ["BUSY", "NOTHING", "NO_ANSWER", "NO_MODEL", "NO_ROOM", "recall_answered"]

#: Why there is no answer.
NO_MODEL = "no language model is configured"
NOTHING = "nothing was found"
NO_ROOM = "nothing that was found fits the token budget"
NO_ANSWER = "what was found holds no answer"
BUSY = "too many answers are being made"

_log = structlog.get_logger(__name__)


async def recall_answered(
    core: Core, handed_out: HandedOut, caller: Caller, profile: str, request: RecallRequest
) -> RecallReply:
    """Recall, and let a language model answer from the results where the request asks for that."""
    if request.inspect:
        request = msgspec.structs.replace(request, explain=True)
    if request.answer and request.limit is None:
        request = msgspec.structs.replace(request, limit=core.settings.answering.room(request.thinking).results)
    if request.as_of:
        reply, request = await recall_then(core, handed_out, caller, profile, request)
    else:
        reply = await recall(core, handed_out, caller, profile, request)
    if request.answer and reply.answer is None:
        reply = msgspec.structs.replace(reply, answer=await _answer(core, profile, request, reply))
    return with_prompt(reply) if request.inspect else reply


async def _answer(core: Core, profile: str, request: RecallRequest, reply: RecallReply) -> Synthesis:
    if not reply.results:
        return Synthesis(reason=NO_ROOM if reply.truncated else NOTHING)
    if not core.models.synthesisers:
        return Synthesis(reason=NO_MODEL)
    async with core.profiles.use(profile) as opened:
        flow = (await core.in_thread(opened.views.ledger.settings)).data_flow
    allowed = [_Allowed.of(core, profile, flow, one, reply) for one in core.models.synthesisers]
    if not any(one.results for one in allowed):
        return Synthesis(reason=KEPT)
    if core.answering >= core.settings.answering.parallel:
        return Synthesis(reason=BUSY)
    core.answering += 1
    try:
        return await _first(core, profile, request, reply, [one for one in allowed if one.results])
    finally:
        core.answering -= 1


class _Allowed(msgspec.Struct, frozen=True):
    """A model, the results it may see, and why not the others."""

    provided: Provided[Synthesiser]
    results: list[RecallResult]
    kept: dict[str, str]

    @classmethod
    def of(
        cls,
        core: Core,
        profile: str,
        flow: DataFlow,
        provided: Provided[Synthesiser],
        reply: RecallReply,
    ) -> _Allowed:
        """Return what a model may see; the policy is asked once for each class of content.

        A model that may not be told what not to speak of is told nothing.
        """
        if not passes(core, profile, flow, "queries", provided.name, provided.reaches):
            return cls(provided, [], {})
        results, classes = reply.results, {_class_of(one) for one in [*reply.results, *reply.suppressions]}
        may = {one for one in classes if passes(core, profile, flow, one, provided.name, provided.reaches)}
        if reply.suppressions and "memories" not in may:
            return cls(provided, [], {})
        return cls(
            provided,
            [one for one in results if _class_of(one) in may],
            {one.id: KEPT for one in results if _class_of(one) not in may},
        )


def _class_of(result: RecallResult) -> Subject:
    return "messages" if result.kind == "message" else "memories"


async def _first(
    core: Core, profile: str, request: RecallRequest, reply: RecallReply, allowed: Sequence[_Allowed]
) -> Synthesis:
    """Return the first answer; a model that fails is answered for by the next one, while there is time."""
    ends, reason = time.monotonic() + core.settings.answering.seconds, ""
    for one in _widest_first(allowed):
        model = one.provided.value
        asked = model.answer(
            request.query,
            [_entry(result) for result in one.results],
            _facts(request, reply),
            thinking=request.thinking,
            length=request.length,
            profile=profile,
            budget=request.token_budget,
            unsaid=[one.text for one in reply.suppressions],
        )
        try:
            prose = await answered(model.name, asked, seconds=max(0.0, ends - time.monotonic()))
        except UmbrielError as error:
            _log.warning("no_answer", profile=profile, model=model.name, error=error.code)
            reason = reason or str(error)
        else:
            return _synthesis(prose, one)
    return Synthesis(reason=reason)


def _widest_first(allowed: Sequence[_Allowed]) -> list[_Allowed]:
    """Return the models in order of preference, those that may see everything before those that may not."""
    return sorted(allowed, key=lambda one: bool(one.kept))


def _synthesis(prose: Prose, asked: _Allowed) -> Synthesis:
    return Synthesis(
        text=prose.text,
        cited=list(prose.cited),
        model=prose.model,
        reason="" if prose.text else NO_ANSWER,
        grounded=bool(prose.cited) or not prose.text,
        left_out={**asked.kept, **prose.left_out},
    )


def _entry(result: RecallResult) -> Entry:
    said = result.at or result.recorded_at
    return Entry(
        id=result.id,
        text=result.text,
        kind=result.kind,
        role=result.role,
        name=result.name,
        source=result.source,
        session=result.session,
        when=result.when or ("" if said is None else f"{said:%Y-%m-%d}"),
    )


def _facts(request: RecallRequest, reply: RecallReply) -> list[str]:
    """Return what was computed of times, at least the day on which it is asked."""
    at = reference_of(request)
    return reply.facts or [f"The reference date is {at:%Y-%m-%d}, a {at:%A}."]
