"""The client: one asynchronous method for each verb of the service."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from umbriel import _embedded, _split
from umbriel import types as wire
from umbriel._admin import AdminVerbs
from umbriel._backups import BackupVerbs
from umbriel._calls import Calls
from umbriel._changes import ChangeVerbs
from umbriel._contexts import ContextVerbs
from umbriel._conversations import ConversationVerbs
from umbriel._copies import CopyVerbs
from umbriel._diffs import DiffVerbs
from umbriel._erasure import ErasureVerbs
from umbriel._exports import ExportVerbs
from umbriel._feeds import FeedVerbs
from umbriel._goals import GoalVerbs
from umbriel._imports import ImportVerbs
from umbriel._keys import KeyVerbs
from umbriel._messages import MessageVerbs
from umbriel._notes import NoteVerbs
from umbriel._past import Point, Progress, until_built, wire_point
from umbriel._principals import PrincipalVerbs
from umbriel._session_list import SessionListVerbs
from umbriel._sessions import SessionVerbs
from umbriel._transport import RETRY_SECONDS, Transport, check_name, trusting
from umbriel._turns import TurnVerbs
from umbriel._upkeep import UpkeepVerbs
from umbriel._verifying import VerifyVerbs
from umbriel.answers import Length, Thinking
from umbriel.erasure import ProfilesRequest

__all__ = ["Umbriel"]

_READ = 30.0
#: how long a question about the past is asked again while the views of then are made
_BUILD = 900.0
#: longer than the service lets a model take for an answer
_ANSWER = 90.0
_WRITE = 60.0
_REBUILD = 3600.0
_SERVICE = "_"


class Umbriel(
    ChangeVerbs,
    ContextVerbs,
    ConversationVerbs,
    MessageVerbs,
    SessionVerbs,
    SessionListVerbs,
    TurnVerbs,
    NoteVerbs,
    GoalVerbs,
    CopyVerbs,
    FeedVerbs,
    ExportVerbs,
    ImportVerbs,
    DiffVerbs,
    AdminVerbs,
    PrincipalVerbs,
    UpkeepVerbs,
    ErasureVerbs,
    KeyVerbs,
    BackupVerbs,
    Calls,
    VerifyVerbs,
):
    """A connection to Umbriel as one principal, speaking for one profile.

    Open it with `connect` or `embedded`, close it with `close` or ``async with``. Every verb
    raises `UmbrielError`; ``timeout`` is the seconds one attempt may take.
    """

    def __init__(self, transport: Transport, *, profile: str) -> None:
        self._transport = transport
        self._profile = check_name(profile, field="profile")

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        principal: str,
        password: str = "",
        profile: str = "default",
        nkey_seed: str | Path | None = None,
        tls_ca: str | Path | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> Umbriel:
        """Connect to a running service over NATS (``nats://host:port``; several with commas).

        ``nkey_seed`` is a file with the seed of the principal's nkey, instead of a password; ``tls_ca`` a PEM file
        of the authorities to trust, the system's when None. ``retry_seconds`` is how long a verb is tried again, with
        growing pauses and the same request, while its errors are marked retryable; 0 tries once.
        """
        check_name(profile, field="profile")
        transport = await Transport.connect(
            url,
            principal=principal,
            password=password,
            nkey_seed=None if nkey_seed is None else Path(nkey_seed),
            tls=None if tls_ca is None else trusting(tls_ca),
        )
        transport.retry_seconds = retry_seconds
        return cls(transport, profile=profile)

    @classmethod
    async def embedded(
        cls,
        data_dir: str | Path | None = None,
        *,
        profile: str = "default",
        principal: str = "local-agent",
        retry_seconds: float = RETRY_SECONDS,
    ) -> Umbriel:
        """Join the service of a data directory, starting one that stops by itself when none runs.

        Without ``data_dir``: ``UMBRIEL_DATA``, else the user's data directory. ``retry_seconds`` as for `connect`.
        """
        check_name(profile, field="profile")
        transport = await _embedded.join(_embedded.data_directory(data_dir), principal)
        transport.retry_seconds = retry_seconds
        return cls(transport, profile=profile)

    @staticmethod
    async def stop_embedded(data_dir: str | Path | None = None) -> bool:
        """Stop the service of a data directory; False when none answers there."""
        return await _embedded.stop(_embedded.data_directory(data_dir))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; closing twice does nothing."""
        await self._transport.close()

    @property
    def profile(self) -> str:
        """The profile this client speaks for."""
        return self._profile

    @property
    def principal(self) -> str:
        """The principal this client speaks as."""
        return self._transport.principal

    def for_profile(self, profile: str) -> Umbriel:
        """Return a client for another profile on the same connection (closing either closes both)."""
        return Umbriel(self._transport, profile=profile)

    async def ingest(
        self,
        messages: Iterable[wire.Message],
        *,
        session: str = "",
        contact: str = "",
        channel: str = "",
        wait: bool = False,
        progress: Callable[[int, int], None] | None = None,
        timeout: float = _WRITE,
    ) -> wire.IngestReply:
        """Record a conversation of any length; outcomes come back in the order given.

        The call is split into requests that fit the wire. ``progress`` is called with (messages
        done, messages in all). ``wait`` also waits for what follows the acknowledgement.
        """
        numbered = _split.with_occurrences(messages)
        replies: list[wire.IngestReply] = []
        for batch in _split.batches(numbered):
            request = wire.IngestRequest(messages=batch, session=session, contact=contact, channel=channel, wait=wait)
            reply = await self._transport.call(self._profile, "ingest", request, wire.IngestReply, timeout=timeout)
            session = session or reply.session
            replies.append(reply)
            if progress is not None:
                progress(sum(len(done.outcomes) for done in replies), len(numbered))
        return _split.merge(replies)

    async def remember(
        self,
        content: str,
        *,
        key: str = "",
        kind: wire.Kind | None = None,
        fact_type: str = "",
        contact: str = "",
        scope: Literal["", "agent"] = "",
        session: str = "",
        occurred_at: datetime | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        expires_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        wait: bool = False,
        request_id: str = "",
        timeout: float = _WRITE,
    ) -> wire.RememberReply:
        """Record one explicit memory; the same ``key`` with other content supersedes.

        A ``request_id`` is made up when none is given, so that a repeated request writes once.
        """
        request = wire.RememberRequest(
            content=content,
            key=key,
            kind=kind,
            fact_type=fact_type,
            contact=contact,
            scope=scope,
            session=session,
            occurred_at=occurred_at,
            valid_from=valid_from,
            valid_to=valid_to,
            expires_at=expires_at,
            metadata=dict(metadata or {}),
            wait=wait,
            request_id=request_id or _new_request_id(),
        )
        return await self._transport.call(self._profile, "remember", request, wire.RememberReply, timeout=timeout)

    async def recall(
        self,
        query: str,
        *,
        contact: str = "",
        kinds: Iterable[str] = (),
        limit: int | None = None,
        token_budget: int | None = None,
        min_score: float = 0.0,
        as_of: Point = "",
        at_least: str = "",
        visibility: wire.Visibility = "complete",
        channels: Iterable[str] = (),
        explain: bool = False,
        since: datetime | None = None,
        until: datetime | None = None,
        reference_date: datetime | None = None,
        answer: bool = False,
        thinking: Thinking = "low",
        length: Length = "medium",
        inspect: bool = False,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> wire.RecallReply:
        """Return what the profile knows about ``query``, best first.

        ``at_least`` is a position from an earlier reply that the answer must have reached. ``since`` and ``until``
        leave out what did not happen between them; ``reference_date`` is what "last week" is counted from. With
        ``answer`` a language model of the service answers from the results as well: ``thinking`` is how many it looks
        at and how hard it thinks, ``length`` how much it says.

        ``as_of`` is a time of recording, or a position: what recall answered then, without what is forgotten by now.
        The views of then may have to be made first; ``progress`` hears how far they are. ``inspect`` counts no access.
        """
        request = wire.RecallRequest(
            query=query,
            contact=contact,
            kinds=list(kinds),
            limit=limit,
            token_budget=token_budget,
            min_score=min_score,
            as_of=wire_point(as_of),
            at_least=at_least,
            visibility=visibility,
            channels=list(channels),
            explain=explain,
            since=since,
            until=until,
            answer=answer,
            thinking=thinking,
            length=length,
            reference_date=reference_date,
            inspect=inspect,
        )
        seconds = timeout or (_ANSWER if answer else _READ)

        async def ask() -> wire.RecallReply:
            return await self._transport.call(self._profile, "recall", request, wire.RecallReply, timeout=seconds)

        return await until_built(ask, _BUILD, progress)

    async def get(
        self,
        id: str = "",
        *,
        key: str = "",
        contact: str = "",
        kind: wire.Kind | None = None,
        as_of: Point = "",
        at_least: str = "",
        timeout: float = _READ,
    ) -> wire.Memory:
        """Return one memory or message by id, or the newest live memory under ``key``, as it is or as it was."""
        request = wire.GetRequest(
            id=id, key=key, contact=contact, kind=kind, as_of=wire_point(as_of), at_least=at_least
        )
        return await self._transport.call(self._profile, "get", request, wire.Memory, timeout=timeout)

    async def list(
        self,
        *,
        session: str = "",
        contact: str = "",
        kind: wire.Kind | None = None,
        status: str = "live",
        text: str = "",
        cursor: str = "",
        limit: int = 50,
        as_of: Point = "",
        at_least: str = "",
        timeout: float = _READ,
    ) -> wire.ListReply:
        """Return one page of memories, newest first; ask again with the reply's ``cursor``.

        ``as_of`` is a time of recording, or a position: what was known then, with the status and expiry of then.
        """
        request = wire.ListRequest(
            session=session,
            contact=contact,
            kind=kind,
            status=status,
            text=text,
            cursor=cursor,
            limit=limit,
            as_of=wire_point(as_of),
            at_least=at_least,
        )
        return await self._transport.call(self._profile, "list", request, wire.ListReply, timeout=timeout)

    async def history(self, id: str, *, at_least: str = "", timeout: float = _READ) -> wire.HistoryReply:
        """Return every version at a memory's address and every event that touched it."""
        request = wire.IdRequest(id=id, at_least=at_least)
        return await self._transport.call(self._profile, "history", request, wire.HistoryReply, timeout=timeout)

    async def why(self, id: str, *, at_least: str = "", timeout: float = _READ) -> wire.WhyReply:
        """Return why a memory says what it says: versions, decisions and source lines."""
        request = wire.IdRequest(id=id, at_least=at_least)
        return await self._transport.call(self._profile, "why", request, wire.WhyReply, timeout=timeout)

    async def status(self, *, service: bool = False, timeout: float = _READ) -> wire.StatusReply:
        """Return positions and outstanding work of this profile, or of the whole ``service``."""
        profile = _SERVICE if service else self._profile
        return await self._transport.call(profile, "status", wire.StatusRequest(), wire.StatusReply, timeout=timeout)

    async def rebuild(
        self,
        views: Iterable[str] = (),
        *,
        action: Literal["start", "status", "pause", "resume", "rollback", "cancel"] = "start",
        wait: bool = True,
        timeout: float = _REBUILD,
    ) -> wire.RebuildReply:
        """Rebuild the named views of this profile (all when none is named) from the log, or act on its rebuild.

        The service carries it out by itself: without ``wait`` the answer is how it stands, ``action="status"`` asks
        again. Raises DamagedError when a rebuild that was waited for failed; what was served is served on.
        """
        request = wire.RebuildRequest(views=list(views), action=action, wait=wait)
        return await self._transport.call(
            self._profile, "rebuild", request, wire.RebuildReply, timeout=timeout, idempotent=False
        )

    async def profiles(self, *, deleted: bool = False, timeout: float = _READ) -> wire.ProfilesReply:
        """Return the profiles this principal holds a grant for; with ``deleted`` also which are no more."""
        return await self._transport.call(
            _SERVICE, "profiles", ProfilesRequest(deleted=deleted), wire.ProfilesReply, timeout=timeout
        )


def _new_request_id() -> str:
    return uuid.uuid4().hex
