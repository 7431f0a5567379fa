"""A model that analyses queries by a plain rule, and adds the faults that real models have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.ports import Ask
from tests.answering import fences
from tests.scripted_chat import ScriptedChat

__all__ = ["PlainAnalyst", "analysing", "known_keys"]

_RELATED = {"employer": "work", "lives": "home", "spouse": "wife"}


def known_keys(user: str) -> list[str]:
    """Return the keys that a prompt shows."""
    shown = dict(fences(user)).get("known_keys", "")
    return shown.splitlines()[1:]


def analysing(user: str) -> dict[str, Any]:
    """Analyse as a model that knows a few words: their keys, themselves as terms, and a sentence with them."""
    asked = dict(fences(user))["question"].partition("\n")[2].casefold()
    words = [related for word, related in _RELATED.items() if word in asked]
    keys = [key for key in known_keys(user) if any(word in key for word in words)]
    return {"keys": keys, "terms": words, "statement": f"It is {words[0]}." if words else ""}


class PlainAnalyst(ScriptedChat):
    """Answers by that rule, and adds keys that nobody uses and a term without end."""

    def __init__(self) -> None:
        super().__init__(**{"recall.analyse": self._answer})

    def _answer(self, ask: Ask) -> Mapping[str, Any]:
        said = analysing(ask.user)
        return {**said, "keys": ["no such key", *said["keys"]], "terms": ["x" * 500, *said["terms"]]}
