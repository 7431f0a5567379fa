"""What an instance thinks with: the providers that are configured, then what needs no network."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from domain.merging import Worder
from domain.ports import Chat, Embedder, Extractor, Judge
from domain.settings import ExtractionLimits, Reaches
from gateways.extraction.chat import ChatExtractor
from gateways.extraction.offline import OfflineExtractor
from gateways.managed import ManagedSettings
from gateways.models.config import ChatEntry, JudgeEntry, Providers, api_key, load_providers
from gateways.models.http.build import build_chat, build_embedder
from gateways.models.judges import ChatJudge, DecisionsJudge, FallbackJudge, HeuristicJudge, JevJudge, Patience
from gateways.models.meter import Meter
from gateways.models.wording import ChatWorder
from gateways.service.models import Models, Provided, may_go

__all__ = ["ProviderSet", "local_models", "provider_set"]

Closing = Callable[[], Awaitable[None]]


class ProviderSet(msgspec.Struct, frozen=True, kw_only=True):
    """Models, and where they reach; ``embedder`` is None for the local one, ``managed`` for none."""

    models: Models
    meter: Meter
    embedder: Embedder | None = None
    embedder_reaches: Reaches = "local"
    managed: ManagedSettings | None = None
    closing: tuple[Closing, ...] = ()

    async def close(self) -> None:
        """Give back the connections of all of them."""
        for close in self.closing:
            await close()


def local_models() -> Models:
    """Return the models that need no network."""
    return Models(_extractors(()), _judges(()))


def provider_set(
    data: Path, limits: ExtractionLimits | None = None, environ: Mapping[str, str] = os.environ
) -> ProviderSet:
    """Return what is configured for a data directory; raises what `load_providers` raises.

    A configured embedder whose dimension is not told is asked for it: this blocks, and needs it to answer.
    """
    configured, meter = load_providers(data, environ), Meter()
    closing: list[Closing] = []
    embedder = build_embedder(configured, environ)
    if embedder is not None:
        _ = embedder.dimension  # asked for here, in a thread, and not where a profile is opened
        closing.append(partial(asyncio.to_thread, embedder.close))
    chats = [(entry, _chat(entry, meter, environ, closing)) for entry in configured.chat]
    extractors = [Provided[Extractor](ChatExtractor(chat, limits), chat.name, entry.reach) for entry, chat in chats]
    worders = [Provided[Worder](ChatWorder(chat), chat.name, entry.reach) for entry, chat in chats]
    judges = [_judge(entry, meter, environ, closing) for entry in configured.judge]
    return ProviderSet(
        models=Models(_extractors(extractors), _judges(judges), worders=worders),
        meter=meter,
        embedder=embedder,
        embedder_reaches="local" if configured.embeddings is None else configured.embeddings.reach,
        managed=_managed(configured, environ),
        closing=tuple(closing),
    )


def _extractors(configured: Sequence[Provided[Extractor]]) -> list[Provided[Extractor]]:
    return [*configured, Provided(OfflineExtractor(), "offline")]


def _judges(configured: Sequence[Provided[Judge]]) -> list[Provided[Judge]]:
    """Return the judges, each with those after it that reach no farther behind it, for when it does not answer."""
    judges = []
    for number, one in enumerate(configured):
        others = [other.value for other in configured[number + 1 :] if may_go(one.reaches, other.reaches)]
        judges.append(msgspec.structs.replace(one, value=FallbackJudge([one.value, *others])) if others else one)
    return [*judges, Provided(HeuristicJudge(), "heuristic")]


def _chat(entry: ChatEntry, meter: Meter, environ: Mapping[str, str], closing: list[Closing]) -> Chat:
    chat = build_chat(entry, meter, environ)
    closing.append(chat.close)
    return chat


def _judge(entry: JudgeEntry, meter: Meter, environ: Mapping[str, str], closing: list[Closing]) -> Provided[Judge]:
    if entry.kind == "chat":
        asked = ChatEntry(
            kind="openai",
            base_url=entry.base_url,
            small=entry.model,
            api_key_env=entry.api_key_env,
            timeout=entry.timeout,
        )
        chat = build_chat(asked, meter, environ)
        closing.append(chat.close)
        return Provided(ChatJudge(chat), f"chat:{entry.model}", entry.reach)
    kind = JevJudge if entry.kind == "jev" else DecisionsJudge
    key, patience = api_key(entry.api_key_env, environ), Patience(timeout=entry.timeout)
    judge = kind(key, url=entry.base_url, model=entry.model, patience=patience)
    closing.append(judge.close)
    return Provided(judge, judge.name, entry.reach)


def _managed(configured: Providers, environ: Mapping[str, str]) -> ManagedSettings | None:
    entry = configured.managed
    if entry is None:
        return None
    return ManagedSettings(
        base_url=entry.base_url,
        namespace=entry.namespace,
        key=api_key(entry.api_key_env, environ),
        reaches=entry.reach,
    )
