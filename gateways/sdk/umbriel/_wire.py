"""What every wire type is made of."""

from __future__ import annotations

import msgspec

__all__ = ["Reply", "Request"]


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of requests: unknown fields are an error, so that a misspelt option is never ignored."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of replies: unknown fields are ignored, so that an old client reads a newer server."""
