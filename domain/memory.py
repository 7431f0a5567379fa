"""The memory aggregate: every version of what is stated at one address, and its life."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from domain.copying import CopyState
from domain.errors import InvalidInputError, NotFoundError, RefusedError
from domain.events import (
    ContradictionNoted,
    ExpirySet,
    MemoryExpired,
    MemoryForgotten,
    MemoryJudged,
    MemoryPinned,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
    MemorySuperseded,
    MemoryUnpinned,
)
from domain.ids import memory_id
from domain.indexing import memory_key_scope
from domain.kernel import Context
from domain.resting import affirm, forget_versions
from domain.text import fold_content, skeleton
from domain.upkeep import Kept
from domain.version import Remembered, Status, Version

__all__ = ["Memory", "Remembered", "Status", "Version"]


class Memory(CopyState, Kept):
    """All versions at one address.

    At most one has the status ``live``, expired or not: one that has expired is superseded by the next one
    written, so that a longer expiry cannot make two of them live.
    """

    CATEGORY = "memory"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self.versions: list[Version] = []
        self._by_request: dict[str, str] = {}
        self._rejected: set[str] = set()
        self._noted: set[tuple[str, str]] = set()
        self._judged: set[str] = set()

    # -- commands -------------------------------------------------------------------------------

    def remember(self, draft: MemoryRemembered, context: Context, *, rejected: bool = False) -> Remembered:
        """State ``draft`` at this address (its memory id and version are filled in here).

        Equal content is a duplicate; other content supersedes the live version in the same append.
        An agent never supersedes a person's statement: the contradiction is noted. A statement that a person
        rejected (here, or with ``rejected`` at another address of the scope) is refused to anyone but a person. A
        ``request_id`` seen before does nothing.

        What was said before the live version was is written and superseded at once (``late``). What rests on the
        very messages of a version that was rejected, forgotten or retracted, that has expired, or that a person
        corrected, is not news (``blocked``).
        """
        if draft.request_id in self._by_request:
            return Remembered(self._by_request[draft.request_id], "repeated")
        person = context.actor.type == "person"
        self._check_rejected(draft, context, rejected=rejected)
        if not person and (gone := self._ended_on(draft, context)):
            return Remembered(gone, "blocked")
        if (standing := self._standing()) is not None and standing.live_at(context.now):
            if standing.says(draft):
                if draft.source == "explicit":
                    affirm(self, standing, context)
                return Remembered(standing.written.memory, "duplicate")
            if standing.author_type == "person" and not person:
                return self._note_contradiction(standing, draft, context)
            if draft.stated_at is not None and draft.stated_at < standing.stated_at:
                return self._write_late(standing, draft, context)
        return self._write(standing, draft, context)

    def correct(
        self,
        memory: str,
        draft: MemoryRemembered,
        context: Context,
        *,
        rejected: bool = False,
        rule: str = "correction",
    ) -> Remembered:
        """Let ``draft`` replace a version as the next one of the same memory, in one append.

        It stays at its address, also where that derives from the content: the chain is one. Equal content of the
        same period is a duplicate; a pin is kept. An agent corrects no person's statement and states nothing that
        was rejected (RefusedError). A version that another one replaced is not the one to correct, and a forgotten
        one is gone (InvalidInputError).
        """
        if draft.request_id in self._by_request:
            return Remembered(self._by_request[draft.request_id], "repeated")
        version, standing = self.find(memory), self._standing()
        self._check_correct(version, standing, context)
        self._check_rejected(draft, context, rejected=rejected)
        if version.live_at(context.now) and version.same(draft):
            return Remembered(memory, "duplicate")
        corrected = self._write(standing, draft, context, rule=rule)
        if version.pinned:
            self.pin(corrected.memory, context)
        return corrected

    def _check_correct(self, version: Version, standing: Version | None, context: Context) -> None:
        if version.status == "forgotten" or (standing is not None and standing is not version):
            found = f"{version.status}, {standing.written.memory} is live" if standing else version.status
            raise InvalidInputError("this version cannot be corrected", expected="the live version", found=found)
        if context.actor.type != "person" and version.author_type == "person":
            raise RefusedError(
                "only a person can correct a person's statement", expected="person", found=context.actor.type
            )

    def _check_rejected(self, draft: MemoryRemembered, context: Context, *, rejected: bool) -> None:
        if context.actor.type != "person" and (rejected or skeleton(draft.text) in self._rejected):
            raise RefusedError(
                "a person rejected this statement", expected="a person to state it again", found=context.actor.type
            )

    def _ended_on(self, draft: MemoryRemembered, context: Context) -> str:
        """Return a version that has ended and that rested on all the draft's messages, or nothing."""
        if not draft.sources:
            return ""
        # Read before, and replaced since: a second look at old messages tells nothing new.
        again = draft.source == "pre-compaction"
        ended = (v for v in self.versions if v.over_at(context.now) or (again and v.status == "superseded"))
        return next((v.written.memory for v in ended if set(draft.sources) <= set(v.sources)), "")

    def _write_late(self, standing: Version, draft: MemoryRemembered, context: Context) -> Remembered:
        known = next((v for v in self.versions if v.says(draft) and v.stated_at == draft.stated_at), None)
        if known is not None:
            return Remembered(known.written.memory, "duplicate")
        self._write(None, draft, context)
        late = self.versions[-1]
        self._supersede(late, standing.written.memory, "order", context)
        return Remembered(late.written.memory, "late")

    def _write(
        self, standing: Version | None, draft: MemoryRemembered, context: Context, *, rule: str = "address"
    ) -> Remembered:
        # Versions that were erased had numbers too, and each took an event at least.
        number = self.version + 1 if self.erased else len(self.versions) + 1
        event = msgspec.structs.replace(draft, memory=memory_id(draft.address, number), version=number)
        self.emit(event, context, key_scope=memory_key_scope(event))
        if standing is None:
            return Remembered(event.memory, "remembered")
        self._supersede(standing, event.memory, rule, context)
        return Remembered(event.memory, "superseded", standing.written.memory)

    def _note_contradiction(self, live: Version, draft: MemoryRemembered, context: Context) -> Remembered:
        memory = live.written.memory
        if (memory, draft.folded) not in self._noted:
            event = ContradictionNoted(
                memory=memory, other="", text=draft.text, request_id=draft.request_id, sources=draft.sources
            )
            self.emit(event, context, key_scope=memory_key_scope(live.written))
        return Remembered(memory, "noted")

    def _supersede(
        self,
        version: Version,
        by: str,
        rule: str,
        context: Context,
        *,
        probability: float | None = None,
        model: str = "",
    ) -> None:
        event = MemorySuperseded(memory=version.written.memory, by=by, rule=rule, probability=probability, model=model)
        self.emit(event, context, key_scope=memory_key_scope(version.written))

    def supersede(
        self,
        memory: str,
        *,
        by: Version,
        rule: str,
        context: Context,
        probability: float | None = None,
        model: str = "",
    ) -> bool:
        """Let a memory at another address replace this version.

        False when it is not live any more, or is a person's statement and the other is not.
        """
        version = self.find(memory)
        if not version.live_at(context.now) or (version.author_type == "person" and by.author_type != "person"):
            return False
        self._supersede(version, by.written.memory, rule, context, probability=probability, model=model)
        return True

    def note(self, memory: str, *, other: Version, context: Context, probability: float, model: str) -> bool:
        """Note that a memory at another address contradicts this version and does not replace it."""
        version, text = self.find(memory), other.written.text
        if not version.live_at(context.now) or (memory, other.written.folded) in self._noted:
            return False
        event = ContradictionNoted(
            memory=memory, other=other.written.memory, text=text, probability=probability, model=model
        )
        self.emit(event, context, key_scope=memory_key_scope(version.written))
        return True

    def is_unjudged(self, memory: str, now: datetime) -> bool:
        """Whether a version is live and was not held against older memories yet."""
        return memory not in self._judged and self.find(memory).live_at(now)

    def judge(self, event: MemoryJudged, context: Context) -> bool:
        """Record what was found when this version was held against older memories; once for each version."""
        version = self.find(event.memory)
        if event.memory in self._judged:
            return False
        self.emit(event, context, key_scope=memory_key_scope(version.written))
        return True

    def forget(
        self,
        context: Context,
        *,
        with_sources: bool = False,
        request_id: str = "",
        only: Collection[str] | None = None,
    ) -> Sequence[str]:
        """Take every version (or ``only`` some) out of every view; returns the ids touched, none when done before."""
        if request_id in self._by_request:
            return ()
        standing = (v.written.memory for v in self.versions if v.status != "forgotten")
        touched = tuple(one for one in standing if only is None or one in only)
        forget_versions(self, touched, context, with_sources=with_sources, request_id=request_id)
        return touched

    def retract(self, memory: str, context: Context, *, request_id: str = "") -> bool:
        """Withdraw a live version without a replacement."""
        version = self.find(memory)
        if version.status != "live" or request_id in self._by_request:
            return False
        event = MemoryRetracted(memory=memory, request_id=request_id)
        self.emit(event, context, key_scope=memory_key_scope(version.written))
        return True

    def reject(self, memory: str, context: Context, *, request_id: str = "") -> bool:
        """Declare a version wrong. From then on only a person can state it again."""
        version = self.find(memory)
        if context.actor.type != "person":
            raise RefusedError("only a person can reject a memory", expected="person", found=context.actor.type)
        if version.status in ("rejected", "forgotten") or request_id in self._by_request:
            return False
        event = MemoryRejected(memory=memory, skeleton=skeleton(version.written.text), request_id=request_id)
        self.emit(event, context, key_scope=memory_key_scope(version.written))
        return True

    def restore(self, memory: str, context: Context, *, request_id: str = "") -> bool:
        """Make a version live again; the version that is live now is superseded by it.

        Only a person restores what a person rejected or replaces what a person stated (RefusedError); what
        was forgotten is gone (InvalidInputError).
        """
        version = self.find(memory)
        if version.live_at(context.now) or request_id in self._by_request:
            return False
        if version.status == "forgotten":
            raise InvalidInputError(
                "a forgotten memory cannot be restored", expected="a kept version", found="forgotten"
            )
        standing = self._standing()
        self._check_restore(version, standing, context)
        event = MemoryRestored(memory=memory, content=version.written, request_id=request_id)
        self.emit(event, context, key_scope=memory_key_scope(version.written))
        if version.expires_at is not None and version.expires_at <= context.now:
            # A version that comes back with its time over would be gone again at once.
            self.emit(ExpirySet(memory=memory), context, key_scope=memory_key_scope(version.written))
        if standing is not None and standing is not version:
            self._supersede(standing, memory, "restore", context)
        return True

    def _check_restore(self, version: Version, standing: Version | None, context: Context) -> None:
        if context.actor.type == "person":
            return
        if version.status == "rejected" or skeleton(version.written.text) in self._rejected:
            raise RefusedError(
                "only a person can restore a rejected memory", expected="person", found=context.actor.type
            )
        if standing is not None and standing.live_at(context.now) and standing.author_type == "person":
            raise RefusedError(
                "only a person can replace a person's statement", expected="person", found=context.actor.type
            )

    def pin(self, memory: str, context: Context) -> bool:
        """Exempt a version from decay and consolidation."""
        version = self.find(memory)
        if version.pinned or version.status == "forgotten":
            return False
        self.emit(MemoryPinned(memory=memory), context, key_scope=memory_key_scope(version.written))
        return True

    def unpin(self, memory: str, context: Context) -> bool:
        """Make a version subject to decay again."""
        version = self.find(memory)
        if not version.pinned:
            return False
        self.emit(MemoryUnpinned(memory=memory), context, key_scope=memory_key_scope(version.written))
        return True

    def expire(self, memory: str, at: datetime | None, context: Context) -> bool:
        """Set (or with None remove) the time after which a version is no longer live."""
        version = self.find(memory)
        if version.expires_at == at or version.status == "forgotten":
            return False
        self.emit(ExpirySet(memory=memory, expires_at=at), context, key_scope=memory_key_scope(version.written))
        return True

    # -- state ----------------------------------------------------------------------------------

    def find(self, memory: str) -> Version:
        """Return the state of one version, or raise NotFoundError."""
        for version in self.versions:
            if version.written.memory == memory:
                return version
        raise NotFoundError("no such memory", expected="the id of a memory", found=memory)

    def did(self, request_id: str) -> bool:
        """Whether a command with this request's id was carried out here."""
        return request_id in self._by_request

    def _standing(self) -> Version | None:
        """Return the version that is live, or was until it expired."""
        return next((v for v in reversed(self.versions) if v.status == "live"), None)

    def _set(self, memory: str, status: Status, request_id: str = "") -> None:
        self.find(memory).status = status
        if request_id:
            self._by_request[request_id] = memory

    def on_remembered(self, event: MemoryRemembered) -> None:
        """Append a version."""
        self.versions.append(
            Version(event, self.author.principal, self.author.type, self.at, expires_at=event.expires_at)
        )
        self._rejected.discard(skeleton(event.text))
        if event.request_id:
            self._by_request[event.request_id] = event.memory

    def on_superseded(self, event: MemorySuperseded) -> None:
        """End a version by replacement."""
        self._set(event.memory, "superseded")
        if event.rule in {"correction", "part"} and self.author.type == "person":
            self.find(event.memory).settled = True

    def on_retracted(self, event: MemoryRetracted) -> None:
        """End a version without replacement."""
        self._set(event.memory, "retracted", event.request_id)
        self.find(event.memory).settled = self.author.type == "person"

    def on_rejected(self, event: MemoryRejected) -> None:
        """End a version and remember its skeleton."""
        self._set(event.memory, "rejected", event.request_id)
        self._rejected.add(event.skeleton)

    def on_restored(self, event: MemoryRestored) -> None:
        """Bring a version back; one that a person brings back counts as a person's statement."""
        self._set(event.memory, "live", event.request_id)
        version = self.find(event.memory)
        version.settled, version.restored = False, True
        if self.author.type == "person":
            version.author_type = "person"
        self._rejected.discard(skeleton(event.content.text))

    def on_expired(self, event: MemoryExpired) -> None:
        """End a version by hand."""
        self._set(event.memory, "expired")

    def on_forgotten(self, event: MemoryForgotten) -> None:
        """End every version that still stood."""
        for version in self.versions:
            if version.written.memory in event.memories:
                self._set(version.written.memory, "forgotten", event.request_id)

    def on_expiry_set(self, event: ExpirySet) -> None:
        """Change when a version stops being live."""
        self.find(event.memory).expires_at = event.expires_at

    def on_pinned(self, event: MemoryPinned) -> None:
        """Pin a version."""
        self.find(event.memory).pinned = True

    def on_unpinned(self, event: MemoryUnpinned) -> None:
        """Unpin a version."""
        self.find(event.memory).pinned = False

    def on_revised(self, event: MemoryRevised) -> None:
        """Note what it rests on no more, and who states it besides; metadata is the ledger's."""
        version = self.find(event.memory)
        version.lost |= set(event.lost)
        version.affirmed |= event.affirmed
        if event.affirmed and self.author.type == "person":
            version.author_type = "person"

    def on_judged(self, event: MemoryJudged) -> None:
        """Note that it was done; what follows from it has events of its own."""
        self._judged.add(event.memory)

    def on_contradiction_noted(self, event: ContradictionNoted) -> None:
        """Note it once: the same statement made again is no news."""
        self._noted.add((event.memory, fold_content(event.text)))
        if event.request_id:
            self._by_request[event.request_id] = event.memory
