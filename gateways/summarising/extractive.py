"""A summary without a model: sentences that were said, chosen by what they name, in the order they were said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from domain.answers import Summary
from domain.tokens import estimated_tokens
from domain.transcript import Line

__all__ = ["ExtractiveSummariser"]

_NAME = "extractive-1"
_OPENING = "Extract, not a model's summary:"
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?。！？]+|\n|\Z)")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
#: names within a sentence, numbers, prices, versions, times
_VALUE = re.compile(r"(?<=[\w,;:] )[A-Z][\w'-]+|\d[\d.,:%/-]*\w*|[$€£]\s?\d|[\w.+-]+@[\w.-]+")
_WORD = re.compile(r"\w{4,}")
#: what a sentence gains by where it stands, by a value it names, and by a word that returns
_FIRST, _LAST, _NAMED, _RETURNING = 2.0, 1.0, 1.0, 0.5
_LONGEST = 300
_WHO_CHARS = 40


class _Sentence(msgspec.Struct, frozen=True):
    order: int
    line: int
    text: str
    score: float


class ExtractiveSummariser:
    """`domain.ports.Summariser` by rules; the same lines always give the same summary."""

    @property
    def name(self) -> str:
        """Its rules, as recorded with each summary."""
        return _NAME

    async def summarise(self, lines: Sequence[Line], *, earlier: str, tokens: int, profile: str) -> Summary:
        """Return the best sentences that fit, after as much of what was summarised ``earlier`` as fits a half."""
        del profile
        kept = _kept(earlier.removeprefix(_OPENING).strip(), tokens // 2)
        chosen = _chosen(_sentences(lines), lines, tokens - estimated_tokens("\n".join((_OPENING, *kept))))
        if not chosen and not kept:
            return Summary(text="", model=_NAME)
        return Summary(text="\n".join((_OPENING, *kept, *chosen)), model=_NAME)


def _kept(earlier: str, tokens: int) -> list[str]:
    """Return the lines of an earlier summary that fit, the oldest first."""
    kept: list[str] = []
    for line in filter(None, earlier.split("\n")):
        tokens -= estimated_tokens(line + "\n")
        if tokens < 0:
            break
        kept.append(line)
    return kept


def _sentences(lines: Sequence[Line]) -> list[_Sentence]:
    returning = Counter(word for line in lines for word in {word.casefold() for word in _WORD.findall(line.text)})
    found: list[_Sentence] = []
    for number, line in enumerate(lines):
        texts = [" ".join(one.split())[:_LONGEST] for one in _SENTENCE.findall(_CODE.sub(" ", line.text))]
        texts = [text for text in texts if text and not text.isspace()]
        for place, text in enumerate(texts):
            words = {word.casefold() for word in _WORD.findall(text)}
            score = _NAMED * len(set(_VALUE.findall(text))) + _RETURNING * sum(returning[word] > 1 for word in words)
            score += _FIRST * (place == 0) + _LAST * (place == len(texts) - 1)
            found.append(_Sentence(len(found), number, text, score / (1 + estimated_tokens(text) / 40)))
    return found


def _chosen(sentences: Sequence[_Sentence], lines: Sequence[Line], tokens: int) -> list[str]:
    """Return the best sentences that fit, each once, in their order and with who said them."""
    picked: list[_Sentence] = []
    said: set[str] = set()
    for one in sorted(sentences, key=lambda one: (-one.score, one.order)):
        needed = estimated_tokens(_shown(one, lines) + "\n")
        if needed <= tokens and one.text.casefold() not in said:
            picked.append(one)
            said.add(one.text.casefold())
            tokens -= needed
    return [_shown(one, lines) for one in sorted(picked, key=lambda one: one.order)]


def _shown(one: _Sentence, lines: Sequence[Line]) -> str:
    line = lines[one.line]
    return f"- {(line.name or line.role)[:_WHO_CHARS]}: {one.text}"
