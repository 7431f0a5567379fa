"""Extraction by a language model: read in chunks, checked against the transcript, put into kinds.

::

    lines ── chunks ── full pass ───┐
                    └─ detail pass ─┴ merge ── screen ── verify ── ground ── classify ── merge ── Found

Each stage is a function of its own module; `ChatExtractor` is what runs them.
"""

from __future__ import annotations

from gateways.extraction.chat.extractor import PIPELINE, ChatExtractor

__all__ = ["PIPELINE", "ChatExtractor"]
