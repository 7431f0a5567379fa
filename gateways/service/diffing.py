"""The verb ``diff``: what a profile learned, changed and lost between two points, from the states the ledger keeps."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime

import msgspec

from domain.errors import InvalidInputError
from domain.grants import Reach
from domain.settings import Limits
from domain.text import check_name
from gateways.service.context import Core
from gateways.service.fitting import how_many_fit
from gateways.service.preferences import shown_then
from gateways.service.profiles import OpenProfile
from gateways.service.reading import Point, check_point, point_in, reach_point, reading
from gateways.service.validate import check_limit
from projections.ledger import AsOf, Changed, Ledger, State
from projections.ledger.records import micros, moment
from umbriel.diffs import Difference, DiffReply, DiffRequest, FieldChange, Replaced, What

__all__ = ["diff"]

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS = ("confidence", "pinned", "expires_at", "author_type", "metadata", "sources")
#: The events that decide about each kind of difference, of which the last is named.
_DECIDED: dict[What, frozenset[str]] = {
    "learned": frozenset({"memory.remembered"}),
    "changed": frozenset({"memory.remembered", "memory.restored"}),
    "restored": frozenset({"memory.restored", "memory.expiry_set"}),
    "ended": frozenset({"memory.superseded", "memory.retracted", "memory.rejected", "memory.expired"}),
    "forgotten": frozenset({"memory.forgotten"}),
    "adjusted": frozenset(
        f"memory.{what}" for what in ("decayed", "pinned", "unpinned", "expiry_set", "revised", "consolidated")
    ),
}


class _Cursor(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended, and the later point, which is not asked for again: it may have been now."""

    after: int
    position: int
    clock: int


class _Span(msgspec.Struct, frozen=True):
    """Two points of the past, the second not before the first."""

    start: AsOf
    end: AsOf
    after: int = 0


async def diff(core: Core, reach: Reach, profile: str, request: DiffRequest) -> DiffReply:
    """Return one page of differences; raises InvalidInputError for points that are none or in the wrong order."""
    _check(request, core.settings.limits)
    start = check_point(core, request.start, field="start") if request.start else 0
    cursor = _read_cursor(request.cursor) if request.cursor else None
    end: Point | AsOf = check_point(core, request.end, field="end") if request.end else datetime.now(UTC)
    if cursor is not None:
        end = AsOf(cursor.position, moment(cursor.clock))
    for point, field in ((start, "start"), (end.position if isinstance(end, AsOf) else end, "end")):
        await reach_point(core, point, field=field)

    async def work(opened: OpenProfile) -> DiffReply:
        return await core.in_thread(lambda: _page(core, reach, opened.views.ledger, request, start, end, cursor))

    return await reading(core, profile, request.at_least, work)


def _check(request: DiffRequest, limits: Limits) -> None:
    check_limit(request.limit, limits.list_limit)
    if request.contact:
        check_name(request.contact, field="contact", max_chars=limits.contact_chars)


def _page(
    core: Core,
    reach: Reach,
    ledger: Ledger,
    request: DiffRequest,
    start: Point,
    end: Point | AsOf,
    cursor: _Cursor | None,
) -> DiffReply:
    span = _span(core, ledger, start, end, cursor)
    found = ledger.changed(
        span.start,
        span.end,
        contact=request.contact or None,
        kind=request.kind,
        within=reach.reads,
        since=shown_then(ledger, span.end),
        after=span.after,
        limit=request.limit + 1,
    )
    page = found[: request.limit]
    told = [(one.position, entry) for one in page if (entry := _difference(core, one, span, reach)) is not None]
    entries = [entry for _, entry in told]
    after = page[-1].position if len(found) > len(page) else 0
    fits = how_many_fit(entries, core.settings.limits.reply_bytes)
    if fits < len(entries):
        entries, after = entries[:fits], told[fits - 1][0]
    return DiffReply(
        entries=entries,
        start=core.positions.show(span.start.position),
        end=core.positions.show(span.end.position),
        start_at=span.start.clock,
        end_at=span.end.clock,
        cursor=_cursor(after, span.end) if after else "",
    )


def _span(core: Core, ledger: Ledger, start: Point, end: Point | AsOf, cursor: _Cursor | None) -> _Span:
    # What was before the profile is nothing, which is a point to compare with.
    before = AsOf(0, start) if isinstance(start, datetime) else AsOf(0, _BEGINNING)
    one = ledger.as_of(start) or before
    other = end if isinstance(end, AsOf) else point_in(core, ledger, end, field="end")
    if one.position > other.position or one.clock > other.clock:
        raise InvalidInputError(
            "the points are in the wrong order",
            expected=f"an end from {core.positions.show(one.position)}, {one.clock.isoformat()}",
            found=f"{core.positions.show(other.position)}, {other.clock.isoformat()}",
        )
    return _Span(one, other, cursor.after if cursor else 0)


# -- what is different --------------------------------------------------------------------------


def _difference(core: Core, one: Changed, span: _Span, reach: Reach) -> Difference | None:
    """Return how a version is different, None where it comes to nothing or is told with what replaced it."""
    before = "" if one.before is None else one.before.status_at(span.start.clock)
    after = one.after.status_at(span.end.clock)
    what = _what(one, before, after, span)
    if what is None:
        return None
    event = next((event for event in reversed(one.events) if event.topic in _DECIDED[what]), None)
    return Difference(
        what=what,
        id=one.id,
        kind=one.kind,
        status=after,
        text=one.text,
        key=one.key,
        contact=one.scope or "",
        replaced=[_replaced(each) for each in one.replaced if reach.sees(each.scope)] if what == "changed" else [],
        by=one.after.superseded_by if what == "ended" and after == "superseded" else "",
        fields=_fields(one.before, one.after) if what in {"adjusted", "restored"} else [],
        at=event.at if event else one.after.expires_at if after == "expired" else None,
        actor=event.actor if event else "",
        actor_type=event.actor_type if event else "",
        position=core.positions.show(event.position) if event else "",
    )


def _what(one: Changed, before: str, after: str, span: _Span) -> What | None:
    if before == "forgotten":
        return None
    if after == "forgotten":
        return "forgotten"
    if after == "live":
        if before == "live":
            return "adjusted" if _fields(one.before, one.after) else None
        if one.replaced:
            return "changed"
        return "restored" if before else "learned"
    # What came and went meanwhile comes to nothing.
    if not before or before == after or _is_told(one, before, span):
        return None
    return "ended"


def _is_told(one: Changed, before: str, span: _Span) -> bool:
    """Whether a version is told with the one that stands in its place now and did not live before."""
    new = one.successor
    if before != "live" or new is None or (new.kind, new.scope) != (one.kind, one.scope):
        return False
    was = new.before is not None and new.before.status_at(span.start.clock) == "live"
    return not was and new.after.status_at(span.end.clock) == "live"


def _fields(before: State | None, after: State) -> list[FieldChange]:
    if before is None:
        return []
    pairs = ((field, getattr(before, field), getattr(after, field)) for field in _FIELDS)
    return [FieldChange(field=field, old=old, new=new) for field, old, new in pairs if old != new]


def _replaced(one: Changed) -> Replaced:
    detail = next((event.detail for event in reversed(one.events) if event.topic == "memory.superseded"), {})
    return Replaced(
        id=one.id,
        text=one.text,
        rule=detail.get("rule", ""),
        probability=detail.get("probability"),
        model=detail.get("model", ""),
    )


# -- pages --------------------------------------------------------------------------------------


def _cursor(after: int, end: AsOf) -> str:
    raw = msgspec.json.encode(_Cursor(after, end.position, micros(end.clock)))
    return base64.urlsafe_b64encode(raw).decode()


def _read_cursor(cursor: str) -> _Cursor:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor.encode("ascii")), type=_Cursor)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise InvalidInputError(
            "not a cursor of this diff", expected="a cursor as returned", found=repr(cursor[:40])
        ) from error
