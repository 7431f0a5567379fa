"""Which items of a store are meant: by their values, and by their namespaces."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["below", "matches", "path_matches"]

_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether every field is as it is wanted; a field that is not there counts as None."""
    return all(_fits(value.get(field), one) for field, one in (wanted or {}).items())


def _fits(value: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, str(name), other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(_fits(value.get(name), one) for name, one in wanted.items())
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(wanted)
            and all(_fits(one, other) for one, other in zip(value, wanted, strict=True))
        )
    return value == wanted


def _compares(value: Any, name: str, other: Any) -> bool:
    if name in ("$eq", "$ne"):
        return bool(value == other) is (name == "$eq")
    if name not in _ORDERED:
        raise ValueError(f"Unsupported operator: {name}")
    try:
        return _ORDERED[name](float(value), float(other))
    except (TypeError, ValueError):
        # What has no such field, or no number in it, is neither above nor below.
        return False


def below(namespace: Sequence[str], prefix: Sequence[str]) -> bool:
    """Whether a namespace begins with a prefix, label by label."""
    return tuple(namespace[: len(prefix)]) == tuple(prefix)


def path_matches(namespace: Sequence[str], kind: str, path: Sequence[str]) -> bool:
    """Whether a namespace begins or ends with a path, in which ``*`` stands for any one label."""
    if kind not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {kind}")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if kind == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
