"""The whole pipeline over a scripted model: what it asks, and what becomes of answers and of errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from domain.errors import DamagedError, InvalidInputError, RefusedError, UmbrielError, UnavailableError
from domain.ports import Answer, Ask
from domain.settings import ExtractionLimits
from domain.transcript import Found, KnownKey, Line
from gateways.extraction.chat import PIPELINE, ChatExtractor
from gateways.extraction.dates import resolve_dates
from tests.scripted_chat import NOW, PlainReader, Script, ScriptedChat, line, numbered, shown, window

T = TypeVar("T")
HOME = line(0, "I live in Lisbon.")
FILLER = "We talked about the weather, the garden and the neighbours. " * 3


async def found(
    chat: ScriptedChat, *lines: Line, known: Sequence[KnownKey] = (), limits: ExtractionLimits | None = None
) -> Found:
    """What the extractor makes of these lines."""
    return await ChatExtractor(chat, limits).extract(window(*lines), known, profile="secret-profile")


def says(*items: Mapping[str, Any]) -> Script:
    """A script that always answers with these items."""
    return lambda _: {"items": list(items)}


def states(text: str, *lines: int) -> Script:
    """A script that states one thing of these lines."""
    return says({"text": text, "lines": list(lines)})


def passes(ask: Ask) -> Mapping[str, Any]:
    """Pass every statement."""
    return {"items": [{"id": number, "verdict": "passed"} for number, _ in numbered(ask.user)]}


def fails(error: UmbrielError) -> Script:
    """A script that raises."""
    return lambda _: error


def long_window(count: int, chars: int = 180) -> list[Line]:
    """Lines that each say where somebody lives."""
    return [line(index, f"{FILLER[:chars]} I live in Place{index}.") for index in range(count)]


class Narrow(PlainReader):
    """A reader whose model takes only so many characters."""

    def __init__(self, chars: int) -> None:
        super().__init__()
        self._chars = chars

    async def ask(self, ask: Ask, shape: type[T]) -> Answer[T]:
        """Refuse what is too long."""
        if len(ask.user) > self._chars:
            self.asked.append(ask)
            raise InvalidInputError("too long for the model", expected=f"{self._chars}", found=f"{len(ask.user)}")
        return await super().ask(ask, shape)


class TestAsking:
    async def test_a_turn_takes_three_small_calls(self) -> None:
        """One statement is read, verified and filed; usage is counted for the profile under each stage's purpose."""
        chat = PlainReader()
        (item,) = (await found(chat, HOME)).items
        assert (item.text, item.lines, item.kind) == ("The user lives in Lisbon.", (0,), "fact")
        assert (item.key, item.verdict, item.found_by) == ("user_home", "passed", "full")
        assert item.queries == ("Where does the user live?",)
        assert chat.purposes() == ["full", "verify", "classify"]
        assert {(ask.size, ask.profile) for ask in chat.asked} == {("small", "secret-profile")}

    async def test_nothing_found_is_one_call(self) -> None:
        """An empty answer is a good one, and nothing is left to ask."""
        chat = ScriptedChat()
        assert await found(chat, HOME) == Found()
        assert chat.purposes() == ["full"]

    async def test_no_name_is_in_a_prompt(self) -> None:
        """Neither profile nor contact nor session is told to a model (MemWal#640)."""
        chat = PlainReader()
        await found(chat, HOME)
        for ask in chat.asked:
            assert "secret-profile" not in ask.system + ask.user
            assert re.search(r"\bana\b", ask.system + ask.user) is None

    async def test_nothing_to_read_is_no_call(self) -> None:
        """A window of context, blank lines and system prompts is not sent to anybody."""
        chat = PlainReader()
        assert await found(chat, line(0, "I live in Porto.", context=True), line(1, " ")) == Found()
        assert chat.asked == []

    @pytest.mark.parametrize("own,detail", [(8, 0), (9, 1)])
    async def test_the_detail_pass_runs_for_nine_own_lines(self, own: int, detail: int) -> None:
        """Context does not count; what both passes find is found by both (C4)."""
        lines = [line(0, "Hi", context=True), *(line(index, f"I live in P{index}.") for index in range(1, own + 1))]
        chat = PlainReader()
        made = await found(chat, *lines)
        assert chat.purposes().count("detail") == detail
        assert {item.found_by for item in made.items} == {"both" if detail else "full"}

    async def test_known_keys_are_shown_and_used_again(self) -> None:
        """A topic in use gets the new statement under the key it has."""
        chat = PlainReader()
        made = await found(chat, HOME, known=[KnownKey("User-Home", "The user lives in Porto.")])
        assert made.items[0].key == "User-Home"
        assert "User-Home: The user lives in Porto." in chat.prompts("classify")[0]

    async def test_few_chunks_are_read_at_once(self) -> None:
        """Never more than ``parallel`` questions are open, and that many are where there is enough to ask."""

        class Busy(PlainReader):
            open = most = 0

            async def ask(self, ask: Ask, shape: type[T]) -> Answer[T]:
                self.open += 1
                self.most = max(self.most, self.open)
                for _ in range(5):
                    await asyncio.sleep(0)
                self.open -= 1
                return await super().ask(ask, shape)

        chat = Busy()
        made = await found(chat, *long_window(60), limits=ExtractionLimits(chunk_chars=1_500, parallel=3))
        assert chat.most == 3
        assert len(made.items) == 60

    async def test_every_line_of_a_long_window_is_read(self) -> None:
        """Chunks cover the window; a statement of lines that two of them show is one."""
        made = await found(
            PlainReader(), *long_window(100), limits=ExtractionLimits(chunk_chars=2_000, detail_from=999)
        )
        assert [item.text for item in made.items] == [f"The user lives in Place{index}." for index in range(100)]
        assert [item.lines for item in made.items] == [(index,) for index in range(100)]

    async def test_statements_are_checked_in_small_batches(self) -> None:
        """No answer has to hold more than twenty verdicts or ten places."""
        chat = PlainReader()
        await found(chat, *(line(index, f"I live in P{index}.") for index in range(45)))
        assert [len(numbered(prompt)) for prompt in chat.prompts("verify")] == [20, 20, 5]
        assert max(len(numbered(prompt)) for prompt in chat.prompts("classify")) == 10

    def test_the_name_says_model_and_pipeline(self) -> None:
        """What is recorded with items tells what made them."""
        assert ChatExtractor(ScriptedChat()).name == f"script:plain/{PIPELINE}"


class TestTooLong:
    async def test_a_chunk_is_halved_until_it_fits(self) -> None:
        """Everything is read all the same, and nothing is asked twice (mem0#5148, LibreChat#13594)."""
        chat = Narrow(2_500)
        made = await found(chat, *long_window(30), limits=ExtractionLimits(detail_from=999))
        assert len(made.items) == 30
        assert len({(ask.purpose, ask.user) for ask in chat.asked}) == len(chat.asked)

    async def test_a_single_line_is_halved_by_its_text(self) -> None:
        """A message longer than the model's window is read in parts that cite the same line."""
        chat = Narrow(3_000)
        made = await found(chat, line(0, f"I live in Faro. {FILLER * 40} I live in Braga.\nI live in Lisbon."))
        assert {item.lines for item in made.items} == {(0,)}
        assert any("Faro" in item.text for item in made.items)
        assert len({(ask.purpose, ask.user) for ask in chat.asked}) == len(chat.asked)

    async def test_what_no_half_of_fits_is_recorded(self) -> None:
        """A model that takes nothing ends in a record of every line, not in endless questions (graphiti#290)."""
        chat = Narrow(0)
        made = await found(chat, *long_window(20), limits=ExtractionLimits(detail_from=999))
        assert made.items == ()
        assert {index for left in made.dropped for index in left.lines} == set(range(20))
        assert all("long" in left.reason for left in made.dropped)
        assert len(chat.asked) < 20

    async def test_statements_are_verified_in_halves(self) -> None:
        """What does not fit beside others is judged alone; what does not fit alone stays unchecked."""

        class Short(PlainReader):
            def _verify(self, ask: Ask) -> Any:
                if len(numbered(ask.user)) > 1 or "P3" in ask.user.partition("<statements")[2]:
                    return InvalidInputError("too long for the model")
                return super()._verify(ask)

        chat = Short()
        made = await found(chat, *(line(index, f"I live in P{index}.") for index in range(5)))
        assert [item.verdict for item in made.items] == ["passed"] * 3 + ["unchecked", "passed"]
        assert len(set(chat.prompts("verify"))) == len(chat.prompts("verify"))


class TestErrors:
    @pytest.mark.parametrize("error", [DamagedError("unreadable"), RefusedError("no")])
    async def test_one_bad_chunk_loses_none_of_the_others(self, error: UmbrielError) -> None:
        """What could not be read is recorded with its lines; the rest of the window is there."""
        reader = PlainReader()

        def script(ask: Ask) -> Any:
            return error if any(index == 0 for index, *_ in shown(ask.user)) else reader._read(ask)

        chat = ScriptedChat(full=script)
        made = await found(chat, *long_window(20), limits=ExtractionLimits(chunk_chars=1_500, detail_from=999))
        (left,) = made.dropped[:1]
        assert 0 in left.lines
        assert left.reason.startswith("full pass: ")
        assert left.text == ""
        assert "The user lives in Place19." in [item.text for item in made.items]
        assert "The user lives in Place0." not in [item.text for item in made.items]

    async def test_a_model_that_declines_is_recorded(self) -> None:
        """A refusal is an answer: it is not asked for again."""
        made = await found(ScriptedChat(full=fails(RefusedError("no"))), HOME)
        assert made.items == ()
        assert [(left.reason, left.lines) for left in made.dropped] == [("full pass: the model declined", (0,))]

    async def test_a_window_of_which_nothing_could_be_read_is_damaged(self) -> None:
        """When no answer was readable, nothing was read: that is a failure that stays visible, not an empty window."""
        with pytest.raises(DamagedError):
            await found(ScriptedChat(full=fails(DamagedError("unreadable"))), HOME)

    async def test_a_damaged_detail_pass_leaves_the_full_one(self) -> None:
        """The two passes do not depend on each other."""
        reader = PlainReader()
        chat = ScriptedChat(full=reader._read, detail=fails(DamagedError("unreadable")))
        made = await found(chat, *long_window(9))
        assert len(made.items) == 9
        assert "detail pass: the model's answer could not be read" in [left.reason for left in made.dropped]

    @pytest.mark.parametrize("stage", ["full", "detail", "verify", "classify"])
    async def test_a_model_out_of_reach_leaves_the_window_unread(self, stage: str) -> None:
        """Nothing is half read: the error is what the provider raised, and the whole window is tried again later."""
        error = UnavailableError("rate limit")
        reader = PlainReader()
        scripts: dict[str, Script] = {"full": reader._read, "detail": reader._read, stage: fails(error)}
        with pytest.raises(UnavailableError) as caught:
            await found(ScriptedChat(**scripts), *long_window(12))
        assert caught.value is error

    async def test_the_other_questions_end_with_it(self) -> None:
        """When one question fails for good, none is left running."""
        ended = []

        class Half(ScriptedChat):
            async def ask(self, ask: Ask, shape: type[T]) -> Answer[T]:
                if ask.purpose == "extract.detail":
                    raise UnavailableError("gone")
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.append(ask.purpose)
                raise AssertionError

        with pytest.raises(UnavailableError):
            await found(Half(), *long_window(9))
        assert ended == ["extract.full"]

    @pytest.mark.parametrize("error", [DamagedError("unreadable"), RefusedError("no")])
    async def test_without_verdicts_the_plain_rules_decide(self, error: UmbrielError) -> None:
        """Unchecked statements are kept only where their lines hold what they say."""
        full = says(
            {"text": "The user paid 250 euros.", "lines": [0]}, {"text": "The user paid 300 euros.", "lines": [0]}
        )
        made = await found(ScriptedChat(full=full, verify=fails(error)), line(0, "I paid 250 euros."))
        assert [(item.text, item.verdict) for item in made.items] == [("The user paid 250 euros.", "unchecked")]
        assert [(left.text, left.check) for left in made.dropped] == [("The user paid 300 euros.", "object")]

    @pytest.mark.parametrize("error", [DamagedError("unreadable"), RefusedError("no"), InvalidInputError("too long")])
    async def test_without_a_place_the_type_decides(self, error: UmbrielError) -> None:
        """A statement that could not be filed is kept under the type it was found with."""
        full = says({"text": "The user is to call Bo.", "lines": [0], "type": "task"})
        made = await found(ScriptedChat(full=full, verify=passes, classify=fails(error)), line(0, "I must call Bo."))
        assert [(item.kind, item.verdict, item.key) for item in made.items] == [("task", "passed", "")]


class TestItems:
    async def test_relative_dates_become_the_events_own(self) -> None:
        """What "yesterday" means was worked out before, and is what is believed afterwards (C3, C6)."""
        chat = ScriptedChat(
            full=says({"text": "The user moved to Lisbon on 2026-04-14.", "lines": [0], "type": "event"}),
            verify=passes,
            classify=says({"id": 1, "kind": "event", "occurred_at": "2026-04-14", "valid_from": "2026-04-14"}),
        )
        made = await found(chat, line(0, resolve_dates("I moved to Lisbon yesterday.", NOW)))
        (item,) = made.items
        assert (item.kind, item.occurred_at, item.valid_from) == ("event", datetime(2026, 4, 14, tzinfo=UTC), None)

    async def test_bad_items_lose_none_of_the_others(self) -> None:
        """Blank, invented, over-long and context-only statements are left out, each with its reason."""
        full = says(
            {"text": "The user lives in Lisbon.", "lines": [1]},
            {"text": "", "lines": [1]},
            {"text": "Nothing cited."},
            {"text": "The user lives in Porto.", "lines": [0]},
            {"text": "Bob exists.", "lines": [42]},
            {"text": "x" * 5_000, "lines": [1]},
            {},
        )
        chat = ScriptedChat(full=full, verify=passes)
        made = await found(chat, line(0, "I live in Porto.", context=True), line(1, "I live in Lisbon."))
        assert [item.text for item in made.items] == ["The user lives in Lisbon."]
        assert all(left.reason for left in made.dropped)
        assert {left.text[:30] for left in made.dropped} >= {
            "Nothing cited.",
            "The user lives in Porto.",
            "Bob exists.",
        }

    async def test_a_correction_is_held_against_the_lines_too(self) -> None:
        """A model that corrects to a number of its own is not believed."""
        verify = says(
            {"id": 1, "verdict": "corrected", "text": "The user paid 350 euros.", "checks": ["object"]},
            {"id": 2, "verdict": "corrected", "text": "The user paid 250 euros in cash.", "checks": ["completeness"]},
        )
        full = says({"text": "The user paid 300 euros.", "lines": [0]}, {"text": "The user paid 250.", "lines": [0]})
        made = await found(ScriptedChat(full=full, verify=verify), line(0, "I paid 250 euros in cash."))
        (item,) = made.items
        assert (item.text, item.verdict, item.checks) == (
            "The user paid 250 euros in cash.", "corrected", ("completeness",)
        )  # fmt: skip
        assert item.before == "The user paid 250."
        assert [(left.text, left.check) for left in made.dropped] == [("The user paid 350 euros.", "object")]

    async def test_a_correction_that_says_what_another_says_is_one(self) -> None:
        """Two statements corrected to the same are one."""
        full = says(
            {"text": "The user lives in Lisbon.", "lines": [0]}, {"text": "The user is at Lisbon.", "lines": [0]}
        )
        verify = says(
            {"id": 1, "verdict": "passed"},
            {"id": 2, "verdict": "corrected", "text": "The user lives in Lisbon.", "checks": ["location"]},
        )
        made = await found(ScriptedChat(full=full, verify=verify), HOME)
        assert [(item.text, item.verdict) for item in made.items] == [("The user lives in Lisbon.", "passed")]

    async def test_two_facts_in_one_sentence_become_two(self) -> None:
        """A compound statement is split where it is filed, so that each fact has a topic."""
        classify = says(
            {"id": 1, "text": "The user lives in Lisbon.", "kind": "fact", "key": "user home"},
            {"id": 1, "text": "The user works at Acme.", "kind": "fact", "key": "user employer"},
        )
        full = states("The user lives in Lisbon and works at Acme.", 0)
        chat = ScriptedChat(full=full, verify=passes, classify=classify)
        made = await found(chat, line(0, "I live in Lisbon and work at Acme."))
        assert [(item.text, item.key, item.verdict) for item in made.items] == [
            ("The user lives in Lisbon.", "user_home", "passed"),
            ("The user works at Acme.", "user_employer", "passed"),
        ]

    async def test_the_prompt_is_never_remembered(self) -> None:
        """A model that hands its instructions back has stated nothing (mem0#4573)."""
        chat = ScriptedChat(full=lambda ask: {"items": [{"text": ask.system[:200], "lines": [0]}]}, verify=passes)
        made = await found(chat, HOME)
        assert made.items == ()
        assert [left.reason for left in made.dropped] == ["repeats the prompt"]

    async def test_what_one_stretch_makes_is_bounded(self) -> None:
        """Beyond the limit statements are recorded as left out, not lost."""
        lines = [line(index, f"I live in P{index}.") for index in range(12)]
        made = await found(PlainReader(), *lines, limits=ExtractionLimits(items=5))
        assert [item.lines for item in made.items] == [(index,) for index in range(5)]
        assert sum("beyond 5 statements" in left.reason for left in made.dropped) == 7
