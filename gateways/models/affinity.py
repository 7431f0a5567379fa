"""For whom a model is called, as far as a provider may know: enough to keep one profile's calls together."""

from __future__ import annotations

from domain.ids import digest128

__all__ = ["affinity"]


def affinity(profile: str) -> dict[str, str]:
    """Return the header by which a provider keeps a profile's calls together: a hash of its name, never the name."""
    return {"x-session-affinity": digest128("profile", profile)}
