"""The live memories of a profile as Markdown: by contact and kind, the same text for the same memories."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import datetime
from itertools import groupby

from gateways.cli import output
from umbriel import Memory, Umbriel

__all__ = ["live_memories", "markdown"]

_PAGE = 500
_KINDS = {"fact": "Facts", "instruction": "Instructions", "event": "Events", "task": "Tasks"}
_ORDER = {kind: number for number, kind in enumerate(_KINDS)}
#: What would be a mark of Markdown's; a name or a statement is only ever text.
_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+\-!|~&])")


async def live_memories(client: Umbriel, contact: str) -> AsyncIterator[Memory]:
    """Yield every live memory of a contact with what is agent-wide, or (``*``) of all."""
    cursor = ""
    while True:
        page = await client.list(contact=contact, limit=_PAGE, cursor=cursor)
        for one in page.entries:
            yield one
        if not page.cursor:
            return
        cursor = page.cursor


def markdown(profile: str, memories: Iterable[Memory]) -> Iterator[str]:
    """Yield the lines: what is agent-wide first, then each contact's, each with its dates, trust and sources."""
    ordered = sorted(
        memories, key=lambda one: (one.contact, _ORDER.get(one.kind, len(_ORDER)), one.key, one.text, one.id)
    )
    yield f"# Memories of {_plain(profile)}"
    yield ""
    yield f"{len(ordered)} live memories."
    for contact, of_contact in groupby(ordered, key=lambda one: one.contact):
        yield ""
        yield f"## {_plain(contact)}" if contact else "## For everybody"
        for kind, of_kind in groupby(of_contact, key=lambda one: one.kind):
            yield ""
            yield f"### {_KINDS.get(kind, kind)}"
            yield ""
            for one in of_kind:
                yield from _memory(one)


def _memory(one: Memory) -> Iterator[str]:
    named = f"**{_plain(one.key)}**: " if one.key else ""
    yield f"- {named}{_plain(one.text)}"
    yield f"  - {'; '.join(_dates(one))}"
    trust = f"confidence {one.confidence:.2f}, {one.source}, by {_plain(one.author)} ({one.author_type})"
    yield f"  - {trust}{', pinned' if one.pinned else ''}"
    yield f"  - id `{one.id}`"
    if one.sources:
        yield f"  - from {', '.join(f'`{source}`' for source in one.sources)}"
    if one.origin is not None:
        yield f"  - copied from `{one.origin.memory}` of {_plain(one.origin.profile)}"


def _dates(one: Memory) -> Iterator[str]:
    yield f"recorded {_date(one.recorded_at)}"
    named = {
        "said": one.stated_at,
        "happened": one.occurred_at,
        "valid from": one.valid_from,
        "valid to": one.valid_to,
        "expires": one.expires_at,
    }
    yield from (f"{name} {_date(moment)}" for name, moment in named.items() if moment is not None)


def _date(moment: datetime) -> str:
    return output.when(moment)


def _plain(text: str) -> str:
    """Return text that is nothing but text in Markdown, on lines of the list item that it stands in."""
    lines = (_MARKS.sub(r"\\\1", output.visible(line).strip()) for line in text.splitlines())
    return "  \n  ".join(line for line in lines if line)
