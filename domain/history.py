"""How much of a conversation fits a budget of tokens: its end and its beginning word for word, overlays between them.

Nothing here reads or writes anything: what is not shown stays as it was recorded (U6-U8, U10).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from domain.settings import HistoryLimits
from domain.tokens import estimated_tokens

__all__ = [
    "History",
    "Line",
    "Overlay",
    "Part",
    "Range",
    "Scanned",
    "Shares",
    "cut_to",
    "fitted",
    "oldest_uncovered",
    "scanned",
    "shares_of",
]

_MARK = " … [cut, {full} characters]"
_CHARS_PER_TOKEN = 3.5


class Line(msgspec.Struct, frozen=True):
    """One message as it would be shown; ``index`` counts the conversation's messages from 0."""

    index: int
    text: str


class Range(msgspec.Struct, frozen=True, order=True):
    """Messages from ``first`` to ``last``, both included."""

    first: int
    last: int

    @property
    def count(self) -> int:
        """How many there are."""
        return self.last - self.first + 1


class Overlay(msgspec.Struct, frozen=True):
    """The summary of a range of messages."""

    range: Range
    summary: str


class Part(msgspec.Struct, frozen=True):
    """One piece of what is shown; ``cut`` says that not all of it is there. A summary is of no one range."""

    kind: Literal["head", "summary", "overlay", "tail"]
    text: str
    tokens: int
    range: Range | None = None
    cut: bool = False


class Shares(msgspec.Struct, frozen=True):
    """A budget in tokens, split."""

    tail: int
    head: int
    overlays: int


class Scanned(msgspec.Struct, frozen=True):
    """The newest messages in the order they were said, and whether reading stopped because the budget was full."""

    lines: tuple[Line, ...]
    full: bool


class History(msgspec.Struct, frozen=True):
    """What is shown, oldest first, and its tokens; never more than the budget.

    ``uncovered`` is the oldest stretch between head and tail that no overlay stands for and that is long enough to be
    summarised; ``overflowed`` are overlays there was no room for, which the summary of all stands for.
    """

    parts: tuple[Part, ...]
    tokens: int
    uncovered: Range | None = None
    overflowed: tuple[Overlay, ...] = ()


def shares_of(budget: int, limits: HistoryLimits) -> Shares:
    """Return the shares of a budget; what rounding leaves is the tail's."""
    head, overlays = int(budget * limits.head_share), int(budget * limits.overlay_share)
    return Shares(max(budget - head - overlays, 0), head, overlays)


def scanned(pages: Iterable[Sequence[Line]], budget: int, limits: HistoryLimits) -> Scanned:
    """Return the newest messages until they come to more than the budget, or there were enough of them.

    ``pages`` come newest first, and so do the messages in each; no further page is asked for than is needed.
    """
    found: list[Line] = []
    tokens = 0
    for page in pages:
        room = limits.scanned - len(found)
        found += page[:room]
        tokens += sum(estimated_tokens(line.text) for line in page[:room])
        if tokens > budget or len(found) >= limits.scanned:
            break
    return Scanned(tuple(reversed(found)), tokens > budget)


def cut_to(text: str, tokens: int) -> tuple[str, bool]:
    """Return as much of the beginning of a text as comes to so many tokens, with a mark, and whether it was cut."""
    if estimated_tokens(text) <= tokens:
        return text, False
    mark = _MARK.format(full=len(text))
    for end in (mark, ""):
        chars = min(int(tokens * _CHARS_PER_TOKEN), len(text) - 1)
        while chars > 0:
            shown = text[:chars] + end
            found = estimated_tokens(shown)
            if found <= tokens:
                return shown, True
            chars = min(chars - 1, int(chars * tokens / found))
    return "", True


def fitted(
    first: Sequence[Line],
    newest: Sequence[Line],
    overlays: Sequence[Overlay],
    budget: int,
    limits: HistoryLimits,
    *,
    summary: str = "",
) -> History:
    """Return a conversation within a budget: its beginning, overlays in order, and its end word for word.

    ``first`` are the messages it began with (the head is taken from them) and ``newest`` its last ones in the order
    they were said; the two may overlap. A conversation that fits as a whole is shown as a whole. ``summary`` stands in
    for what neither an overlay nor its own words show.
    """
    lines = sorted({line.index: line for line in (*first, *newest)}.values(), key=lambda line: line.index)
    whole = [_part("tail", line) for line in lines]
    if _contiguous(lines) and sum(part.tokens for part in whole) <= budget:
        return History(tuple(whole), sum(part.tokens for part in whole))
    shares = shares_of(budget, limits)
    tail = _clear_of(overlays, _tail(lines[_start_of_run(lines) :], shares.tail))
    begun = [line for line in first[: limits.head_messages] if not tail or line.index < _first(tail)]
    head = _head(begun, shares.head)
    gap = Range(_last(head) + 1 if head else 0, _first(tail) - 1 if tail else _last(whole))
    middle, overflowed = _middle(gap, sorted(overlays, key=lambda one: one.range), shares.overlays, summary)
    parts = (*head, *middle, *tail)
    uncovered = oldest_uncovered(gap, [one.range for one in overlays], limits)
    return History(parts, sum(part.tokens for part in parts), uncovered, overflowed)


def _part(kind: Literal["head", "tail"], line: Line, tokens: int | None = None) -> Part:
    text, cut = (line.text, False) if tokens is None else cut_to(line.text, tokens)
    return Part(kind, text, estimated_tokens(text), Range(line.index, line.index), cut)


def _first(parts: Sequence[Part]) -> int:
    return parts[0].range.first if parts[0].range else 0


def _last(parts: Sequence[Part]) -> int:
    return parts[-1].range.last if parts and parts[-1].range else -1


def _contiguous(lines: Sequence[Line]) -> bool:
    return not lines or (lines[0].index == 0 and lines[-1].index == len(lines) - 1)


def _start_of_run(lines: Sequence[Line]) -> int:
    """Return where the unbroken run of messages begins that ends with the newest."""
    at = len(lines) - 1
    while at > 0 and lines[at - 1].index == lines[at].index - 1:
        at -= 1
    return max(at, 0)


def _tail(lines: Sequence[Line], share: int) -> list[Part]:
    """Return the newest messages that fit, without a gap; one that does not fit by itself is cut."""
    parts: list[Part] = []
    left = share
    for line in reversed(lines):
        part = _part("tail", line)
        if part.tokens > left:
            break
        parts.append(part)
        left -= part.tokens
    if not parts and lines and share > 0:
        parts.append(_part("tail", lines[-1], share))
    return parts[::-1]


def _clear_of(overlays: Sequence[Overlay], tail: list[Part]) -> list[Part]:
    """Return the tail from behind an overlay that it reaches into: nothing is shown both ways.

    An overlay that the tail holds as a whole is not shown at all.
    """
    begin = _first(tail) if tail else 0
    last = max((one.range.last for one in overlays if one.range.first < begin <= one.range.last), default=-1)
    clear = [part for part in tail if part.range is not None and part.range.first > last]
    return clear or tail


def _head(lines: Sequence[Line], share: int) -> list[Part]:
    """Return the first messages, each cut to an even part of what is left where they do not fit; none is dropped."""
    parts: list[Part] = []
    left = share
    for number, line in enumerate(lines):
        after = sum(estimated_tokens(one.text) for one in lines[number + 1 :])
        even = left // (len(lines) - number)
        part = _part("head", line, max(even, left - after))
        parts.append(part)
        left -= part.tokens
    return parts


def _middle(
    gap: Range, overlays: Sequence[Overlay], share: int, summary: str
) -> tuple[list[Part], tuple[Overlay, ...]]:
    """Return the overlays of a gap in order: all, or the newest that fit behind the summary of everything."""
    inside = [one for one in overlays if one.range.first >= gap.first and one.range.last <= gap.last]
    tokens = sum(estimated_tokens(one.summary) for one in inside)
    needed = gap.count > 0 and (tokens > share or bool(_gaps(gap, [one.range for one in inside])))
    room = share - tokens if tokens <= share else share // 2
    kept_back = min(estimated_tokens(summary), room) if needed else 0
    shown: list[Part] = []
    left = share - kept_back
    for one in reversed(inside):
        cost = estimated_tokens(one.summary)
        if cost > left:
            break
        shown.append(Part("overlay", one.summary, cost, one.range))
        left -= cost
    text, cut = cut_to(summary, left + kept_back) if kept_back else ("", False)
    whole = [Part("summary", text, estimated_tokens(text), cut=cut)] if text else []
    return [*whole, *reversed(shown)], tuple(inside[: len(inside) - len(shown)])


def oldest_uncovered(gap: Range, covered: Sequence[Range], limits: HistoryLimits) -> Range | None:
    """Return the oldest stretch of a gap that nothing covers and that is long enough, at most one overlay's length.

    Where a few messages would be left behind it, it is a little shorter, so that they make an overlay of their own.
    """
    for one in _gaps(gap, covered):
        if one.count < limits.overlay_from:
            continue
        count = min(one.count, limits.overlay_to)
        if 0 < one.count - count < limits.overlay_from and one.count >= 2 * limits.overlay_from:
            count = one.count - limits.overlay_from
        return Range(one.first, one.first + count - 1)
    return None


def _gaps(gap: Range, covered: Sequence[Range]) -> list[Range]:
    found: list[Range] = []
    at = gap.first
    for one in sorted(covered):
        if one.first > at and at <= gap.last:
            found.append(Range(at, min(one.first - 1, gap.last)))
        at = max(at, one.last + 1)
    if at <= gap.last:
        found.append(Range(at, gap.last))
    return found
