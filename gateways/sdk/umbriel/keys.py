"""What goes over the wire about keys: how many there are, and of which master key. Never a key."""

from __future__ import annotations

from umbriel._wire import Reply, Request

__all__ = ["KeysReply", "KeysRequest", "ProfileKeys", "RotateKeysReply", "RotateKeysRequest"]


class KeysRequest(Request, frozen=True):
    """What keys there are, of one ``profile`` or of all."""

    profile: str = ""


class ProfileKeys(Reply, frozen=True):
    """The keys of a profile: those in use, those destroyed, and how many of those stay without another.

    ``older`` are in use and wrapped under an older master key.
    """

    profile: str
    keys: int
    destroyed: int = 0
    closed: int = 0
    older: int = 0


class KeysReply(Reply, frozen=True):
    """The fingerprints of the master key and of the one before it, if it is needed still, and each profile's keys."""

    master: str
    profiles: list[ProfileKeys]
    before: str = ""
    source: str = "file"


class RotateKeysRequest(Request, frozen=True):
    """Wrap every key under a new master key."""


class RotateKeysReply(Reply, frozen=True):
    """The fingerprint of the master key, and how many records were wrapped anew."""

    master: str
    records: int
