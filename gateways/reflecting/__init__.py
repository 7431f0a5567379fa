"""What a day came to: in the words of a language model, or in those that were said and remembered on it."""

from __future__ import annotations

from gateways.reflecting.chat import ChatReflector
from gateways.reflecting.digest import DigestReflector

__all__ = ["ChatReflector", "DigestReflector"]
