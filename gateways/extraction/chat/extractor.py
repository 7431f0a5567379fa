"""`ChatExtractor`: a window read by a language model, every statement checked before it is handed on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from domain.errors import DamagedError
from domain.ports import Chat
from domain.settings import ExtractionLimits
from domain.transcript import Candidate, Found, KnownKey, Window
from gateways.extraction.chat.asking import Asker, in_halves, together
from gateways.extraction.chat.checking import batches, verification_prompt, with_verdicts
from gateways.extraction.chat.classifying import classification_prompt, unclassified, with_placements
from gateways.extraction.chat.merge import merged
from gateways.extraction.chat.prompts import CLASSIFY, VERIFY
from gateways.extraction.chat.reading import read, readable_lines
from gateways.extraction.chat.screening import Lines, Sorted, dropped, grounded, screened
from gateways.extraction.chat.shapes import Placements, Verdicts

__all__ = ["PIPELINE", "ChatExtractor"]

#: names this pipeline beside what it found; another one reads a conversation anew
PIPELINE = "chat-1"
#: statements filed in one answer: each takes several times what a verdict does
_FILED = 10


class ChatExtractor:
    """Implements `domain.ports.Extractor` with any `domain.ports.Chat`."""

    def __init__(self, chat: Chat, limits: ExtractionLimits | None = None) -> None:
        self._chat = chat
        self._limits = limits or ExtractionLimits()

    @property
    def name(self) -> str:
        """The model's name and the pipeline's, as ``openai:gpt-6-luna/chat-1``."""
        return f"{self._chat.name}/{PIPELINE}"

    async def extract(self, window: Window, known: Sequence[KnownKey], *, profile: str) -> Found:
        """Return what the window's own lines state, and what was found and not kept.

        What a model declines to read, or answers unreadably, is dropped with its lines and loses nothing else. Raises
        UnavailableError when the model cannot be reached, and DamagedError when no answer at all could be read: then
        nothing of the window was.
        """
        readable = readable_lines(window.lines)
        if all(line.context for line in readable):
            return Found()
        asker = Asker(self._chat, profile=profile, parallel=self._limits.parallel)
        reading = await read(readable, asker, self._limits)
        if reading.damaged:
            raise DamagedError("no answer of the model could be read", expected="statements", found=self.name)
        run = _Run(asker, {line.index: line for line in readable}, known, window.now, self._limits)
        kept, left = await run.settled(reading.items)
        return Found(tuple(kept), (*reading.dropped, *left))


class _Run(msgspec.Struct, frozen=True):
    """The stages after reading, over one window."""

    asker: Asker
    lines: Lines
    known: Sequence[KnownKey]
    now: datetime
    limits: ExtractionLimits

    async def settled(self, found: Sequence[Candidate]) -> Sorted:
        """Return the statements checked and filed, in the order of their lines."""
        items, unfit = screened(merged(found), self.lines)
        items, over = self._capped(items)
        done = await together(self._settle(batch) for batch in batches(items, self.lines, size=self.limits.chunk_chars))
        kept, beyond = self._capped(merged(item for one, _ in done for item in one))
        return kept, [*unfit, *over, *(item for _, left in done for item in left), *beyond]

    async def _settle(self, batch: Sequence[Candidate]) -> Sorted:
        """Return one batch checked, held against its lines, and filed."""
        verified, wrong = _flat(await in_halves(batch, self._verify, lambda items: ([*items], [])))
        sound, unfit = screened(verified, self.lines)
        sound, beyond = grounded(sound, self.lines, self.now)
        filed: list[Candidate] = []
        for start in range(0, len(sound), _FILED):
            for some in await in_halves(sound[start : start + _FILED], self._classify, _unclassified):
                filed += some
        return filed, [*wrong, *unfit, *beyond]

    async def _verify(self, items: Sequence[Candidate]) -> Sorted:
        prompt = verification_prompt(items, self.lines)
        return with_verdicts(items, await self.asker.ask("verify", VERIFY, prompt, Verdicts))

    async def _classify(self, items: Sequence[Candidate]) -> list[Candidate]:
        prompt = classification_prompt(items, self.lines, self.known)
        answer = await self.asker.ask("classify", CLASSIFY, prompt, Placements)
        return with_placements(items, answer, self.lines, self.known, self.now)

    def _capped(self, items: list[Candidate]) -> Sorted:
        """Return as many items as one stretch may make, and a record of each beyond."""
        most = self.limits.items
        return items[:most], [dropped(item, f"beyond {most} statements of one stretch") for item in items[most:]]


def _flat(parts: Sequence[Sorted]) -> Sorted:
    return [item for kept, _ in parts for item in kept], [item for _, left in parts for item in left]


def _unclassified(items: Sequence[Candidate]) -> list[Candidate]:
    return [unclassified(item) for item in items]
