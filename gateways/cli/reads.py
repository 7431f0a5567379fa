"""Commands that read: recall, get, list, history, why, profiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, cast

import typer

from gateways.cli import output
from gateways.cli.options import AsOf, AtLeast, Contact, Time, Visible
from gateways.cli.session import Session, verb
from gateways.provenance import answered, fenced
from umbriel import HistoryEvent, Kind, Memory, RecallReply, RecallResult, SourceLine, Visibility, WhyReply
from umbriel.answers import Length, QueryAnalysis, Synthesis, Thinking

__all__ = [
    "decision",
    "get",
    "history",
    "list_memories",
    "profiles",
    "recall",
    "show_recall",
    "show_results",
    "show_why",
    "why",
]

KindOption = Annotated[str | None, typer.Option("--kind", help="fact, event, instruction or task.")]
_UNGROUNDED = "The model named no result that this rests on."
MemoryId = Annotated[str, typer.Argument(metavar="ID", help="The id of a memory, any version of it.")]


@verb
async def recall(
    session: Session,
    *,
    query: Annotated[str, typer.Argument(help="A question, in plain words.")],
    contact: Contact = "",
    kinds: Annotated[list[str] | None, typer.Option("--kind", help="Only this kind; repeat for several.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="At most so many results; 10.")] = None,
    token_budget: Annotated[int | None, typer.Option("--token-budget", help="At most so many tokens of text.")] = None,
    min_score: Annotated[float, typer.Option("--min-score", help="Least relevance, from 0 to 1.")] = 0.0,
    as_of: AsOf = "",
    at_least: AtLeast = "",
    visibility: Visible = "complete",
    channels: Annotated[list[str] | None, typer.Option("--channel", help="Only this channel; repeat.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each channel found each result.")] = False,
    inspect: Annotated[bool, typer.Option("--inspect", help="Only look: explain, and count no access.")] = False,
    for_prompt: Annotated[bool, typer.Option("--fenced", help="As text for a prompt, fenced as data.")] = False,
    since: Time = None,
    until: Time = None,
    reference_date: Time = None,
    answer: Annotated[bool, typer.Option("--answer", help="Let a language model answer from the results.")] = False,
    thinking: Annotated[str, typer.Option("--thinking", help="low, medium or high: how much it looks at.")] = "low",
    length: Annotated[str, typer.Option("--length", help="short, medium or long: how much it says.")] = "medium",
) -> None:
    """Ask the memory a question; best answers first."""
    with output.progress(shown=not session.json and bool(as_of)) as bar:
        task = bar.add_task("replaying the past", total=None, visible=bool(as_of))
        reply = await session.client.recall(
            query,
            contact=contact,
            kinds=kinds or (),
            limit=limit,
            token_budget=token_budget,
            min_score=min_score,
            as_of=as_of,
            at_least=at_least,
            visibility=cast("Visibility", visibility),
            channels=channels or (),
            explain=explain,
            since=since,
            until=until,
            reference_date=reference_date,
            answer=answer,
            thinking=cast("Thinking", thinking),
            length=cast("Length", length),
            inspect=inspect,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    session.show(reply, lambda: output.write_text(_fenced(reply)) if for_prompt else show_recall(reply))


def _fenced(reply: RecallReply) -> str:
    """Return the results as a prompt shows them, after the answer with what it was made of."""
    return fenced([*reply.suppressions, *reply.results], before=answered(reply.answer))


def show_recall(reply: RecallReply) -> None:
    """Print the results of a recall with what found them."""
    if reply.fallback:
        output.say(f"Answered locally: {reply.fallback}.")
    if reply.analysis is not None:
        _show_analysis(reply.analysis)
    if reply.answer is not None:
        _show_answer(reply.answer)
    if reply.suppressions:
        output.table("Do not speak of", ("text", "id"), [(one.text, one.id) for one in reply.suppressions])
    if not reply.results:
        output.say("Nothing is known about that.")
        return
    show_results(f"at {reply.position}", reply.results)
    if reply.truncated:
        output.say("More was found than fits the limit or the token budget.")
    for fact in reply.facts:
        output.say(fact)
    if reply.weights:
        rows = [(name, f"{weight:g}", len(reply.channels.get(name, ()))) for name, weight in reply.weights.items()]
        output.table("Channels", ("channel", "weight", "found"), rows)


def show_results(title: str, results: Iterable[RecallResult]) -> None:
    """Print memories and messages that were found, one a row."""
    rows = [
        (number, f"{result.relevance:.2f}", result.kind, result.when, _said(result), _found_by(result), result.id)
        for number, result in enumerate(results, start=1)
    ]
    output.table(title, ("#", "relevance", "kind", "when", "text", "found by", "id"), rows)


def _show_analysis(analysis: QueryAnalysis) -> None:
    if analysis.reason:
        output.say(f"Asked in its own words only: {analysis.reason}.")
        return
    parts = {"keys": ", ".join(analysis.keys), "also": ", ".join(analysis.terms), "like": analysis.statement}
    said = "; ".join(f"{name} {part}" for name, part in parts.items() if part) or "nothing beyond its words"
    output.say(f"Looked for ({analysis.model}): {said.rstrip('.')}.")


def _show_answer(answer: Synthesis) -> None:
    if not answer.text:
        output.say(f"No answer: {answer.reason}.")
    else:
        output.say(answer.text, "bold")
        output.say(f"by {answer.model}, from {', '.join(answer.cited)}" if answer.grounded else _UNGROUNDED)
    if answer.left_out:
        output.say(f"Not read, or not whole, for the answer: {', '.join(answer.left_out)}.")


def _said(result: RecallResult) -> str:
    who = result.name or result.role
    return f"{who}: {result.text}" if who else result.text


def _found_by(result: RecallResult) -> str:
    return ", ".join(f"{hit.channel} {hit.rank}" for hit in result.channels)


@verb
async def get(
    session: Session,
    id: Annotated[str, typer.Argument(metavar="[ID]", help="The id of a memory or message.")] = "",
    key: Annotated[str, typer.Option("--key", help="The newest live memory under this key.")] = "",
    contact: Contact = "",
    kind: KindOption = None,
    as_of: AsOf = "",
    at_least: AtLeast = "",
) -> None:
    """Show one memory, by id or by key."""
    memory = await session.client.get(
        id, key=key, contact=contact, kind=cast("Kind | None", kind), as_of=as_of, at_least=at_least
    )
    session.show(memory, lambda: show_memory(memory))


def show_memory(memory: Memory) -> None:
    """Print everything known about one memory."""
    facts = {
        "id": memory.id,
        "text": memory.text,
        "address": f"{memory.address} ({_address(memory)})" if memory.address else "",
        "kind": " / ".join(filter(None, (memory.kind, memory.fact_type))),
        "status": memory.status + (" (pinned)" if memory.pinned else ""),
        "key": memory.key,
        "contact": memory.contact or "agent-wide",
        "session": memory.session,
        "author": " ".join(filter(None, (memory.author, memory.author_type and f"({memory.author_type})"))),
        "source": f"{memory.source}, confidence {memory.confidence:.2f}",
        "extraction": memory.extraction,
        "model": memory.model,
        "recorded": output.when(memory.recorded_at),
        "stated": output.when(memory.stated_at),
        "occurred": output.when(memory.occurred_at),
        "valid": " to ".join(filter(None, (output.when(memory.valid_from), output.when(memory.valid_to)))),
        "expires": output.when(memory.expires_at),
        "superseded by": memory.superseded_by,
        "copied from": f"{memory.origin.memory} in {memory.origin.profile}, {memory.origin.status}"
        if memory.origin
        else "",
        "position": memory.position,
    }
    output.table("Memory", ("field", "text"), [(name, value) for name, value in facts.items() if value])


def _address(memory: Memory) -> str:
    """Return what makes statements versions of this one: kind, scope, and key or content."""
    named = f"key {memory.key}" if memory.key and memory.kind != "event" else "its content"
    return ", ".join((memory.kind, memory.contact or "agent-wide", named))


@verb
async def list_memories(
    session: Session,
    *,
    of_session: Annotated[str, typer.Option("--session", help="Only memories of this session.")] = "",
    contact: Contact = "",
    kind: KindOption = None,
    status: Annotated[str, typer.Option("--status", help="live, superseded, forgotten, …, or all.")] = "live",
    text: Annotated[str, typer.Option("--text", help="Only what says this, in its text or key.")] = "",
    cursor: Annotated[str, typer.Option("--cursor", help="Where the page before ended.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many, up to 500.")] = 50,
    as_of: AsOf = "",
    at_least: AtLeast = "",
) -> None:
    """List memories, newest first."""
    reply = await session.client.list(
        session=of_session,
        contact=contact,
        kind=cast("Kind | None", kind),
        status=status,
        text=text,
        cursor=cursor,
        limit=limit,
        as_of=as_of,
        at_least=at_least,
    )

    def people() -> None:
        show_memories(f"Memories at {reply.position}", reply.entries)
        if reply.cursor:
            output.say(f"More: --cursor {reply.cursor}")

    session.show(reply, people)


def show_memories(title: str, memories: Iterable[Memory]) -> None:
    """Print memories, one a row."""
    rows = [
        (output.when(one.recorded_at), one.kind, one.status, one.key, one.contact, one.text, one.id) for one in memories
    ]
    output.table(title, ("recorded", "kind", "status", "key", "contact", "text", "id"), rows)


@verb
async def history(session: Session, id: MemoryId, at_least: AtLeast = "") -> None:
    """Show every version of a memory and every event that touched it."""
    reply = await session.client.history(id, at_least=at_least)

    def people() -> None:
        show_memories("Versions", reply.versions)
        _show_events(reply.events)

    session.show(reply, people)


@verb
async def why(session: Session, id: MemoryId, at_least: AtLeast = "") -> None:
    """Show why a memory says what it says: versions, decisions, and what was said."""
    reply = await session.client.why(id, at_least=at_least)
    session.show(reply, lambda: show_why(reply))


def show_why(reply: WhyReply) -> None:
    """Print a memory with its versions, decisions and source lines."""
    show_memory(reply.memory)
    show_memories("Versions", reply.versions)
    _show_events(reply.events)
    if reply.sources:
        rows = [
            (output.when(one.at or one.recorded_at), _who(one), one.text or "(forgotten)", one.id)
            for one in reply.sources
        ]
        output.table("What was said", ("at", "who", "text", "id"), rows)
    if reply.omitted:
        output.say(f"{reply.omitted} of the oldest entries do not fit one reply.")


def _who(line: SourceLine) -> str:
    return f"{line.name} ({line.role})" if line.name else line.role


def _show_events(events: Sequence[HistoryEvent]) -> None:
    rows = [
        (output.when(one.at), one.topic, decision(one.detail), f"{one.by} ({one.by_type})", one.memory, one.position)
        for one in events
    ]
    output.table("Decisions", ("at", "event", "text", "by", "memory", "position"), rows)


def decision(detail: Mapping[str, Any]) -> str:
    """Return an event's own fields in words: the rule it followed, the successor, probabilities, the model asked."""
    parts = [f"{_WORDS.get(name, name.replace('_', ' '))} {_short(detail[name])}" for name in detail if detail[name]]
    return "\n".join(parts)


#: What a field of an event is called in a sentence.
_WORDS = {"by": "replaced by", "rule": "rule:", "other": "other:", "text": "said:", "model": "asked:"}


def _short(value: object) -> str:
    """Return a field's value; of candidates that were judged each on a line of its own."""
    if isinstance(value, list):
        return "".join(f"\n  {_short(one)}" for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_short(one)}" for name, one in value.items())
    return f"{value:.2f}" if isinstance(value, float) else str(value)


@verb
async def profiles(
    session: Session,
    deleted: Annotated[bool, typer.Option("--deleted", help="Also those that are no more.")] = False,
) -> None:
    """List the profiles you may use."""
    reply = await session.client.profiles(deleted=deleted)
    rows = [
        (
            one.name,
            output.when(one.created_at),
            one.messages,
            one.memories,
            one.pending,
            one.failed,
            output.size(one.bytes),
        )
        for one in reply.profiles
    ]
    columns = ("name", "created", "messages", "memories", "pending", "failed", "on disk")

    def people() -> None:
        output.table("Profiles", columns, rows)
        if deleted:
            gone = [(one.name, output.when(one.at), one.by, "free" if one.lifted else "taken") for one in reply.deleted]
            output.table("Deleted", ("name", "deleted", "by", "text"), gone)

    session.show(reply, people)
