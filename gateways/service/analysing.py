"""Queries analysed before they are asked, beside their embedding and within a time that nobody minds.

An analysis is a help: where none is configured, allowed, or made in time, recall goes on with the query's own words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from domain.answers import Analysis
from domain.errors import UmbrielError
from domain.grants import Reach
from domain.ports import Analyst
from domain.settings import ProfileSettings
from gateways.service.context import Core
from gateways.service.models import KEPT, Provided, may_go
from gateways.service.policy import passes
from gateways.service.profiles import OpenProfile
from projections.recall import RecallQuery
from umbriel.answers import QueryAnalysis

__all__ = ["MANAGED", "NO_MODEL", "OFF", "UNUSED", "Prepared", "prepared"]

#: Why there is no analysis.
NO_MODEL = "no language model is configured"
OFF = "switched off for this profile"
MANAGED = "the managed memory is asked"
UNUSED = "none of the channels asked for uses it"

#: the channels that an analysis has words for
_CHANNELS = frozenset({"key", "terms", "message_terms", "hyde_vector", "message_hyde_vector"})


class Prepared(msgspec.Struct, frozen=True):
    """A query with what an analysis adds, how texts of it are embedded, and what is shown of the analysis."""

    query: RecallQuery
    embed: Callable[[str], bytes]
    shown: QueryAnalysis
    #: whether a model was asked and did not answer
    missed: bool = False


class _Known(msgspec.Struct, frozen=True):
    """What a profile's ledger says before a query is analysed."""

    settings: ProfileSettings
    keys: tuple[str, ...]


async def prepared(
    core: Core, opened: OpenProfile, reach: Reach, query: RecallQuery, *, fallback: bool = False
) -> Prepared:
    """Return a query with its analysis, whose model works while the query's own text is embedded.

    ``fallback`` is for a query that the managed memory was to answer and did not.
    """
    plain = Prepared(query, core.embedder.embed_query, QueryAnalysis(reason=NO_MODEL))
    if not core.models.analysts:
        return plain
    profile = opened.name
    known = await core.in_thread(lambda: _known(opened, reach, query, core.settings.analysis.keys))
    if reason := _unwanted(known.settings, query, fallback=fallback):
        return msgspec.structs.replace(plain, shown=QueryAnalysis(reason=reason))
    analyst = _allowed(core, profile, known.settings)
    if analyst is None:
        return msgspec.structs.replace(plain, shown=QueryAnalysis(reason=KEPT))
    keys = known.keys if _may_know(core, profile, known.settings, analyst) else ()
    found, vector = await asyncio.gather(
        core.analyses.of(profile, analyst, query.text, keys), _embedded(core, known.settings, query)
    )
    if isinstance(found, str):
        return Prepared(query, _embedding(core, query, vector), QueryAnalysis(reason=found), missed=True)
    asked = msgspec.structs.replace(query, keys=found.keys, terms=found.terms, statement=found.statement)
    return Prepared(asked, _embedding(core, query, vector), _shown(found))


def _known(opened: OpenProfile, reach: Reach, query: RecallQuery, limit: int) -> _Known:
    ledger = opened.views.ledger
    linked = ledger.linked(query.contact, within=reach.reads) if query.contact not in {"", "*"} else ()
    scopes = None if query.contact == "*" else (*linked, None)
    return _Known(ledger.settings(), tuple(ledger.keys_in_use(scopes, now=datetime.now(UTC), limit=limit)))


def _unwanted(settings: ProfileSettings, query: RecallQuery, *, fallback: bool) -> str:
    """Return why a query is not to be analysed, nothing where it is."""
    if not settings.recall.analysis:
        return OFF
    if settings.provider.recall == "managed" and not fallback:
        return MANAGED
    return UNUSED if query.channels and not query.channels & _CHANNELS else ""


def _allowed(core: Core, profile: str, settings: ProfileSettings) -> Provided[Analyst] | None:
    """Return the first analyst that the query may go to."""
    for one in core.models.analysts:
        if passes(core, profile, settings.data_flow, "queries", one.name, one.reaches):
            return one
    return None


def _may_know(core: Core, profile: str, settings: ProfileSettings, analyst: Provided[Analyst]) -> bool:
    return passes(core, profile, settings.data_flow, "memories", analyst.name, analyst.reaches)


async def _embedded(core: Core, settings: ProfileSettings, query: RecallQuery) -> bytes | None:
    """Return the vector of the query's own text, None where it is not wanted, may not be made yet, or failed."""
    wanted = not query.channels or any("vector" in name for name in query.channels)
    if not wanted or not may_go(settings.data_flow.queries, core.embedder_reaches):
        return None
    try:
        return await core.in_thread(lambda: core.embedder.embed_query(query.text))
    except UmbrielError:
        return None  # recall tries once more, and says what is wrong


def _embedding(core: Core, query: RecallQuery, vector: bytes | None) -> Callable[[str], bytes]:
    if vector is None:
        return core.embedder.embed_query
    own = vector
    return lambda text: own if text == query.text else core.embedder.embed_query(text)


def _shown(found: Analysis) -> QueryAnalysis:
    return QueryAnalysis(keys=list(found.keys), terms=list(found.terms), statement=found.statement, model=found.model)
