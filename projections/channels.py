"""The channels of recall: which are asked, within which scope, and their hits with the dead ones left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Protocol, TypeVar

import msgspec

from domain.errors import InvalidInputError
from domain.indexing import AGENT_TOKEN, contact_token, session_token
from domain.text import fold_key
from projections.filling import ranked
from projections.fusion import Candidate, ChannelHits, Found
from projections.ledger import Ledger, LiveItem, query_segments
from projections.recall_types import Channel, RecallQuery, RecallSettings, Span

__all__ = ["Embed", "Gathered", "Plan", "Views", "fill", "gather", "plan"]

_MEMORY_KINDS = frozenset({"fact", "event", "instruction", "task"})
_MESSAGE = frozenset({"message"})
_CHANNELS = (
    "key",
    "vector",
    "hyde_vector",
    "keyword",
    "terms",
    "period",
    "message_vector",
    "message_hyde_vector",
    "message_keyword",
    "message_terms",
    "message_period",
    "message_window",
    "message_neighbour",
    "message_session",
    "memory_source",
)
_SCALES = {
    "vector": "vector",
    "message_vector": "vector",
    "hyde_vector": "hyde",
    "message_hyde_vector": "hyde",
    "keyword": "keyword",
    "message_keyword": "keyword",
    "terms": "terms",
    "message_terms": "terms",
    "message_window": "window",
}
# What is fetched beyond the depth, so that a few dead hits need no second search; then the growth of each retry.
_MARGIN = 16
_GROWTH = 4

Embed = Callable[[str], bytes]
Q_contra = TypeVar("Q_contra", contravariant=True)
Q = TypeVar("Q")


class _Hit(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def score(self) -> float: ...


class _Index(Protocol[Q_contra]):
    @property
    def position(self) -> int: ...
    @property
    def count(self) -> int: ...
    def search(
        self, query: Q_contra, k: int, /, *, kinds: frozenset[str] | None, scopes: frozenset[str] | None
    ) -> Sequence[_Hit]: ...


class _Keywords(_Index[str], Protocol):
    def search_windows(self, query: str, k: int, /, *, scopes: frozenset[str] | None) -> Sequence[_Hit]: ...


class Views(Protocol):
    """One profile's views, as recall needs them."""

    @property
    def ledger(self) -> Ledger:
        """Decides liveness and scope."""

    @property
    def vectors(self) -> _Index[bytes]:
        """Cosines of unit vectors."""

    @property
    def keywords(self) -> _Keywords:
        """BM25, of items and of windows of messages."""


class _Scope(msgspec.Struct, frozen=True):
    """Who may be heard: contacts of memories, and filter tokens of both; None is everyone.

    ``linked`` is the contact asked for and all it is linked with, empty without a contact. ``during``, ``session``
    and ``role`` are what was asked for; the last two leave messages only. What was recorded before ``since`` is not
    shown, unless it is pinned.
    """

    contact: str
    linked: tuple[str, ...]
    contacts: tuple[str | None, ...] | None
    memories: frozenset[str] | None
    messages: frozenset[str] | None
    during: Span | None = None
    session: str = ""
    role: str = ""
    since: datetime | None = None
    unheard: frozenset[str] = frozenset()

    def allows(self, item: LiveItem) -> bool:
        """Whether the item is in scope in the snapshot it was read from."""
        if self.during is not None and not self.during.holds(item):
            return False
        if (self.session and item.session != self.session) or (self.role and item.role != self.role):
            return False
        if item.kind == "message" and item.session in self.unheard:
            return False
        if self.since is not None and item.recorded_at < self.since and not item.pinned:
            return False
        if self.contact == "*":
            return True
        return item.contact in (self.linked or ("",)) or (item.kind != "message" and not item.contact)


class Plan(msgspec.Struct, frozen=True):
    """The channels to ask with their settings, and what is known before the indexes are searched."""

    scope: _Scope
    kinds: frozenset[str]
    channels: dict[str, Channel]
    keys: list[Candidate]


class Gathered(msgspec.Struct, frozen=True):
    """Live hits of every channel, the items behind them, and the lowest position of the views."""

    channels: list[ChannelHits]
    items: dict[str, LiveItem]
    position: int


def plan(ledger: Ledger, request: RecallQuery, settings: RecallSettings, now: datetime) -> Plan:
    """Return which channels a query asks, and the hits of the exact-key channel."""
    _check(request.channels, frozenset(_CHANNELS), "channel")
    _check(request.kinds, _MEMORY_KINDS | _MESSAGE, "kind")
    kinds = request.kinds or _MEMORY_KINDS | _MESSAGE
    scope = _narrowed(ledger, _scope(ledger, request.contact, request.within), request)
    channels = {
        name: channel
        for name in request.channels or _CHANNELS
        if (channel := _channel(name, request, settings)).weight > 0
        and _has_subject(name, kinds, scope)
        and _has_words(name, request)
    }
    keys = _keys(ledger, request, scope, kinds & _MEMORY_KINDS, channels["key"].depth, now) if "key" in channels else []
    return Plan(scope, kinds, channels, keys)


def _check(asked: frozenset[str], known: frozenset[str], what: str) -> None:
    if unknown := sorted(asked - known):
        raise InvalidInputError(f"unknown {what}", expected=", ".join(sorted(known)), found=", ".join(unknown)[:80])


def _has_subject(channel: str, kinds: frozenset[str], scope: _Scope) -> bool:
    if channel.startswith("message"):
        return "message" in kinds and scope.messages != frozenset()
    searched = _MEMORY_KINDS - {"task"} if "vector" in channel else _MEMORY_KINDS
    return bool(kinds & searched)


def _channel(name: str, request: RecallQuery, settings: RecallSettings) -> Channel:
    channel: Channel = getattr(settings, name)
    if "period" in name and request.only_periods and channel.weight > 0:
        return msgspec.structs.replace(channel, weight=settings.only_period)
    return channel


def _has_words(channel: str, request: RecallQuery) -> bool:
    """Whether there is something to ask the channels that are about what the query names beside its words."""
    if "hyde" in channel:
        return bool(request.statement)
    if "period" in channel:
        return bool(request.periods)
    return bool(request.terms) or "terms" not in channel


def _scope(ledger: Ledger, contact: str, within: frozenset[str] | None) -> _Scope:
    if contact == "*":
        return _Scope(contact, (), None, None, None)
    if not contact and not ledger.has_contacts():
        return _Scope(contact, (), (None,), None, None)
    linked = ledger.linked(contact, within=within) if contact else ()
    tokens = frozenset({AGENT_TOKEN, *map(contact_token, linked)})
    return _Scope(contact, linked, (*linked, None), tokens, ledger.session_tokens(contact, within=within))


def _narrowed(ledger: Ledger, scope: _Scope, request: RecallQuery) -> _Scope:
    """Return the scope with the time, the session and the role that were asked for."""
    narrow = msgspec.structs.replace(
        scope,
        during=request.during,
        session=request.session,
        role=request.role,
        since=request.since,
        unheard=request.unheard,
    )
    if request.unheard and narrow.messages is not None:
        narrow = msgspec.structs.replace(narrow, messages=narrow.messages - set(map(session_token, request.unheard)))
    if not request.session:
        return narrow
    conversation = ledger.conversation(request.session)
    token = frozenset() if conversation is None else frozenset({conversation.token})
    return msgspec.structs.replace(narrow, messages=token if narrow.messages is None else token & narrow.messages)


def _keys(
    ledger: Ledger, request: RecallQuery, scope: _Scope, kinds: frozenset[str], depth: int, now: datetime
) -> list[Candidate]:
    segments = query_segments(request.text)
    found = ledger.keys_matching(segments, now=now, scopes=scope.contacts, kinds=kinds, limit=depth)
    scores = dict.fromkeys(ledger.keyed(map(fold_key, request.keys), now=now, scopes=scope.contacts, kinds=kinds), 1.0)
    for hit in found:
        scores.setdefault(hit.id, hit.share)
    return [Candidate(id_, score) for id_, score in sorted(scores.items(), key=lambda one: -one[1])][:depth]


class _Search:
    """One index channel: grows what it fetches until enough of it is live, or nothing is left."""

    def __init__(self, name: str, depth: int, fetch: Callable[[int], Sequence[_Hit]]) -> None:
        self.name = name
        self.depth = depth
        self._fetch = fetch
        self._k = depth + _MARGIN
        self.hits: Sequence[_Hit] = fetch(self._k)

    def live(self, items: dict[str, LiveItem]) -> list[Candidate]:
        """Return the live hits, at most ``depth``."""
        return [Candidate(hit.id, hit.score) for hit in self.hits if hit.id in items][: self.depth]

    def refill(self, items: dict[str, LiveItem]) -> bool:
        """Fetch more when dead hits took places that live ones might fill; returns whether it did."""
        if len(self.hits) < self._k or len(self.live(items)) >= self.depth:
            return False
        self._k *= _GROWTH
        self.hits = self._fetch(self._k)
        return True


def gather(views: Views, planned: Plan, request: RecallQuery, embed: Embed, now: datetime) -> Gathered:
    """Search every planned channel and keep what is live and in scope, all seen in one ledger snapshot."""
    position = min(views.vectors.position, views.keywords.position)
    searches = _searches(views, planned, request, embed)
    while True:
        ids = dict.fromkeys(hit.id for hits in (planned.keys, *(s.hits for s in searches)) for hit in hits)
        seen = views.ledger.live(list(ids), now, linked=planned.scope.linked)
        items = {id_: item for id_, item in seen.items.items() if planned.scope.allows(item)}
        grown = [search.refill(items) for search in searches]
        if not any(grown):
            break
    found = {search.name: search.live(items) for search in searches}
    found["key"] = [hit for hit in planned.keys if hit.id in items]
    channels = [
        ChannelHits(channel=name, weight=channel.weight, hits=found.get(name, ()), scale=_SCALES.get(name, ""))
        for name, channel in planned.channels.items()
    ]
    used = {hit.id for channel in channels for hit in channel.hits}
    return Gathered(channels, {id_: items[id_] for id_ in used}, min(position, seen.position))


def fill(
    views: Views, planned: Plan, taken: frozenset[str], places: int, now: datetime
) -> list[tuple[Found, LiveItem]]:
    """Return live memories in scope that were used lately or often and are not ``taken``, best first."""
    fillers = views.ledger.fillers(now=now, scopes=planned.scope.contacts, kinds=planned.kinds & _MEMORY_KINDS)
    candidates = [one for one in ranked(fillers, now) if one.id not in taken][:places]
    items = views.ledger.live([one.id for one in candidates], now, linked=planned.scope.linked).items
    return [
        (Found("fill", rank, one.score, 0.0), items[one.id])
        for rank, one in enumerate(candidates, 1)
        if one.id in items and planned.scope.allows(items[one.id])
    ]


def _searches(views: Views, planned: Plan, request: RecallQuery, embed: Embed) -> list[_Search]:
    searches = []
    embedded = cache(embed)
    for name, channel in planned.channels.items():
        messages = name.startswith("message")
        kinds = _MESSAGE if messages else planned.kinds & _MEMORY_KINDS
        scopes = planned.scope.messages if messages else planned.scope.memories
        if "vector" in name and views.vectors.count:
            vector = embedded(request.statement if "hyde" in name else request.text)
            searches.append(_Search(name, channel.depth, _searching(views.vectors, vector, kinds, scopes)))
        elif ("keyword" in name or "terms" in name) and views.keywords.count:
            text = " ".join(request.terms) if "terms" in name else request.text
            searches.append(_Search(name, channel.depth, _searching(views.keywords, text, kinds, scopes)))
        elif "window" in name and views.keywords.count:
            windows = partial(_windows, views.keywords, request.text, scopes)
            searches.append(_Search(name, channel.depth, windows))
    return searches


def _windows(index: _Keywords, query: str, scopes: frozenset[str] | None, k: int) -> Sequence[_Hit]:
    return index.search_windows(query, k, scopes=scopes)


def _searching(
    index: _Index[Q], query: Q, kinds: frozenset[str], scopes: frozenset[str] | None
) -> Callable[[int], Sequence[_Hit]]:
    return lambda k: index.search(query, k, kinds=kinds, scopes=scopes)
