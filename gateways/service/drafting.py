"""From what an extractor found to what may be written: every field checked, and a reason for all that is left out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from domain.addresses import address_of
from domain.errors import InvalidInputError
from domain.events import DroppedItem, ExtractedItem, MemoryRemembered
from domain.fence import unfenced
from domain.kinds import CONFIDENCE, fold_kind
from domain.settings import ExtractionLimits, Limits
from domain.text import check_name, check_text, fold_content, skeleton
from domain.transcript import CHECKS, Candidate, Dropped, Found, Window
from gateways.extraction.windows import stated_at

__all__ = ["Drafted", "drafted", "remembered"]

#: characters of a statement, of a query that finds it, and of a dropped text that is kept for the record
_TEXT_CHARS, _QUERY_CHARS, _SHOWN_CHARS = 2_000, 300, 200
_QUERIES, _TYPE_CHARS = 5, 64
#: statements that are left out and told of, and bytes of all statements, so that one event holds them
_DROPPED, _BYTES = 200, 400_000


class Drafted(msgspec.Struct, frozen=True):
    """Statements that may be written, in the order they were found, and those that may not."""

    items: tuple[ExtractedItem, ...] = ()
    dropped: tuple[DroppedItem, ...] = ()


def drafted(window: Window, found: Found, *, limits: Limits, extraction: ExtractionLimits) -> Drafted:
    """Check what was found in a window; a bad item is left out with its reason and takes no other with it."""
    taken = _Taken(window, limits, extraction)
    dropped = [_dropped(window, one) for one in found.dropped]
    for candidate in found.items:
        try:
            taken.take(candidate)
        except (_Unfit, InvalidInputError) as error:
            dropped.append(_dropped(window, Dropped(text=candidate.text, reason=str(error), lines=candidate.lines)))
    return Drafted(tuple(taken.items), tuple(dropped[:_DROPPED]))


class _Taken:
    """The statements of a window that may be written so far."""

    def __init__(self, window: Window, limits: Limits, extraction: ExtractionLimits) -> None:
        self._window, self._limits, self._most = window, limits, extraction.items
        self._seen: set[tuple[str, str]] = set()
        self._bytes = 0
        self.items: list[ExtractedItem] = []

    def take(self, candidate: Candidate) -> None:
        """Take one more, or raise what speaks against it."""
        item = _item(self._window, candidate, self._limits)
        draft = remembered(self._window, item)
        if (draft.address, draft.folded) in self._seen:
            raise _Unfit("the same statement stands in this stretch already")
        size = len(item.text.encode()) + sum(len(query.encode()) for query in item.queries)
        if len(self.items) >= self._most or self._bytes + size > _BYTES:
            raise _Unfit("more statements than one stretch may make")
        self._bytes += size
        self._seen.add((draft.address, draft.folded))
        self.items.append(item)


class _Unfit(Exception):  # noqa: N818 -- not an error of anybody's: the statement is left out
    """A statement that is not written, with the reason."""


def _item(window: Window, candidate: Candidate, limits: Limits) -> ExtractedItem:
    own = {line.index: line.message for line in window.lines if not line.context}
    known = {line.index: line.message for line in window.lines}
    lines = [index for index in candidate.lines if index in known]
    if not any(index in own for index in lines):
        raise _Unfit("it names no line of this stretch that it was drawn from")
    text = check_text(candidate.text, field="the statement", max_bytes=limits.memory_bytes).strip()
    if len(text) > _TEXT_CHARS:
        raise _Unfit(f"a statement has at most {_TEXT_CHARS} characters")
    if unfenced(text) != text:
        raise _Unfit("it repeats recalled memory")
    kind, fact_type = fold_kind(candidate.kind, _short(candidate.fact_type))
    expires_at = _aware(candidate.expires_at)
    if expires_at is not None and expires_at <= window.now:
        raise _Unfit("its time was over when it was said")
    valid_from, valid_to = _aware(candidate.valid_from), _aware(candidate.valid_to)
    if valid_from is not None and valid_to is not None and valid_to < valid_from:
        raise _Unfit("it ends before it begins")
    return ExtractedItem(
        text=text,
        kind=kind,
        sources=tuple(dict.fromkeys(known[index] for index in lines)),
        fact_type=fact_type,
        key=_key(candidate.key, limits) if kind in {"fact", "instruction"} else "",
        queries=_queries(candidate.queries),
        occurred_at=_aware(candidate.occurred_at),
        valid_from=valid_from,
        valid_to=valid_to,
        expires_at=expires_at,
        stated_at=stated_at(window, lines).astimezone(UTC),
        found_by=candidate.found_by,
        verdict=candidate.verdict,
        checks=tuple(check for check in CHECKS if check in candidate.checks),
        before=_written(candidate.before)[:_TEXT_CHARS],
    )


def remembered(window: Window, item: ExtractedItem, *, extraction: str = "", model: str = "") -> MemoryRemembered:
    """Return the memory an item asks for; trust comes from the path, never from the item."""
    return MemoryRemembered(
        memory="",
        address=address_of(
            item.kind,
            contact=window.contact,
            key=item.key,
            content=item.text,
            session=window.session,
            occurred_at=item.occurred_at,
        ),
        version=0,
        kind=item.kind,
        fact_type=item.fact_type,
        text=item.text,
        folded=fold_content(item.text),
        source=window.source,
        confidence=CONFIDENCE[window.source],
        scope=window.contact,
        key=item.key,
        session=window.session,
        sources=item.sources,
        queries=item.queries,
        occurred_at=item.occurred_at,
        valid_from=item.valid_from,
        valid_to=item.valid_to,
        expires_at=item.expires_at,
        stated_at=item.stated_at,
        extraction=extraction,
        model=model,
    )


def _dropped(window: Window, one: Dropped) -> DroppedItem:
    messages = {line.index: line.message for line in window.lines}
    return DroppedItem(
        text=_written(one.text)[:_SHOWN_CHARS],
        reason=_written(one.reason)[:_SHOWN_CHARS],
        check=_short(one.check),
        sources=tuple(dict.fromkeys(messages[index] for index in one.lines if index in messages)),
    )


def _written(text: str) -> str:
    """Return text as it can be stored, with a sign where a character cannot."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _short(text: str) -> str:
    return _written(text).strip()[:_TYPE_CHARS]


def _key(key: str, limits: Limits) -> str:
    """Return a topic key as it was proposed, none where it is no name."""
    if not key.strip():
        return ""
    try:
        return check_name(key.strip(), field="the key", max_chars=limits.key_chars)
    except InvalidInputError:
        return ""


def _queries(queries: Sequence[str]) -> tuple[str, ...]:
    """Return the queries that can be stored, each once."""
    by_skeleton: dict[str, str] = {}
    for query in queries:
        text = _written(query).strip()
        if text and len(text) <= _QUERY_CHARS:
            by_skeleton.setdefault(skeleton(text), text)
    return tuple(by_skeleton.values())[:_QUERIES]


def _aware(at: datetime | None) -> datetime | None:
    """Return a time in UTC; one without a zone is UTC."""
    if at is None:
        return None
    try:
        return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (OverflowError, ValueError):
        return None
