"""A conversation within a budget: never above it, in order, its ends word for word, nothing dropped without a word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.history import History, Line, Overlay, Range, Shares, cut_to, fitted, oldest_uncovered, scanned, shares_of
from domain.settings import HistoryLimits
from domain.tokens import estimated_tokens

LIMITS = HistoryLimits()
#: tokens with which something of any text can be shown
_A_WORD = 2
#: Latin, JSON, Cyrillic, Greek, Arabic, Han, Kana, Hangul, and what takes several code points, in one text or apart
TEXTS = st.one_of(
    st.text(st.sampled_from('ab {}":語'), max_size=400),
    st.text(st.sampled_from("aß д λ ب 語かカ한 🙂e\u0301\n"), max_size=400),
    st.text(st.sampled_from("語かカ한。"), max_size=400),
)


def lines(count: int, chars: int = 70, start: int = 0) -> list[Line]:
    """Messages of 20 tokens each, every one different."""
    return [Line(index, f"{index:04d}".ljust(chars, "x")) for index in range(start, start + count)]


def overlay(first: int, last: int, tokens: int = 10) -> Overlay:
    """The summary of a range."""
    return Overlay(Range(first, last), f"{first}-{last} ".ljust(int(tokens * 3.5), "s"))


def kinds(history: History) -> str:
    """The kinds of the parts, by first letter."""
    return "".join(part.kind[0] for part in history.parts)


def _long(start: str, length: int) -> str:
    return (start * (length // max(len(start), 1) + 1))[:length]


#: texts of every length, for those that are drawn letter by letter are seldom long
LONG = st.builds(_long, TEXTS, st.integers(0, 400))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[Line], list[Overlay], int, int, str]:
    """A conversation, overlays over some of it, how much of its end was read, a budget, and a summary.

    Most of them do not fit: what all of it comes to is about the most that a budget is.
    """
    said = [Line(index, text) for index, text in enumerate(draw(st.lists(LONG, max_size=25)))]
    marks = sorted(draw(st.sets(st.integers(0, len(said)), max_size=8)))
    overlays = [Overlay(Range(a, b - 1), draw(LONG)) for a, b in list(pairwise(marks))[::2]]
    whole = sum(estimated_tokens(line.text) for line in said)
    return said, overlays, draw(st.integers(1, 25)), draw(st.integers(0, whole + 100)), draw(LONG)


@given(conversations())
def test_never_above_the_budget_and_in_order(given_: tuple[list[Line], list[Overlay], int, int, str]) -> None:
    """Whatever was said and summarised: what is shown fits, oldest first, and is what was said."""
    said, overlays, read, budget, summary = given_
    history = fitted(said[:2], said[-read:], overlays, budget, LIMITS, summary=summary)
    assert history.tokens == sum(estimated_tokens(part.text) for part in history.parts) <= budget
    ranges = [part.range for part in history.parts if part.range is not None]
    assert ranges == sorted(ranges)
    assert kinds(history) == "".join(sorted(kinds(history), key="hsot".index))
    texts = {line.index: line.text for line in said}
    messages = [part for part in history.parts if part.kind in {"head", "tail"} and part.range]
    for part in messages:
        assert part.range
        assert part.cut or part.text == texts[part.range.first]
    assert len({part.range for part in messages}) == len(messages)
    shown = [part.range for part in history.parts if part.kind == "overlay" and part.range]
    covered = {index for one in shown for index in range(one.first, one.last + 1)}
    assert covered.isdisjoint(part.range.first for part in messages if part.range)
    tail = [part for part in history.parts if part.kind == "tail" and part.range]
    assert [part.range.first for part in tail if part.range] == list(range(len(said) - len(tail), len(said)))
    if sum(estimated_tokens(line.text) for line in said) <= budget and read >= len(said) - 2:
        assert [part.text for part in history.parts] == [line.text for line in said]
    elif shares_of(budget, LIMITS).head and said:
        assert {0, 1}.intersection(range(len(said))) <= {part.range.first for part in messages if part.range}
        # Cut where they do not fit: never without a word of them where there is room for one of each.
        head = [part for part in messages if part.range and part.range.first in {0, 1}]
        assert shares_of(budget, LIMITS).head < 2 * _A_WORD or all(
            part.text or not texts[part.range.first] for part in head if part.range
        )
    if said and shares_of(budget, LIMITS).tail:
        newest = [part for part in messages if part.range and part.range.first == len(said) - 1]
        assert len(newest) == 1
        assert newest[0].text or not said[-1].text or shares_of(budget, LIMITS).tail < _A_WORD


@given(TEXTS, st.integers(0, 300))
def test_a_cut_text_fits_and_is_a_beginning(text: str, tokens: int) -> None:
    """As much as there is room for, with a mark where there is room for one."""
    shown, cut = cut_to(text, tokens)
    assert estimated_tokens(shown) <= tokens
    assert cut is (shown != text)
    assert text.startswith(shown.partition(" … [cut, ")[0])


def test_the_split() -> None:
    """70 % for the end, 10 % for the beginning, 20 % for overlays; rounding is the end's."""
    assert shares_of(1_000, LIMITS) == Shares(tail=700, head=100, overlays=200)
    assert shares_of(1_009, LIMITS) == Shares(tail=708, head=100, overlays=201)


def test_head_overlays_and_tail() -> None:
    """A long conversation: two first messages, summaries in order, as much of the end as its share holds."""
    said = lines(100)
    overlays = [overlay(20, 59), overlay(2, 19), overlay(60, 64)]
    history = fitted(said[:2], said[-60:], overlays, 1_000, LIMITS)
    assert kinds(history) == "hh" + "ooo" + "t" * 35
    assert [part.range for part in history.parts][2:6] == [Range(2, 19), Range(20, 59), Range(60, 64), Range(65, 65)]
    assert history.tokens == 40 + 30 + 700
    assert (history.uncovered, history.overflowed) == (None, ())


def test_a_long_first_message_is_cut_and_not_dropped() -> None:
    """Both first messages stand there; the short one whole, the long one with a mark."""
    said = [Line(0, "y" * 7_000), *lines(99, start=1)]
    history = fitted(said[:2], said[-60:], [], 1_000, LIMITS)
    first, second = history.parts[:2]
    assert first.cut
    assert first.text.endswith("[cut, 7000 characters]")
    assert 70 < first.tokens <= 80
    assert (second.cut, second.text) == (False, said[1].text)
    both = fitted([Line(0, "y" * 7_000), Line(1, "z" * 7_000)], said[-60:], [], 1_000, LIMITS).parts[:2]
    assert [part.text[0] for part in both] == ["y", "z"]
    assert all(40 < part.tokens <= 50 for part in both)


def test_the_newest_message_is_shown_however_long() -> None:
    """Cut to the tail's share where it does not fit: a turn without the question is none."""
    said = [*lines(20), Line(20, "q" * 70_000)]
    history = fitted(said[:2], said, [], 1_000, LIMITS)
    assert history.parts[-1].cut
    assert 690 < history.parts[-1].tokens <= 700


def test_overlays_that_overflow() -> None:
    """The newest that fit are shown behind the summary of all; the others are named."""
    said = lines(400)
    overlays = [overlay(2 + 60 * number, 61 + 60 * number, tokens=70) for number in range(6)]
    history = fitted(said[:2], said[-60:], overlays, 1_000, LIMITS, summary="s" * 300)
    assert kinds(history)[:5] == "hhsot"
    assert history.overflowed == tuple(overlays[:5])
    alone = fitted(said[:2], said[-60:], overlays, 1_000, LIMITS)
    assert kinds(alone)[:5] == "hhoot"
    assert alone.overflowed == tuple(overlays[:4])


def test_a_summary_stands_for_what_nothing_covers() -> None:
    """And for nothing else: where overlays cover all of it there is none."""
    said = lines(100)
    bare = fitted(said[:2], said[-60:], [], 1_000, LIMITS, summary="what happened " * 200)
    assert kinds(bare)[:4] == "hhst"
    assert bare.uncovered == Range(2, 61)
    assert bare.parts[2].cut
    covered = fitted(said[:2], said[-60:], [overlay(2, 64)], 1_000, LIMITS, summary="what happened")
    assert kinds(covered)[:4] == "hhot"
    spared = fitted(said[:2], said[-60:], [overlay(2, 40, tokens=190)], 1_000, LIMITS, summary="w" * 3_000)
    assert kinds(spared)[:4] == "hhso"


@pytest.mark.parametrize(
    "gap, covered, found",
    [
        (Range(2, 9), [], Range(2, 9)),
        (Range(2, 3), [], None),
        (Range(2, 61), [], Range(2, 61)),
        (Range(2, 200), [], Range(2, 61)),
        # What is left behind is long enough for an overlay of its own.
        (Range(2, 62), [], Range(2, 59)),
        (Range(2, 63), [], Range(2, 60)),
        (Range(2, 64), [], Range(2, 61)),
        (Range(2, 9), [Range(2, 9)], None),
        (Range(2, 20), [Range(4, 9)], Range(10, 20)),
        (Range(2, 20), [Range(12, 30), Range(0, 4)], Range(5, 11)),
        (Range(2, 20), [Range(5, 9), Range(6, 7)], Range(2, 4)),
        (Range(5, 4), [], None),
    ],
)
def test_the_oldest_stretch_without_an_overlay(gap: Range, covered: list[Range], found: Range | None) -> None:
    """Three to sixty messages, the oldest first."""
    assert oldest_uncovered(gap, covered, LIMITS) == found


@pytest.mark.parametrize(
    "budget, pages, count, full", [(150, 1, 10, True), (200, 2, 20, True), (99_999, 20, 200, False)]
)
def test_pages_are_read_until_the_budget_is_full(budget: int, pages: int, count: int, full: bool) -> None:  # noqa: FBT001
    """Ten messages at a time, newest first, at most two hundred; none is read in vain."""
    asked = 0

    def read() -> Iterator[Sequence[Line]]:
        nonlocal asked
        said = lines(500)[::-1]
        while True:
            asked += 1
            yield said[(asked - 1) * LIMITS.page : asked * LIMITS.page]

    found = scanned(read(), budget, LIMITS)
    assert (asked, len(found.lines), found.full) == (pages, count, full)
    assert [line.index for line in found.lines] == list(range(500 - count, 500))
