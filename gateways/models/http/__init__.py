"""Models over HTTP: chats and embeddings of any provider that speaks OpenAI's or Anthropic's API.

The clients are heavy to load, so each is imported from its own module: ``openai_chat.OpenAIChat``,
``anthropic_chat.AnthropicChat``, ``embedder.HTTPEmbedder``; `build` makes them from the configuration.
"""
