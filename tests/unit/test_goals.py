"""Goals, notes and tasks as aggregates: what is recorded, what is not, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from domain.conversation import Conversation
from domain.envelope import Actor
from domain.errors import InvalidInputError, NotFoundError, RefusedError
from domain.events import Event, GoalClosed, GoalProgressed, GoalSet, NotesSet, TaskCleared, TaskSet
from domain.goal import Goal, goal_id
from domain.kernel import Aggregate, Context
from tests.builders import NOW, PERSON

AGENT = Actor("bot", "agent")
ID = goal_id("Answer within a day")


def by(actor: Actor = PERSON) -> Context:
    """Who commands, at one moment."""
    return Context(actor=actor, now=NOW)


def events(aggregate: Aggregate) -> list[Event]:
    """What the commands came to; replayed, they give the same state."""
    emitted = list(aggregate.pending_events)
    again = type(aggregate).replay(aggregate.id, emitted)
    hidden = {"_pending"}
    assert {k: v for k, v in vars(again).items() if k not in hidden} == {
        k: v for k, v in vars(aggregate).items() if k not in hidden
    }
    return [one.data for one in emitted]


def a_goal(*history: Event, actor: Actor = PERSON) -> Goal:
    """A goal with a history."""
    goal = Goal("p.goal.x")
    for event in history:
        match event:
            case GoalSet():
                assert goal.set(event, by(actor))
            case GoalProgressed():
                assert goal.progress(event, by(actor))
            case GoalClosed():
                assert goal.close(event, by(actor))
    return goal


SET = GoalSet(goal=ID, text="Answer within a day", request_id="r1")
HALF = GoalProgressed(goal=ID, note="half of them", fraction=0.5, request_id="r2")
DONE = GoalClosed(goal=ID, outcome="achieved", request_id="r3")


def test_a_goal_has_a_history() -> None:
    """Set, progressed, closed, set again: every event is kept, and each command done twice is done once."""
    goal = a_goal(SET, HALF, DONE)
    assert (goal.fraction, goal.outcome) == (0.5, "achieved")
    assert not goal.close(DONE, by())
    # Retries, after what came later.
    assert not goal.set(SET, by())
    assert not goal.progress(HALF, by())
    again = GoalSet(goal=ID, text="Answer within a day", request_id="r4")
    assert goal.set(again, by())
    assert (goal.outcome, goal.fraction) == (None, 0.5)
    assert not goal.set(GoalSet(goal=ID, text="Answer within a day", request_id="r5"), by())
    assert events(goal) == [SET, HALF, DONE, again]


def test_the_same_progress_is_noted_once() -> None:
    """The same words and figure again are no news; another figure, or other words, are."""
    goal = a_goal(SET, HALF)
    for note, fraction, news in (("half of them", 0.5, False), ("half of them", None, False), ("most", None, True)):
        assert goal.progress(GoalProgressed(goal=ID, note=note, fraction=fraction), by()) is news
    assert goal.fraction == 0.5
    assert goal.progress(GoalProgressed(goal=ID, note="most", fraction=0.0), by())
    assert goal.fraction == 0.0


Command = Callable[[Goal, Context], object]


@pytest.mark.parametrize(
    "goal, command, error",
    [
        (a_goal(), lambda goal, context: goal.progress(HALF, context), NotFoundError),
        (a_goal(), lambda goal, context: goal.close(DONE, context), NotFoundError),
        (a_goal(SET, DONE), lambda goal, context: goal.progress(HALF, context), InvalidInputError),
        (
            a_goal(SET, DONE),
            lambda goal, context: goal.close(GoalClosed(goal=ID, outcome="failed"), context),
            InvalidInputError,
        ),
        (a_goal(SET), lambda goal, context: goal.set(GoalSet(goal=ID, text="No"), context), RefusedError),
        (a_goal(SET, DONE), lambda goal, context: goal.set(GoalSet(goal=ID, text=SET.text), context), RefusedError),
    ],
)
def test_what_cannot_be_done_to_a_goal(goal: Goal, command: Command, error: type[Exception]) -> None:
    """One that was never set, one that is closed, and a person's goal by an agent."""
    before = goal.version
    with pytest.raises(error):
        command(goal, by(AGENT))
    assert goal.version == before


def test_a_goal_is_named_or_is_what_it_says() -> None:
    """Names fold as keys do, texts as contents do, and the two never meet."""
    assert goal_id("x", "Reply Speed") == goal_id("y", "reply-speed")
    assert goal_id("Answer soon.") == goal_id("answer  soon") != goal_id("Answer late")
    assert goal_id("aim") != goal_id("", "aim")


def notes(conversation: Conversation, mode: Any, text: str = "", *, request_id: str = "", most: int = 100) -> bool:
    """Set notes at one moment."""
    return conversation.set_notes("s", mode, text, by(), max_bytes=most, request_id=request_id)


def test_notes_are_replaced_added_to_and_cleared() -> None:
    """What is so already writes nothing, and neither does a request that was carried out before."""
    talk = Conversation("p.conversation.x")
    assert not notes(talk, "clear")
    assert notes(talk, "append", "one", request_id="r1")
    assert notes(talk, "append", "two", request_id="r2")
    assert talk.notes == "one\ntwo"
    assert not notes(talk, "append", "one", request_id="r1")
    assert notes(talk, "replace", "three")
    assert not notes(talk, "replace", "three")
    assert not notes(talk, "append", "two", request_id="r2")
    assert notes(talk, "clear")
    assert talk.notes == ""
    assert [one.mode for one in events(talk) if isinstance(one, NotesSet)] == ["append", "append", "replace", "clear"]


def test_notes_are_bounded_as_a_whole() -> None:
    """What would make them too long is refused, by bytes; shorter ones may take their place."""
    talk = Conversation("p.conversation.x")
    assert notes(talk, "replace", "ä" * 50)
    with pytest.raises(InvalidInputError, match="102 bytes"):
        notes(talk, "append", "x")
    assert notes(talk, "replace", "x" * 100)
    assert len(events(talk)) == 2


def test_a_task_is_set_and_cleared() -> None:
    """A then B, then A by retry, leaves B."""
    talk = Conversation("p.conversation.x")
    assert not talk.clear_task("s", by())
    assert talk.set_task("s", "A", by(), request_id="r1")
    assert talk.set_task("s", "B", by())
    assert not talk.set_task("s", "A", by(), request_id="r1")
    assert not talk.set_task("s", "B", by())
    assert talk.clear_task("s", by(), request_id="r2")
    assert talk.set_task("s", "A", by(), request_id="r3")
    assert not talk.clear_task("s", by(), request_id="r2")
    assert talk.task == "A"
    assert [type(one) for one in events(talk)] == [TaskSet, TaskSet, TaskCleared, TaskSet]


def test_a_due_date_is_part_of_what_is_set() -> None:
    """The same words with another date are a change."""
    goal = a_goal(SET)
    assert goal.set(GoalSet(goal=ID, text=SET.text, due=NOW + timedelta(days=1)), by())
    assert goal.due == NOW + timedelta(days=1)
