"""What an extractor finds in whole conversations that nobody labelled: how much, and a sample to judge by eye."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from domain.ports import Extractor
from domain.settings import ExtractionLimits
from domain.transcript import Candidate, Line, Window
from gateways.bench.samples import Sample
from gateways.extraction.dates import resolve_dates
from gateways.extraction.hygiene import readable
from gateways.importers import Conversation

__all__ = ["Seen", "YieldReport", "measure_yield"]

_UNDATED = datetime(2026, 1, 1, tzinfo=UTC)


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One item of the sample, with the line that it rests on."""

    fact_type: str
    key: str
    text: str
    line: str


class YieldReport(msgspec.Struct, frozen=True, kw_only=True):
    """How much was found; ``sample`` is every nth item, spread evenly over the conversations."""

    extractor: str
    conversations: int
    lines: int
    items: int
    items_per_100: float
    ms_per_line: float
    by_type: dict[str, int]
    sample: list[Seen]


async def measure_yield(extractor: Extractor, samples: Sequence[Sample], *, sample: int) -> YieldReport:
    """Return what is found in these conversations, each session one window, with ``sample`` items to look at."""
    seen: list[Seen] = []
    lines, seconds = 0, 0.0
    for session in (session for one in samples for session in one.sessions):
        window = _window(session)
        started = time.perf_counter()
        found = await extractor.extract(window, (), profile="bench")
        seconds += time.perf_counter() - started
        lines += len(window.lines)
        seen.extend(_seen(item, window) for item in found.items)
    step = max(1, -(-len(seen) // sample))
    return YieldReport(
        extractor=extractor.name,
        conversations=len(samples),
        lines=lines,
        items=len(seen),
        items_per_100=round(100 * len(seen) / lines, 1) if lines else 0.0,
        ms_per_line=round(1000 * seconds / lines, 3) if lines else 0.0,
        by_type=dict(sorted(Counter(item.fact_type for item in seen).items())),
        sample=seen[::step],
    )


def _window(session: Conversation) -> Window:
    limits = ExtractionLimits()
    lines: list[Line] = []
    for message in session.messages:
        at = message.at or _UNDATED
        text = readable(message.role, message.content, tool_chars=limits.tool_chars)
        if text:
            said = resolve_dates(text, at)
            lines.append(
                Line(index=len(lines), message=message.id, role=message.role, text=said, name=message.name, at=at)
            )
    return Window(session=session.session, lines=tuple(lines), source="ingest", now=_UNDATED)


def _seen(item: Candidate, window: Window) -> Seen:
    line = window.lines[item.lines[-1]]
    return Seen(fact_type=item.fact_type, key=item.key, text=item.text, line=f"{line.name or line.role}: {line.text}")
