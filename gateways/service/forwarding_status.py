"""How far a profile's content was forwarded, for its status."""

from __future__ import annotations

from typing import Literal

from gateways.service.context import Core
from gateways.service.profiles import OpenProfile
from gateways.service.sending import WORK
from umbriel.state import ForwardingStatus

__all__ = ["forwarding_status"]

_SUBJECTS: tuple[Literal["messages", "memories"], ...] = ("messages", "memories")


def forwarding_status(core: Core, opened: OpenProfile) -> list[ForwardingStatus]:
    """Return an entry for each class of content, none where the profile is not forwarded; reads files."""
    if not opened.views.ledger.settings().provider.forward:
        return []
    if core.managed is None:
        place, absent = "", "no managed memory is configured"
    else:
        place, absent = core.managed.settings.destination, ""
    failed = [one.work for one in core.directory.failed_work(opened.name)]
    found = []
    for subject in _SUBJECTS:
        position = core.directory.forwarded_to(opened.name, place, subject)
        found.append(
            ForwardingStatus(
                subject=subject,
                position=core.positions.show(position),
                lag=opened.views.ledger.recorded_after(position, subject),
                failed=sum(work.startswith(f"{WORK} {subject} ") for work in failed),
                reason=absent or core.forwarding.get((opened.name, subject), ""),
            )
        )
    return found
