"""Printing: JSON for scripts, tables for people, progress on stderr."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from umbriel._json import encoded

__all__ = [
    "Progress",
    "progress",
    "say",
    "size",
    "table",
    "visible",
    "when",
    "write_json",
    "write_json_line",
    "write_text",
]

#: For tables on pipes and in files, where there is no terminal to fit.
_PIPE_WIDTH = 160
#: Characters that reorder the text around them.
_DIRECTIONS = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))


def _out() -> Console:
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


def write_json(value: object) -> None:
    """Write one indented JSON value to stdout."""
    _write(msgspec.json.format(encoded(value), indent=2))


def write_json_line(value: object) -> None:
    """Write one JSON value on one line to stdout."""
    _write(encoded(value))


def _write(raw: bytes) -> None:
    sys.stdout.write(raw.decode() + "\n")
    sys.stdout.flush()


def write_text(text: str) -> None:
    """Write text to stdout as it is, in lines of any length; what would steer a terminal is shown."""
    _write(visible(text).encode())


def say(text: str, style: str = "") -> None:
    """Print one paragraph for people."""
    _out().print(Text(visible(text), style=style))


def visible(text: str) -> str:
    """Return text that cannot steer a terminal: control and direction characters are shown, not obeyed."""
    return "".join(f"\\u{ord(char):04x}" if _steers(char) else char for char in text)


def _steers(char: str) -> bool:
    return char in _DIRECTIONS or (unicodedata.category(char) in {"Cc", "Cs"} and char not in "\n\t")


def when(moment: datetime | None) -> str:
    """Return a time as people read it, in UTC, or nothing."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if moment else ""


def size(count: int) -> str:
    """Return a number of bytes as people read it."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":  # noqa: PLR2004 - the unit's own base
            break
        value /= 1024
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under a title; the column ``text`` takes what room there is, ids are never cut."""
    shown = Table(title=title, title_justify="left", header_style="bold")
    for column in columns:
        wide = column == "text"
        shown.add_column(column, ratio=1 if wide else None, overflow="fold", min_width=20 if wide else None)
    for row in rows:
        shown.add_row(*(Text(visible(str(cell))) for cell in row))
    _out().print(shown)


def progress(*, shown: bool = True, eta: bool = False) -> Progress:
    """Return a progress display on stderr (nothing where stderr is no terminal, or not ``shown``)."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        *((TimeRemainingColumn(),) if eta else ()),
        console=Console(stderr=True),
        transient=True,
        disable=not shown or not sys.stderr.isatty(),
    )
