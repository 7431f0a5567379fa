"""For whom a model is called, as far as a provider may know: enough to keep one profile's calls together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from domain.ids import digest128

__all__ = ["HEADER", "affinity", "called_for", "calling_for"]

HEADER = "x-session-affinity"
_PROFILE: ContextVar[str] = ContextVar("profile", default="")


def affinity(profile: str) -> str:
    """Return what a provider keeps a profile's calls together by: a hash of its name, never the name."""
    return digest128("profile", profile)


@contextmanager
def calling_for(profile: str) -> Iterator[None]:
    """Say for which profile a model is called whose port has no place for it, such as an embedder."""
    token = _PROFILE.set(profile)
    try:
        yield
    finally:
        _PROFILE.reset(token)


def called_for() -> str:
    """Return the profile named by `calling_for`, empty without one."""
    return _PROFILE.get()
