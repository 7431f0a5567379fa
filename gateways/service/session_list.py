"""The verb ``list_sessions``: a profile's conversations, the one heard last first."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.grants import ALL
from domain.text import check_name
from gateways.service.context import Caller, Core
from gateways.service.grants import Needs, contact_named
from gateways.service.lending import after_cursor, look
from gateways.service.preferences import shown_since
from gateways.service.validate import check_limit
from gateways.service.working import WorkingVerb
from projections.ledger import Ledger
from projections.ledger.session_list import SessionRecord
from umbriel.session_list import SessionInfo, SessionsReply, SessionsRequest

__all__ = ["SESSIONS", "list_sessions"]


async def list_sessions(core: Core, caller: Caller, profile: str, request: SessionsRequest) -> SessionsReply:
    """Return a page of conversations; those without a contact only to who may hear everybody."""
    limits, reach = core.settings.limits, caller.reach
    if request.contact and request.contact != ALL:
        check_name(request.contact, field="contact", max_chars=limits.contact_chars)
    check_limit(request.limit, limits.list_limit)
    before = after_cursor(request.cursor)

    def read(ledger: Ledger) -> list[SessionRecord]:
        if not request.contact and not reach.hears(""):
            return []
        since = shown_since(ledger.settings(), datetime.now(UTC))
        return ledger.session_list(
            request.contact, before=before, limit=request.limit + 1, within=reach.reads, since=since
        )

    found, position = await look(core, profile, request.at_least, read)
    page = (found or [])[: request.limit]
    more = found is not None and len(found) > len(page)
    return SessionsReply(
        sessions=[_shown(one) for one in page], position=position, cursor=str(page[-1].position) if more else ""
    )


def _shown(one: SessionRecord) -> SessionInfo:
    return SessionInfo(
        session=one.session,
        messages=one.messages,
        first_at=one.first_at,
        last_at=one.last_at,
        contact=one.contact,
        channel=one.channel,
    )


SESSIONS = WorkingVerb("list_sessions", SessionsRequest, SessionsReply, list_sessions, Needs("read", contact_named))
