"""What a session belongs to, as a grant for some contacts sees it."""

from __future__ import annotations

from domain.conversation import Conversation
from domain.errors import RefusedError
from domain.grants import Reach
from gateways.service.aggregates import load
from gateways.service.context import Core

__all__ = ["check_session", "contact_of"]


async def check_session(core: Core, reach: Reach, profile: str, session: str, contact: str) -> None:
    """Raise RefusedError unless the grant may write to this session, as the log has it.

    A session of a contact belongs to that contact, whatever the request says. One without a contact that has
    messages is nobody's in particular: attaching it would take over what was said there.
    """
    if reach.writes is None:
        return
    found = await contact_of(core, profile, session)
    if not reach.may_write(contact if found is None else found):
        raise RefusedError(
            "no grant to write to this session", expected="a new session, or one of a contact granted", found="another"
        )


async def contact_of(core: Core, profile: str, session: str) -> str | None:
    """Return the contact a session is attached to, empty for none, None for a session without any event."""
    aggregate_id = await core.events.subject_id(profile, Conversation.CATEGORY, session)
    conversation = await load(core, Conversation, aggregate_id)
    if conversation.contact or not await core.known_profile(profile):
        return conversation.contact or None
    # Messages have subjects of their own; that there are some is known to the ledger once it has read them all.
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    async with core.profiles.use(profile) as opened:
        core.check_running(opened)
        record = await core.in_thread(lambda: opened.views.ledger.conversation(session))
    return None if record is None else record.contact
