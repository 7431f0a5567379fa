"""Half a character: what JSON can hold and UTF-8 cannot, refused in the same words wherever it is found."""

from __future__ import annotations

from umbriel._errors import InvalidInputError

__all__ = ["EXPECTED", "MESSAGE", "lone", "lone_surrogate"]

MESSAGE = "the text holds a lone surrogate"
EXPECTED = "valid Unicode"
_SHOWN = 40


def lone(text: str, at: int) -> str:
    """Return how the surrogate at a place of a text is named."""
    return f"U+{ord(text[at]):04X} in {text[:_SHOWN]!a}"


def lone_surrogate(error: UnicodeEncodeError) -> InvalidInputError:
    """Return the error of a text that cannot be sent for it."""
    return InvalidInputError(MESSAGE, expected=EXPECTED, found=lone(error.object, error.start))
