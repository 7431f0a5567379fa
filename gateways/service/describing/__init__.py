"""Memories that are described instead of named: what a description means, and what is done with it."""

from __future__ import annotations

from gateways.service.describing.acting import ById
from gateways.service.describing.described import Answered, or_described

__all__ = ["Answered", "ById", "or_described"]
