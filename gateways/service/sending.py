"""What is sent to the managed memory, and taken back there, for one stretch of a profile's events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import structlog

from domain.envelope import Envelope
from domain.errors import InvalidInputError, UmbrielError
from domain.events import (
    MemoryExpired,
    MemoryForgotten,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemorySuperseded,
    MessageForgotten,
    MessageRecorded,
)
from domain.ids import keyed_id
from gateways.extraction.hygiene import readable
from gateways.managed import ManagedClient, RemoteMessage
from gateways.service.context import Core
from projections.directory import FailedWork
from projections.forwarded import Kind
from projections.ledger import Ledger, MemoryRecord, MessageRecord

__all__ = ["WORK", "Sending", "remote_session"]

T = TypeVar("T")
_log = structlog.get_logger(__name__)
#: messages in one call
_AT_ONCE = 100
_SESSION_MESSAGES = 100_000
#: how failed work of forwarding is called, before the class of content
WORK = "forward"


def remote_session(secret: bytes, session: str) -> str:
    """Return what a session is called there: its name may be a contact's."""
    return keyed_id(secret, "managed-session", session)


class Sending:
    """Sends a profile's messages and memories, those that still stand, and deletes there what stands no more.

    Every call may be repeated: what is there already stays one. Errors other than of a single item are raised.
    """

    def __init__(self, core: Core, client: ManagedClient) -> None:
        self._core = core
        self._client = client
        self._destination = client.settings.destination

    async def messages(self, profile: str, envelopes: Sequence[Envelope]) -> None:
        """Send the messages among these events, a session's together and in order."""
        ids = [one.data.message for one in envelopes if isinstance(one.data, MessageRecorded)]
        if ids:
            found = await self._asked(profile, lambda ledger: ledger.messages(ids))
            await self._send(profile, [found[one] for one in ids if one in found])

    async def _asked(self, profile: str, question: Callable[[Ledger], T]) -> T:
        """Ask a profile's ledger. It is lent for the question only: what is sent takes its time."""
        async with self._core.profiles.use(profile) as opened:
            return await self._core.in_thread(lambda: question(opened.views.ledger))

    async def _send(self, profile: str, messages: Sequence[MessageRecord]) -> None:
        sessions: dict[str, list[MessageRecord]] = defaultdict(list)
        for one in messages:
            if not one.forgotten and self._text(one):
                sessions[one.session].append(one)
        secret = await self._core.events.secret(profile)
        for session, said in sessions.items():
            remote = remote_session(secret, session)
            for start in range(0, len(said), _AT_ONCE):
                part = said[start : start + _AT_ONCE]
                # Before they are sent: what might have arrived is what a forget must take back.
                names = dict.fromkeys((one.id for one in part), remote)
                await self._note(profile, "message", names)
                await self._ingest(profile, remote, part)

    def _text(self, message: MessageRecord) -> str:
        return readable(message.role, message.content, tool_chars=self._core.settings.extraction.tool_chars)

    async def _ingest(self, profile: str, session: str, part: Sequence[MessageRecord]) -> None:
        """Send messages together; when they are not taken, in halves, so that one loses none of the others."""
        sent = [RemoteMessage(role=one.role, content=self._text(one), timestamp=one.at) for one in part]
        try:
            await self._client.ingest(profile, session, sent)
        except InvalidInputError as error:
            if len(part) == 1:
                await self._failed(profile, "messages", part[0].id, error)
                return
            half = len(part) // 2
            await self._ingest(profile, session, part[:half])
            await self._ingest(profile, session, part[half:])

    async def memories(self, profile: str, envelopes: Sequence[Envelope]) -> None:
        """Send the memories that these events wrote or brought back and that are live."""
        for envelope in envelopes:
            if not isinstance(envelope.data, MemoryRemembered | MemoryRestored):
                continue
            await self._remember(profile, envelope.data.memory)

    async def _remember(self, profile: str, memory: str) -> None:
        record = await self._asked(profile, partial(_memory, memory))
        if record is None or record.status_at(datetime.now(UTC)) != "live":
            return
        try:
            # Without its session: deleting that there would take the memory with it.
            kept = await self._client.remember(profile, record.text)
        except InvalidInputError as error:
            await self._failed(profile, "memories", memory, error)
        else:
            await self._note(profile, "memory", {memory: kept.id})

    async def again(self, profile: str, failed: FailedWork) -> bool:
        """Send what was not taken once more; returns whether it is taken now, or no longer stands."""
        _, subject, item = failed.work.split(" ", 2)
        directory = self._core.directory
        await self._core.in_thread(lambda: directory.clear_failed(profile, failed.work))
        try:
            if subject == "messages":
                found = await self._asked(profile, lambda ledger: ledger.messages((item,)))
                await self._send(profile, list(found.values()))
            else:
                await self._remember(profile, item)
        except UmbrielError:
            await self._core.in_thread(lambda: directory.note_failed(failed))
            raise
        left = await self._core.in_thread(lambda: directory.failed_work(profile))
        return all(one.work != failed.work for one in left)

    async def forgets(self, profile: str, envelopes: Sequence[Envelope], *, resend: bool) -> None:
        """Delete there what these events ended or forgot; ``resend`` the rest of a session that had to go whole."""
        for envelope in envelopes:
            match envelope.data:
                case MessageForgotten(message=message, session=session):
                    await self._forget_message(profile, message, session, resend=resend)
                case MemoryForgotten(memories=memories):
                    await self._forget_memories(profile, memories)
                case MemorySuperseded() | MemoryRetracted() | MemoryRejected() | MemoryExpired() as ended:
                    await self._forget_memories(profile, (ended.memory,))

    async def _forget_message(self, profile: str, message: str, session: str, *, resend: bool) -> None:
        directory, name = self._core.directory, profile
        known = await self._core.in_thread(
            lambda: directory.remote_names(name, self._destination, "message", [message])
        )
        if not known:
            return
        remote = known[message]
        # A single message has no name there: the session goes, and what is left of it comes again.
        await self._client.delete_session(name, remote)
        if resend:
            left = await self._asked(profile, partial(self._left, profile, session, message))
            await self._send(profile, left)
            await self._core.in_thread(lambda: directory.drop_forwarded(name, self._destination, "message", [message]))
        else:
            await self._core.in_thread(lambda: directory.drop_session(name, self._destination, remote))
            # When messages may go again, what is left of the session has to.
            await self._core.in_thread(lambda: directory.set_forwarded(name, self._destination, "messages", 0))

    def _left(self, profile: str, session: str, message: str, ledger: Ledger) -> list[MessageRecord]:
        """Return the other messages of a session that were sent before."""
        said = ledger.session_messages(session, limit=_SESSION_MESSAGES, oldest_first=True)
        ids = [one.id for one in said if one.id != message]
        sent = self._core.directory.remote_names(profile, self._destination, "message", ids)
        return [one for one in said if one.id in sent]

    async def _forget_memories(self, profile: str, memories: Sequence[str]) -> None:
        directory, name, place = self._core.directory, profile, self._destination
        known = await self._core.in_thread(lambda: directory.remote_names(name, place, "memory", memories))
        for memory, remote in known.items():
            if await self._asked(profile, partial(_live, (memory,))):
                continue  # brought back since
            sharing = await self._core.in_thread(partial(directory.local_names, name, place, "memory", remote))
            others = [one for one in sharing if one != memory]
            if not await self._asked(profile, partial(_live, others)):
                await self._client.delete_memory(name, remote)
            await self._core.in_thread(partial(directory.drop_forwarded, name, place, "memory", [memory]))

    async def _note(self, profile: str, kind: Kind, names: dict[str, str]) -> None:
        directory, name = self._core.directory, profile
        await self._core.in_thread(lambda: directory.note_forwarded(name, self._destination, kind, names))

    async def _failed(self, profile: str, subject: str, item: str, error: InvalidInputError) -> None:
        _log.warning("not_forwarded", profile=profile, item=item, reason=error.message)
        failed = FailedWork(profile, f"{WORK} {subject} {item}", error.message, datetime.now(UTC))
        await self._core.in_thread(lambda: self._core.directory.note_failed(failed))


def _memory(memory: str, ledger: Ledger) -> MemoryRecord | None:
    return ledger.memory(memory)


def _live(memories: Sequence[str], ledger: Ledger) -> bool:
    """Whether one of these memories is live."""
    return any(one.status_at(datetime.now(UTC)) == "live" for one in ledger.memories(memories).values())
