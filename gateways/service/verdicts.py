"""What follows from a judge's opinions: who replaces whom, what is only noted, and the record of both."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from domain.envelope import Actor
from domain.events import Judgement, MemoryJudged
from domain.kernel import Context
from domain.memory import Memory, Version
from domain.ports import Opinion, Statement
from domain.settings import VerifierLimits
from gateways.service.aggregates import Loaded
from gateways.service.likeness import Alike
from gateways.service.profiles import OpenProfile
from projections.ledger import MemoryRecord

__all__ = ["WORKER", "Judged", "Verdict", "in_order", "is_later", "statement"]

WORKER = Actor("verifier", "service")


class Judged(msgspec.Struct, frozen=True):
    """What a judge thinks of a new memory and an older one."""

    other: Alike
    opinion: Opinion


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Opinions on one new memory and whose they are; ``reason`` says why nobody, or not the first choice, was asked."""

    memory: MemoryRecord
    judged: Sequence[Judged] = ()
    rule: str = "judge"
    model: str = ""
    reason: str = ""

    def decide(self, loaded: Loaded, profile: OpenProfile, limits: VerifierLimits, now: datetime) -> bool:
        """Write down the verdict and what follows from it; False when the memory was judged before, or is gone."""
        # Saved in this order, what follows from the verdict is in the views no later than the verdict itself.
        for one in self.judged:
            _load(loaded, profile, one.other.memory.address)
        new = _load(loaded, profile, self.memory.address)
        if not new.is_unjudged(self.memory.id, now):
            return False
        context = Context(actor=WORKER, now=now, cause=self.memory.id)
        candidates = tuple(
            Judgement(
                memory=one.other.memory.id,
                replaces=one.opinion.replaces,
                contradicts=one.opinion.contradicts,
                decision=self._decide_one(loaded, profile, new, one, limits, context),
                cosine=round(one.other.cosine, 6),
            )
            for one in self.judged
        )
        event = MemoryJudged(
            memory=self.memory.id, model=self.model, rule=self.rule, candidates=candidates, reason=self.reason
        )
        return new.judge(event, context)

    def _decide_one(
        self,
        loaded: Loaded,
        profile: OpenProfile,
        new: Memory,
        one: Judged,
        limits: VerifierLimits,
        context: Context,
    ) -> Literal["superseded", "contradiction", "kept"]:
        old = _load(loaded, profile, one.other.memory.address)
        mine, other = new.find(self.memory.id), old.find(one.other.memory.id)
        contradicts = one.opinion.contradicts >= limits.contradicts
        if not (mine.live_at(context.now) and other.live_at(context.now)):
            return "kept"
        if one.opinion.replaces >= limits.replaces:
            stands, goes = _who_stands(mine, other, contradicts=contradicts)
            if stands is not None and goes is not None:
                owner = new if goes is mine else old
                owner.supersede(
                    goes.written.memory,
                    by=stands,
                    rule=self.rule,
                    context=context,
                    probability=one.opinion.replaces,
                    model=self.model,
                )
                return "superseded"
            contradicts = True
        if contradicts and old.note(
            other.written.memory,
            other=mine,
            context=context,
            probability=one.opinion.contradicts,
            model=self.model,
        ):
            return "contradiction"
        return "kept"


def _who_stands(mine: Version, other: Version, *, contradicts: bool) -> tuple[Version | None, Version | None]:
    """Return which of two statements of one thing stands and which goes; neither where a person is contradicted.

    The one said later stands, but a person's words stand over what others say: those go when they only say the same.
    """
    later, earlier = (mine, other) if is_later(mine.stated_at, other.stated_at) else (other, mine)
    if earlier.author_type != "person" or later.author_type == "person":
        return later, earlier
    return (None, None) if contradicts else (earlier, later)


def is_later(new: datetime, old: datetime) -> bool:
    """Whether what is new here was also said after what is old; said at the same time, it was."""
    return new >= old


def in_order(new: MemoryRecord, old: MemoryRecord) -> tuple[Statement, Statement]:
    """Return both memories as a judge sees them: the one said later, then the one said earlier."""
    pair = statement(new), statement(old)
    return pair if is_later(_said_at(new), _said_at(old)) else pair[::-1]


def statement(record: MemoryRecord) -> Statement:
    """Return a memory as a judge sees it."""
    return Statement(
        id=record.id,
        text=record.text,
        kind=record.kind,  # type: ignore[arg-type]
        key=record.key,
        at=_said_at(record),
    )


def _said_at(record: MemoryRecord) -> datetime:
    return record.stated_at or record.recorded_at


def _load(loaded: Loaded, profile: OpenProfile, address: str) -> Memory:
    return loaded.get(Memory, profile.subject(Memory.CATEGORY, address))
