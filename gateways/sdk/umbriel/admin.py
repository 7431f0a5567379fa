"""Wire types of contacts, settings and retry."""

from __future__ import annotations

from typing import Any

import msgspec

from umbriel._wire import Reply, Request

__all__ = [
    "ContactInfo",
    "ContactsReply",
    "ContactsRequest",
    "LinkReply",
    "LinkRequest",
    "RetryReply",
    "RetryRequest",
    "SettingsReply",
    "SettingsRequest",
    "UnlinkRequest",
]


class LinkRequest(Request, frozen=True):
    """Say that ``contact`` and ``to`` are one person, each as written."""

    contact: str
    to: str


class UnlinkRequest(Request, frozen=True):
    """Take back the link between a contact and ``other``, or without ``other`` every link that names it."""

    contact: str
    other: str = ""


class LinkReply(Reply, frozen=True):
    """The pairs that were linked or unlinked (none when it was so already), and who is one with the contact now."""

    changed: tuple[tuple[str, str], ...]
    group: tuple[str, ...]
    position: str


class ContactsRequest(Request, frozen=True):
    """A page of contacts by name, behind ``cursor``."""

    cursor: str = ""
    limit: int = 100
    at_least: str = ""


class ContactInfo(Reply, frozen=True):
    """A contact as written: its own conversations and live memories, its links, and all who are one with it."""

    contact: str
    conversations: int = 0
    memories: int = 0
    channels: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    group: tuple[str, ...] = ()


class ContactsReply(Reply, frozen=True):
    """One page; an empty ``cursor`` is the last page."""

    contacts: tuple[ContactInfo, ...]
    position: str
    cursor: str = ""


class SettingsRequest(Request, frozen=True):
    """Read the settings, or change some by name; with ``expected`` only when that is still their version."""

    changes: dict[str, Any] = msgspec.field(default_factory=dict)
    expected: int | None = None


class SettingsReply(Reply, frozen=True):
    """Every setting by name, and how often they were changed (0: never)."""

    settings: dict[str, Any]
    version: int
    position: str


class RetryRequest(Request, frozen=True):
    """Try again what failed or stopped in one profile."""


class RetryReply(Reply, frozen=True):
    """Embeddings tried again, how many came this time, stretches of conversation ``read`` again, and why others failed.

    ``restarted`` names views that had stopped, ``stopped`` those that still do; ``forwarded`` counts what the managed
    memory would not take before and took now.
    """

    tried: int
    computed: int
    position: str
    read: int = 0
    reasons: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    stopped: dict[str, str] = msgspec.field(default_factory=dict)
    forwarded: int = 0
