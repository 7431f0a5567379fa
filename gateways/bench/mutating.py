"""``umbriel bench mutate``: whether what is corrected, withdrawn and purged is gone, and everything else is not."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from gateways.bench import show
from gateways.bench.mutations import Case, Given, read_cases
from gateways.bench.place import Place
from umbriel import ConflictError, InvalidInputError, Message, TouchedReply, Umbriel, UmbrielError, sequence_of

__all__ = ["Group", "MutationReport", "measure_mutations", "mutate", "show_mutations"]

#: cases at once; each has a contact of its own
_AT_ONCE = 4
_LIMIT = 50
_PIPE_WIDTH = 120
_MOST = 100.0
_TOTAL, _HELD = "total", "held out"


class Outcome(msgspec.Struct, frozen=True):
    """What came of one case: nothing wrong, or why it failed."""

    case: Case
    wrong: str = ""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """How many of some cases passed, in per cent, all of them and those held out."""

    name: str
    cases: int
    passed: int
    rate: float
    held: int
    held_rate: float | None


class MutationReport(msgspec.Struct, frozen=True, kw_only=True):
    """A run over a file of cases: kinds, the weakest first, then the totals; and why each failed."""

    file: str
    kinds: list[Group]
    totals: list[Group]
    failed: dict[str, str]


def mutate(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Cases as JSON Lines; those that ship when not given.")
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Also print which cases failed, and why.")] = False,
    skip_held: Annotated[bool, typer.Option("--skip-held", help="Leave out the cases that are held out.")] = False,
    gate: Annotated[
        list[str] | None,
        typer.Option("--gate", metavar="NAME=PERCENT", help="Fail when total, held or a kind is less; repeatable."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Measure on this data directory; a temporary one when not given.")
    ] = None,
    nats: Annotated[str | None, typer.Option("--nats", help="Measure the running service at this NATS URL.")] = None,
    principal: Annotated[
        str, typer.Option("--principal", envvar="UMBRIEL_PRINCIPAL", help="Who asks; with --nats see UMBRIEL_PASSWORD.")
    ] = "local",
) -> None:
    """Measure whether mutations change what they mean and nothing else, each case with a contact of its own.

    A line has name, kind, setup (remember or say, key, contact), operation (verb, description or content, key), checks
    (expected, forbidden, query, error), and may have held, contact, history and elsewhere.
    """
    cases = [case for case in read_cases(file) if not (skip_held and case.held)]
    gates = [_gate(text, cases) for text in gate or []]
    report = asyncio.run(_run(Place(data=data, nats=nats, principal=principal), cases, file))
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
    else:
        show_mutations(report, failed=failed)
    if lines := [line for name, least in gates if (line := _below(report, name, least))]:
        sys.stderr.writelines(f"umbriel: gate failed: {line}\n" for line in lines)
        raise typer.Exit(1)


async def _run(place: Place, cases: Sequence[Case], file: Path | None) -> MutationReport:
    with show.progress() as bar:
        task = bar.add_task("mutating", total=len(cases))
        async with place.connected() as client:
            return await measure_mutations(client, cases, file, lambda: bar.advance(task))


async def measure_mutations(
    client: Umbriel, cases: Sequence[Case], file: Path | None = None, done: Callable[[], None] = lambda: None
) -> MutationReport:
    """Return the report of a run in a profile of its own."""
    own = client.for_profile(f"mutations-{uuid.uuid4().hex[:12]}")
    turns = asyncio.Semaphore(_AT_ONCE)

    async def carry_out(case: Case) -> Outcome:
        async with turns:
            found = await _outcome(own, case)
        done()
        return found

    outcomes = await asyncio.gather(*map(carry_out, cases))
    return _report(outcomes, file.name if file is not None else "our cases")


async def _outcome(client: Umbriel, case: Case) -> Outcome:
    positions = [await _know(client, case, given) for given in case.setup]
    wrong = f"expected the error {case.checks.error}" if case.checks.error else ""
    try:
        positions.append(await _operate(client, case))
    except UmbrielError as error:
        wrong = "" if error.code == case.checks.error else str(error)
    return Outcome(case, wrong or await _missed(client, case, max(positions, key=sequence_of)))


def _contact(case: Case, contact: str = "") -> str:
    """Return the contact that stands for one of the case's, which no other case shares."""
    return f"{case.name}/{contact or case.contact}".rstrip("/")


async def _know(client: Umbriel, case: Case, given: Given) -> str:
    """Write what is known before; returns its position."""
    contact = _contact(case, given.contact)
    if given.say:
        said = [Message(role="user", content=given.say)]
        return (await client.ingest(said, session=f"{case.name[:50]}-said", contact=contact, wait=True)).position
    reply = await client.remember(
        given.remember,
        key=given.key,
        contact=contact,
        valid_from=given.valid_from,
        valid_to=given.valid_to,
        wait=True,
    )
    return reply.position


async def _operate(client: Umbriel, case: Case) -> str:
    """Carry out the operation; returns its position. Raises ConflictError where the preview showed something else."""
    asked, contact = case.operation, _contact(case, case.operation.contact)
    if asked.verb == "remember":
        return (await client.remember(asked.content, key=asked.key, contact=contact, wait=True)).position
    if asked.verb == "ingest":
        said = [Message(role="user", content=asked.content)]
        return (await client.ingest(said, session=f"{case.name[:50]}-asked", contact=contact, wait=True)).position

    async def ask(*, preview: bool) -> TouchedReply:
        named = {"description": asked.description, "contact": contact, "all": asked.all, "preview": preview}
        if asked.verb == "correct":
            return await client.correct(content=asked.content, **named)  # type: ignore[arg-type]
        if asked.verb == "forget":
            return await client.forget(with_sources=asked.with_sources, **named)  # type: ignore[arg-type]
        reply: TouchedReply = await getattr(client, asked.verb)(**named)
        return reply

    shown, made = await ask(preview=True), await ask(preview=False)
    if set(shown.touched) != set(made.touched):
        raise ConflictError(
            "not what the preview showed", expected=", ".join(shown.touched), found=", ".join(made.touched)
        )
    return made.position


async def _missed(client: Umbriel, case: Case, at: str) -> str:
    """Return the first check that does not hold at a position."""
    contact = _contact(case, case.operation.contact)
    listed = [one.text for one in (await client.list(contact=contact, at_least=at)).entries]
    recalled: list[str] = []
    if case.checks.query:
        found = await client.recall(case.checks.query, contact=contact, limit=_LIMIT, at_least=at)
        recalled = [one.text for one in found.results]
    ended = [one.text for one in (await client.list(contact=contact, status="all")).entries] if case.history else []
    lost = _first(case.checks.expected, lambda text: not _in(text, [*listed, *recalled]))
    left = _first(case.checks.forbidden, lambda text: _in(text, [*listed, *recalled, *ended]))
    if case.elsewhere is not None and not lost:
        other = await client.list(contact=_contact(case, case.elsewhere.contact), at_least=at)
        lost = _first(case.elsewhere.expected, lambda text: not _in(text, [one.text for one in other.entries]))
    if lost:
        return f"lost: {lost}; listed: {listed}"
    if left:
        return f"still there: {left}; listed: {listed}, recalled: {[one for one in recalled if left in one]}"
    if case.checks.query and not any(_in(text, recalled) for text in case.checks.expected):
        return f"recall finds nothing of what must stay; recalled: {recalled}"
    return ""


def _in(text: str, texts: Iterable[str]) -> bool:
    return any(text in one for one in texts)


def _first(texts: Iterable[str], holds: Callable[[str], bool]) -> str:
    return next((text for text in texts if holds(text)), "")


def _report(outcomes: Sequence[Outcome], file: str) -> MutationReport:
    kinds = sorted({one.case.kind for one in outcomes})
    groups = [_group(kind, [one for one in outcomes if one.case.kind == kind]) for kind in kinds]
    sorts = sorted({kind.partition(".")[0] for kind in kinds})
    totals = [_group(sort, [one for one in outcomes if one.case.kind.partition(".")[0] == sort]) for sort in sorts]
    return MutationReport(
        file=file,
        kinds=sorted(groups, key=lambda one: (one.rate, one.name)),
        totals=[*totals, _group(_TOTAL, outcomes)],
        failed={one.case.name: one.wrong for one in outcomes if one.wrong},
    )


def _group(name: str, outcomes: Sequence[Outcome]) -> Group:
    held = [one for one in outcomes if one.case.held]
    return Group(
        name=name,
        cases=len(outcomes),
        passed=sum(not one.wrong for one in outcomes),
        rate=_rate(outcomes) or 0.0,
        held=len(held),
        held_rate=_rate(held),
    )


def _rate(outcomes: Sequence[Outcome]) -> float | None:
    return round(100 * sum(not one.wrong for one in outcomes) / len(outcomes), 1) if outcomes else None


def _gate(text: str, cases: Sequence[Case]) -> tuple[str, float]:
    name, _, least = text.partition("=")
    known = {_TOTAL, "held"} | {one.kind for one in cases} | {one.kind.partition(".")[0] for one in cases}
    try:
        percent = float(least)
    except ValueError:
        percent = -1.0
    if name not in known or not 0 <= percent <= _MOST:
        raise InvalidInputError("not a gate", expected="total, held or a kind, =PERCENT", found=ascii(text)[:60])
    return name, percent


def _below(report: MutationReport, name: str, least: float) -> str:
    if name == "held":
        found = report.totals[-1].held_rate
    else:
        found = next(one.rate for one in [*report.totals, *report.kinds] if one.name == name)
    if found is None:
        return f"{name} was not measured, the gate is {least:g}"
    return f"{name} is {found:.1f}, the gate is {least:g}" if found < least else ""


def show_mutations(report: MutationReport, *, failed: bool = False) -> None:
    """Print a report: a table of kinds, the weakest first, and the totals; and which cases failed where asked for."""
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    table = Table(title=f"{report.file}, per cent passed", title_justify="left", header_style="bold")
    table.add_column("kind", no_wrap=True)
    for name in ("cases", "passed", "rate", _HELD, "rate held out"):
        table.add_column(name, justify="right", no_wrap=True)
    for at, one in enumerate([*report.kinds, *report.totals]):
        held = "-" if one.held_rate is None else f"{one.held_rate:.1f}"
        cells = (str(one.cases), str(one.passed), f"{one.rate:.1f}", str(one.held), held)
        if at == len(report.kinds):
            table.add_section()
        table.add_row(one.name, *cells, style="bold" if one.name == _TOTAL else "")
    console.print(table)
    if failed:
        for name, wrong in report.failed.items():
            console.print(f"{name}: {wrong}", soft_wrap=True)
