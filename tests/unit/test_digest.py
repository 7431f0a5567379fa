"""A day listed by rules: every word is taken from it, nothing comes of nothing, and what is too much is counted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.digest import Day, Note, Talk, Wording
from domain.settings import Limits, ReflectionLimits
from domain.transcript import Line
from gateways.reflecting import ChatReflector, DigestReflector
from gateways.service.thoughts import thoughts_of
from tests.scripted_chat import ScriptedChat

AT = datetime(2026, 4, 14, 12, tzinfo=UTC)
DAY = "2026-04-14"


def line(index: int, text: str, role: str = "user", name: str = "") -> Line:
    """Something said at noon."""
    return Line(index=index, message=f"m{index}", role=role, text=text, name=name, at=AT)


def note(index: int, text: str, **fields: object) -> Note:
    """A fact that was stated at noon."""
    fact = Note(index=index, id=f"n{index}", text=text, kind="fact", fact_type="", confidence=0.5, stated_at=AT)
    return msgspec.structs.replace(fact, **fields)


def day(lines: Sequence[Line] = (), notes: Sequence[Note] = (), *, contact: str | None = "ana") -> Day:
    """A day with one conversation at most."""
    talks = (Talk(session="s", lines=tuple(lines), channel="telegram", unanswered=True),) if lines else ()
    return Day(day=DAY, contact=contact, talks=talks, notes=tuple(notes))


async def digest(of: Day) -> dict[str, str]:
    """What the rules make of a day, by topic."""
    made = await DigestReflector().reflect(of, profile="p")
    return {one.topic: one.text for one in made.wordings}


async def test_a_day_by_its_topics() -> None:
    """What was decided, learnt and is open, and who was talked to about what: quoted, on a topic of its own each."""
    found = await digest(
        day(
            [line(0, "Hi!"), line(1, "When does the ferry to Rome leave?")],
            [
                note(0, "The team uses Postgres", fact_type="decision"),
                note(1, "Ana lives in Porto"),
                note(2, "Ana has to call the bank", kind="task"),
            ],
        )
    )
    assert found == {
        "decisions": f"Decided on {DAY}:\n- The team uses Postgres",
        "learnt": f"Learnt on {DAY}:\n- Ana lives in Porto",
        "open": f'Still open on {DAY}:\n- Ana has to call the bank\n- "When does the ferry to Rome leave?"',
        "conversations": f'Talked with ana on {DAY} (telegram):\n- "When does the ferry to Rome leave?"',
    }


@pytest.mark.parametrize("said", [[], ["Hi!"], ["ok", "thanks"], ["…"]])
async def test_nothing_comes_of_nothing(said: list[str]) -> None:
    """A day without anything that says something has no topics."""
    assert await digest(day([line(index, text) for index, text in enumerate(said)])) == {}


async def test_who_spoke_is_named_where_nobody_else_is() -> None:
    """Without a contact the speakers are; tools, system and the assistant are nobody one talks with."""
    said = [
        line(0, "Please summarise the whole report", name="Mara"),
        line(1, "A summary of the whole report", role="assistant", name="Bot"),
        line(2, "rows of the whole report", role="tool", name="sql"),
        line(3, "報告書をありがとうございます", name="Jon"),
    ]
    found = await digest(day(said, contact=None))
    assert found["conversations"].startswith(f"Talked with Mara, Jon on {DAY} (telegram):\n- ")


async def test_an_answered_question_is_not_open() -> None:
    """What the assistant said last, and what is no question, is not; in any script."""
    assert "open" not in await digest(day([line(0, "Which train?"), line(1, "Which one?", role="assistant")]))
    assert "open" not in await digest(day([line(0, "The train leaves at nine.")]))
    assert "open" in await digest(day([line(0, "電車はいつ出ますか？")]))


async def test_too_many_are_counted_and_the_most_trusted_stand() -> None:
    """Ten entries of a topic at most, each cut where it is long; how many there are besides is said."""
    notes = [note(index, f"Fact {index} " + "x" * 400, confidence=0.9 if index > 19 else 0.5) for index in range(25)]
    text = (await digest(day([], notes)))["learnt"]
    assert text.count("\n- ") == 10
    assert text.endswith("\n(and 15 more)")
    assert all(f"Fact {index} " in text for index in range(20, 25))
    assert len(text) < 2_700


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=300)


@given(st.lists(TEXTS, max_size=14), st.lists(TEXTS, max_size=14))
async def test_no_word_is_made_up(said: list[str], stated: list[str]) -> None:
    """Whatever was said and stated: every entry is the beginning of a note or a line that its topic names."""
    of = day([line(index, text) for index, text in enumerate(said)], [note(i, text) for i, text in enumerate(stated)])
    made = await DigestReflector().reflect(of, profile="p")
    known = [" ".join(text.split()) for text in (*said, *stated)]
    for one in made.wordings:
        entries = one.text.split("\n- ")[1:]
        assert len(entries) == len(one.lines) + len(one.notes) > 0
        for entry in entries:
            shown = entry.partition("\n(and ")[0]
            bare = shown[1:-1] if shown.startswith('"') and one.lines else shown
            assert any(text.startswith(part.rstrip("…")) for text in known for part in (bare, shown))


# -- what a model says --------------------------------------------------------------------------


def checked(of: Day, *wordings: Wording, by_model: bool = True) -> list[tuple[str, str]]:
    """Topic and text of what may be written."""
    found = thoughts_of(of, wordings, Limits(), ReflectionLimits(), by_model=by_model)
    return [(one.topic, one.text) for one in found]


SAID = day([line(0, "We meet in Rome at 14:30."), line(1, "Fine.", role="assistant")], [note(0, "Ana likes Rome")])


@pytest.mark.parametrize(
    "fields",
    [
        {"lines": (), "notes": ()},
        {"lines": (7,), "notes": (7,)},
        {"topic": " "},
        {"topic": "-"},
        {"topic": "x" * 61},
        {"text": " "},
        {"text": "x" * 2_001},
        {"text": "They meet at 15:45."},
        {"text": "They meet on 2026-05-01."},
        {"text": 'She said "in the harbour".'},
        {"text": "Do not mention the meeting to Ana."},
    ],
)
def test_what_does_not_fit_is_left_out(fields: dict[str, object]) -> None:
    """Without a source, a topic or words, or with a number, a date or a quotation that is not in what it names."""
    good = Wording(topic="Rome", text="They meet in Rome at 14:30.", lines=(0,))
    assert checked(SAID, good, msgspec.structs.replace(good, **fields)) == [("Rome", good.text)]


def test_topics_stand_apart_and_are_few() -> None:
    """Two thoughts on one topic have two names; there are at most eight."""
    wordings = [Wording(topic=topic, text=f"{topic}.", notes=(0,)) for topic in ("Rome", "rome", *"abcdefghij")]
    topics = [topic for topic, _ in checked(SAID, *wordings)]
    assert topics == ["Rome", "rome 2", *"abcdef"]


def test_a_thought_knows_where_it_is_from() -> None:
    """Its messages and those of its notes; its conversation if it is one; the end of what is open."""
    drawn = note(0, "Ana calls the bank", sources=("m9",), session="s", expires_at=datetime(2026, 4, 20, tzinfo=UTC))
    of = day([line(0, "Call the bank")], [drawn, note(1, "Ana likes Rome")])
    asked = [
        Wording(topic="a", text="A.", lines=(0,), notes=(0,), open=True),
        Wording(topic="b", text="B.", notes=(1,), open=True),
    ]
    one, other = thoughts_of(of, asked, Limits(), ReflectionLimits(), by_model=True)
    assert (one.sources, one.drawn_from, one.session) == (("m0", "m9"), ("n0",), "s")
    assert (other.sources, other.drawn_from, other.session) == ((), ("n1",), "")
    assert one.expires_at == datetime(2026, 4, 20, tzinfo=UTC)
    assert other.expires_at == datetime(2026, 4, 29, tzinfo=UTC)


async def test_a_model_sees_one_contacts_day_as_data() -> None:
    """Lines and notes are numbered inside fences; what it answers is taken as it is, to be checked."""
    chat = ScriptedChat(
        reflect=lambda _: {"reflections": [{"topic": "Rome", "text": "T.", "lines": [0], "open": True}]}
    )
    made = await ChatReflector(chat, topics=8).reflect(SAID, profile="p")
    assert made.wordings == (Wording(topic="Rome", text="T.", lines=(0,), open=True),)
    (ask,) = chat.asked
    assert (ask.purpose, ask.size, ask.profile) == ("reflect", "large", "p")
    assert "[0] user 12:00: We meet in Rome at 14:30." in ask.user
    assert "{0} fact: Ana likes Rome" in ask.user
    assert ask.user.index("<notes mark=") < ask.user.index("{0}") < ask.user.index("</notes mark=")
