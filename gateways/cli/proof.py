"""``umbriel proof``, and what ``umbriel verify --proof`` does with one: it asks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gateways.cli import output
from gateways.cli.session import Session, verb
from umbriel import DamagedError, InvalidInputError, data_directory

__all__ = ["Checked", "check", "proof"]


class Checked(msgspec.Struct, frozen=True):
    """A proof that holds: what was where in which log, the seal's key, and whether that key is believed here."""

    valid: bool
    trusted: bool
    public_key: str
    stream: str
    position: int
    subject: str
    event_id: str
    recorded_at: str
    seal: int


@verb
async def proof(
    session: Session,
    id: Annotated[str, typer.Argument(metavar="ID", help="A memory, a message, or an event's position or id.")],
    target: Annotated[Path | None, typer.Option("--output", "-o", help="A file; stdout when not given.")] = None,
) -> None:
    """Print a proof that something was in the log when it was sealed, with all that is needed to check it."""
    found = await session.client.proof(id)
    if target is None:
        output.write_json(found)
        return
    try:
        target.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    except OSError as error:
        raise InvalidInputError(f"cannot write {target}", expected="a writable file", found=str(error)) from error
    said = f"Position {found.position} lies under seal {found.seal.number} by {found.seal.public_key}: {target}."
    session.show(found, lambda: output.say(said))


def check(file: Path, data: Path | None, trust: Sequence[str], *, json: bool) -> None:
    """Check a proof and say what it proves; the exit code is 1 when it holds, but nobody knows the key."""
    from domain.sealing import Proof, check_proof
    from gateways.jetstream.seal_keys import check_signature, known_keys

    try:
        given = msgspec.json.decode(file.read_bytes(), type=Proof)
    except OSError as error:
        raise InvalidInputError(f"cannot read {file}", expected="a proof", found=str(error)) from error
    except msgspec.DecodeError as error:
        raise DamagedError(f"{file} is no proof", expected="what `umbriel proof` prints", found=str(error)) from error
    check_proof(given, check_signature)
    believed = {one.lower() for one in trust} or known_keys(data_directory(data) / "secrets")
    seal, headers = given.seal, {name.lower(): value for name, value in given.headers.items()}
    checked = Checked(
        valid=True,
        trusted=seal.public_key in believed,
        public_key=seal.public_key,
        stream=seal.stream,
        position=given.position,
        subject=given.subject,
        event_id=headers.get("umbriel-event-id", ""),
        recorded_at=headers.get("umbriel-recorded-at", ""),
        seal=seal.number,
    )
    if json:
        output.write_json(checked)
    else:
        _show(checked)
    raise typer.Exit(0 if checked.trusted else 1)


def _show(checked: Checked) -> None:
    output.say(
        f"Event {checked.event_id} of {checked.recorded_at} lies at position {checked.position} of {checked.stream}, "
        f"as sealed by seal {checked.seal}."
    )
    if checked.trusted:
        output.say(f"Signed with {checked.public_key}, which is believed here.")
    else:
        output.say(f"Signed with {checked.public_key}, which nobody here knows: --trust it if you know whose it is.")
