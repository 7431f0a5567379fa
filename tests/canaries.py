"""Events of every topic that quote a message or a memory wherever they have room for words."""

from __future__ import annotations

from datetime import UTC, datetime
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from domain.events import (
    ErasureLifted,
    GoalClosed,
    GoalProgressed,
    GoalSet,
    ImportStarted,
    KeyDestroyed,
    LogRecovered,
    PassCompleted,
    PrincipalChanged,
    ProfileCreated,
    ProfileDeleted,
    ProfileErased,
    ProfileImported,
    SealMade,
    SettingsChanged,
)
from domain.ids import digest128

__all__ = ["ADDRESS", "CANARY", "MEMORY", "MESSAGE", "SESSION", "UNQUOTING", "filled"]

E = TypeVar("E", bound=msgspec.Struct)

CANARY = "the cellar key hangs behind the blue clock"
SESSION = "canary session"
MESSAGE = digest128("canary message")
ADDRESS = digest128("canary memory")
MEMORY = f"{ADDRESS}@1"
#: Events with words of their own, which no message and no memory is behind.
UNQUOTING = frozenset(
    {
        ImportStarted,
        ProfileImported,
        GoalSet,
        GoalProgressed,
        GoalClosed,
        SealMade,
        LogRecovered,
        PrincipalChanged,
        ProfileErased,
        KeyDestroyed,
        ErasureLifted,
        ProfileDeleted,
    }
)

_AT = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
_MEMORIES = frozenset({"memory", "memories", "members", "by", "other", "counts", "copy", "drawn_from"})
_MESSAGES = frozenset({"message", "messages", "sources", "lost", "last"})
# Names, ids and choices: nothing of them is anybody's words.
_NAMES = frozenset(
    [
        "address",
        "author",
        "author_type",
        "caller_id",
        "channel",
        "check",
        "checks",
        "cluster",
        "contact",
        "copy",
        "day",
        "draft",
        "embedding",
        "event",
        "extraction",
        "fact_type",
        "first",
        "goal",
        "instance",
        "model",
        "pipeline",
        "position",
        "principal",
        "principal_type",
        "profile",
        "provider",
        "purpose",
        "reflection",
        "replaces",
        "request_id",
        "role",
        "rule",
        "scope",
        "second",
        "source",
        "subject",
        "turn_id",
        "verb",
        "overlay",
        "outcome",
    ]
)
_NAMED = frozenset({ProfileCreated, PassCompleted, GoalSet})
#: Said by an embedder about a text, or by a rule: see `domain.events`.
_TOLD = frozenset({("EmbeddingFailed", "reason"), ("RefusalRecorded", "detail")})


def filled(cls: type[E], **given: Any) -> E:
    """Return a Struct whose ids are those above and whose other texts are the canary, but for what is ``given``."""
    fields = {field.name: _value(cls, field.name, field.type) for field in msgspec.structs.fields(cls)}
    return cls(**{**fields, **given})


def _value(cls: type[Any], name: str, kind: Any) -> Any:
    if cls is SettingsChanged and name == "settings":
        return kind()
    if get_origin(kind) in {Union, UnionType}:
        kind = next(one for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is tuple:
        return (_value(cls, name, get_args(kind)[0]),)
    if get_origin(kind) is dict:
        return _mapping(name, kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return filled(kind)
    plain = {int: 1, float: 0.5, bool: True, datetime: _AT, bytes: b""}
    return plain[kind] if kind in plain else _text(cls, name)


def _mapping(name: str, kind: Any) -> dict[str, Any]:
    if name == "counts":
        return {"done": 1} if get_args(kind)[1] is int else {MEMORY: (1, _AT)}
    return {"note": CANARY, "deep": [{"note": CANARY}]}


def _text(cls: type[Any], name: str) -> str:
    if name in _MEMORIES:
        return MEMORY
    if name in _MESSAGES or name == "results":
        return MESSAGE
    if name == "session":
        return SESSION
    if name == "address":
        return ADDRESS
    known = name in _NAMES or (name == "name" and cls in _NAMED) or (cls.__name__, name) in _TOLD
    return f"a {name}" if known else CANARY
