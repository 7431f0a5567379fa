"""One memory of another system, and what is kept of where it comes from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from domain.errors import InvalidInputError
from domain.ids import digest128
from domain.settings import Limits
from domain.text import check_name, check_text
from gateways.importers.conversation import BadValueError, as_name, as_time, session_name

__all__ = ["Kind", "Statement", "first_of", "stated"]

Kind = Literal["fact", "event", "instruction", "task"]
_LIMITS = Limits()
#: bytes of metadata that an origin may take; the rest is for its own frame
_ORIGIN_BYTES = _LIMITS.metadata_bytes - 64
#: what goes first where an origin is too large
_DROPPED = ("history", "more", "metadata", "attributes", "episodes", "categories")


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be remembered. ``origin`` is everything else that stood there, ``dropped`` what of it had no room."""

    content: str
    contact: str = ""
    session: str = ""
    kind: Kind | None = None
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    origin: dict[str, Any] = {}
    dropped: tuple[str, ...] = ()

    @property
    def request_id(self) -> str:
        """What tells a second run of the same import: whose it is, and what it says."""
        named = (self.origin.get("system", ""), self.origin.get("id", ""), self.contact, self.session, self.content)
        return f"import:{digest128(*map(str, named))}"


def stated(
    system: str,
    item: Mapping[str, object],
    *,
    content: object,
    contact: object = None,
    default_contact: str = "",
    session: object = None,
    kind: Kind | None = None,
    valid_from: str = "",
    valid_to: str = "",
    expires_at: datetime | None = None,
    used: Collection[str] = (),
    known: Collection[str] = (),
    dropped: tuple[str, ...] = (),
) -> Statement:
    """Return a memory as it is to be remembered, or raise BadValueError for what would be refused.

    ``valid_from`` and ``valid_to`` are the names of the fields that say so. ``used`` fields are said by the statement
    itself; the ``known`` others are its origin as they stand there, and what is neither is kept under ``more``.
    """
    if not isinstance(content, str):
        raise BadValueError("a memory without text", expected="text", found=type(content).__name__)
    who, where = as_name(contact, field="contact") or default_contact, session_name(as_name(session, field="session"))
    try:
        check_text(content, field="the text", max_bytes=_LIMITS.memory_bytes)
        if who:
            check_name(who, field="the contact", max_chars=_LIMITS.contact_chars)
    except InvalidInputError as error:
        raise BadValueError(error.message, expected=error.expected, found=error.found) from error
    kept = {name: value for name, value in item.items() if name in known and value not in (None, "", [], {})}
    more = {name: value for name, value in item.items() if name not in {*known, *used} and value not in (None, "")}
    origin, large = _fitting({"system": system, **kept, **({"more": more} if more else {})})
    return Statement(
        content=content,
        contact=who,
        session=where,
        kind=kind,
        origin=origin,
        dropped=(*dropped, *large),
        valid_from=_time(item, valid_from),
        valid_to=_time(item, valid_to),
        expires_at=expires_at,
    )


def first_of(item: Mapping[str, object], *names: str) -> object:
    """Return the first of these fields that says anything; a number says something."""
    return next((item[name] for name in names if item.get(name) not in (None, "")), None)


def _time(item: Mapping[str, object], name: str) -> datetime | None:
    try:
        return as_time(item.get(name))
    except BadValueError as error:
        raise error.under(name) from error


def _fitting(origin: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return an origin that fits the metadata of a memory, and the names of what had no room."""
    dropped = []
    for name in _DROPPED:
        if len(msgspec.json.encode(origin)) <= _ORIGIN_BYTES and _depth(origin) < _LIMITS.metadata_depth:
            break
        if name in origin:
            origin = {kept: value for kept, value in origin.items() if kept != name}
            dropped.append(name)
    return origin, tuple(dropped)


def _depth(value: object) -> int:
    if isinstance(value, Mapping):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0
