"""Every number that can be set, in one frozen Struct with its default: of an instance, and of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from domain.errors import InvalidInputError

__all__ = ["AccessSettings", "Limits", "ProfileSettings", "RecallPreferences", "Settings", "flat", "with_changes"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes above which input is refused (C18)."""

    messages_per_ingest: int = 500
    occurrences: int = 10_000
    message_bytes: int = 32_768
    memory_bytes: int = 32_768
    query_bytes: int = 1_024
    session_chars: int = 64
    contact_chars: int = 256
    key_chars: int = 256
    name_chars: int = 256
    metadata_bytes: int = 4_096
    metadata_depth: int = 16
    list_limit: int = 500
    recall_limit: int = 200
    feed_limit: int = 1_000
    feed_wait_seconds: float = 30.0
    reply_bytes: int = 900_000


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one instance."""

    limits: Limits = Limits()
    #: events applied in one commit of a profile's views
    reader_batch: int = 256
    #: texts embedded at once
    embedding_batch: int = 64
    #: profiles whose views are kept open
    open_profiles: int = 64
    #: bytes of decoded events kept for feeds
    feed_cache_bytes: int = 16 * 1024**2
    #: feeds of one principal that may wait at once
    feeds_per_principal: int = 2_000
    #: threads that run commands and queries
    command_threads: int = 8
    #: how long a read waits for its ``at_least`` position
    wait_seconds: float = 10.0
    #: seconds between flushes of counted accesses
    access_flush_seconds: float = 5.0
    #: seconds without a request after which ``serve --exit-when-idle`` ends
    idle_seconds: float = 300.0
    #: largest size of the log; below the disk's, so that a full log is a clear error
    log_max_bytes: int = 64 * 1024**3


class RecallPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """How a profile's recall orders and fills its results."""

    #: ``default`` is the set that measured best, ``classic`` reciprocal ranks
    fusion: Literal["default", "classic"] = "default"
    #: largest part of the results that may be messages while memories are left
    message_share: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 1.0
    #: places left over that memories used lately or often may take
    fill: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0


class AccessSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it is recorded which memories were handed out."""

    counted: bool = True


class ProfileSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one profile, changed at run time through events.

    A capability adds its own section here, a Struct whose fields have defaults: older events, which lack them,
    then read as those defaults. Renaming a field or changing its meaning is a new schema of the event, with an
    upcaster. Events hold every field, so that a new default changes nothing for who has chosen.
    """

    recall: RecallPreferences = RecallPreferences()
    access: AccessSettings = AccessSettings()


def flat(settings: ProfileSettings) -> dict[str, Any]:
    """Return settings by name, as ``{"recall.fusion": "default", …}``."""
    sections = msgspec.to_builtins(settings)
    return {f"{section}.{field}": value for section, fields in sections.items() for field, value in fields.items()}


def with_changes(settings: ProfileSettings, changes: Mapping[str, Any]) -> ProfileSettings:
    """Return settings with some of them changed by name; raises InvalidInputError for a name or value that is none."""
    known = flat(settings)
    if unknown := sorted(set(changes) - set(known)):
        raise InvalidInputError("unknown setting", expected=", ".join(known), found=", ".join(unknown)[:200])
    sections = msgspec.to_builtins(settings)
    for name, value in changes.items():
        section, _, field = name.partition(".")
        sections[section][field] = value
    try:
        return msgspec.convert(sections, ProfileSettings, strict=True)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise InvalidInputError(f"{place.rstrip('`')} cannot have that value: {reason}") from error
