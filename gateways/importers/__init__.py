"""Importers: conversations read from the files people have."""

from __future__ import annotations

from gateways.importers.conversation import Conversation
from gateways.importers.reader import read_conversations

__all__ = ["Conversation", "read_conversations"]
