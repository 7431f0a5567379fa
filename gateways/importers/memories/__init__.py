"""Importers of other memories: what they hold, as statements to remember and conversations to record."""

from __future__ import annotations

from gateways.importers.memories.export import SOURCES, Broken, MemoryExport, read_memories, source_of
from gateways.importers.memories.statement import Statement

__all__ = ["SOURCES", "Broken", "MemoryExport", "Statement", "read_memories", "source_of"]
