"""Language models for tests: one answers from a script by purpose, one reads what it is shown by a plain rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from domain.errors import UmbrielError
from domain.ports import Answer, Ask, Tokens
from domain.transcript import Line, Window

__all__ = ["NOW", "PlainReader", "Script", "ScriptedChat", "line", "numbered", "shown", "window"]

T = TypeVar("T")
#: what a scripted model says to one question: the fields of the answer, or an error to raise
Script = Callable[[Ask], Mapping[str, Any] | msgspec.Struct | UmbrielError]

NOW = datetime(2026, 4, 15, 12, tzinfo=UTC)
_SHOWN = re.compile(r"^\[(\d+)\] (\w+)(?: \([^)\n]*\))?(?: part \d+ of \d+)?( context)?: (.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d+)\. (.*) \(lines [\d, ]+\)$", re.MULTILINE)


def line(index: int, text: str, **fields: Any) -> Line:
    """A line said by the user at a fixed time, unless told otherwise."""
    return msgspec.structs.replace(Line(index=index, message=f"m{index}", role="user", text=text, at=NOW), **fields)


def window(*lines: Line) -> Window:
    """A window of these lines."""
    return Window(session="s", lines=lines, source="turn", now=NOW, contact="ana")


def shown(user: str) -> list[tuple[int, str, bool, str]]:
    """Return index, role, whether it is context, and text of each transcript line in a prompt."""
    return [(int(index), role, bool(context), text) for index, role, context, text in _SHOWN.findall(user)]


def numbered(user: str) -> list[tuple[int, str]]:
    """Return number and text of each statement in a prompt."""
    return [(int(number), text) for number, text in _NUMBERED.findall(user)]


class ScriptedChat:
    """Answers each purpose from its script; what has none finds nothing. ``asked`` keeps every question."""

    def __init__(self, **scripts: Script) -> None:
        self.asked: list[Ask] = []
        self._scripts = scripts

    @property
    def name(self) -> str:
        """A name as a provider has it."""
        return "script:plain"

    async def ask(self, ask: Ask, shape: type[T]) -> Answer[T]:
        """Return the scripted answer as a provider would: validated against the shape."""
        self.asked.append(ask)
        script = self._scripts.get(ask.purpose.removeprefix("extract."))
        said = script(ask) if script else {}
        if isinstance(said, UmbrielError):
            raise said
        value = said if isinstance(said, shape) else msgspec.convert(msgspec.to_builtins(said), shape)
        return Answer(value, self.name, Tokens(1, 1))

    def purposes(self) -> list[str]:
        """Return what was asked for, in order."""
        return [ask.purpose.removeprefix("extract.") for ask in self.asked]

    def prompts(self, purpose: str) -> Sequence[str]:
        """Return what was shown for one purpose."""
        return [ask.user for ask in self.asked if ask.purpose == f"extract.{purpose}"]


class PlainReader(ScriptedChat):
    """States "The user lives in …" for every line that says so, and adds the faults that real models have."""

    def __init__(self) -> None:
        super().__init__(full=self._read, detail=self._read, verify=self._verify, classify=self._classify)

    def _read(self, ask: Ask) -> Mapping[str, Any]:
        items: list[dict[str, Any]] = [{"text": " ", "lines": [0]}, {"text": "Out of nowhere.", "lines": [99_999]}]
        for index, _, _, text in shown(ask.user):
            items += [
                {"text": f"The user lives in {place}.", "lines": [index, -1], "type": "identity", "confidence": 0.3}
                for place in re.findall(r"live in (\w+)", text)
            ]
        return {"items": [*items, {"lines": [0]}, {"text": "x" * 5_000, "lines": [0]}]}

    def _verify(self, ask: Ask) -> Mapping[str, Any]:
        verdicts = [{"id": number, "verdict": "passed"} for number, _ in numbered(ask.user)]
        return {"items": [{"id": "no such", "verdict": "dropped"}, *verdicts]}

    def _classify(self, ask: Ask) -> Mapping[str, Any]:
        return {
            "items": [
                {"id": str(number), "kind": "fact", "key": "User Home", "queries": ["Where does the user live?"]}
                for number, _ in numbered(ask.user)
            ]
        }
