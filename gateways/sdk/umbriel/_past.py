"""Points of the past, as they go over the wire."""

from __future__ import annotations

from datetime import datetime

__all__ = ["Point", "wire_point"]

#: A time of recording, or a position from an earlier reply; empty is now.
Point = str | datetime


def wire_point(point: Point) -> str:
    """Return a point as the service reads it; what is no point is the service's to refuse."""
    return point.isoformat() if isinstance(point, datetime) else point
