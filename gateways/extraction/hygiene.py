"""What is never read for memories: empty text, system prompts, recalled text that came back, tool noise."""

from __future__ import annotations

from domain.fence import unfenced

__all__ = ["readable"]

_NEVER = frozenset({"system", "developer"})


def readable(role: str, content: str, *, tool_chars: int) -> str:
    """Return the part of a message that may be read for memories, empty when nothing may.

    A tool's output longer than ``tool_chars`` characters is noise: what matters in it, somebody says.
    """
    if role in _NEVER or (role == "tool" and len(content) > tool_chars):
        return ""
    return unfenced(content).strip()
