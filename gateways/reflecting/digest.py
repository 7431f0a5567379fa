"""A day without a model: what was decided, learnt and is still open, and who was talked to, in words that were used."""

from __future__ import annotations

import re
from collections.abc import Sequence

from domain.digest import Day, Note, Reflected, Talk, Wording
from domain.transcript import Line

__all__ = ["DigestReflector"]

_NAME = "digest-1"
#: entries of one topic, and characters shown of one
_ENTRIES, _CHARS = 10, 240
#: a line that says something: so many letters, in words or without spaces between them
_LEAST_LETTERS = 12
_DENSE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff]")
_DENSE_LETTERS = 5
_QUESTION = re.compile(r"[?？؟]\s*[\"'”’)\]]*\s*\Z")
_SPEAKERS = frozenset({"system", "developer", "tool"})


class DigestReflector:
    """`domain.digest.Reflector` by rules: the same day always comes to the same words, each of them taken from it."""

    @property
    def name(self) -> str:
        """Its rules, as recorded with what they find."""
        return _NAME

    async def reflect(self, day: Day, *, profile: str) -> Reflected:
        """Return a list of entries on each topic that has any."""
        del profile
        decided = [one for one in day.notes if one.fact_type == "decision"]
        tasks = [one for one in day.notes if one.kind == "task"]
        learnt = [one for one in day.notes if one not in decided and one not in tasks]
        asked = [talk.lines[-1] for talk in day.talks if talk.unanswered and _asks(talk.lines[-1])]
        topics = (
            _listed("decisions", f"Decided on {day.day}", decided),
            _listed("learnt", f"Learnt on {day.day}", learnt),
            _listed("open", f"Still open on {day.day}", tasks, asked, is_open=True),
            _listed("conversations", _with_whom(day), (), [one for talk in day.talks if (one := _opening(talk))]),
        )
        return Reflected(tuple(one for one in topics if one is not None), _NAME)


def _listed(
    topic: str, heading: str, notes: Sequence[Note], lines: Sequence[Line] = (), *, is_open: bool = False
) -> Wording | None:
    """Return a topic with an entry for each note and line, the most trusted where there are too many."""
    kept = sorted(sorted(notes, key=lambda one: (-one.confidence, one.index))[:_ENTRIES], key=lambda one: one.index)
    shown = lines[: _ENTRIES - len(kept)]
    if not kept and not shown:
        return None
    entries = [f"- {_short(one.text)}" for one in kept] + [f'- "{_short(one.text)}"' for one in shown]
    left = len(notes) + len(lines) - len(entries)
    more = [f"(and {left} more)"] if left else []
    return Wording(
        topic=topic,
        text="\n".join((f"{heading}:", *entries, *more)),
        lines=tuple(one.index for one in shown),
        notes=tuple(one.index for one in kept),
        open=is_open,
    )


def _with_whom(day: Day) -> str:
    """Return who was talked to, as far as anybody is named, and by which channels."""
    names = [day.contact] if day.contact else list(dict.fromkeys(_speakers(day)))[:_ENTRIES]
    channels = sorted({talk.channel for talk in day.talks if talk.channel})
    by = f" ({', '.join(channels)})" if channels else ""
    return f"Talked{' with ' + ', '.join(names) if names else ''} on {day.day}{by}"


def _speakers(day: Day) -> list[str]:
    return [line.name for line in day.lines if line.name and line.role not in _SPEAKERS and line.role != "assistant"]


def _opening(talk: Talk) -> Line | None:
    """Return the first line of a conversation that says something, of the user's if there is one."""
    said = [line for line in talk.lines if line.role not in _SPEAKERS and _says_something(line.text)]
    return next((line for line in said if line.role != "assistant"), said[0] if said else None)


def _says_something(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    return letters >= _LEAST_LETTERS or len(_DENSE.findall(text)) >= _DENSE_LETTERS


def _asks(line: Line) -> bool:
    return line.role not in _SPEAKERS and line.role != "assistant" and _QUESTION.search(line.text) is not None


def _short(text: str) -> str:
    """Return a text on one line, without its end where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _CHARS else line[: _CHARS - 1].rstrip() + "…"
