"""Summaries of stretches of conversation: by a language model, or drawn from their own sentences."""

from __future__ import annotations

from gateways.summarising.chat import ChatSummariser
from gateways.summarising.extractive import ExtractiveSummariser

__all__ = ["ChatSummariser", "ExtractiveSummariser"]
