"""The address of a memory: what makes two statements versions of one.

fact and instruction: (kind, scope, key or content) · event: (kind, scope, content, occurred_at) ·
task: (kind, scope, session, key or content). Scope is agent-wide or the contact as written.
"""

from __future__ import annotations

from datetime import datetime

from domain.ids import digest128, moment_text
from domain.kinds import Kind
from domain.text import fold_content, fold_key

__all__ = ["address_of"]


def address_of(
    kind: Kind,
    *,
    contact: str | None,
    key: str,
    content: str,
    session: str = "",
    occurred_at: datetime | None = None,
) -> str:
    """Return the address hash (26 base32 characters) of a statement."""
    scope = ("contact", contact) if contact is not None else ("agent", "")
    named = ("key", fold_key(key)) if key else ("content", fold_content(content))
    match kind:
        case "event":
            return digest128(kind, *scope, "content", fold_content(content), moment_text(occurred_at))
        case "task":
            return digest128(kind, *scope, session, *named)
        case _:
            return digest128(kind, *scope, *named)
