"""`ChatSynthesiser`: a language model answers from entries, and what it cites is held against what it was given."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec

from domain.answers import Entry, Length, Prose, Thinking
from domain.errors import DamagedError, InvalidInputError
from domain.ports import Ask, Chat
from domain.settings import AnswerLimits
from domain.tokens import estimated_tokens
from gateways.answering.prompts import CUT, UNSEEN, Shown, holds_fence, prompt, quiet, shown, system

__all__ = ["ANSWER_CHARS", "PURPOSE", "Answered", "ChatSynthesiser"]

#: what its calls are counted under
PURPOSE = "recall.answer"
#: characters of an answer above which it is none
ANSWER_CHARS = 20_000
#: tokens that an answer of a length may take beside those for thinking
_LENGTHS: dict[Length, int] = {"short": 300, "medium": 800, "long": 2_500}


class Answered(msgspec.Struct, frozen=True):
    """What a model is asked to fill in; lenient, for an odd id must not cost the answer."""

    answer: Annotated[str | None, msgspec.Meta(description="The answer, empty when the entries do not hold it.")] = None
    ids: Annotated[list[str | int] | None, msgspec.Meta(description="The numbers of the entries it rests on.")] = None


class ChatSynthesiser:
    """`domain.ports.Synthesiser` by the large model of any `domain.ports.Chat`; its errors are the chat's."""

    def __init__(self, chat: Chat, limits: AnswerLimits | None = None) -> None:
        self._chat = chat
        self._limits = limits or AnswerLimits()

    @property
    def name(self) -> str:
        """The chat's name."""
        return self._chat.name

    async def answer(
        self,
        question: str,
        entries: Sequence[Entry],
        facts: Sequence[str],
        *,
        thinking: Thinking,
        length: Length,
        profile: str,
        budget: int | None = None,
        unsaid: Sequence[str] = (),
    ) -> Prose:
        """Return an answer that cites nothing but the entries it was given; raises what the chat raises.

        InvalidInputError where no entry fits the budget. What is too long for the model is asked again with fewer
        entries, never as it was.
        """
        room, kept_quiet = self._limits.room(thinking), quiet(unsaid)
        most = room.prompt_tokens if budget is None else min(budget, room.prompt_tokens)
        seen = shown(entries, most - estimated_tokens(kept_quiet))
        if not seen:
            raise InvalidInputError("nothing that was found fits the prompt", expected="a larger budget")
        while True:
            ask = Ask(
                purpose=PURPOSE,
                system=system(length),
                user=prompt(question, seen, facts, kept_quiet),
                profile=profile,
                size="large",
                max_tokens=room.answer_tokens + _LENGTHS[length],
                effort=thinking,
            )
            try:
                answer = await self._chat.ask(ask, Answered)
            except InvalidInputError:
                seen = shown(entries, sum(one.tokens for one in seen) // 2)
                if not seen:
                    raise
            else:
                return _prose(answer.value, entries, seen, answer.model)


def _prose(said: Answered, entries: Sequence[Entry], seen: Sequence[Shown], model: str) -> Prose:
    text = _readable(said.answer or "")
    return Prose(
        text=text,
        model=model,
        cited=_cited(said.ids or (), seen) if text else (),
        left_out={
            **{one.entry.id: CUT for one in seen if one.cut},
            **{one.id: UNSEEN for one in entries[len(seen) :]},
        },
    )


def _readable(text: str) -> str:
    """Return an answer without control characters; raises DamagedError for one that cannot be one."""
    plain = "".join(ch for ch in text if ch in "\n\t" or unicodedata.category(ch) not in ("Cc", "Cs")).strip()
    if len(plain) > ANSWER_CHARS:
        raise DamagedError(
            "the answer is too long", expected=f"at most {ANSWER_CHARS} characters", found=f"{len(plain)} characters"
        )
    if holds_fence(plain):
        raise DamagedError("the answer repeats its prompt", expected="an answer", found="the mark of a fence")
    return plain


def _cited(ids: Iterable[str | int], seen: Sequence[Shown]) -> tuple[str, ...]:
    """Return the entries named, by number or id, each once; what was never given is dropped."""
    given = {str(one.number): one.entry.id for one in seen} | {one.entry.id: one.entry.id for one in seen}
    named = (str(one).strip().strip("[]#").strip() for one in ids)
    return tuple(dict.fromkeys(given[one] for one in named if one in given))
