"""What speaks for a language model is an agent, at every edge."""

from __future__ import annotations

from umbriel import RefusedError, Umbriel
from umbriel.types import StatusReply

__all__ = ["check_agent"]


async def check_agent(client: Umbriel) -> StatusReply:
    """Return who speaks; raises RefusedError for a person: what a model writes is never a person's statement."""
    who = await client.status(service=True)
    if who.principal_type != "agent":
        raise RefusedError(
            "a model does not speak as a person", expected="the principal of an agent", found=who.principal
        )
    return who
