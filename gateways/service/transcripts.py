"""A session read message by message, as it was said."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.text import check_name
from gateways.service.context import Caller, Core
from gateways.service.fitting import how_many_fit
from gateways.service.grants import Needs
from gateways.service.lending import look
from gateways.service.positions import Positions
from gateways.service.preferences import shown_since
from gateways.service.validate import check_limit
from gateways.service.working import WorkingVerb
from projections.ledger import Ledger, MessageRecord
from projections.ledger.transcripts import Told
from umbriel.messages import MessagesReply, MessagesRequest, SaidMessage

__all__ = ["MESSAGES", "messages_of"]


async def messages_of(core: Core, caller: Caller, profile: str, request: MessagesRequest) -> MessagesReply:
    """Return a page of a session's messages; one that is not there or out of reach has none."""
    limits = core.settings.limits
    check_name(request.session, field="session", max_chars=limits.session_chars)
    check_limit(request.limit, limits.list_limit)
    after = core.positions.read(request.after, field="after")
    at = core.positions.read(request.cursor, field="cursor")
    newest = request.order == "newest"

    def read(ledger: Ledger) -> tuple[str, Told] | None:
        conversation = ledger.conversation(request.session)
        if conversation is None or not caller.reach.hears(conversation.contact):
            return None
        return conversation.contact, ledger.told(
            request.session,
            after=after if newest else max(after, at),
            before=at if newest and at else None,
            newest_first=newest,
            limit=request.limit,
            room=limits.reply_bytes,
            since=shown_since(ledger.settings(), datetime.now(UTC)),
        )

    # Who goes on with a conversation must not miss what was acknowledged here.
    await core.reader.wait_for(core.said.get(profile, 0), core.settings.wait_seconds)
    found, position = await look(core, profile, request.at_least, read)
    if found is None:
        return MessagesReply(session=request.session, messages=[], position=position)
    contact, told = found
    shown = [_shown(one, told.attachments.get(one.id, ""), core.positions) for one in told.messages]
    fits = how_many_fit(shown, limits.reply_bytes)
    return MessagesReply(
        session=request.session,
        messages=shown[:fits],
        position=position,
        contact=contact,
        cursor=shown[fits - 1].position if shown and (told.more or fits < len(shown)) else "",
    )


def _shown(record: MessageRecord, attachment: str, positions: Positions) -> SaidMessage:
    return SaidMessage(
        id=record.id,
        role=record.role,
        content=record.content,
        recorded_at=record.recorded_at,
        position=positions.show(record.position),
        at=record.at,
        name=record.name,
        occurrence=record.occurrence,
        client_id=record.caller_id,
        turn_id=record.turn_id,
        attachment=attachment,
        author=record.author,
        author_type=record.author_type,
    )


#: Of a session: whose it is decides, once it was looked up.
MESSAGES = WorkingVerb("messages", MessagesRequest, MessagesReply, messages_of, Needs("read", lambda _: ()))
