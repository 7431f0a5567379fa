"""Whether a new generation may be served: it agrees with itself, and answers as the present one does.

What is compared are views at one position. Samples are the same for the same content: the first items in the order
of their ids, which are hashes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from domain.errors import DamagedError
from projections.generations import ViewSet
from projections.hit import Hit
from projections.keywords import KeywordView
from projections.vectors import VectorView

__all__ = ["disagreements", "verify"]

_SAMPLE = 20
_DEPTH = 10
_QUERY_WORDS = 8
_TOLERANCE = 1e-4


def verify(new: ViewSet, old: ViewSet | None, now: datetime) -> None:
    """Raise DamagedError when ``new`` contradicts itself, or ``old`` where that one is sound."""
    found = list(disagreements(new))
    if not found and old is not None and not old.stopped and not list(disagreements(old)):
        found = list(_differences(new, old, now))
    if found:
        raise DamagedError(
            "the new generation does not hold what it should; the present one stays",
            expected="views that agree",
            found="; ".join(found[:5]),
        )


def disagreements(views: ViewSet) -> Iterator[str]:
    """Tell where the views of one set do not agree with each other."""
    for view, reason in views.stopped.items():
        yield f"{view} stopped: {reason}"
    counts, position = views.ledger.index_counts(), views.ledger.position
    keywords, vectors = views.keywords, views.vectors
    if isinstance(keywords, KeywordView):
        yield from _unequal("position of keywords", keywords.position, position)
        yield from _unequal("texts in keywords", keywords.count, counts.items)
    if isinstance(vectors, VectorView) and "ledger" not in views.outdated:
        yield from _unequal("position of vectors", vectors.position, position)
        yield from _unequal("items in vectors", vectors.count + vectors.waiting(), counts.embedded)
        yield from _unequal("items without vectors", vectors.waiting(), counts.without_vectors)


def _unequal(what: str, found: int, expected: int) -> Iterator[str]:
    if found != expected:
        yield f"{what}: {found}, ledger has {expected}"


def _differences(new: ViewSet, old: ViewSet, now: datetime) -> Iterator[str]:
    before, after = old.ledger.counts(), new.ledger.counts()
    for field in ("conversations", "messages", "memories", "versions", "items"):
        yield from _unequal(field, getattr(after, field), getattr(before, field))
    sample = old.ledger.sample(_SAMPLE)
    ids = [id_ for id_, _ in sample]
    if set(old.ledger.live(ids, now).items) != set(new.ledger.live(ids, now).items):
        yield "other items are live"
    for id_, text in sample:
        yield from _keywords_differ(new, old, id_, text)
        yield from _vectors_differ(new, old, id_)


def _keywords_differ(new: ViewSet, old: ViewSet, id_: str, text: str) -> Iterator[str]:
    if new.keywords is old.keywords or not isinstance(old.keywords, KeywordView):
        return
    query = " ".join(text.split()[:_QUERY_WORDS])
    if _differ(new.keywords.search(query, _DEPTH), old.keywords.search(query, _DEPTH)):
        yield f"other texts are found for the words of {id_}"


def _vectors_differ(new: ViewSet, old: ViewSet, id_: str) -> Iterator[str]:
    if new.vectors is old.vectors or not isinstance(old.vectors, VectorView) or "ledger" in old.outdated:
        return
    vector = old.vectors.vector_of(id_)
    if vector is not None and _differ(new.vectors.search(vector, _DEPTH), old.vectors.search(vector, _DEPTH)):
        yield f"other items are near {id_}"


def _differ(new: Sequence[Hit], old: Sequence[Hit]) -> bool:
    """Whether two answers differ by more than rounding, which may also swap items at the cut."""
    if len(new) != len(old):
        return True
    if any(abs(a.score - b.score) > _TOLERANCE * max(1.0, abs(b.score)) for a, b in zip(new, old, strict=True)):
        return True
    edge = old[-1].score + 2 * _TOLERANCE * max(1.0, abs(old[-1].score)) if old else 0.0
    before, after = {hit.id for hit in old}, {hit.id for hit in new}
    return any(hit.id not in before for hit in new if hit.score > edge) or any(
        hit.id not in after for hit in old if hit.score > edge
    )
