"""The data-flow policy: whether a class of a profile's content may go to a provider, as its settings are now."""

from __future__ import annotations

from typing import Literal

from domain.settings import DataFlow, Reaches
from gateways.service import models
from gateways.service.context import Core

__all__ = ["Subject", "passes"]

#: The classes of content, named as the policy's fields are.
Subject = Literal["messages", "memories", "queries"]


def passes(core: Core, profile: str, flow: DataFlow, subject: Subject, provider: str, reaches: Reaches) -> bool:
    """Whether a profile's content of a class may go to a provider; that it may not is noted to be recorded."""
    note, limit = core.policy_refusals.note, getattr(flow, subject)
    return models.passes(note, profile, subject=subject, provider=provider, limit=limit, reaches=reaches)
