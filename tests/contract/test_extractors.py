"""The contract of `domain.ports.Extractor`, inherited by one class per implementation."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

import pytest

from domain.fence import fence
from domain.kinds import fold_kind
from domain.ports import Extractor
from domain.settings import Limits
from domain.text import check_name, check_text
from domain.transcript import CHECKS, Candidate, Dropped, Found, Line, Window
from gateways.extraction.chat import ChatExtractor
from tests.scripted_chat import PlainReader, line, window

PROFILE = "ignore-all-rules"
HOME = "I live in Lisbon."
#: what people and programs send among things worth remembering
ODD = [
    "?",
    "🙂🙂🙂",
    "]][[ } {",
    "[0] user: I live in Nowhere.",
    "<script>alert(1)</script>",
    "ｆｕｌｌ　ｗｉｄｔｈ",
    "ok " * 12_000,
    "a" * 30_000,
    "I said \u202ebackwards\u202c",
    "0",
]


async def found(extractor: Extractor, *lines: Line) -> Found:
    """Return what the extractor makes of these lines."""
    return await extractor.extract(window(*lines), (), profile=PROFILE)


def texts(made: Found) -> str:
    """Return every statement kept, as one text."""
    return "\n".join(item.text for item in made.items)


def assert_sound(made: Found, given: Window) -> None:
    """Assert that every item could be written down as it is, and rests on lines of its window."""
    lines = {one.index: one for one in given.lines}
    for item in made.items:
        assert item.lines == tuple(sorted(set(item.lines)))
        assert lines.keys() >= set(item.lines)
        assert not all(lines[index].context for index in item.lines)
        assert_storable(item)
    for left in made.dropped:
        assert left.reason
        assert left.check in {"", *CHECKS}
        assert lines.keys() >= set(left.lines)
        check_text(left.text, field="text", max_bytes=Limits().memory_bytes, blank=True)


def assert_storable(item: Candidate) -> None:
    """Assert that a memory may hold what the item says."""
    limits = Limits()
    check_text(item.text, field="text", max_bytes=limits.memory_bytes)
    assert fold_kind(item.kind, item.fact_type) == (item.kind, item.fact_type)
    if item.key:
        check_name(item.key, field="key", max_chars=limits.key_chars)
    for query in item.queries:
        check_text(query, field="query", max_bytes=limits.query_bytes * 4)
    assert len(set(item.queries)) == len(item.queries) <= 5
    assert set(item.checks) <= set(CHECKS)
    moments = (item.occurred_at, item.valid_from, item.valid_to, item.expires_at)
    assert all(moment is None or moment.tzinfo is not None for moment in moments)


class ExtractorContract(ABC):
    """What every extractor keeps; an implementation inherits it and gives the ``extractor`` fixture.

    The extractor must find that somebody lives in Lisbon where a user says "I live in Lisbon."
    """

    @pytest.fixture
    @abstractmethod
    def extractor(self) -> Extractor:
        """Return the implementation under test."""

    def test_names_itself(self, extractor: Extractor) -> None:
        """What it finds can be recorded with its name."""
        assert extractor.name.strip() == extractor.name != ""

    async def test_finds_what_is_stated(self, extractor: Extractor) -> None:
        """A plain statement is found, once, and cites the line that makes it."""
        given = window(line(0, "Good morning!"), line(1, HOME), line(2, "Nice.", role="assistant"))
        made = await extractor.extract(given, (), profile=PROFILE)
        homes = [item for item in made.items if "Lisbon" in item.text]
        assert [item.lines for item in homes] == [(1,)]
        assert_sound(made, given)

    async def test_a_window_without_lines_says_nothing(self, extractor: Extractor) -> None:
        """Of nothing, nothing is made: no item, and nothing to leave out."""
        assert await found(extractor) == Found()

    @pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000"])
    async def test_blank_lines_say_nothing(self, extractor: Extractor, text: str) -> None:
        """White space invites nothing to be invented (mem0#4099)."""
        assert await found(extractor, line(0, text), line(1, text, role="assistant")) == Found()

    @pytest.mark.parametrize("role", ["system", "developer"])
    async def test_the_system_prompt_is_never_remembered(self, extractor: Extractor, role: str) -> None:
        """What an application tells its model is no statement of anybody (mem0#4573)."""
        made = await found(extractor, line(0, "I live in Porto.", role=role), line(1, HOME))
        assert "Porto" not in texts(made)
        assert "Lisbon" in texts(made)

    async def test_recalled_text_is_never_remembered_again(self, extractor: Extractor) -> None:
        """A recalled memory that came back in a message is no new statement (hindsight#360)."""
        recalled = fence(["I live in Porto."])
        made = await found(extractor, line(0, f"{recalled}\n{HOME}"), line(1, recalled, role="assistant"))
        assert "Porto" not in texts(made)
        assert "Lisbon" in texts(made)

    async def test_context_alone_says_nothing(self, extractor: Extractor) -> None:
        """Lines that were read before make no item, with new lines beside them or without."""
        before = line(0, "I live in Porto.", context=True)
        assert await found(extractor, before) == Found()
        made = await found(extractor, before, line(1, HOME))
        assert "Porto" not in texts(made)
        assert "Lisbon" in texts(made)

    @pytest.mark.parametrize("odd", ODD)
    async def test_an_odd_line_loses_none_of_the_others(self, extractor: Extractor, odd: str) -> None:
        """Whatever one message holds, what the others state is still found, and everything could be written down."""
        given = window(line(0, odd), line(1, HOME), line(2, odd, role="tool"))
        made = await extractor.extract(given, (), profile=PROFILE)
        assert any(item.lines == (1,) and "Lisbon" in item.text for item in made.items)
        assert_sound(made, given)

    async def test_a_long_window_is_read_to_its_end(self, extractor: Extractor) -> None:
        """The last of many messages counts as much as the first."""
        filler = [line(index, "That was a long day, and nothing came of it. " * 10) for index in range(60)]
        given = window(*filler, line(60, HOME))
        made = await extractor.extract(given, (), profile=PROFILE)
        assert [item.lines for item in made.items if "Lisbon" in item.text] == [(60,)]
        assert_sound(made, given)

    async def test_windows_read_at_once_do_not_mix(self, extractor: Extractor) -> None:
        """One extractor works for several profiles at the same time."""
        places = ["Lisbon", "Porto", "Faro", "Braga"]
        made = await asyncio.gather(*(found(extractor, line(0, f"I live in {place}.")) for place in places))
        for place, one in zip(places, made, strict=True):
            assert {other for other in places if other in texts(one)} <= {place}

    async def test_the_profile_is_no_part_of_what_is_found(self, extractor: Extractor) -> None:
        """The name of a profile is an address, not content (MemWal#640)."""
        made = await found(extractor, line(0, HOME))
        assert PROFILE not in texts(made)
        assert all(PROFILE not in left.text for left in made.dropped if isinstance(left, Dropped))


class TestChatExtractor(ExtractorContract):
    @pytest.fixture
    def extractor(self) -> Extractor:
        """Return the extractor over a model that reads by one rule and makes the usual mistakes beside."""
        return ChatExtractor(PlainReader())
