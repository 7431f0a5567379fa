"""Models over HTTP: chats and embeddings of any provider that speaks OpenAI's or Anthropic's API."""

from __future__ import annotations

from gateways.models.http.anthropic_chat import AnthropicChat
from gateways.models.http.embedder import HTTPEmbedder
from gateways.models.http.openai_chat import OpenAIChat

__all__ = ["AnthropicChat", "HTTPEmbedder", "OpenAIChat"]
