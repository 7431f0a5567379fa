"""Benchmarks: retrieval on conversations with known evidence, measured through the public API."""

from __future__ import annotations

__all__: list[str] = []
