"""Answers in words, made by a language model from what recall found."""

from __future__ import annotations

from gateways.answering.synthesiser import ChatSynthesiser

__all__ = ["ChatSynthesiser"]
