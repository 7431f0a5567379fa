"""``umbriel verify --export``: the file of an export checked line by line; it asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import typer

from gateways.cli import output
from umbriel import DamagedError, data_directory, sequence_of
from umbriel._export_file import ExportFile

__all__ = ["CheckedExport", "check_export"]

_LINES = 1_000
_BYTES = 4_000_000


class CheckedExport(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is whole; what its proofs show (``proven`` lines under ``seals``), and whether their key is believed.

    ``as_stored``: leaves were computed from the lines' own ciphertext. Else it is the key owner's word that the words
    of a line are those of the sealed event.
    """

    profile: str
    log: str
    events: int
    position: str
    proven: int = 0
    seals: int = 0
    public_key: str = ""
    trusted: bool = False
    as_stored: bool = False


def check_export(file: Path, data: Path | None, trust: Sequence[str], *, json: bool) -> None:
    """Check a file and say what it shows; the exit code is 1 where it has no proofs, or by a key that nobody knows."""
    with output.progress(shown=not json) as bar:
        task = bar.add_task(f"checking {file.name}", total=None)
        checked = _checked(file, data, trust, lambda done, total: bar.update(task, completed=done, total=total))
    if json:
        output.write_json(checked)
    else:
        _show(checked)
    raise typer.Exit(0 if checked.trusted else 1)


def _checked(
    file: Path, data: Path | None, trust: Sequence[str], progress: Callable[[int, int], None]
) -> CheckedExport:
    from gateways.jetstream.seal_keys import known_keys

    lines = ExportFile(file, progress)
    header, trailer = lines.header, lines.trailer
    seals = _prove(lines) if header.public_key else 0
    believed = {one.lower() for one in trust} or known_keys(data_directory(data) / "secrets")
    return CheckedExport(
        profile=header.profile,
        log=header.log,
        events=trailer.events,
        position=trailer.position,
        proven=trailer.events if header.public_key else 0,
        seals=seals,
        public_key=header.public_key,
        trusted=header.public_key.lower() in believed,
        as_stored=header.encrypted,
    )


def _prove(file: ExportFile) -> int:
    """Return how many seals a file's lines lie under; raises DamagedError naming the first line that does not hold."""
    from gateways.service.export_checking import FileProofs

    proofs, last, seals = FileProofs(file.header), sequence_of(file.header.after), 0
    for page in file.pages(most=_LINES, max_bytes=_BYTES):
        last = proofs.check_lines(page, last)
    proofs.check_end(file.trailer_line, last, file.trailer.proof)
    for seal in file.stretches():
        proofs.check_seal(seal)
        seals += 1
    if file.problem is not None:
        raise DamagedError(file.problem.message, expected=file.problem.expected, found=file.problem.found)
    return seals


def _show(checked: CheckedExport) -> None:
    output.say(f"{checked.events} events of {checked.profile} up to {checked.position}: the file is whole.")
    if not checked.public_key:
        output.say("It has no proofs: anybody could have written it. `umbriel export --proofs` makes one that has.")
        return
    words = "as stored, so nobody's word is needed" if checked.as_stored else "with the words that its key's owner read"
    output.say(f"Each line is an event that was sealed ({checked.seals} seals), {words}; none is missing.")
    known = "believed here" if checked.trusted else "which nobody here knows: --trust it if you know whose it is"
    output.say(f"Signed with {checked.public_key}, {known}.")
