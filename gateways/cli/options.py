"""Options that several commands share."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from gateways.importers.conversation import BadValueError, as_time

__all__ = [
    "AsOf",
    "AtLeast",
    "Contact",
    "Data",
    "Json",
    "Nats",
    "Principal",
    "Profile",
    "Time",
    "Visible",
    "point_of",
    "time_of",
]


def time_of(text: str) -> datetime:
    """Return an ISO 8601 time (UTC when it names no zone), or raise a usage error."""
    try:
        moment = as_time(text)
    except BadValueError as error:
        raise typer.BadParameter(f"{error.message}, expected {error.expected}, found {error.found}") from error
    if moment is None:
        raise typer.BadParameter("an empty time, expected ISO 8601")
    return moment


def point_of(text: str) -> str:
    """Return a time as the service takes it, in UTC when it names no zone; what is no time may be a position."""
    try:
        at = as_time(text)
    except BadValueError:
        return text
    return "" if at is None else at.isoformat()


_PLACE = "Where the memory is"

Profile = Annotated[
    str | None, typer.Option("--profile", envvar="UMBRIEL_PROFILE", help="The profile; `default` when not given.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, for scripts.")]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        envvar="UMBRIEL_DATA",
        rich_help_panel=_PLACE,
        help="A data directory; joins the server that runs on it or starts one that stops by itself.",
    ),
]
Nats = Annotated[
    str | None,
    typer.Option("--nats", envvar="UMBRIEL_NATS", rich_help_panel=_PLACE, help="The NATS URL of a running service."),
]
Principal = Annotated[
    str,
    typer.Option(
        "--principal",
        envvar="UMBRIEL_PRINCIPAL",
        rich_help_panel=_PLACE,
        help="Who speaks; with --nats its password is taken from UMBRIEL_PASSWORD, or an nkey from UMBRIEL_NKEY_SEED.",
    ),
]
Contact = Annotated[str, typer.Option("--contact", help="The contact this is about.")]
AtLeast = Annotated[
    str, typer.Option("--at-least", help="A position from an earlier answer that this one must have reached.")
]
AsOf = Annotated[
    str, typer.Option("--as-of", parser=point_of, metavar="TIME", help="As of a time of recording, or of a position.")
]
Visible = Annotated[str, typer.Option("--visibility", help="complete, or keyword: do not wait for vectors.")]
Time = Annotated[datetime | None, typer.Option(parser=time_of, metavar="TIME", help="ISO 8601; UTC without a zone.")]
