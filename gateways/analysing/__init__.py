"""Queries analysed before they are asked: keys, terms and a statement such as would answer them."""

from __future__ import annotations

from gateways.analysing.chat import ChatAnalyst

__all__ = ["ChatAnalyst"]
