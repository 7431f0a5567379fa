"""Whether what is left of a memory's sources still says what it says; decided without a model, and rather not."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import chain

from domain.resting import Loss
from projections.analysis import index_terms
from projections.ledger import MessageRecord, Resting

__all__ = ["bears_out", "loss_of"]

#: who speaks, which a statement names and its line does not
_SPEAKER = frozenset({"user"})
_NEGATIONS = frozenset(
    """
    no not never none nor neither nothing nobody without cannot can't don't doesn't didn't isn't aren't wasn't weren't
    haven't hasn't hadn't won't wouldn't shouldn't couldn't
    """.split()  # noqa: SIM905 -- a word a line would be a page
)


def loss_of(one: Resting, messages: Mapping[str, MessageRecord], gone: AbstractSet[str]) -> Loss:
    """Return what a version loses with the messages that are ``gone``, and what bears it out without them."""
    left = [tuple(message for message in ground if message not in gone) for ground in one.grounds]
    lost = dict.fromkeys(message for ground in one.grounds for message in ground if message in gone)
    good = [
        rest
        for ground, rest in zip(one.grounds, left, strict=True)
        if rest and (rest == ground or bears_out(one.text, [messages[id_] for id_ in rest if id_ in messages]))
    ]
    return Loss(
        memory=one.memory,
        lost=tuple(lost),
        left=tuple(dict.fromkeys(chain.from_iterable(good or left))),
        supported=bool(good),
    )


def bears_out(text: str, lines: list[MessageRecord]) -> bool:
    """Whether every word of a statement that carries meaning is in these lines, and they deny nothing it does not."""
    said = [index_terms(f"{line.name} {line.content}") for line in lines if not line.forgotten]
    stated = index_terms(text)
    words = set(chain.from_iterable(terms.text for terms in said)) | _SPEAKER
    denied = any(_NEGATIONS.intersection(terms.rest) for terms in said)
    return words.issuperset(stated.text) and denied == bool(_NEGATIONS.intersection(stated.rest))
