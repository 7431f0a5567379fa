"""Windows cut into chunks for a model."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.transcript import Line
from gateways.extraction.chat.chunks import FLOOR, Chunk, Part, chunks, detail_chunks, halved, indexes, split_text
from tests.scripted_chat import line

SENTENCE = "It rained all day and we stayed in. "


def lines(count: int, chars: int = 100, *, context: int = 0) -> list[Line]:
    """Lines of that many characters, the first of them read before."""
    return [line(index, (SENTENCE * 10)[:chars], context=index < context) for index in range(count)]


def shown(made: list[Chunk]) -> list[list[int]]:
    """The lines of each chunk."""
    return [sorted(indexes(chunk)) for chunk in made]


def new_text(made: list[Chunk]) -> dict[int, str]:
    """The text of each line over all chunks, without what is shown again."""
    texts: dict[int, str] = {}
    for part in (part for chunk in made for part in chunk if not part.again):
        texts[part.line.index] = texts.get(part.line.index, "") + part.text
    return texts


def test_a_short_window_is_one_chunk() -> None:
    """What fits is read at once, in both passes."""
    assert shown(chunks(lines(12), size=10_000, overlap=2)) == [list(range(12))]
    assert shown(detail_chunks(lines(12), size=10_000, overlap=2)) == [list(range(12))]


def test_chunks_share_two_lines() -> None:
    """Each chunk begins with the last two lines of the one before, marked as shown again."""
    made = chunks(lines(20), size=1_400, overlap=2)
    assert shown(made) == [list(range(10)), list(range(8, 18)), list(range(16, 20))]
    assert [[part.line.index for part in chunk if part.again] for chunk in made] == [[], [8, 9], [16, 17]]


def test_detail_windows_overlap_more_and_elsewhere() -> None:
    """A fact that one pass sees cut in two, the other sees whole."""
    full, detail = (shown(cut(lines(40), size=1_400, overlap=2)) for cut in (chunks, detail_chunks))
    assert all(set(one[-2:]) <= set(other) for one, other in pairwise(detail))
    assert {chunk[-1] for chunk in full[:-1]}.isdisjoint(chunk[-1] for chunk in detail[:-1])


def test_context_alone_is_not_asked_about() -> None:
    """A chunk with no line of the window's own is left out; beside new lines context is shown."""
    assert chunks(lines(3, context=3), size=10_000, overlap=2) == []
    made = chunks(lines(30, context=20), size=1_400, overlap=2)
    assert all(any(not part.line.context for part in chunk) for chunk in made)
    assert set(new_text(made)) >= set(range(20, 30))


def test_nothing_of_a_window_without_lines() -> None:
    """No lines are no chunks."""
    assert chunks([], size=10_000, overlap=2) == detail_chunks([], size=10_000, overlap=2) == []


def test_an_over_long_line_is_split_and_keeps_its_index() -> None:
    """A line longer than a chunk becomes parts of the same index, and every character is in one of them."""
    long = line(1, SENTENCE * 100)
    made = chunks([line(0, "Hi"), long, line(2, "Bye")], size=1_000, overlap=2)
    assert all(sum(len(part.text) for part in chunk) <= 1_000 for chunk in made)
    assert new_text(made) == {0: "Hi", 1: long.text, 2: "Bye"}
    parts = [part for chunk in made for part in chunk if part.line.index == 1 and not part.again]
    assert [part.number for part in parts] == list(range(1, parts[0].of + 1))
    assert all(part.text.endswith(".") for part in parts[:-1])


def test_a_giant_line_is_not_shown_twice() -> None:
    """What two chunks share takes at most a quarter of one."""
    made = chunks([line(0, "a" * 900), line(1, "b" * 900)], size=1_000, overlap=2)
    assert shown(made) == [[0], [1]]


@given(
    texts=st.lists(st.text(alphabet="ab .\n。", max_size=400), max_size=12),
    size=st.integers(1, 600),
    overlap=st.integers(0, 4),
)
def test_every_character_is_read_once(texts: list[str], size: int, overlap: int) -> None:
    """Whatever the sizes: all text is shown as new exactly once, and never again as something else."""
    given_lines = [line(index, text) for index, text in enumerate(texts)]
    for cut in (chunks, detail_chunks):
        seen = new_text(cut(given_lines, size=size, overlap=overlap))
        read = ["".join(seen.get(index, "").split()) for index in range(len(texts))]
        assert read == ["".join(text.split()) for text in texts]


@given(text=st.text(max_size=300), size=st.integers(1, 80))
def test_pieces_join_to_the_text(text: str, size: int) -> None:
    """Cutting adds and loses nothing, and no piece is too long."""
    pieces = split_text(text, size)
    assert "".join(pieces) == text
    assert all(len(piece) <= size for piece in pieces)


def test_a_chunk_is_halved_between_lines() -> None:
    """Two halves of about the same size; the lines stay whole and in order."""
    (chunk,) = chunks(lines(20), size=10_000, overlap=2)
    one, other = halved(chunk)
    assert one + other == chunk
    assert abs(len(one) - len(other)) <= 1


def test_a_single_line_is_halved_by_its_text() -> None:
    """A line that does not fit by itself is cut between words, under the same index."""
    part = Part(line(7, SENTENCE * 100), SENTENCE * 100)
    one, other = halved((part,))
    assert one[0].text + other[0].text == part.text
    assert indexes(one) == indexes(other) == {7}
    assert [(half[0].number, half[0].of) for half in (one, other)] == [(1, 2), (2, 2)]


def test_a_half_of_context_alone_is_left_out() -> None:
    """Halving does not ask about lines that were read before."""
    (chunk,) = chunks(lines(20, context=12), size=10_000, overlap=2)
    assert [sorted(indexes(half)) for half in halved(chunk)] == [list(range(10, 20))]


@pytest.mark.parametrize("count", [1, 5])
def test_halving_ends(count: int) -> None:
    """A small chunk that is refused is not halved for ever: its length is not what is wrong."""
    assert halved(tuple(Part(one, one.text) for one in lines(count))) == ()
    chunk: tuple[Chunk, ...] = ((Part(line(0, "x" * 20_000), "x" * 20_000),),)
    rounds = 0
    while chunk:
        chunk = tuple(half for one in chunk for half in halved(one))
        assert all(part.text for one in chunk for part in one)
        rounds += 1
    assert rounds <= (20_000 // FLOOR).bit_length() + 1
