"""Which older memories a new one is held against: live, of its scope and kind, and like it."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from domain.indexing import contact_token
from domain.kinds import ITEM
from domain.settings import VerifierLimits
from projections.ledger import Ledger, MemoryRecord
from projections.vectors import VectorView

__all__ = ["Alike", "alike", "is_item", "restates"]

#: items asked for at first, and how much more each time too few of them count
_FIRST, _GROWTH = 16, 4


class Alike(msgspec.Struct, frozen=True):
    """An older memory and its cosine to the new one, in [-1, 1]."""

    memory: MemoryRecord
    cosine: float


def alike(ledger: Ledger, vectors: VectorView, memory: MemoryRecord, limits: VerifierLimits) -> list[Alike]:
    """Return up to ``limits.candidates`` memories older than this one, the most alike first; it has its vectors."""
    vector = vectors.vector_of(memory.id)
    if vector is None:
        return []
    kinds, scopes = frozenset({memory.kind}), frozenset({contact_token(memory.scope)})
    asked = _FIRST
    while True:
        hits = vectors.search(vector, asked, kinds=kinds, scopes=scopes)
        near = {hit.id: hit.score for hit in hits if hit.score >= limits.cosine and hit.id != memory.id}
        found = _older(ledger.memories(list(near)), memory, near)
        everything = len(hits) < asked or hits[-1].score < limits.cosine
        if len(found) >= limits.candidates or everything:
            return found[: limits.candidates]
        asked *= _GROWTH


def restates(memory: MemoryRecord) -> bool:
    """Whether a memory is what the daily reflection made of others: those are judged, and it ends with them."""
    return memory.source == "reflection" and bool(memory.model)


def is_item(memory: MemoryRecord) -> bool:
    """Whether a memory is an item of a store: each is what its owner gets by its key, so none is held against it."""
    return memory.fact_type == ITEM and memory.source == "explicit"


def _older(records: dict[str, MemoryRecord], memory: MemoryRecord, near: dict[str, float]) -> list[Alike]:
    now = datetime.now(UTC)
    found = [
        Alike(record, near[record.id])
        for record in records.values()
        if record.position < memory.position
        and record.address != memory.address
        and record.status_at(now) == "live"
        and not restates(record)
        and not is_item(record)
    ]
    return sorted(found, key=lambda one: (-one.cosine, -one.memory.position))
