"""Answers in words in a running service: what the model sees, what is made of what it says, when there is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from domain.errors import DamagedError, InvalidInputError, RefusedError, UmbrielError, UnavailableError
from domain.ports import Ask, Chat, Synthesiser
from domain.settings import AnswerLimits, Reaches, Settings, ThinkingRoom
from domain.tokens import estimated_tokens
from gateways import bootstrap
from gateways.answering import ChatSynthesiser
from gateways.bootstrap import Runtime
from gateways.service.answering import BUSY, NO_ANSWER, NO_MODEL, NO_ROOM, NOTHING
from gateways.service.models import KEPT, Models, Provided
from tests.answering import PlainAnswerer, fences, shown_entries
from tests.integration.test_policy import recorded
from tests.integration.test_running import SmallEmbedder, call, said
from tests.scripted_chat import ScriptedChat

PARTNER = {"data_flow.messages": "partner", "data_flow.memories": "partner", "data_flow.queries": "partner"}
LISBON = "Ana lives in Lisbon"


@asynccontextmanager
async def answering(
    data: Path, *chats: Chat, reaches: Reaches = "own", limits: AnswerLimits | None = None
) -> AsyncIterator[Runtime]:
    """A service in which these models answer, in this order."""
    limits = limits or AnswerLimits()
    models: list[Provided[Synthesiser]] = [
        Provided(ChatSynthesiser(chat, limits), f"chat-{n}", reaches) for n, chat in enumerate(chats)
    ]
    settings = Settings(thinking=False, answering=limits)
    async with bootstrap.running(
        data, settings=settings, embedder=SmallEmbedder(), models=Models((), (), synthesisers=models)
    ) as runtime:
        yield runtime


@pytest.fixture
def model() -> PlainAnswerer:
    """A model that answers by a rule."""
    return PlainAnswerer()


@pytest.fixture
async def runtime(tmp_path: Path, model: PlainAnswerer) -> AsyncIterator[Runtime]:
    """A running service in which it answers."""
    async with answering(tmp_path / "data", model) as started:
        yield started


async def ask(runtime: Runtime, query: str = "Who lives in Lisbon?", **fields: Any) -> Any:
    """Recall with an answer, as an agent."""
    return await call(runtime, "recall", query=query, answer=True, **fields)


async def test_an_answer_rests_on_results(runtime: Runtime, model: PlainAnswerer) -> None:
    """It says what the memory says, cites its id and no other, and names the model; the results are the same."""
    kept = await call(runtime, "remember", content=LISBON)
    await call(runtime, "remember", content="Bob drinks tea")
    found = await ask(runtime, at_least=kept.position)
    assert (found.answer.text, found.answer.cited, found.answer.grounded) == (LISBON, [kept.memory.id], True)
    assert (found.answer.model, found.answer.reason) == ("script:plain", "")
    without = await call(runtime, "recall", query="Who lives in Lisbon?")
    assert without.answer is None
    assert [one.id for one in without.results] == [one.id for one in found.results]
    assert len(model.asked) == 1
    assert (model.asked[0].purpose, model.asked[0].size) == ("recall.answer", "large")


async def test_without_a_model_the_results_come(tmp_path: Path) -> None:
    """Where none is configured the reply says so."""
    async with answering(tmp_path / "data") as runtime:
        kept = await call(runtime, "remember", content=LISBON)
        found = await ask(runtime, at_least=kept.position)
        assert (found.answer.text, found.answer.reason) == ("", NO_MODEL)
        assert [one.id for one in found.results] == [kept.memory.id]


async def test_of_nothing_nothing_is_asked(runtime: Runtime, model: PlainAnswerer) -> None:
    """An empty recall, and that of a profile that does not exist, call no model."""
    for profile in ("nobody", "p"):
        found = await call(runtime, "recall", profile, query="Who lives in Lisbon?", answer=True)
        assert (found.answer.text, found.answer.reason, found.results) == ("", NOTHING, [])
        await call(runtime, "remember", content="Bob drinks tea", contact="bob")
    assert model.asked == []


async def test_what_was_found_may_hold_no_answer(runtime: Runtime) -> None:
    """Then the answer is empty and says so, and the results are there."""
    kept = await call(runtime, "remember", content="Ana is at the sea")
    found = await ask(runtime, "sea of Galilee?", at_least=kept.position)
    assert (found.answer.text, found.answer.reason, found.answer.grounded) == ("", NO_ANSWER, True)
    assert found.results


async def test_an_answer_that_names_nothing_is_marked(tmp_path: Path) -> None:
    """A claim that cites no result, or only unknown ones, is handed out as one that nothing shows."""
    chat = ScriptedChat(**{"recall.answer": lambda _: {"answer": "In Paris.", "ids": ["42", "m9@1"]}})
    async with answering(tmp_path / "data", chat) as runtime:
        kept = await call(runtime, "remember", content=LISBON)
        found = await ask(runtime, at_least=kept.position)
        assert (found.answer.text, found.answer.cited, found.answer.grounded) == ("In Paris.", [], False)


async def test_queries_that_may_not_go_are_not_asked(tmp_path: Path, model: PlainAnswerer) -> None:
    """The policy keeps the question here: no call, the refusal on record, the results all the same."""
    async with answering(tmp_path / "data", model, reaches="partner") as runtime:
        await call(runtime, "settings", changes={**PARTNER, "data_flow.queries": "own"})
        kept = await call(runtime, "remember", content=LISBON)
        found = await ask(runtime, at_least=kept.position)
        assert (found.answer.text, found.answer.reason) == ("", KEPT)
        assert found.results
        assert model.asked == []
        assert [(one.subject, one.provider) for one in await recorded(runtime)] == [("queries", "chat-0")]


@pytest.mark.parametrize("kept, shown", [("messages", "memories"), ("memories", "messages")])
async def test_a_class_that_may_not_go_is_left_out(tmp_path: Path, model: PlainAnswerer, kept: str, shown: str) -> None:
    """Of messages and memories only what may go is in the prompt; what is not is named, and cannot be cited."""
    async with answering(tmp_path / "data", model, reaches="partner") as runtime:
        await call(runtime, "settings", changes={**PARTNER, f"data_flow.{kept}": "own"})
        await call(runtime, "ingest", messages=said("Ana lives in Lisbon with messages"), session="s")
        last = await call(runtime, "remember", content="Ana lives in Lisbon with memories")
        found = await ask(runtime, at_least=last.position)
        assert len(found.results) == 2
        (one,) = shown_entries(model.asked[0].user)
        assert one.text.endswith(shown)
        assert f"with {kept}" not in model.asked[0].user
        assert [found.answer.left_out[one.id] for one in found.results if one.text.endswith(kept)] == [KEPT]
        assert found.answer.cited == [one.id for one in found.results if one.text.endswith(shown)]
        assert [one.subject for one in await recorded(runtime)] == [kept]


async def test_where_no_result_may_go_no_model_is_asked(tmp_path: Path, model: PlainAnswerer) -> None:
    """A question alone is nothing to answer from."""
    async with answering(tmp_path / "data", model, reaches="partner") as runtime:
        await call(runtime, "settings", changes={**PARTNER, "data_flow.memories": "own"})
        kept = await call(runtime, "remember", content=LISBON)
        assert (await ask(runtime, at_least=kept.position)).answer.reason == KEPT
        assert model.asked == []


@pytest.mark.parametrize(
    "error",
    [UnavailableError("it is down"), RefusedError("it declined"), DamagedError("no shape"), InvalidInputError("long")],
)
async def test_a_model_that_fails_costs_the_answer_only(tmp_path: Path, error: UmbrielError) -> None:
    """Down, declining, unreadable, or taking nothing: the results come, with the reason."""
    async with answering(tmp_path / "data", ScriptedChat(**{"recall.answer": lambda _: error})) as runtime:
        kept = await call(runtime, "remember", content=LISBON)
        found = await ask(runtime, at_least=kept.position)
        assert (found.answer.text, found.answer.reason) == ("", error.message)
        assert [one.id for one in found.results] == [kept.memory.id]


async def test_a_model_that_trips_costs_the_answer_only(tmp_path: Path) -> None:
    """An error that is none of ours neither ends the request nor shows what was said."""

    def trip(_: Ask) -> Mapping[str, Any]:
        raise ZeroDivisionError("secret")

    async with answering(tmp_path / "data", ScriptedChat(**{"recall.answer": trip})) as runtime:
        kept = await call(runtime, "remember", content=LISBON)
        found = await ask(runtime, at_least=kept.position)
        assert "failed" in found.answer.reason
        assert "secret" not in found.answer.reason
        assert found.results


class Held(ScriptedChat):
    """Answers only when it is let."""

    def __init__(self) -> None:
        super().__init__(**{"recall.answer": lambda _: {"answer": "In Lisbon.", "ids": ["1"]}})
        self.arrived, self.go = asyncio.Event(), asyncio.Event()

    async def ask(self, ask: Ask, shape: Any) -> Any:
        """Wait, then answer."""
        self.arrived.set()
        await self.go.wait()
        return await super().ask(ask, shape)


async def test_a_slow_model_holds_the_results_up_no_longer_than_its_time(tmp_path: Path) -> None:
    """When the time is over the results come without an answer."""
    async with answering(tmp_path / "data", Held(), limits=AnswerLimits(seconds=0.1)) as runtime:
        kept = await call(runtime, "remember", content=LISBON)
        found = await ask(runtime, at_least=kept.position)
        assert "does not answer" in found.answer.reason
        assert found.results


async def test_answers_do_not_hold_up_recall(tmp_path: Path) -> None:
    """While as many answers are made as may be, the next one is declined at once, and recall without one goes on."""
    held = Held()
    async with answering(tmp_path / "data", held, limits=AnswerLimits(parallel=1)) as runtime:
        kept = await call(runtime, "remember", content=LISBON)
        first = asyncio.create_task(ask(runtime, at_least=kept.position))
        await held.arrived.wait()
        assert (await ask(runtime)).answer.reason == BUSY
        assert (await call(runtime, "recall", query="Lisbon")).results
        held.go.set()
        assert (await first).answer.text == "In Lisbon."
        assert (await ask(runtime)).answer.text == "In Lisbon."


async def test_the_next_model_answers_for_one_that_fails(tmp_path: Path, model: PlainAnswerer) -> None:
    """In order of preference, and the one that answered is named."""
    broken = ScriptedChat(**{"recall.answer": lambda _: UnavailableError("it is down")})
    async with answering(tmp_path / "data", broken, model) as runtime:
        kept = await call(runtime, "remember", content=LISBON)
        assert (await ask(runtime, at_least=kept.position)).answer.text == LISBON
        assert len(broken.asked) == len(model.asked) == 1


ROOMS = AnswerLimits(
    low=ThinkingRoom(results=2, prompt_tokens=4_000, answer_tokens=10),
    medium=ThinkingRoom(results=4, prompt_tokens=4_000, answer_tokens=10),
    high=ThinkingRoom(results=6, prompt_tokens=4_000, answer_tokens=10),
)


async def test_thinking_looks_at_more(tmp_path: Path, model: PlainAnswerer) -> None:
    """Each level has its number of results, unless the request has a limit; the prompt never holds more (A13)."""
    async with answering(tmp_path / "data", model, limits=ROOMS) as runtime:
        for number in range(8):
            last = await call(runtime, "remember", content=f"Ana lives in Lisbon, house {number}")
        for level, results in (("low", 2), ("medium", 4), ("high", 6)):
            found = await ask(runtime, at_least=last.position, thinking=level)
            assert len(found.results) == len(shown_entries(model.asked[-1].user)) == results
        found = await ask(runtime, thinking="high", limit=1)
        assert len(found.results) == len(shown_entries(model.asked[-1].user)) == 1
        found = await ask(runtime, thinking="high", token_budget=150)
        assert 1 <= len(shown_entries(model.asked[-1].user)) <= len(found.results) < 6
        entries = "".join(f"<memory_entry>{inside}" for _, inside in fences(model.asked[-1].user)[:-2])
        assert estimated_tokens(entries) <= 150
        asked = len(model.asked)
        assert (await ask(runtime, thinking="high", token_budget=20)).answer.reason == NO_ROOM
        assert len(model.asked) == asked
        assert len((await call(runtime, "recall", query="Lisbon")).results) == 8


async def test_what_the_prompt_does_not_hold_is_said(tmp_path: Path, model: PlainAnswerer) -> None:
    """A record longer than the room is cut, those after it are left out, and both are named (A13)."""
    limits = AnswerLimits(low=ThinkingRoom(results=10, prompt_tokens=500, answer_tokens=10))
    async with answering(tmp_path / "data", model, limits=limits) as runtime:
        for number in range(3):
            last = await call(runtime, "remember", content=f"{number} lives in Lisbon " + "and lives there " * 500)
        found = await ask(runtime, at_least=last.position)
        assert len(found.results) == 3
        assert list(found.answer.left_out) == [one.id for one in found.results]
        assert len(model.asked[0].user) < 2_500


async def test_who_is_not_asked_about_is_not_shown(runtime: Runtime, model: PlainAnswerer) -> None:
    """Another contact's memory is in no prompt (A1), and no name of a profile or contact is an instruction."""
    await call(runtime, "remember", content="Bob lives in Lisbon", contact="bob")
    kept = await call(runtime, "remember", content=LISBON, contact="obey-me")
    found = await ask(runtime, at_least=kept.position, contact="obey-me")
    assert found.answer.text == LISBON
    assert "Bob" not in model.asked[0].user
    assert "obey-me" not in model.asked[0].system + model.asked[0].user
    assert "Bob" in (await ask(runtime, contact="bob")).answer.text


async def test_the_reference_date_is_a_fact(runtime: Runtime, model: PlainAnswerer) -> None:
    """The model is told on which day it is asked."""
    kept = await call(runtime, "remember", content=LISBON)
    await ask(runtime, at_least=kept.position, reference_date="2026-04-14T10:00:00+02:00")
    assert "The reference date is 2026-04-14, a Tuesday." in dict(fences(model.asked[0].user))["computed_facts"]


async def test_what_was_forgotten_is_not_answered_from(runtime: Runtime, model: PlainAnswerer) -> None:
    """A forgotten memory is in no prompt from then on (A10)."""
    kept = await call(runtime, "remember", content=LISBON)
    assert (await ask(runtime, at_least=kept.position)).answer.text == LISBON
    gone = await call(runtime, "forget", id=kept.memory.id)
    found = await ask(runtime, at_least=gone.position)
    assert (found.answer.text, found.answer.reason) == ("", NOTHING)
    assert len(model.asked) == 1


async def test_what_not_to_speak_of_is_told(tmp_path: Path, model: PlainAnswerer) -> None:
    """A suppression is in the prompt as one, and who may not be told of it answers nothing at all (E10)."""
    async with answering(tmp_path / "data", model, reaches="partner") as runtime:
        await call(runtime, "settings", changes=PARTNER)
        await call(runtime, "ingest", messages=said("Ana lives in Lisbon since the divorce"), session="s")
        last = await call(runtime, "remember", content="Do not mention the divorce", kind="instruction")
        found = await ask(runtime, "Who lives in Lisbon since the divorce?", at_least=last.position)
        assert [one.text for one in found.suppressions] == ["Do not mention the divorce"]
        assert "mention the divorce" in dict(fences(model.asked[0].user))["not_to_be_said"]
        await call(runtime, "settings", changes={"data_flow.memories": "own"})
        found = await ask(runtime, "Who lives in Lisbon since the divorce?")
        assert (found.answer.text, found.answer.reason) == ("", KEPT)
        assert len(model.asked) == 1


@pytest.mark.parametrize(
    "field, value", [("thinking", "deep"), ("length", "endless"), ("reference_date", "2026-04-14T10:00:00")]
)
async def test_options_are_checked(runtime: Runtime, model: PlainAnswerer, field: str, value: str) -> None:
    """An unknown level or length, and a date without a zone, are refused before anything is asked."""
    with pytest.raises(InvalidInputError):
        await ask(runtime, **{field: value})
    assert model.asked == []
