"""The whole log recomputed: every seal, every position, every version, every body that can be opened, every view.

One pass in the order of the log. Memory does not grow with it: a page of messages, one hash for each bit of a stretch,
a page of seals, and the versions of aggregates in a scratch file.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import msgspec

from domain.envelope import profile_of
from domain.errors import DamagedError, UmbrielError
from domain.events import LostRange, SealMade
from domain.merkle import MerkleRoot
from domain.sealing import SYSTEM, chain_problem, is_lost, leaf_at, seal_problem
from gateways.jetstream.codec import open as open_entry
from gateways.jetstream.keys import Key, KeyRing
from gateways.jetstream.log import Entry, Log
from gateways.jetstream.seal_keys import check_signature
from gateways.jetstream.stretch import Place
from gateways.jetstream.wire import entry_of
from gateways.service.integrity import Known, Standing, check_standing, view_problem
from gateways.service.sealing import seal_in
from gateways.service.versions import Versions
from projections.soundness import damage, profile_name, profile_roots, view_positions

__all__ = ["Examination", "Finding", "examine_views"]

_PAGE = 500
#: findings that are kept; a count says how many there are
_KEPT = 500


class Finding(msgspec.Struct, frozen=True):
    """One thing that is not as it must be: where in the log (0: nowhere in particular), whose, and what."""

    check: str
    text: str
    position: int = 0
    profile: str = ""
    #: the last position of a range, 0 where it is one position
    until: int = 0
    #: whether it is what was sealed that is wrong, not the message at the position
    stretch: bool = False


class Examination:
    """One look at everything; ``done`` of ``total`` positions are behind it, ``findings`` are the first it found."""

    def __init__(
        self, log: Log, keys: KeyRing, data: Path, standing: Standing, known: Known, trusted: frozenset[str]
    ) -> None:
        self._log = log
        self._keys = keys
        self._data = data
        self._standing = standing
        self._known = known
        self._trusted = trusted
        self.total = standing.last_position
        self.done = 0
        self.events = 0
        self.seals = 0
        self.sealed = 0
        self.unreadable = 0
        self.found = 0
        self.findings: list[Finding] = []
        #: stretches that are not what was sealed although every message in them can be read
        self.changed: list[LostRange] = []
        self.started = time.monotonic()
        self.ended = 0.0
        self._tree = MerkleRoot()
        self._seal: SealMade | None = None
        self._before: SealMade | None = None
        self._holed = False
        self._missing: tuple[int, int] | None = None

    async def run(self) -> None:
        """Look at everything; what is wrong is among the findings, and only a log that does not answer is an error."""
        try:
            await check_standing(self._log, self._standing, self._known)
        except DamagedError as error:
            self._note("log", str(error))
        except UmbrielError as error:
            if error.retryable:
                raise
            self._note("log", str(error))
        with Versions(self._data / "verify.scratch") as versions:
            seals = self._all_seals()
            self._seal = await anext(seals, None)
            async for page in _pages(self._log, self.total):
                keys = await self._keys_of(page)
                for place in page:
                    if self._seal is not None and place.position > self._seal.last:
                        self._end_of_stretch()
                        self._seal = await anext(seals, None)
                    self._leaf(place)
                await asyncio.to_thread(self._look, page, keys, versions)
                self.done = page[-1].position
            if self._seal is not None and self._seal.last <= self.total:
                self._end_of_stretch()
        self._end_of_gap()
        async for finding in examine_views(self._log, self._data, self.total):
            self._add(finding)
        self.ended = time.monotonic()

    # -- seals ----------------------------------------------------------------------------------

    async def _all_seals(self) -> AsyncIterator[SealMade]:
        """Yield the seals of the log in order, those that seal nothing beyond where this look ends."""
        after = 0
        while entries := await self._log.read_category(SealMade.category(), after, _PAGE):
            for entry in entries:
                after = entry.position
                if is_lost(after, self._standing.lost):
                    continue
                try:
                    seal = seal_in(entry)
                except DamagedError as error:
                    self._note("seal", str(error), after)
                    continue
                self._check_seal(seal, after)
                if seal.last <= self.total:
                    yield seal

    def _check_seal(self, seal: SealMade, position: int) -> None:
        self.seals += 1
        before, self._before = self._before, seal
        problem = seal_problem(seal, check_signature, self._trusted)
        if problem:
            self._note("trust" if "trusted" in problem else "seal", problem, position)
        first = 1 if before is None else before.last + 1
        if (problem := chain_problem(seal, before)) and not self._standing.is_unlike(first, position):
            self._unlike(problem, first, position)

    def _leaf(self, place: Place) -> None:
        if self._seal is None or place.position < self._seal.first:
            return
        leaf = leaf_at(place.position, place.message, self._standing.lost)
        if leaf is None:
            self._holed = True
        else:
            self._tree.add(leaf)

    def _end_of_stretch(self) -> None:
        """Compare what the log holds with what was sealed."""
        seal, tree, holed = self._seal, self._tree, self._holed
        self._tree, self._holed = MerkleRoot(), False
        if seal is None:
            return
        self.sealed = max(self.sealed, seal.last)
        # What is missing is a finding of its own.
        known = holed or self._standing.is_unlike(seal.first, seal.last)
        if tree.root().hex() != seal.root and not known:
            text = f"what seal {seal.number} sealed from {seal.first} to {seal.last} was changed"
            self._unlike(text, seal.first, seal.last)

    def _unlike(self, text: str, first: int, last: int) -> None:
        self._add(Finding("seal", text, first, until=last, stretch=True))
        self.changed.append(LostRange(first, last))

    # -- messages -------------------------------------------------------------------------------

    async def _keys_of(self, page: Sequence[Place]) -> Mapping[tuple[str, str], Key | DamagedError | None]:
        """Return the keys a page was encrypted under: None for one that was destroyed, or what is wrong with it."""
        wanted: dict[tuple[str, str], None] = {}
        for place in page:
            if place.message is not None and (entry := entry_of(place.message)).key_id:
                wanted[profile_of(entry.originator_id), entry.key_id] = None
        found: dict[tuple[str, str], Key | DamagedError | None] = {}
        for profile, key_id in wanted:
            try:
                found[profile, key_id] = await self._keys.by_id(profile, key_id)
            except DamagedError as error:
                found[profile, key_id] = error
        return found

    def _look(
        self,
        page: Sequence[Place],
        keys: Mapping[tuple[str, str], Key | DamagedError | None],
        versions: Versions,
    ) -> None:
        for place in page:
            lost = is_lost(place.position, self._standing.lost)
            if place.message is None and not lost:
                self._gap(place.position)
            if place.message is None or lost:
                versions.skip(place.position)
                continue
            entry = entry_of(place.message)
            self.events += 1
            self._open(entry, keys)
            gap = versions.take(entry.originator_id, entry.version, entry.position)
            if gap:
                self._note("version", gap, entry.position, profile_of(entry.originator_id))
        versions.commit()

    def _open(self, entry: Entry, keys: Mapping[tuple[str, str], Key | DamagedError | None]) -> None:
        profile = profile_of(entry.originator_id)
        key = keys.get((profile, entry.key_id)) if entry.key_id else None
        if isinstance(key, DamagedError):
            self._note("key", str(key), entry.position, profile)
        elif entry.key_id and key is None:
            self.unreadable += 1
        else:
            try:
                open_entry(entry, key)
            except DamagedError as error:
                self._note("body", str(error), entry.position, profile)

    def _gap(self, position: int) -> None:
        if self._missing is not None and self._missing[1] == position - 1:
            self._missing = self._missing[0], position
            return
        self._end_of_gap()
        self._missing = position, position

    def _end_of_gap(self) -> None:
        if self._missing is None:
            return
        (first, last), self._missing = self._missing, None
        where = f"position {first}" if first == last else f"positions {first} to {last}"
        self._add(Finding("missing", f"the log holds nothing that can be read at {where}", first, until=last))

    def _note(self, check: str, text: str, position: int = 0, profile: str = "") -> None:
        self._add(Finding(check, text, position, "" if profile == SYSTEM else profile))

    def _add(self, finding: Finding) -> None:
        self.found += 1
        if len(self.findings) < _KEPT:
            self.findings.append(finding)


async def _pages(log: Log, last: int) -> AsyncIterator[list[Place]]:
    page: list[Place] = []
    async for place in log.stretch(1, last):
        page.append(place)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page


async def examine_views(log: Log, data: Path, last: int) -> AsyncIterator[Finding]:
    """Yield what is wrong with the views that are served: their files, and the events they stand at."""
    for root in await asyncio.to_thread(profile_roots, data):
        name = profile_name(root)
        try:
            broken = await asyncio.to_thread(_damage, root)
            standpoints = await asyncio.to_thread(view_positions, root)
        except DamagedError as error:
            yield Finding("view", str(error), 0, name)
            continue
        for text in broken:
            yield Finding("view", text, 0, name)
        for view, at in standpoints.items():
            if problem := await view_problem(log, at, last):
                text = f"the {view} of {name} hold event {at.event_id}, the log has {problem}"
                yield Finding("view", text, at.event_position, name)


def _damage(root: Path) -> list[str]:
    return list(damage(root, "integrity_check"))
