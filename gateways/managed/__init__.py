"""A hosted memory service over HTTP."""

from __future__ import annotations

from gateways.managed.client import ManagedClient
from gateways.managed.shapes import Candidate, ManagedSettings, RemoteMemory, RemoteMessage, RemoteRecall

__all__ = ["Candidate", "ManagedClient", "ManagedSettings", "RemoteMemory", "RemoteMessage", "RemoteRecall"]
