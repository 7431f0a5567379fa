"""Errors on the command line: one line on stderr with the fix in it, and an exit code that means something."""

from __future__ import annotations

import sys

import domain.errors as domain
import umbriel

__all__ = ["EXIT_CODES", "HANDLED", "CommandError", "exit_code", "report"]

#: Exit codes by error code; 0 is success, 1 anything else, 130 an interruption.
EXIT_CODES = {
    "invalid": 2,
    "not_found": 3,
    "refused": 4,
    "erased": 4,
    "conflict": 5,
    "unavailable": 6,
    "log_full": 6,
    "building": 6,
    "damaged": 7,
    "mismatch": 7,
    "already_running": 8,
}

_FIXES = {
    "not_found": "look it up with `umbriel list` or `umbriel recall`",
    "refused": "use a principal that may do this, with its password in UMBRIEL_PASSWORD",
    "erased": "a person may lift it: `umbriel erase --lift`",
    "conflict": "read it again, then repeat the command",
    "unavailable": "check that `umbriel serve` runs on this --data or --nats, then repeat the command",
    "building": "repeat the command in a while",
    "log_full": "raise the log's size limit or free disk space",
    "damaged": "run `umbriel rebuild`, or restore the file from a backup",
    "mismatch": "use the version and settings that the data was written with, or run `umbriel rebuild`",
    "already_running": "stop the other server, or give this one another --data or --port",
}


class CommandError(umbriel.UmbrielError):
    """A command that ran but whose outcome is not what it must be."""


#: Every error that becomes one line; both trees share their codes.
HANDLED = (umbriel.UmbrielError, domain.UmbrielError)


def exit_code(error: umbriel.UmbrielError | domain.UmbrielError) -> int:
    """Return the exit code of an error."""
    return EXIT_CODES.get(error.code, 1)


def report(error: umbriel.UmbrielError | domain.UmbrielError) -> None:
    """Write one line: what went wrong, what was expected and found, and what to do about it."""
    fix = _FIXES.get(error.code)
    line(f"{error}; {fix}" if fix else str(error))


def line(text: str) -> None:
    """Write one line to stderr, whatever is in ``text``."""
    shown = " ".join(text.split())
    visible = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in shown)
    sys.stderr.write(f"umbriel: {visible}\n")
