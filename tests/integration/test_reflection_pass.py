"""The daily reflection in running services: what a day comes to, once, of one contact, and gone with its sources."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from domain.digest import Day, Reflected, Reflector, Wording
from domain.errors import InvalidInputError, UnavailableError
from domain.grants import Grant, Principal
from gateways.reflecting import DigestReflector
from gateways.service import thinking_back
from gateways.service.daily import DailyPasses
from gateways.service.models import Provided
from gateways.service.thinking_back import REFLECTION
from tests.cheap import CheapEmbedder
from tests.thinkers import Thinkers
from tests.thinking_world import PERSON, World, thinking, until

pytestmark = pytest.mark.asyncio(loop_scope="module")

Here = World[Thinkers]
TODAY = datetime.now(UTC).date()


class Told:
    """A reflector that says what a test tells it to, as a provider somewhere."""

    name = "told-1"

    def __init__(self, *wordings: Wording) -> None:
        self.wordings = wordings
        self.asked: list[Day] = []
        self.silent = False

    async def reflect(self, day: Day, *, profile: str) -> Reflected:
        """What it was told."""
        self.asked.append(day)
        if self.silent:
            raise UnavailableError("the model does not answer")
        return Reflected(self.wordings, self.name)


def with_reflector(*told: Told) -> Thinkers:
    """The thinkers of a test: models, and behind them the digest."""
    models: list[Provided[Reflector]] = [Provided(one, one.name) for one in told]
    return Thinkers(reflectors=[*models, _DIGEST])


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        """The time it was set to."""
        return self.now


_DIGEST: Provided[Reflector] = Provided(DigestReflector(), "digest")
#: what the shared service thinks with; a test puts a model in front
_SHARED = [_DIGEST]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Here]:
    """A service for all tests that ask for a day of their own."""
    data = tmp_path_factory.mktemp("reflecting") / "data"
    async with thinking(data, Thinkers(reflectors=_SHARED), embedder=CheapEmbedder()) as started:
        yield started


@pytest.fixture
def told() -> Iterator[Told]:
    """A model in front of the digest, for one test."""
    model = Told()
    _SHARED.insert(0, Provided(model, model.name, "own"))
    yield model
    del _SHARED[0]


_DAYS = iter(range(2, 400))


@pytest.fixture
def day() -> str:
    """A day that no other test knows."""
    return (TODAY - timedelta(days=next(_DAYS))).isoformat()


def at(day: str, hour: int = 12) -> str:
    """An hour of a day, UTC."""
    return f"{day}T{hour:02}:00:00Z"


async def say(here: Here, day: str, *lines: str, session: str, contact: str = "", role: str = "user") -> list[str]:
    """Let something be said on a day; returns the ids of the messages."""
    messages = [
        {"role": role, "content": line, "at": at(day, min(9 + number, 23))} for number, line in enumerate(lines)
    ]
    fields: dict[str, Any] = {"contact": contact} if contact else {}
    reply = await here.call("ingest", messages=messages, session=session, wait=True, **fields)
    return [one.id for one in reply.outcomes]


async def reflected(here: Here, day: str, **fields: Any) -> Any:
    """Think about a day, and wait until it can be read."""
    reply = await here.call("reflect_day", day=day, **fields)
    core = here.runtime.service.core
    await core.reader.wait_for(await core.events.log.last_position(), 10)
    return reply


async def of_day(here: Here, day: str, status: str = "live") -> dict[str, str]:
    """The memories of a day's reflections with anybody: key to text."""
    entries = (await here.call("list", status=status, limit=500, contact="*")).entries
    return {one.key: one.text for one in entries if one.key.startswith(f"reflection:{day}:")}


async def gone(here: Here, day: str) -> None:
    """Wait until nothing of a day is live any more."""

    async def none() -> bool:
        return not await of_day(here, day)

    await until(none)


# -- what comes of it ---------------------------------------------------------------------------


async def test_a_day_becomes_reflections_and_memories(here: Here, day: str) -> None:
    """Quoted, keyed by day and topic, trusted 0.85, of its contact and conversation, with sources; found by recall."""
    ids = await say(
        here, day, f"note home {day} = Zoe{day} lives in Porto", "Which ferry is it?", session=day, contact="zoe"
    )
    shown = await reflected(here, day)
    (one,) = shown.days
    assert (one.contact, one.messages, one.memories, one.model, one.recorded) == ("zoe", 2, 1, "digest-1", True)
    texts = await of_day(here, day, "all")  # what was open on a day long ago has expired
    assert texts == {f"reflection:{day}:{thought.topic}": thought.text for thought in one.thoughts}
    assert texts[f"reflection:{day}:learnt"] == f"Learnt on {day}:\n- Zoe{day} lives in Porto"
    learnt = await here.call("get", key=f"reflection:{day}:learnt", contact="zoe")
    assert (learnt.confidence, learnt.source, learnt.kind, learnt.session) == (0.85, "reflection", "fact", day)
    assert learnt.sources == ids[:1]
    why = await here.call("why", id=learnt.id)
    assert [source.id for source in why.sources] == ids[:1]
    (fact,) = why.memory.metadata["drawn_from"]
    assert (await here.call("get", id=fact)).text == f"Zoe{day} lives in Porto"
    listed = (await here.call("list_reflections", day=day)).reflections
    assert {(r.topic, r.contact, r.author, r.model) for r in listed} == {
        (topic, "zoe", "reflection", "digest-1") for topic in ("learnt", "open", "conversations")
    }
    found = await here.call("recall", query=f"learnt {day} Zoe{day}", contact="zoe", limit=20)
    assert learnt.id in [result.id for result in found.results]


async def test_nothing_happened(here: Here, day: str) -> None:
    """An empty day leaves nothing, neither event nor memory."""
    await here.remember("The profile is there")
    before = Counter(await here.topics())
    assert (await reflected(here, day)).days == []
    now = Counter(await here.topics())
    assert all(now[topic] == before[topic] for topic in ("reflection.drafted", "reflection.recorded"))


async def test_a_second_time_nothing_is_new(here: Here, day: str) -> None:
    """What was thought about stays as it was, whatever was said since; a dry run says so."""
    await say(here, day, "We talked about the harbour", session=day)
    dry = await reflected(here, day, dry_run=True)
    assert await of_day(here, day) == {}
    first = await reflected(here, day)
    assert [one.text for one in dry.days[0].thoughts] == [one.text for one in first.days[0].thoughts]
    before = await here.topics()
    await say(here, day, "And then about the mountains", session=f"{day}-2")
    again = await reflected(here, day)
    assert [(one.recorded, one.thoughts) for one in again.days] == [(False, first.days[0].thoughts)]
    assert (await here.topics()).count("reflection.recorded") == before.count("reflection.recorded")
    shown = await reflected(here, day, dry_run=True)
    assert not shown.days[0].recorded


async def test_contacts_are_never_mixed(here: Here, day: str, told: Told) -> None:
    """Each contact's day is thought about by itself, also of linked ones; nobody's is agent-wide."""
    told.wordings = (Wording(topic="talk", text="They talked.", lines=(0,)),)
    await here.call("link_contact", contact=f"ann {day}", to=f"bob {day}")
    for contact in (f"ann {day}", f"bob {day}", ""):
        await say(here, day, f"secret of {contact or 'nobody'}", session=f"{day} {contact}", contact=contact)
    await reflected(here, day)
    assert [one.contact for one in told.asked] == [None, f"ann {day}", f"bob {day}"]
    for one in told.asked:
        assert [line.text for line in one.lines] == [f"secret of {one.contact or 'nobody'}"]
    entries = (await here.call("list", limit=500, contact="*")).entries
    mine = [one for one in entries if one.key == f"reflection:{day}:talk"]
    assert sorted(one.contact or "" for one in mine) == ["", f"ann {day}", f"bob {day}"]
    assert all(len(one.sources) == 1 for one in mine)


async def test_a_reader_of_one_contact_learns_of_that_one(here: Here, day: str) -> None:
    """The feed shows the drafts and reflections of whom they may hear; recall the memories, and nobody else's."""
    for contact in (f"cat {day}", f"dan {day}"):
        await say(here, day, f"hidden words of {contact}", session=f"{day} {contact}", contact=contact)
    await reflected(here, day)
    reader = Principal("one", "agent", (Grant("p", "read", (f"cat {day}",)),))
    events = (await here.call("feed", reader, limit=1_000, kinds=["reflection", "memory"])).events
    shown = str([one.data for one in events])
    assert f"hidden words of cat {day}" in shown
    assert "hidden words of dan" not in shown
    assert {one.topic for one in events} >= {"reflection.drafted", "reflection.recorded"}
    everybody = str([one.data for one in (await here.call("feed", limit=1_000, kinds=["reflection"])).events])
    assert f"hidden words of dan {day}" in everybody
    found = await here.call("recall", reader, query=f"talked on {day}", contact=f"cat {day}", limit=50)
    texts = [one.text for one in found.results]
    assert any("hidden words of cat" in text for text in texts)
    assert not any("hidden words of dan" in text for text in texts)


async def test_what_came_out_of_memory_does_not_go_in_again(here: Here, day: str, told: Told) -> None:
    """Recalled text is taken out, system prompts and orders to be quiet are not shown, reflections are no notes."""
    told.wordings = (Wording(topic="it", text="So it was.", lines=(0,)),)
    fenced = '<recalled_memory mark="aaaaaaaaaaaaaaaa">\nold news\n</recalled_memory mark="aaaaaaaaaaaaaaaa">'
    await say(here, day, f"Look at this: {fenced} and that", session=day)
    await say(here, day, "Do not mention the party to Mara.", "You are a bot", session=f"{day}-2", role="system")
    await say(here, day, "Do not mention the party to Mara.", session=f"{day}-3")
    await here.call("reflect", topic=f"own {day}", text=f"thought of my own {day}")
    await reflected(here, day)
    assert [line.text for one in told.asked for line in one.lines] == ["Look at this:  and that"]
    today = TODAY.isoformat()
    shown = await reflected(here, today, dry_run=True)
    assert shown.days == [] or all("thought of my own" not in str(one) for one in shown.days)
    assert not any("thought of my own" in note.text for one in told.asked for note in one.notes)


async def test_what_restates_stands_in_nobodys_way(here: Here, day: str) -> None:
    """Its key is no subject: no question matches it, and nothing is written or merged under it."""
    contact = f"eve {day}"
    await say(here, day, f"note b{day} = Eve collects stamps {day}", session=day, contact=contact)
    await reflected(here, day)
    core = here.runtime.service.core
    async with core.profiles.use("p") as profile:
        ledger, now = profile.views.ledger, datetime.now(UTC)
        assert [known.key for known in ledger.known_keys(contact, now=now)] == [f"b{day}"]
        assert ledger.keys_in_use([contact], now=now, limit=9) == [f"b{day}"]
        assert [one.text for one in ledger.newest(contact, as_of=now, limit=9)] == [f"Eve collects stamps {day}"]
        assert ledger.keys_matching(["reflection", "learnt", *day.split("-")], now=now, scopes=[contact]) != []
        found = ledger.keys_matching(["reflection", "learnt", "conversations"], now=now, scopes=[contact])
    assert found == []
    assert (await here.call("get", key=f"reflection:{day}:learnt", contact=contact)).text


async def test_what_restates_is_not_judged(here: Here, day: str) -> None:
    """A list of what was learnt replaces none of it, and nothing is held against it."""
    await say(here, day, f"note a{day} = Kim now plays the cello {day}", session=day)
    await reflected(here, day)
    key = f"reflection:{day}:learnt"

    async def judged() -> bool:
        why = await here.call("why", id=(await here.call("get", key=key)).id)
        return any(event.topic == "memory.judged" for event in why.events)

    await until(judged)
    assert f"Kim now plays the cello {day}" in await here.texts()
    asked = [pair for pair in here.models.words.asked if any("Learnt on" in one.text for one in pair)]
    assert asked == []


# -- how it ends --------------------------------------------------------------------------------


async def test_a_forgotten_message_takes_all_that_rests_on_it(here: Here, day: str, told: Told) -> None:
    """Memory, stored text and what a later request shows: gone; what rests on another message stays."""
    told.wordings = (
        Wording(topic="a", text=f"Xylophone {day}.", lines=(0,)),
        Wording(topic="b", text=f"Yacht {day}.", lines=(1,)),
    )
    first, _ = await say(here, day, "about a xylophone", "about a yacht", session=day)
    await reflected(here, day)
    assert len(await of_day(here, day)) == 2
    await here.call("forget", PERSON, id=first)

    async def one_left() -> bool:
        return list(await of_day(here, day)) == [f"reflection:{day}:b"]

    await until(one_left)
    listed = {one.topic: one for one in (await here.call("list_reflections", day=day)).reflections}
    assert (listed["a"].text, listed["a"].learnings[0].text, listed["b"].text) == ("", "", f"Yacht {day}.")
    for dry_run in (True, False):
        shown = await reflected(here, day, dry_run=dry_run)
        assert [thought.topic for one in shown.days for thought in one.thoughts] == ["b"]
    assert len(await of_day(here, day)) == 1


@pytest.mark.parametrize(
    "end, left",
    [
        ({"verb": "forget"}, "forgotten"),
        ({"verb": "retract"}, "retracted"),
        ({"verb": "reject"}, "retracted"),
        ({"verb": "correct", "content": "Something else"}, "retracted"),
    ],
)
async def test_what_restates_a_memory_ends_with_it(here: Here, day: str, end: dict[str, str], left: str) -> None:
    """Forgotten with what is forgotten, else retracted; then what was thought stays on record."""
    await say(here, day, f"note code {day} = The door code is blue {day}", session=day)
    await reflected(here, day)
    stated = await here.call("get", key=f"code {day}")
    reflection = await here.call("get", key=f"reflection:{day}:learnt")
    fields = {key: value for key, value in end.items() if key != "verb"}
    await here.call(end["verb"], PERSON, id=stated.id, **fields)

    async def ended() -> bool:
        found = (await here.call("list", status="all", limit=500, contact="*")).entries
        status = {one.id: one.status for one in found}.get(reflection.id, "forgotten")
        return bool(status == left)

    await until(ended)
    texts = [one.text for one in (await here.call("list_reflections", day=day)).reflections if one.topic == "learnt"]
    assert texts == ([""] if left == "forgotten" else [f"Learnt on {day}:\n- The door code is blue {day}"])


async def test_a_reflection_can_be_forgotten(here: Here, day: str) -> None:
    """By itself: its words are gone from the list, and no second pass brings them back."""
    await say(here, day, "We talked about the harbour", session=day)
    await reflected(here, day)
    await here.call("forget", PERSON, key=f"reflection:{day}:conversations")
    await gone(here, day)
    again = await reflected(here, day)
    assert [one.thoughts for one in again.days] == [[]]
    assert await of_day(here, day) == {}
    assert [one.text for one in (await here.call("list_reflections", day=day)).reflections] == [""]


# -- models -------------------------------------------------------------------------------------


async def test_a_silent_model_is_not_waited_for(here: Here, day: str, told: Told) -> None:
    """The digest stands in, and says so."""
    told.silent = True
    await say(here, day, "We talked about the harbour", session=day)
    (one,) = (await reflected(here, day)).days
    assert (one.model, len(one.thoughts), len(told.asked)) == ("digest-1", 1, 1)


async def test_an_answer_is_asked_for_once(here: Here, day: str, told: Told) -> None:
    """Also one that says nothing, and one of which nothing can be written; a dry run asks nobody."""
    told.wordings = (Wording(topic="x", text="It cost 4711.", lines=(0,)),)
    await say(here, day, "We talked about the harbour", session=day)
    dry = await reflected(here, day, dry_run=True)
    assert (told.asked, dry.days[0].model, dry.days[0].thoughts) == ([], "told-1", [])
    for _ in range(2):
        assert [one.thoughts for one in (await reflected(here, day)).days] == [[]]
    assert len(told.asked) == 1
    assert await of_day(here, day) == {}


@pytest.mark.parametrize("setting", ["data_flow.messages", "data_flow.memories"])
async def test_a_model_that_may_not_be_told_is_not(here: Here, day: str, told: Told, setting: str) -> None:
    """It is told of messages and of memories: where one of them is to stay here, the digest works."""
    await here.call("settings", changes={setting: "local"})
    try:
        await say(here, day, "We talked about the harbour", session=day)
        assert (await reflected(here, day)).days[0].model == "digest-1"
        assert told.asked == []
    finally:
        await here.call("settings", changes={setting: "own"})


async def test_a_rejected_statement_is_not_made_again(here: Here, day: str, told: Told) -> None:
    """What a person said is wrong no reflection says."""
    wrong = await here.remember(f"Kim hates the sea {day}")
    await here.call("reject", PERSON, id=wrong)
    told.wordings = (Wording(topic="kim", text=f"Kim hates the sea {day}", lines=(0,)),)
    await say(here, day, "Kim was at the sea", session=day)
    await reflected(here, day)
    assert await of_day(here, day) == {}


@pytest.mark.parametrize(
    "day_, dry_run", [(TODAY.isoformat(), False), ("2099-01-01", True), ("yesterday", True), ("2026-02-30", False)]
)
async def test_days_that_cannot_be(here: Here, day_: str, dry_run: bool) -> None:  # noqa: FBT001
    """Only what is over is recorded, and what is to come not even shown."""
    with pytest.raises(InvalidInputError):
        await here.call("reflect_day", day=day_, dry_run=dry_run)


# -- the pass -----------------------------------------------------------------------------------


async def passes(here: Here) -> list[tuple[str, dict[str, int]]]:
    """The reflection passes on record: day and counts."""
    events = (await here.call("feed", limit=1_000, kinds=["upkeep"])).events
    done = [one.data for one in events if one.topic == "upkeep.completed" and one.data["name"] == REFLECTION]
    return [(one["day"], one.get("counts", {})) for one in done]


async def settled(here: Here, *days: date) -> None:
    """Wait until just these passes are on record."""

    async def done() -> bool:
        return [day for day, _ in await passes(here)] == [day.isoformat() for day in days]

    await until(done)


def four(days: int) -> datetime:
    """Half past three in the morning some days from now: reflection is due, consolidation is not yet."""
    return (datetime.now(UTC) + timedelta(days=days)).replace(hour=3, minute=30)


async def test_missed_days_are_made_up_for_once(tmp_path: Path) -> None:
    """Down for days: at the start each day since is thought about, by one of two services, and again never."""
    data, twin, clock = tmp_path / "data", tmp_path / "twin", Clock()
    days = [(TODAY - timedelta(days=number)).isoformat() for number in (2, 1)]
    options: dict[str, Any] = {"embedder": CheapEmbedder(), "clock": clock}
    async with thinking(data, with_reflector(), **options) as here:
        for day in days:
            await say(here, day, f"note {day} = Ana plays the cello {day}", session=day, contact="ana")
        assert await passes(here) == []
    clock.now = four(2)
    async with thinking(data, with_reflector(), **options) as here:
        shutil.copytree(data / "secrets", twin / "secrets")
        async with thinking(twin, with_reflector(), **options, nats=here.runtime.url) as there:
            await settled(here, clock.now.date())
            await settled(there, clock.now.date())
            (done,) = await passes(there)
            assert done[1] == {"reflections": 4, "memories": 4}
            for day in days:
                assert len(await of_day(here, day)) == 2
            drafts = (await there.topics()).count("reflection.drafted")
            assert drafts == len(days)
            shown = {one.name: one for one in (await here.call("status")).passes}[REFLECTION]
            assert (shown.day, shown.waiting, shown.counts) == (clock.now.date().isoformat(), 0, done[1])
            daily = here.runtime.service.core.daily
            assert isinstance(daily, DailyPasses)
            await daily.look()
            await until(_idle(daily))
            assert len(await passes(here)) == 1
    clock.now = four(3)
    async with thinking(data, with_reflector(), **options) as here:
        await settled(here, four(2).date(), four(3).date())
        assert (await passes(here))[1][1] == {"reflections": 0, "memories": 0}


def _idle(daily: DailyPasses) -> Callable[[], Any]:
    async def idle() -> bool:
        return daily.idle

    return idle


async def test_a_draft_that_was_left_behind_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the answer and what follows from it: the model is not asked again, all of it follows once."""
    clock, told, yesterday = Clock(), Told(), (TODAY - timedelta(days=1)).isoformat()
    told.wordings = (Wording(topic="sea", text="They talked of the sea.", lines=(0,)),)
    options: dict[str, Any] = {"embedder": CheapEmbedder(), "clock": clock}
    async with thinking(tmp_path / "data", with_reflector(told), **options) as here:
        await say(here, yesterday, "We talked about the sea", session="s")
        await _draft_only(here, yesterday, monkeypatch)
        assert await of_day(here, yesterday) == {}
    clock.now = four(1)
    async with thinking(tmp_path / "data", with_reflector(told), **options) as here:
        await settled(here, clock.now.date())
        assert await of_day(here, yesterday) == {f"reflection:{yesterday}:sea": "They talked of the sea."}
    assert len(told.asked) == 1


async def _draft_only(here: Here, day: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Think about a day as the pass does, and die of it."""

    async def die(*_: object) -> Any:
        raise UnavailableError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(thinking_back, "_derived", die)
        with pytest.raises(UnavailableError):
            await here.call("reflect_day", day=day)


async def test_a_rebuild_asks_no_model(here: Here, day: str, told: Told) -> None:
    """Overlay, note, task, goal and reflection are the same after a rebuild, for which nothing thinks or embeds."""
    told.wordings = (Wording(topic="sea", text=f"They talked of the sea {day}.", lines=(0,)),)
    await say(here, day, *(f"line {number} of {day} is about the harbour" for number in range(40)), session=day)
    await here.call("set_context", session=day, notes="short answers")
    await here.call("set_task", session=day, task="book the trip")
    await here.call("set_goal", text=f"answer within a day {day}")
    await reflected(here, day)

    async def covered() -> bool:
        shown = await here.call("context", session=day, budget=400, query="-")
        return not shown.covering and any(part.kind in {"overlay", "summary"} for part in shown.parts)

    await until(covered)

    async def everything() -> list[Any]:
        asked: list[tuple[str, dict[str, Any]]] = [
            ("context", {"session": day, "budget": 400, "query": "-"}),
            ("get_context", {"session": day}),
            ("get_task", {"session": day}),
            ("list_goals", {"status": "all"}),
            ("list_reflections", {"day": day}),
        ]
        return [_without_position(await here.call(verb, **fields)) for verb, fields in asked]

    before, core = await everything(), here.runtime.service.core
    embedder, models = core.embedder, here.models
    assert isinstance(embedder, CheapEmbedder)
    await until(_complete(here))
    counted = (embedder.texts, len(told.asked), models.notes.read.total(), len(models.words.asked))
    await here.call("rebuild")
    assert (embedder.texts, len(told.asked), models.notes.read.total(), len(models.words.asked)) == counted
    assert await everything() == before


def _without_position(reply: Any) -> Any:
    return msgspec.structs.replace(reply, position="")


def _complete(here: Here) -> Callable[[], Any]:
    async def complete() -> bool:
        status = await here.call("status")
        return bool(status.pending == status.unread == status.unjudged == 0)

    return complete


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    """Then the pass is done with nothing, and consolidation goes on."""
    clock, yesterday = Clock(), (TODAY - timedelta(days=1)).isoformat()
    options: dict[str, Any] = {"embedder": CheapEmbedder(), "clock": clock}
    async with thinking(tmp_path / "data", with_reflector(), **options) as here:
        await say(here, yesterday, "We talked about the sea", session="s")
        await here.call("settings", changes={"reflection.enabled": False})
        clock.now = four(1)
        daily = here.runtime.service.core.daily
        assert isinstance(daily, DailyPasses)
        await daily.look()
        await settled(here, clock.now.date())
        assert await of_day(here, yesterday) == {}
