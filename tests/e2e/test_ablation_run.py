"""A small set asked again in every way, against a real service."""

from __future__ import annotations

import pytest

from gateways.bench.ablation import FULL, Ablated, Ablation, ablate, ablation_rows
from gateways.bench.run import Answer, Asking, Watcher, measure
from gateways.bench.samples import Question, Sample
from gateways.importers import Conversation
from umbriel import InvalidInputError, Message, Umbriel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

SAID = ("I bought a blue dinghy.", "My sister plays the cello.", "The invoice goes out on Mondays.")
TALK = Sample(
    name="talk",
    sessions=(
        Conversation(
            session="s1", messages=[Message(role="user", content=text, id=f"D1:{n}") for n, text in enumerate(SAID)]
        ),
    ),
    questions=(
        Question(text="Which dinghy was bought?", category="1", evidence=("D1:0",)),
        Question(text="Who plays the cello?", category="1", evidence=("D1:1",)),
    ),
)


async def test_every_channel_that_the_service_names_is_measured(person: Umbriel) -> None:
    """Each once left out and once alone, the same questions each time, and settings are what they were before."""
    done: list[Ablated] = []
    asked: list[str] = []
    wanted = Ablation(channels=True, settings=({"recall.fusion": "classic"},))

    async def afterwards(asking: Asking) -> None:
        done.extend(await ablate(asking, TALK.questions, wanted, asked.append))

    run = await measure(person, TALK, person.profile, Watcher(lambda _: None, lambda _: None), afterwards)
    rows = {row.name: row for row in ablation_rows(done)}
    channels = (await person.recall("Who plays the cello?", explain=True)).channels
    assert len(channels) > 2
    expected = {FULL, "recall.fusion=classic"}
    expected |= {f"without {one}" for one in channels} | {f"{one} alone" for one in channels}
    assert set(rows) == expected
    assert {row.questions for row in rows.values()} == {2}
    assert len(asked) == 2 * len(rows)
    assert rows[FULL].scores == {"R@10": 100.0, "MRR": 100.0}
    assert rows["message_keyword alone"].scores["R@10"] == 100.0
    assert rows["key alone"].scores["R@10"] == 0.0
    assert [answer.turns[0] for answer in run.answers] == ["D1:0", "D1:1"]
    assert (await person.settings()).settings["recall.fusion"] == "default"


async def test_settings_are_put_back_when_asking_fails(person: Umbriel) -> None:
    """What was changed for a row does not stay, whatever happens in between."""
    await person.remember("The invoice goes out on Mondays")
    before = (await person.settings()).settings
    shares: list[float] = []

    async def ask(_question: Question, _channels: tuple[str, ...]) -> Answer:
        shares.append((await person.settings()).settings["recall.message_share"])
        if shares[-1] == 0.5:
            await person.recall("?", channels=["no such channel"])
        return Answer(question=TALK.questions[0], turns=(), sessions=(), evidence_sessions=(), seconds=0.0)

    wanted = Ablation(settings=({"recall.message_share": 0.5},))
    with pytest.raises(InvalidInputError, match="unknown channel"):
        await ablate(Asking(person, ask), TALK.questions[:1], wanted, lambda _: None)
    assert shares == [before["recall.message_share"], 0.5]
    assert (await person.settings()).settings == before
