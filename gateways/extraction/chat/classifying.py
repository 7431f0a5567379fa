"""Where a checked statement belongs: its kind, its topic, the questions it answers and its dates (C6)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from msgspec.structs import replace

from domain.kinds import Kind, fold_kind
from domain.text import fold_content, fold_key
from domain.transcript import Candidate, KnownKey
from gateways.extraction.chat.checking import by_number
from gateways.extraction.chat.evidence import Evidence, evidence_of
from gateways.extraction.chat.moments import claimed_moment
from gateways.extraction.chat.prompts import shown_keys, shown_lines, shown_statements
from gateways.extraction.chat.screening import Lines, cited, holds_fence, one_line, unacceptable
from gateways.extraction.chat.shapes import Placed, Placements

__all__ = [
    "classification_prompt",
    "kind_of",
    "queries_of",
    "relevant_keys",
    "topic_key",
    "unclassified",
    "with_placements",
]

_KEY_CHARS = 256
_QUERIES = 5
_QUERY_CHARS = 300
_TYPE_CHARS = 64
#: facts that one statement may hold
_PARTS = 5
#: characters of all known keys that are shown, and of what each says
_KEYS_CHARS = 6_000
_KEY_SAYS = 120
_KINDS = frozenset({"fact", "event", "instruction", "task"})
# a word, or one character of a script that has no spaces between words
_WORD = re.compile(r"[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")


def classification_prompt(items: Sequence[Candidate], lines: Lines, known: Sequence[KnownKey]) -> str:
    """Return what a model is shown to file the items: their lines, keys in use that may fit, and each with a number."""
    wanted = sorted({index for item in items for index in item.lines if index in lines})
    keys = shown_keys(relevant_keys(known, items))
    return "\n\n".join(filter(None, (shown_lines(lines[index] for index in wanted), keys, shown_statements(items))))


def relevant_keys(known: Sequence[KnownKey], items: Sequence[Candidate]) -> list[KnownKey]:
    """Return keys in use, those that share most words with the items first, until they take the room for them."""
    words = {word for item in items for word in _words(item.text)}
    ranked = sorted(known, key=lambda one: -len(words & _words(f"{fold_key(one.key).replace('_', ' ')} {one.text}")))
    shown = [KnownKey(one.key, one.text[:_KEY_SAYS]) for one in ranked]
    sizes = accumulate(len(one.key) + len(one.text) for one in shown)
    return [one for one, size in zip(shown, sizes, strict=True) if size <= _KEYS_CHARS]


def with_placements(
    items: Sequence[Candidate], answer: Placements, lines: Lines, known: Sequence[KnownKey], now: datetime
) -> list[Candidate]:
    """Return the items filed as the answer says, one of several facts as that many items; the others by their type."""
    keys = {fold_key(one.key): one.key for one in reversed(known)}
    placements = by_number((placed.id, placed) for placed in answer.items or ())
    made: list[Candidate] = []
    for number, item in enumerate(items, 1):
        evidence = evidence_of(cited(item, lines), now)
        parts = _parts(item, placements.get(number, []), evidence)
        made += [_placed(part, placed, evidence, keys) for part, placed in parts] or [unclassified(item)]
    return made


def unclassified(item: Candidate) -> Candidate:
    """Return an item filed by the type it was found with alone."""
    kind, fact_type = kind_of(None, item.fact_type)
    return replace(item, kind=kind, fact_type=fact_type)


def kind_of(kind: str | None, fact_type: str | None) -> tuple[Kind, str]:
    """Return (kind, fact type) whatever a model calls them: an unknown kind is none, an unknown type stays as text."""
    named = (kind or "").strip().lower()
    typed = " ".join(_printable(fact_type or "").split())
    return fold_kind(named if named in _KINDS else None, typed if len(typed) <= _TYPE_CHARS else "")


def topic_key(key: str | None, known: Mapping[str, str]) -> str:
    """Return a topic key: folded words joined by ``_``, or the ``known`` one that folds equal as it is written.

    Every script is kept. What is no name, or longer than a key may be, is no key.
    """
    folded = fold_key(_printable(key or ""))
    if not any(ch.isalnum() for ch in folded) or len(folded) > _KEY_CHARS:
        return ""
    return known.get(folded, folded)


def queries_of(queries: Iterable[str]) -> tuple[str, ...]:
    """Return at most five queries that are worth searching by: each once, none blank, over-long or recalled."""
    made: dict[str, str] = {}
    for query in queries:
        text = " ".join(_printable(query).split())
        if text and len(text) <= _QUERY_CHARS and not holds_fence(text):
            made.setdefault(fold_content(text), text)
    return tuple(made.values())[:_QUERIES]


def _parts(item: Candidate, placed: Sequence[Placed], evidence: Evidence) -> list[tuple[Candidate, Placed]]:
    """Return the item with its placement, or its parts when it is given back as several that hold nothing new."""
    texts = [one_line(one.text or "") for one in placed[:_PARTS]]
    usable = [
        (replace(item, text=text), one)
        for text, one in zip(texts, placed, strict=False)
        if len(placed) > 1 and not unacceptable(text) and _within(text, item.text) and not evidence.lacks(text)
    ]
    return usable if len(usable) > 1 and len(usable) == len(placed) else [(item, one) for one in placed[:1]]


def _within(text: str, whole: str) -> bool:
    """Whether a part is shorter than the whole and at most every third of its words is not in it."""
    words = _words(text)
    return len(text) < len(whole) and 3 * len(words - _words(whole)) <= len(words)


def _placed(item: Candidate, placed: Placed, evidence: Evidence, keys: Mapping[str, str]) -> Candidate:
    kind, fact_type = kind_of(placed.kind, placed.type or item.fact_type)
    start = claimed_moment(placed.valid_from, evidence) if kind == "fact" else None
    end = claimed_moment(placed.valid_to, evidence, end=True) if kind == "fact" else None
    if start and end and end < start:
        start = end = None
    return replace(
        item,
        kind=kind,
        fact_type=fact_type,
        key=topic_key(placed.key, keys) if kind in ("fact", "instruction") else "",
        queries=queries_of(placed.queries or ()),
        occurred_at=claimed_moment(placed.occurred_at, evidence) if kind == "event" else None,
        valid_from=start,
        valid_to=end,
        expires_at=claimed_moment(placed.expires_at, evidence, end=True) if kind == "task" else None,
    )


def _words(text: str) -> set[str]:
    return set(_WORD.findall(fold_content(text)))


def _printable(text: str) -> str:
    """Return text without control characters and halves of surrogate pairs."""
    return "".join(" " if unicodedata.category(ch) in ("Cc", "Cs") else ch for ch in text)
