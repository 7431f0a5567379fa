"""Merging, screening and verdicts: what each stage makes of statements."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from domain.fence import fence
from domain.transcript import Candidate, Line
from gateways.extraction.chat.checking import BATCH, batches, excerpt, verification_prompt, with_verdicts
from gateways.extraction.chat.chunks import Part
from gateways.extraction.chat.merge import merged
from gateways.extraction.chat.prompts import FULL, shown_chunk
from gateways.extraction.chat.reading import candidates, readable_lines
from gateways.extraction.chat.screening import STATEMENT_CHARS, grounded, screened
from gateways.extraction.chat.shapes import Statement, Statements, Verdict, Verdicts
from tests.scripted_chat import NOW, line


def item(text: str, *lines: int, **fields: Any) -> Candidate:
    """A statement of these lines."""
    return msgspec.structs.replace(Candidate(text=text, lines=lines), **fields)


def by_index(*lines: Line) -> dict[int, Line]:
    """Lines by their index."""
    return {one.index: one for one in lines}


def verdicts(*given: Verdict) -> Verdicts:
    """An answer of these verdicts."""
    return Verdicts([*given])


class TestReading:
    def test_only_lines_of_the_chunk_are_cited(self) -> None:
        """A line that the chunk did not show is not taken, whatever the window has (mem0#3931)."""
        chunk = (Part(line(3, "a"), "a"), Part(line(4, "b"), "b"))
        answer = Statements([Statement(text=" A\n is. ", lines=[4, 3, 4, 7, -1], type="identity"), Statement()])
        assert candidates(answer, chunk, "detail") == (
            item("A is.", 3, 4, fact_type="identity", found_by="detail"),
            item("", found_by="detail"),
        )

    def test_an_answer_without_items_is_empty(self) -> None:
        """Nothing found is no error."""
        assert candidates(Statements(), (Part(line(0, "a"), "a"),), "full") == ()

    def test_what_may_not_be_read_is_left_out(self) -> None:
        """System prompts, blank lines and recalled text are not shown, whoever made the window."""
        lines = [
            line(0, "Be brief.", role="system"),
            line(1, " "),
            line(2, f"{fence(['old'])} new"),
            line(3, "x" * 5_000, role="tool"),
        ]
        assert [(one.index, one.text) for one in readable_lines(lines)] == [(2, "new"), (3, "x" * 5_000)]


class TestMerge:
    def test_both_passes_found_it(self) -> None:
        """Equal up to case, quotes and the last full stop is one statement, of all its lines."""
        (made,) = merged([item("Ana’s cat is grey.", 2), item("ana's cat is GREY", 1, 2, found_by="detail")])
        assert (made.text, made.lines, made.found_by) == ("Ana’s cat is grey.", (1, 2), "both")

    def test_two_chunks_of_one_pass_found_it(self) -> None:
        """A statement of the lines two chunks share is one, still of that pass."""
        assert merged([item("A.", 8), item("A.", 8), item("B.", 9)]) == [item("A.", 8), item("B.", 9)]

    def test_near_is_not_equal(self) -> None:
        """Statements that differ in a number or a sign are two."""
        assert (
            len(merged([item("PR 260 merged."), item("PR 480 merged."), item("He knows C."), item("He knows C#.")]))
            == 4
        )

    def test_every_script_is_told_apart(self) -> None:
        """Folding never makes statements of another script equal (plur#896)."""
        assert (
            len(
                merged(
                    [item("私は東京に住む"), item("私は京都に住む"), item("Я живу в Риме"), item("나는 서울에 산다")]
                )
            )
            == 4
        )

    def test_the_better_verdict_stays(self) -> None:
        """What was passed as it is needs no correction of the same; what one lacks, the other gives."""
        (made,) = merged(
            [
                item("A.", 1, verdict="corrected", before="B.", checks=("time",), key="k"),
                item("A.", 2, verdict="passed"),
            ]
        )
        assert (made.verdict, made.before, made.checks, made.key, made.lines) == ("passed", "", (), "k", (1, 2))


class TestScreening:
    lines = by_index(
        line(0, "I live in Porto.", context=True),
        line(1, "I live in Lisbon."),
        line(2, "So you live in Lisbon.", role="assistant"),
        line(3, "I've booked the flight.", role="assistant"),
        line(4, "I think you live in Lisbon. I have a feeling.", role="assistant"),
        line(5, '{"city": "Lisbon"}', role="tool"),
    )

    @pytest.mark.parametrize(
        "text,cited,reason,check",
        [
            ("", (1,), "no text", ""),
            (" \n", (1,), "no text", ""),
            ("x" * (STATEMENT_CHARS + 1), (1,), "longer than", ""),
            ("a\0b", (1,), "NUL", ""),
            ("a\ud800b", (1,), "surrogate", ""),
            (FULL.replace("\n", " ")[:300], (1,), "repeats the prompt", ""),
            (fence(["The user lives in Lisbon."]), (1,), "fence", ""),
            (shown_chunk((Part(line(1, "Hi"), "Hi"),)), (1,), "fence", ""),
            ("The user lives in Lisbon.", (), "cites no line", ""),
            ("The user lives in Lisbon.", (77,), "cites no line", ""),
            ("The user lives in Porto.", (0,), "read before", ""),
            ("The user lives in Lisbon.", (2,), "assistant alone", "inference"),
            ("User lives in Lisbon.", (2, 4), "assistant alone", "inference"),
        ],
    )
    def test_what_is_not_kept(self, text: str, cited: tuple[int, ...], reason: str, check: str) -> None:
        """Each rule drops what it is for, says why, and leaves the item beside it alone."""
        good = item("The user lives in Lisbon.", 1)
        kept, (left,) = screened([item(text, *cited), good], self.lines)
        assert kept == [good]
        assert reason in left.reason
        assert (left.check, left.lines) == (check, cited)
        assert len(left.text.encode()) <= 4_000

    @pytest.mark.parametrize(
        "text,cited",
        [
            ("The user lives in Lisbon.", (0, 1)),
            ("The user lives in Lisbon.", (1, 2)),
            ("The user's flight is booked.", (2,)),
            ("The user has a booked flight.", (3,)),
            ("The assistant booked a flight for the user.", (2,)),
            ("The user lives in Lisbon.", (5,)),
            ("The users of the app complained.", (2,)),
        ],
    )
    def test_what_is_kept(self, text: str, cited: tuple[int, ...]) -> None:
        """Own lines beside context, users beside the assistant, tools, and what the assistant itself did."""
        assert screened([item(text, *cited)], self.lines) == ([item(text, *cited)], [])

    def test_a_statement_holds_nothing_its_lines_do_not(self) -> None:
        """A number of another line is none of the cited one."""
        lines = by_index(line(0, "I paid 250 euros."), line(1, "She paid 300 euros."))
        kept, (left,) = grounded([item("She paid 300 euros.", 0), item("She paid 300 euros.", 1)], lines, NOW)
        assert kept == [item("She paid 300 euros.", 1)]
        assert (left.lines, left.check) == ((0,), "object")


class TestBatches:
    def test_a_batch_is_small(self) -> None:
        """At most twenty statements are judged at once, in the order of their lines; none is lost."""
        lines = by_index(*(line(index, "a") for index in range(50)))
        items = [item(str(index), index) for index in reversed(range(50))]
        made = list(batches(items, lines, size=10_000))
        assert [len(batch) for batch in made] == [BATCH, BATCH, 10]
        assert [one.lines[0] for batch in made for one in batch] == list(range(50))

    def test_a_batch_shows_no_more_text_than_a_chunk(self) -> None:
        """Statements whose lines are long are judged in more batches; one alone is a batch whatever its lines."""
        lines = by_index(*(line(index * 10, "a" * 4_000) for index in range(6)))
        made = list(batches([item(str(index), index * 10) for index in range(6)], lines, size=9_000))
        assert [len(batch) for batch in made] == [2, 2, 2]
        assert [len(batch) for batch in batches([item("x", 0), item("y", 10)], lines, size=10)] == [1, 1]

    def test_no_items_are_no_batches(self) -> None:
        """Nothing found is nothing to ask."""
        assert list(batches([], {}, size=10)) == []

    def test_an_excerpt_has_the_lines_around(self) -> None:
        """A statement is judged with the two lines before and after its own."""
        lines = by_index(*(line(index, "a") for index in range(20)))
        assert [one.index for one in excerpt([item("x", 1, 10)], lines)] == [0, 1, 2, 3, 8, 9, 10, 11, 12]

    def test_the_prompt_numbers_the_statements(self) -> None:
        """A model answers by numbers that only this prompt gives."""
        prompt = verification_prompt([item("A.", 0), item("B.", 1)], by_index(line(0, "a"), line(1, "b")))
        assert "\n1. A. (lines 0)\n2. B. (lines 1)\n" in prompt


class TestVerdicts:
    items = (item("Ana lives in Porto.", 0), item("Bo sings.", 1))

    def test_passed(self) -> None:
        """A statement that stands is passed as it is."""
        kept, left = with_verdicts(
            self.items, verdicts(Verdict(id=1, verdict="passed"), Verdict(id="2", verdict="Passed "))
        )
        assert [(one.text, one.verdict) for one in kept] == [("Ana lives in Porto.", "passed"), ("Bo sings.", "passed")]
        assert left == []

    def test_corrected(self) -> None:
        """A correction replaces the text; what it said before and which checks it failed stay with it."""
        verdict = Verdict(
            id=1, verdict="corrected", text="Ana lives in\nLisbon.", checks=["location", "nonsense", "entity"]
        )
        (made, _), left = with_verdicts(self.items, verdicts(verdict))
        assert (made.text, made.before, made.verdict) == ("Ana lives in Lisbon.", "Ana lives in Porto.", "corrected")
        assert made.checks == ("entity", "location")
        assert left == []

    @pytest.mark.parametrize("text", [None, "", " ", "x" * (STATEMENT_CHARS + 1), "a\0b", FULL[:200]])
    def test_a_correction_that_is_none_drops_the_statement(self, text: str | None) -> None:
        """A statement known to be wrong does not stay as it was."""
        verdict = Verdict(id=1, verdict="corrected", text=text, checks=["location"])
        kept, (left,) = with_verdicts(self.items, verdicts(verdict))
        assert [one.text for one in kept] == ["Bo sings."]
        assert (left.text, left.check, left.lines) == ("Ana lives in Porto.", "location", (0,))

    def test_a_correction_to_the_same_is_none(self) -> None:
        """What was corrected to what it said has passed."""
        (made, _), _ = with_verdicts(
            self.items, verdicts(Verdict(id=1, verdict="corrected", text="ana lives in Porto"))
        )
        assert (made.text, made.verdict, made.before) == ("Ana lives in Porto.", "passed", "")

    @pytest.mark.parametrize("checks,check", [(["time", "entity"], "entity"), (["nonsense"], ""), ([], ""), (None, "")])
    def test_dropped(self, checks: list[str] | None, check: str) -> None:
        """A statement that does not stand is left out under the check it failed, if that is one of the eight."""
        kept, (left,) = with_verdicts(self.items, verdicts(Verdict(id=1, verdict="dropped", checks=checks)))
        assert [one.text for one in kept] == ["Bo sings."]
        assert (left.text, left.check) == ("Ana lives in Porto.", check)

    @pytest.mark.parametrize("number", [0, 3, -1, "", "one", "1x", "²", "9" * 5_000, "¹"])
    def test_a_number_that_was_not_given_is_ignored(self, number: str | int) -> None:
        """A verdict on something else drops nothing (mem0#3931)."""
        assert with_verdicts(self.items, verdicts(Verdict(id=number, verdict="dropped"))) == ([*self.items], [])

    def test_without_a_verdict_it_stays_unchecked(self) -> None:
        """Neither a missing nor an unknown verdict is a pass."""
        kept, left = with_verdicts(self.items, verdicts(Verdict(id=1, verdict="fine"), Verdict()))
        assert {one.verdict for one in kept} == {"unchecked"}
        assert left == []
        assert with_verdicts(self.items, Verdicts()) == ([*self.items], [])

    @pytest.mark.parametrize(
        "repeats,kept",
        [
            ({2: 1}, {"a": (0, 1), "c": (2,)}),
            ({1: 3}, {"b": (1,), "c": (0, 2)}),
            ({1: 2, 2: 3}, {"c": (0, 1, 2)}),
            ({1: 2, 2: 1}, {"a": (0, 1), "c": (2,)}),
            ({1: 2, 2: 3, 3: 2}, {"b": (0, 1, 2)}),
            ({1: 1}, {"a": (0,), "b": (1,), "c": (2,)}),
            ({1: 9, 2: "x", 3: None}, {"a": (0,), "b": (1,), "c": (2,)}),
            ({1: 0, 2: -1, 3: ""}, {"a": (0,), "b": (1,), "c": (2,)}),
        ],
    )
    def test_a_paraphrase_is_no_second_statement(
        self, repeats: dict[int, str | int | None], kept: dict[str, tuple[int, ...]]
    ) -> None:
        """What repeats another gives it its lines, and is recorded; of a circle the first stays (MemOS#881)."""
        items = [item("a", 0), item("b", 1, found_by="detail"), item("c", 2)]
        given = [Verdict(id=number, verdict="repeated", repeats=other) for number, other in repeats.items()]
        made, left = with_verdicts(items, verdicts(*given))
        assert {one.text: one.lines for one in made} == kept
        assert {one.text for one in left} == {"a", "b", "c"} - kept.keys()
        assert all("another" in one.reason for one in left)

    def test_another_number_is_no_repeat(self) -> None:
        """Two requests are two, whatever a model says about them (GENesis PR#758)."""
        items = [item("Ana merged PR 260.", 0), item("Ana merged PR 480.", 1)]
        assert with_verdicts(items, verdicts(Verdict(id=2, verdict="repeated", repeats=1))) == (items, [])

    def test_a_paraphrase_of_what_is_dropped_stays(self) -> None:
        """When the other one does not stand, nothing says it but this one, unchecked."""
        answer = verdicts(Verdict(id=1, verdict="dropped"), Verdict(id=2, verdict="repeated", repeats=1))
        kept, left = with_verdicts(self.items, answer)
        assert [(one.text, one.verdict) for one in kept] == [("Bo sings.", "unchecked")]
        assert [one.text for one in left] == ["Ana lives in Porto."]

    def test_the_first_of_two_verdicts_counts(self) -> None:
        """A model that answers twice has answered once."""
        answer = verdicts(Verdict(id=1, verdict="passed"), Verdict(id=1, verdict="dropped"))
        assert len(with_verdicts(self.items, answer)[0]) == 2
