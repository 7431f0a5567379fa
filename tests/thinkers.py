"""An extractor and a judge with rules that a test can write down, and a service process that runs with them.

A line ``note KEY = TEXT`` states a fact, ``fail N`` makes the first N readings of its stretch fail, ``decline`` is
declined, ``hang`` never ends. A judge here answers by words in the newer text.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from domain.digest import Reflector
from domain.errors import RefusedError, UnavailableError
from domain.ports import Extractor, Judge, Opinion, Statement, Summariser
from domain.settings import Reaches
from domain.transcript import Candidate, Found, KnownKey, Window
from gateways import bootstrap, serving
from gateways.cli import main
from gateways.models.meter import Meter
from gateways.providing import ProviderSet
from gateways.service.models import Models, Provided
from gateways.summarising import ExtractiveSummariser
from tests.cheap import CheapEmbedder

__all__ = ["NoteExtractor", "Thinkers", "WordJudge"]

_NOTE = re.compile(r"note (?P<key>[^=]*?) ?= (?P<text>.+)")


class NoteExtractor:
    """Reads notes; counts how often it read what."""

    name = "notes-1"

    def __init__(self) -> None:
        self.read: Counter[str] = Counter()
        self.windows: list[Window] = []
        self.known: list[list[KnownKey]] = []

    async def extract(self, window: Window, known: Sequence[KnownKey], *, profile: str) -> Found:
        """Return the notes of the window's own lines."""
        self.windows.append(window)
        self.known.append(list(known))
        items = []
        for line in window.lines:
            if line.context:
                continue
            self.read[line.text] += 1
            await self._obey(line.text)
            if match := _NOTE.match(line.text):
                items.append(Candidate(text=match["text"], key=match["key"], lines=(line.index,), verdict="passed"))
        return Found(tuple(items))

    async def _obey(self, text: str) -> None:
        verb, _, number = text.partition(" ")
        if verb == "fail" and self.read[text] <= int(number):
            raise UnavailableError("the model does not answer")
        if verb == "trip":
            raise ZeroDivisionError
        if verb == "decline":
            raise RefusedError("the model declined")
        if verb == "hang":
            await asyncio.sleep(3_600)


class WordJudge:
    """Says that a statement with ``now`` replaces, and that one with ``not`` contradicts, what it is asked about."""

    name = "words-1"
    rule: Literal["judge", "heuristic"] = "judge"

    def __init__(self) -> None:
        self.asked: list[tuple[Statement, Statement]] = []
        self.fails = 0

    async def judge(self, new: Statement, old: Statement, *, cosine: float, profile: str) -> Opinion:
        """Return an opinion by the newer statement's words."""
        self.asked.append((new, old))
        if self.fails:
            self.fails -= 1
            raise UnavailableError("the judge does not answer")
        words = new.text.split()
        return Opinion(0.9 if "now" in words else 0.1, 0.9 if "not" in words else 0.1)


class Thinkers(Models):
    """Both, as the models of a service under test."""

    def __init__(
        self,
        *,
        reaches: Reaches = "local",
        notes: NoteExtractor | None = None,
        words: WordJudge | None = None,
        reflectors: Sequence[Provided[Reflector]] = (),
    ) -> None:
        self.notes, self.words = notes or NoteExtractor(), words or WordJudge()
        judges: list[Provided[Judge]] = [Provided(self.words, "words"), Provided(WordJudge(), "words")]
        readers: list[Provided[Extractor]] = [
            Provided(self.notes, "notes", reaches),
            Provided(NoteExtractor(), "local"),
        ]
        summarisers: list[Provided[Summariser]] = [Provided(ExtractiveSummariser(), "extractive")]
        super().__init__(readers, judges, summarisers=summarisers, reflectors=reflectors)


if __name__ == "__main__":
    setattr(bootstrap, "MiniLMEmbedder", CheapEmbedder)  # noqa: B010
    setattr(serving, "provider_set", lambda *_: ProviderSet(models=Thinkers(), meter=Meter()))  # noqa: B010
    main()
