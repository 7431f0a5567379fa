"""Absolute relevance in [0, 1]: what `min_score` and readers see, whatever else was found.

A rank says which result is best; it says nothing about whether the best one is any good. Cosines do, and
so does a keyword score together with the share of the query's words that are there at all.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from whoosh.lang.porter2 import stem

from projections.ledger import query_words

__all__ = ["keyword_relevance", "matched_share", "vector_relevance"]

# A BM25 score of this size counts half: about one rare word of a short text.
_HALF_BM25 = 6.0


def vector_relevance(cosine: float) -> float:
    """Return a cosine as relevance: what points away is 0."""
    return min(1.0, max(0.0, cosine))


def keyword_relevance(bm25: float, query: str, text: str) -> float:
    """Return bm25 / (bm25 + 6) × the share of the query's words that ``text`` has."""
    if bm25 <= 0:
        return 0.0
    return bm25 / (bm25 + _HALF_BM25) * matched_share(query, text)


def matched_share(query: str, text: str) -> float:
    """Return which share of the query's words (stemmed, function words left out) occurs in ``text``."""
    words = _query_words(query)
    if not words:
        return 0.0
    folded = unicodedata.normalize("NFKC", text).casefold()
    stems = {_stem(word) for word in query_words(folded)}
    return sum(_share(word, stems, folded) for word in words) / len(words)


def _share(word: str, stems: set[str], folded: str) -> float:
    if _stem(word) in stems:
        return 1.0
    if word.isascii():
        return 0.0
    pairs = list(_pairs(word))
    return sum(pair in folded for pair in pairs) / len(pairs) if pairs else 0.0


def _pairs(word: str) -> Iterator[str]:
    # Scripts without spaces: a run is no word, its pairs of characters are the nearest thing.
    if any("\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7af" for char in word):
        yield from (word[index : index + 2] for index in range(max(1, len(word) - 1)))


@lru_cache(maxsize=256)
def _query_words(query: str) -> tuple[str, ...]:
    return query_words(query)


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    return str(stem(word)) if word.isascii() else word
