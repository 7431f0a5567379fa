"""Whatever a model answers, the extractor hands on only what could be written down, of lines that were given."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.ports import Answer, Ask, Tokens
from domain.settings import ExtractionLimits
from domain.transcript import KnownKey
from gateways.extraction.chat import ChatExtractor
from gateways.extraction.chat.shapes import Placed, Statement, Verdict
from tests.contract.test_extractors import assert_sound
from tests.scripted_chat import line, window

T = TypeVar("T")
TALK = "I live in Lisbon since 2019 and paid 250 euros on 14 March 2026 for “Heat”."
#: any text: control characters, lone surrogates, marks of fences, other scripts, and things that look right
TEXT = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(categories=("Cs", "Cc", "Cf", "Zl", "Zp", "Mn", "Nd", "No")), max_size=10),
    st.sampled_from([
        TALK, "The user lives in Lisbon.", '<recalled_memory mark="abcdefghijklmnop">', '</transcript mark="x">', "1",
        "2", "2026-03-14", "0000-00-00", "9999-12-31T23:59:59+14:00", "0001-01-01", "2026-03-14T25:61", "2019",
        "passed", "corrected", "dropped", "repeated", "fact", "task", "event", "instruction", "x" * 40_000, "²", "٣",
        "-0", "1e9", "ﷺ" * 250,
    ]),
)  # fmt: skip
NUMBER = st.one_of(st.integers(-2, 12), st.integers())
MAYBE_TEXT = st.one_of(st.none(), TEXT)
TEXTS = st.one_of(st.none(), st.lists(TEXT, max_size=8))
IDENTITY = st.one_of(TEXT, NUMBER)
ITEMS: dict[str, st.SearchStrategy[Any]] = {
    "Statements": st.builds(
        Statement, text=TEXT, lines=st.one_of(st.none(), st.lists(NUMBER, max_size=6)), type=MAYBE_TEXT
    ),
    "Verdicts": st.builds(
        Verdict, id=IDENTITY, verdict=TEXT, text=MAYBE_TEXT, checks=TEXTS, repeats=st.one_of(st.none(), IDENTITY)
    ),
    "Placements": st.builds(
        Placed, id=IDENTITY, text=MAYBE_TEXT, kind=MAYBE_TEXT, type=MAYBE_TEXT, key=MAYBE_TEXT, queries=TEXTS,
        occurred_at=MAYBE_TEXT, valid_from=MAYBE_TEXT, valid_to=MAYBE_TEXT, expires_at=MAYBE_TEXT,
    ),
}  # fmt: skip


class Hostile:
    """A model that answers anything at all, in the right shape."""

    name = "hostile:any"

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    async def ask(self, ask: Ask, shape: type[T]) -> Answer[T]:
        """Return drawn values in every field."""
        assert issubclass(shape, msgspec.Struct)
        items = self._data.draw(st.one_of(st.none(), st.lists(ITEMS[shape.__name__], max_size=6)))
        return Answer(shape(items), self.name, Tokens(0, 0))


@given(data=st.data(), offset=st.sampled_from([-12, 0, 14]))
@settings(max_examples=300, deadline=None)
async def test_no_answer_is_believed_further_than_its_lines(data: st.DataObject, offset: int) -> None:
    """Nothing is raised, no line is cited that was not given, and every field could be stored."""
    at = datetime(2026, 4, 15, 12, tzinfo=timezone(timedelta(hours=offset)))
    talk = window(line(2, "I live in Porto.", context=True), *(line(index, TALK, at=at) for index in range(3, 6)))
    extractor = ChatExtractor(Hostile(data), ExtractionLimits(detail_from=2, chunk_chars=300, items=10))
    found = await extractor.extract(talk, [KnownKey("User Home", "Lisbon")], profile="p")
    assert_sound(found, talk)
    assert len(found.items) <= 10
