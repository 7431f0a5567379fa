"""Messages looked for where they were said: in a session, in the sessions of a contact, in all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from domain.errors import InvalidInputError
from domain.grants import ALL
from domain.settings import Limits
from domain.text import check_name, check_text
from gateways.service.context import Caller, Core
from gateways.service.profiles import OpenProfile
from gateways.service.reads import Found, local_recall, reading
from gateways.service.recalling import cut_to, off_channels, shown
from gateways.service.served import HandedOut
from gateways.service.validate import check_between, check_limit
from projections.recall import RecallQuery, Span
from umbriel.conversations import RecallConversationReply, RecallConversationRequest

__all__ = ["contact_asked", "recall_conversation"]

_MESSAGE = frozenset({"message"})
#: The channels of each mode; none named are all of them.
_CHANNELS = {
    "semantic": frozenset({"message_vector"}),
    "keyword": frozenset({"message_keyword"}),
    "hybrid": frozenset[str](),
}


def contact_asked(request: RecallConversationRequest) -> Sequence[str]:
    """Return the contact that a grant is needed for: all of them, the one that is named, or none."""
    if request.scope == "all":
        return [ALL]
    return [request.contact] if request.contact else []


async def recall_conversation(
    core: Core, handed_out: HandedOut, caller: Caller, profile: str, request: RecallConversationRequest
) -> RecallConversationReply:
    """Return the messages that answer a question, best first; a session out of reach has none."""
    query = _query(request, caller, core.settings.limits)

    async def ask(opened: OpenProfile) -> RecallConversationReply:
        position = core.applied(opened)
        found = await core.in_thread(lambda: _ask(core, caller, opened, query))
        if found is None:
            return nothing
        hits = [shown(hit, core.positions, datetime.now(UTC)) for hit in found.answer.results]
        messages = cut_to(hits, core.settings.limits.reply_bytes)
        handed_out.note(
            found.set_to.access,
            profile,
            caller,
            verb="recall_conversation",
            query=request.query,
            results=[one.id for one in messages],
            contact=query.contact,
            session=query.session,
        )
        return RecallConversationReply(
            messages=messages,
            position=core.positions.show(position),
            truncated=found.answer.truncated or len(messages) < len(hits),
            off=off_channels(found.answer, {**opened.views.off, **found.off}),
        )

    nothing = RecallConversationReply(messages=[], position=core.positions.show(core.reader.passed))
    if query.contact != ALL and not query.contact and not caller.reach.hears(""):
        return nothing
    return await reading(core, profile, request.at_least, ask, absent=nothing, visibility=request.visibility)


def _ask(core: Core, caller: Caller, opened: OpenProfile, query: RecallQuery) -> Found | None:
    if query.session:
        conversation = opened.views.ledger.conversation(query.session)
        if conversation is None or not caller.reach.hears(conversation.contact):
            return None
    return local_recall(core, opened, query, opened.views.ledger.settings(), fill=0)


def _query(request: RecallConversationRequest, caller: Caller, limits: Limits) -> RecallQuery:
    """Return the query over messages, or raise InvalidInputError."""
    check_text(request.query, field="query", max_bytes=limits.query_bytes)
    check_limit(request.limit, limits.recall_limit)
    if request.contact:
        check_name(request.contact, field="contact", max_chars=limits.contact_chars)
    if request.session:
        check_name(request.session, field="session", max_chars=limits.session_chars)
    scope = request.scope or ("conversation" if request.session else "contact")
    if (scope == "conversation") is not bool(request.session):
        raise InvalidInputError(
            "the scope and the session do not fit",
            expected="a session with scope=conversation, none with another scope",
            found=f"scope={scope}, session={request.session[:40]!r}",
        )
    if scope != "contact" and request.contact:
        raise InvalidInputError(
            "the scope and the contact do not fit", expected="scope=contact with a contact", found=f"scope={scope}"
        )
    since, until = check_between(request.since, request.until)
    return RecallQuery(
        text=request.query,
        contact=request.contact if scope == "contact" else ALL,
        kinds=_MESSAGE,
        channels=_CHANNELS[request.mode],
        limit=request.limit,
        within=caller.reach.reads,
        during=Span.between(since, until),
        session=request.session,
        role=request.role,
        distinct=False,
    )
