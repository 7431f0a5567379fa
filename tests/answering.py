"""What a model is shown to answer from, read back out of a prompt, and a model that answers by a plain rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from domain.answers import Entry
from domain.ports import Ask
from tests.scripted_chat import ScriptedChat

__all__ = ["PlainAnswerer", "ShownEntry", "answering", "entry", "fences", "shown_entries"]

_FENCE = re.compile(r'^<(\w+) mark="(\w+)">\n(.*?)\n</\1 mark="\2">$', re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"\w+")


class ShownEntry(msgspec.Struct, frozen=True):
    """An entry of a prompt: the line that says where it comes from, and its text."""

    provenance: str
    text: str

    @property
    def number(self) -> str:
        """The number in square brackets."""
        return self.provenance.partition("]")[0].removeprefix("[")


def fences(user: str) -> list[tuple[str, str]]:
    """Return name and content of every fence of a prompt, outermost ones only."""
    return [(name, inside) for name, _, inside in _FENCE.findall(user)]


def shown_entries(user: str) -> list[ShownEntry]:
    """Return the entries of a prompt in order."""
    found = (inside.partition("\n") for name, inside in fences(user) if name == "memory_entry")
    return [ShownEntry(note, text) for note, _, text in found]


def answering(user: str) -> dict[str, Any]:
    """Answer as a model that takes the first entry which shares a longer word with the question."""
    question = next(inside for name, inside in fences(user) if name == "question").partition("\n")[2]
    asked = {word.casefold() for word in _WORD.findall(question) if len(word) > 4}
    for one in shown_entries(user):
        if asked & {word.casefold() for word in _WORD.findall(one.text)}:
            return {"answer": one.text, "ids": [one.number]}
    return {"answer": "", "ids": []}


class PlainAnswerer(ScriptedChat):
    """Answers by that rule, and adds ids that nobody gave it."""

    def __init__(self) -> None:
        super().__init__(**{"recall.answer": self._answer})

    def _answer(self, ask: Ask) -> Mapping[str, Any]:
        said = answering(ask.user)
        return {**said, "ids": ["99", *said["ids"], "no@1", -1]}


def entry(number: int, text: str, **fields: Any) -> Entry:
    """Return an entry that a user said, unless told otherwise."""
    said = Entry(id=f"m{number}", text=text, kind="message", role="user", when="2026-04-15, 3 days ago")
    return msgspec.structs.replace(said, **fields)
