"""Configured entries as running providers."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gateways.models.config import ChatEntry, Providers, api_key
from gateways.models.http.anthropic_chat import AnthropicChat
from gateways.models.http.chat import HTTPChat
from gateways.models.http.embedder import HTTPEmbedder
from gateways.models.http.openai_chat import OpenAIChat
from gateways.models.meter import Meter

__all__ = ["build_chat", "build_embedder"]

_CHATS: dict[str, type[OpenAIChat | AnthropicChat]] = {"openai": OpenAIChat, "anthropic": AnthropicChat}


def build_chat(entry: ChatEntry, meter: Meter, environ: Mapping[str, str] = os.environ) -> HTTPChat:
    """Return the chat of an entry; the caller closes it. How far it reaches is ``entry.reach``."""
    return _CHATS[entry.kind](
        small=entry.small,
        large=entry.large,
        base_url=entry.base_url,
        api_key=api_key(entry.api_key_env, environ),
        timeout=entry.timeout,
        meter=meter,
        prices=entry.prices,
    )


def build_embedder(providers: Providers, environ: Mapping[str, str] = os.environ) -> HTTPEmbedder | None:
    """Return the configured embedder, None where it is the local one; the caller closes it."""
    entry = providers.embeddings
    if entry is None:
        return None
    return HTTPEmbedder(
        model=entry.model,
        base_url=entry.base_url,
        api_key=api_key(entry.api_key_env, environ),
        dimension=entry.dimension,
        max_chars=entry.max_chars,
        overlap=entry.overlap,
        batch=entry.batch,
        timeout=entry.timeout,
    )
