"""What a server asks for with Retry-After."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["asked_to_wait"]


def asked_to_wait(header: str) -> float | None:
    """Return the seconds that a header's value asks to wait, a number or until a date; None where it says neither.

    The number is as it was written: it may be negative, or none that can be waited for.
    """
    try:
        return float(header)
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(header)
        return (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None
