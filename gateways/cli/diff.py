"""The command ``diff``: what was learned, changed and lost between two points, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, cast

import msgspec
import typer

from gateways.cli import output
from gateways.cli.options import AtLeast, Contact, point_of
from gateways.cli.session import Session, verb
from umbriel import Kind
from umbriel.diffs import Difference, DiffReply, FieldChange, Replaced, What

__all__ = ["diff", "markdown"]

_PAGE = 500
_TITLES: dict[What, str] = {
    "learned": "Learned",
    "changed": "Changed",
    "restored": "Restored",
    "ended": "Ended",
    "forgotten": "Forgotten",
    "adjusted": "Adjusted",
}
_FORGOTTEN = "(forgotten)"
_BELOW = "\n  "


@verb
async def diff(
    session: Session,
    start: Annotated[
        str, typer.Option("--from", parser=point_of, metavar="TIME", help="A time of recording, or a position.")
    ] = "",
    end: Annotated[
        str, typer.Option("--to", parser=point_of, metavar="TIME", help="The later point; now when not given.")
    ] = "",
    contact: Contact = "",
    kind: Annotated[str | None, typer.Option("--kind", help="fact, event, instruction or task.")] = None,
    at_least: AtLeast = "",
) -> None:
    """Show what the profile learned, changed, forgot and trusts differently between two points."""
    pages: list[DiffReply] = []
    while not pages or pages[-1].cursor:
        cursor = pages[-1].cursor if pages else ""
        pages.append(
            await session.client.diff(
                start,
                end,
                contact=contact,
                kind=cast("Kind | None", kind),
                cursor=cursor,
                limit=_PAGE,
                at_least=at_least,
            )
        )
    whole = msgspec.structs.replace(pages[-1], entries=[entry for page in pages for entry in page.entries])
    session.show(whole, lambda: output.write_text(markdown(session.client.profile, whole)))


def markdown(profile: str, reply: DiffReply) -> str:
    """Return the differences as Markdown, one section for each kind of them."""
    return "\n".join(_lines(profile, reply))


def _lines(profile: str, reply: DiffReply) -> Iterator[str]:
    yield f"# {profile}: {_point(reply.start_at, reply.start)} → {_point(reply.end_at, reply.end)}"
    if not reply.entries:
        yield "\nNothing is different."
    for what, title in _TITLES.items():
        entries = [entry for entry in reply.entries if entry.what == what]
        if entries:
            yield f"\n## {title} ({len(entries)})\n"
            yield from (f"- {_entry(entry)}" for entry in entries)


def _point(at: Any, position: str) -> str:
    return f"{output.when(at)} ({position})" if not position.endswith(":0") else "the beginning"


def _entry(entry: Difference) -> str:
    about = [entry.kind, entry.contact or "agent-wide", *([f"key {entry.key}"] if entry.key else [])]
    decided = " by ".join(filter(None, (output.when(entry.at), entry.actor)))
    lines = [_text(entry.text), *map(_was, entry.replaced), *map(_field, entry.fields)]
    if entry.what == "ended":
        lines.append(f"{entry.status} by {entry.by}" if entry.by else entry.status)
    lines.append(", ".join((*about, *([decided] if decided else []), f"`{entry.id}`")))
    return _BELOW.join(lines)


def _text(text: str) -> str:
    """Return a text in quotes on one line: it is data, and begins no heading or list of its own."""
    return f'"{" ".join(text.split())}"' if text else _FORGOTTEN


def _was(old: Replaced) -> str:
    sure = "" if old.probability is None else f" {old.probability:.2f}"
    how = ", ".join(filter(None, (old.rule + sure, old.model)))
    return f"was: {_text(old.text)} ({how})" if how else f"was: {_text(old.text)}"


def _field(change: FieldChange) -> str:
    return f"{change.field.replace('_', ' ')}: {_value(change.old)} → {_value(change.new)}"


def _value(value: Any) -> str:
    match value:
        case None:
            return "never"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.2f}"
        case list():
            return _listed(value)
        case _:
            return str(value)


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values)) or "none"
