"""``umbriel reflect``, ``umbriel reflections`` and ``umbriel goal``: what the profile thinks and aims at."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import typer

from gateways.cli import output
from gateways.cli.options import AtLeast, Time
from gateways.cli.session import Session, verb
from umbriel import InvalidInputError
from umbriel.goals import GoalInfo, GoalReply, ReflectionInfo, ReflectReply

__all__ = ["goal", "reflect", "reflections"]

goal = typer.Typer(help="What the profile aims at, how far it is, and how it ended.", no_args_is_help=True)

Goal = Annotated[str, typer.Argument(metavar="GOAL", help="The name or the id of a goal.")]
Cursor = Annotated[str, typer.Option("--cursor", help="Where the page before this one ended.")]
Limit = Annotated[int, typer.Option("--limit", help="How many to show.")]
_OUTCOMES = ("achieved", "dropped", "failed")
_STATUSES = ("open", "closed", *_OUTCOMES, "all")


@verb
async def reflect(
    session: Session,
    *,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What it is about.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What was thought.")],
    learnt: Annotated[
        list[str] | None, typer.Option("--learnt", help="What was learnt, a memory each; repeat for several.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Return when it can be found by every channel.")] = False,
) -> None:
    """Record a reflection, and remember what was learnt."""
    reply = await session.client.reflect(topic, text, learnings=learnt or (), wait=wait)
    session.show(reply, lambda: _show_reflected(reply))


def _show_reflected(reply: ReflectReply) -> None:
    output.say("Recorded." if reply.recorded else "Recorded before; nothing was written.")
    for one in reply.learnings:
        output.say(f"{one.outcome}: {one.text or '(rejected by a person)'} {one.memory}".rstrip())


@verb
async def reflections(
    session: Session,
    *,
    topic: Annotated[str, typer.Option("--topic", help="Only on this topic.")] = "",
    day: Annotated[str, typer.Option("--day", help="Only of this UTC day, as 2026-01-31.")] = "",
    cursor: Cursor = "",
    limit: Limit = 50,
    at_least: AtLeast = "",
) -> None:
    """List what was reflected on, newest first."""
    reply = await session.client.list_reflections(topic=topic, day=day, cursor=cursor, limit=limit, at_least=at_least)

    def people() -> None:
        rows = [(one.day, one.topic, one.contact, one.author, _text_of(one)) for one in reply.reflections]
        output.table("Reflections", ("day", "topic", "contact", "by", "text"), rows)
        if reply.cursor:
            output.say(f"More with --cursor {reply.cursor}")

    session.show(reply, people)


def _text_of(one: ReflectionInfo) -> str:
    learnt = [f"- {learning.text}" for learning in one.learnings if learning.text and learning.text != one.text]
    return "\n".join((one.text, *learnt))


@verb
async def set_goal(
    session: Session,
    *,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to aim at.")],
    name: Annotated[str, typer.Option("--name", help="A short name; other words under it change the goal.")] = "",
    due: Time = None,
) -> None:
    """Set a goal, change what it says, or open it again."""
    _show(session, await session.client.set_goal(text, name=name, due=due))


@verb
async def progress(
    session: Session,
    *,
    named: Goal,
    note: Annotated[str, typer.Argument(metavar="[NOTE]", help="How far it is, in words.")] = "",
    fraction: Annotated[float | None, typer.Option("--fraction", help="How far it is, 0 to 1.")] = None,
) -> None:
    """Note how far a goal is."""
    _show(session, await session.client.progress_goal(named, note, fraction=fraction))


@verb
async def close(
    session: Session,
    *,
    named: Goal,
    outcome: Annotated[str, typer.Option("--outcome", help="achieved, dropped or failed.")] = "achieved",
    note: Annotated[str, typer.Option("--note", help="What there is to say about it.")] = "",
) -> None:
    """End a goal."""
    _check(outcome, "outcome", _OUTCOMES)
    ended = cast("Literal['achieved', 'dropped', 'failed']", outcome)
    _show(session, await session.client.close_goal(named, ended, note=note))


@verb
async def list_goals(
    session: Session,
    *,
    status: Annotated[str, typer.Option("--status", help="open, closed, achieved, dropped, failed or all.")] = "open",
    cursor: Cursor = "",
    limit: Limit = 50,
    at_least: AtLeast = "",
) -> None:
    """List goals, those set last first."""
    _check(status, "status", _STATUSES)
    wanted = cast("Literal['open', 'closed', 'achieved', 'dropped', 'failed', 'all']", status)
    reply = await session.client.list_goals(status=wanted, history=0, cursor=cursor, limit=limit, at_least=at_least)

    def people() -> None:
        rows = [(one.name or one.id, one.state, _percent(one), output.when(one.due), one.text) for one in reply.goals]
        output.table("Goals", ("goal", "state", "done", "due", "text"), rows)
        if reply.cursor:
            output.say(f"More with --cursor {reply.cursor}")

    session.show(reply, people)


@verb
async def show(session: Session, *, named: Goal, at_least: AtLeast = "") -> None:
    """Show one goal with its history."""
    reply = await session.client.list_goals(goal=named, history=100, at_least=at_least)

    def people() -> None:
        if not reply.goals:
            output.say("No such goal.")
        for one in reply.goals:
            _show_goal(one)

    session.show(reply, people)


def _show(session: Session, reply: GoalReply) -> None:
    def people() -> None:
        output.say("Written." if reply.changed else "It is so already; nothing was written.")
        _show_goal(reply.goal)

    session.show(reply, people)


def _show_goal(one: GoalInfo) -> None:
    output.say(
        f"{one.name or one.id} ({one.state}{', ' + _percent(one) if one.fraction is not None else ''}): {one.text}"
    )
    rows = [
        (
            output.when(event.at),
            event.topic.partition(".")[2],
            event.author,
            event.outcome or event.fraction,
            event.text,
        )
        for event in one.history
    ]
    output.table(
        "History", ("when", "what", "by", "how far", "text"), [["" if c is None else c for c in r] for r in rows]
    )
    if one.omitted:
        output.say(f"{one.omitted} older events are not shown.")


def _percent(one: GoalInfo) -> str:
    return "" if one.fraction is None else f"{one.fraction:.0%}"


def _check(value: str, what: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidInputError(f"unknown {what}", expected=", ".join(known), found=repr(value[:40]))


for _name, _command in {
    "set": set_goal,
    "progress": progress,
    "close": close,
    "list": list_goals,
    "show": show,
}.items():
    goal.command(_name)(_command)
