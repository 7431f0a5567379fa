"""What is left of a memory when messages that it rests on are forgotten: who stays, who goes, and only once."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from domain.envelope import Actor
from domain.events import MemoryForgotten, MemoryRemembered, MemoryRevised
from domain.kernel import Context
from domain.memory import Memory
from domain.resting import Loss, end_task, forget_version, lose
from gateways.service.grounds import bears_out
from projections.ledger import MessageRecord

NOW = datetime(2026, 1, 2, tzinfo=UTC)
AGENT = Context(actor=Actor("bot", "agent"), now=NOW)
PERSON = Context(actor=Actor("ana", "person"), now=NOW)
DRAFT = MemoryRemembered(
    memory="",
    address="a" * 26,
    version=0,
    kind="fact",
    text="Ana sings",
    folded="ana sings",
    source="turn",
    confidence=0.5,
    sources=("m1", "m2"),
)


def memory(*texts: str, source: str = "turn") -> Memory:
    """Return a memory with a version for each text, saved."""
    made = Memory("p.memory.x")
    for text in texts:
        draft = msgspec.structs.replace(DRAFT, text=text, folded=text)
        made.remember(draft if source == "turn" else msgspec.structs.replace(draft, source=source), AGENT)
    made.collect_events()
    return made


def loss(made: Memory, index: int = 0, *, supported: bool = False) -> Loss:
    """Return that a version loses m1."""
    return Loss(memory=made.versions[index].written.memory, lost=("m1",), left=("m2",), supported=supported)


def test_what_nothing_bears_out_goes() -> None:
    """Only that version, with the messages it lost; the second time nothing is written."""
    made = memory("one", "two")
    assert lose(made, [loss(made)], AGENT).forgotten == (made.versions[0].written.memory,)
    (event,) = [one.data for one in made.collect_events()]
    assert isinstance(event, MemoryForgotten)
    assert event.lost == ("m1",)
    assert [one.status for one in made.versions] == ["forgotten", "live"]
    assert lose(made, [loss(made)], AGENT) == lose(made, [], AGENT)
    assert not made.collect_events()


def test_what_is_borne_out_stays_and_says_so_once() -> None:
    """It is revised to what it rests on still."""
    made = memory("one")
    for _ in range(2):
        assert lose(made, [loss(made, supported=True)], AGENT).forgotten == ()
    (event,) = [one.data for one in made.collect_events()]
    assert isinstance(event, MemoryRevised)
    assert (event.lost, event.sources) == (("m1",), ("m2",))


@pytest.mark.parametrize("source", ["explicit", "copy"])
def test_what_somebody_states_needs_no_message(source: str) -> None:
    """A statement of a caller stays whatever it lost."""
    made = memory("one", source=source)
    assert lose(made, [loss(made)], AGENT).forgotten == ()
    assert made.versions[0].status == "live"


def test_a_restatement_by_a_caller_makes_it_theirs() -> None:
    """An explicit duplicate affirms, once; a person's makes it a person's statement."""
    made = memory("one")
    again = msgspec.structs.replace(DRAFT, text="one", folded="one", source="explicit", sources=())
    for context, author in ((AGENT, "agent"), (AGENT, "agent"), (PERSON, "person"), (PERSON, "person")):
        assert made.remember(again, context).outcome == "duplicate"
        assert made.versions[0].author_type == author
    assert len(made.collect_events()) == 2
    assert lose(made, [loss(made)], AGENT).forgotten == ()


def test_a_task_ends_once_and_a_version_is_forgotten_once() -> None:
    """What is over is left alone."""
    made = memory("one")
    one = made.versions[0].written.memory
    assert [end_task(made, one, AGENT) for _ in range(2)] == [True, False]
    assert [forget_version(made, one, AGENT) for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    "text,line,borne_out",
    [
        ("The user lives in Porto.", "I'm living in Porto now", True),
        ("The user lives in Porto.", "I live in Lisbon", False),
        ("The user lives in Porto.", "I don't live in Porto", False),
        ("The user does not like tea.", "I like tea", False),
        ("The user has 3 cats.", "I have cats", False),
        ("東京に住んでいる", "東京に住んでいるよ", True),
    ],
)
def test_every_word_must_be_there(text: str, line: str, borne_out: object) -> None:
    """Words count as the keyword index counts them; numbers, names and denials as they are."""
    message = MessageRecord(
        id="m2",
        session="s",
        role="user",
        name="",
        content=line,
        at=None,
        recorded_at=NOW,
        position=1,
        occurrence=1,
        caller_id="",
        turn_id="",
        author="bot",
        author_type="agent",
        forgotten=False,
        contact="",
        utc_offset=0,
    )
    assert bears_out(text, [message]) is borne_out
    assert not bears_out(text, [msgspec.structs.replace(message, forgotten=True)])
