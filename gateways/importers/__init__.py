"""Importers: conversations read from the files people have."""

from __future__ import annotations

from gateways.importers.conversation import Conversation
from gateways.importers.entries import Hints
from gateways.importers.imported import Imported
from gateways.importers.reader import read_conversations, read_export
from gateways.importers.shapes import WHATSAPP
from gateways.importers.whatsapp import ORDERS

__all__ = ["ORDERS", "WHATSAPP", "Conversation", "Hints", "Imported", "read_conversations", "read_export"]
