"""What an instance thinks with: the providers that are configured, then what needs no network."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from domain.digest import Reflector
from domain.merging import Worder
from domain.ports import Analyst, Chat, Embedder, Extractor, Judge, Summariser, Synthesiser
from domain.settings import Reaches, Settings
from gateways.analysing import ChatAnalyst
from gateways.answering import ChatSynthesiser
from gateways.extraction.chat import ChatExtractor
from gateways.extraction.offline import OfflineExtractor
from gateways.managed import ManagedSettings
from gateways.models.config import ChatEntry, JudgeEntry, Providers, api_key, load_providers
from gateways.models.http.build import build_chat, build_embedder
from gateways.models.judges import ChatJudge, DecisionsJudge, FallbackJudge, HeuristicJudge, JevJudge, Patience
from gateways.models.meter import Meter
from gateways.models.wording import ChatWorder
from gateways.reflecting import ChatReflector, DigestReflector
from gateways.service.models import Models, Provided, may_go
from gateways.summarising import ChatSummariser, ExtractiveSummariser

__all__ = ["ProviderSet", "local_models", "provider_set"]

T = TypeVar("T")
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
    return Models(
        _extractors((), Settings()),
        _judges(()),
        summarisers=_summarisers(()),
        reflectors=_reflectors((), Settings()),
    )


def provider_set(data: Path, settings: Settings | None = None, environ: Mapping[str, str] = os.environ) -> ProviderSet:
    """Return what is configured for a data directory; raises what `load_providers` raises.

    A configured embedder whose dimension is not told is asked for it: this blocks, and needs it to answer.
    """
    configured, meter, settings = load_providers(data, environ), Meter(), settings or Settings()
    closing: list[Closing] = []
    embedder = build_embedder(configured, environ)
    if embedder is not None:
        _ = embedder.dimension  # asked for here, in a thread, and not where a profile is opened
        closing.append(partial(asyncio.to_thread, embedder.close))
    chats = [_chat(entry, meter, environ, closing) for entry in configured.chat]
    judges = [_judge(entry, meter, environ, closing) for entry in configured.judge]
    return ProviderSet(
        models=Models(
            _extractors(chats, settings),
            _judges(judges),
            synthesisers=_synthesisers(chats, settings),
            analysts=_analysts(chats),
            worders=_worders(chats),
            summarisers=_summarisers(chats),
            reflectors=_reflectors(chats, settings),
        ),
        meter=meter,
        embedder=embedder,
        embedder_reaches="local" if configured.embeddings is None else configured.embeddings.reach,
        managed=_managed(configured, environ),
        closing=tuple(closing),
    )


def _extractors(chats: Sequence[Provided[Chat]], settings: Settings) -> list[Provided[Extractor]]:
    readers: list[Provided[Extractor]] = [
        _serving(chat, ChatExtractor(chat.value, settings.extraction)) for chat in chats
    ]
    return [*readers, Provided(OfflineExtractor(), "offline")]


def _synthesisers(chats: Sequence[Provided[Chat]], settings: Settings) -> list[Provided[Synthesiser]]:
    return [_serving(chat, ChatSynthesiser(chat.value, settings.answering)) for chat in chats]


def _analysts(chats: Sequence[Provided[Chat]]) -> list[Provided[Analyst]]:
    return [_serving(chat, ChatAnalyst(chat.value)) for chat in chats]


def _worders(chats: Sequence[Provided[Chat]]) -> list[Provided[Worder]]:
    return [_serving(chat, ChatWorder(chat.value)) for chat in chats]


def _summarisers(chats: Sequence[Provided[Chat]]) -> list[Provided[Summariser]]:
    writers: list[Provided[Summariser]] = [_serving(chat, ChatSummariser(chat.value)) for chat in chats]
    return [*writers, Provided(ExtractiveSummariser(), "extractive")]


def _reflectors(chats: Sequence[Provided[Chat]], settings: Settings) -> list[Provided[Reflector]]:
    topics = settings.reflection.topics
    thinkers: list[Provided[Reflector]] = [_serving(chat, ChatReflector(chat.value, topics=topics)) for chat in chats]
    return [*thinkers, Provided(DigestReflector(), "digest")]


def _judges(configured: Sequence[Provided[Judge]]) -> list[Provided[Judge]]:
    """Return the judges, each with those after it that reach no farther behind it, for when it does not answer."""
    judges = []
    for number, one in enumerate(configured):
        others = [other.value for other in configured[number + 1 :] if may_go(one.reaches, other.reaches)]
        judges.append(msgspec.structs.replace(one, value=FallbackJudge([one.value, *others])) if others else one)
    return [*judges, Provided(HeuristicJudge(), "heuristic")]


def _chat(entry: ChatEntry, meter: Meter, environ: Mapping[str, str], closing: list[Closing]) -> Provided[Chat]:
    chat = build_chat(entry, meter, environ)
    closing.append(chat.close)
    return Provided(chat, chat.name, entry.reach)


def _serving(chat: Provided[Chat], port: T) -> Provided[T]:
    """Return what implements a port with a chat, which what it is given goes to."""
    return Provided(port, chat.name, chat.reaches)


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
