"""Public positions: ``<stream>.<incarnation>:<sequence>``."""

from __future__ import annotations

import re

import msgspec

from domain.errors import InvalidInputError, MismatchError

__all__ = ["Positions", "is_position"]

_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+):([0-9]{1,18})\Z")


def is_position(text: str) -> bool:
    """Whether a text has the form of a position, of whatever log."""
    return _FORM.match(text) is not None


class Positions(msgspec.Struct, frozen=True):
    """Writes and reads the positions of one stream in its present incarnation."""

    stream: str
    incarnation: str

    def show(self, sequence: int) -> str:
        """Return the public form of a stream sequence."""
        return f"{self.stream}.{self.incarnation}:{sequence}"

    def read(self, position: str, *, field: str) -> int:
        """Return the sequence of a public position; empty is 0.

        Raises InvalidInputError for another form and MismatchError for another stream or incarnation,
        whose positions cannot be compared.
        """
        if not position:
            return 0
        match = _FORM.match(position)
        if match is None:
            raise InvalidInputError(
                f"{field} is not a position", expected="<stream>.<incarnation>:<sequence>", found=repr(position[:80])
            )
        if match[1] != self.stream or match[2] != self.incarnation:
            raise MismatchError(
                f"{field} is a position of another log",
                expected=f"{self.stream}.{self.incarnation}",
                found=f"{match[1]}.{match[2]}",
            )
        return int(match[3])
