"""Replies as JSON: times are RFC 3339 in UTC with microseconds, also where these are none."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import msgspec

__all__ = ["encoded", "with_micros"]

#: a time as the encoder writes it when it is a whole second; a text that says just that looks the same
_WHOLE = re.compile(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)"')
_SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?=Z\Z)")


def encoded(value: object) -> bytes:
    """Return a value as JSON. What people said is never touched, whatever it looks like."""
    raw = msgspec.json.encode(value)
    if _WHOLE.search(raw) is None:
        return raw
    return msgspec.json.encode(_told(msgspec.to_builtins(value, builtin_types=(datetime,), enc_hook=_plain)))


def with_micros(time: str) -> str:
    """Return a time that was encoded before as it is shown."""
    return _SECOND.sub(r"\g<0>.000000", time)


def _plain(value: object) -> Any:
    """Return what is JSON already, such as the events of a feed, each encoded when it was read."""
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    raise NotImplementedError(type(value).__name__)


def _told(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        case dict():
            return {name: _told(one) for name, one in value.items()}
        case list() | tuple():
            return [_told(one) for one in value]
    return value
