"""Configured entries as running providers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gateways.models.config import ChatEntry, Providers, api_key
from gateways.models.meter import Meter

if TYPE_CHECKING:
    # A service without providers does not pay for loading the clients.
    from gateways.models.http.chat import HTTPChat
    from gateways.models.http.embedder import HTTPEmbedder

__all__ = ["build_chat", "build_embedder"]


def build_chat(entry: ChatEntry, meter: Meter, environ: Mapping[str, str] = os.environ) -> HTTPChat:
    """Return the chat of an entry; the caller closes it. How far it reaches is ``entry.reach``."""
    from gateways.models.http.anthropic_chat import AnthropicChat
    from gateways.models.http.openai_chat import OpenAIChat

    made = OpenAIChat if entry.kind == "openai" else AnthropicChat
    return made(
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
    from gateways.models.http.embedder import HTTPEmbedder

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
