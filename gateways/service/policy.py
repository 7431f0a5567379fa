"""The data-flow policy: whether a class of a profile's content may go to a provider, as its settings are now."""

from __future__ import annotations

from typing import Literal

from domain.settings import DataFlow, Reaches
from gateways.service.context import Core
from gateways.service.models import may_go

__all__ = ["Subject", "allowed", "flow_of", "passes"]

#: The classes of content, named as the policy's fields are.
Subject = Literal["messages", "memories", "queries"]


async def flow_of(core: Core, profile: str) -> DataFlow:
    """Return the policy of a profile; one that does not exist has the defaults."""
    if not await core.known_profile(profile):
        return DataFlow()
    async with core.profiles.use(profile) as opened:
        return (await core.in_thread(opened.views.ledger.settings)).data_flow


async def allowed(core: Core, profile: str, subject: Subject, provider: str, reaches: Reaches) -> bool:
    """Whether a profile's content of a class may go to a provider; that it may not is noted to be recorded."""
    if reaches == "local":
        return True
    return passes(core, profile, await flow_of(core, profile), subject, provider, reaches)


def passes(core: Core, profile: str, flow: DataFlow, subject: Subject, provider: str, reaches: Reaches) -> bool:
    """Decide as `allowed` does, under settings that are at hand."""
    limit: Reaches = getattr(flow, subject)
    if may_go(limit, reaches):
        return True
    core.policy_refusals.note(profile, subject, provider, f"expected at most {limit}, found {reaches}")
    return False
