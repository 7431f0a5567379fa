"""The library's recorders over the log: an aggregate's events, and all of them in order.

Optimistic concurrency: the version of the subject's head must be the one before the first new event,
and the server must still have that head when it writes.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    IntegrityError,
    Notification,
    StoredEvent,
    Subscription,
)

from domain.errors import ConflictError
from gateways.jetstream.bridge import Bridge
from gateways.jetstream.log import Append, Entry, Log
from gateways.jetstream.mapper import SealedEvent
from gateways.jetstream.streams import uuid_of
from gateways.jetstream.subscription import JetStreamSubscription, notification_of

__all__ = ["JetStreamAggregateRecorder", "JetStreamApplicationRecorder"]

_CACHED = 10_000
#: A stored event that is not an envelope has schema 0.
_PLAIN = 0
_BEFORE_ALL = -1


class _Heads:
    """The last version and position known of each aggregate, so that a load and a save read the head once."""

    def __init__(self) -> None:
        self._heads: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> tuple[int, int] | None:
        with self._lock:
            return self._heads.get(name)

    def put(self, name: str, version: int, position: int) -> None:
        with self._lock:
            if (known := self._heads.get(name)) is not None and known[1] > position:
                return
            self._heads[name] = (version, position)
            self._heads.move_to_end(name)
            if len(self._heads) > _CACHED:
                self._heads.popitem(last=False)

    def drop(self, names: Sequence[str]) -> None:
        with self._lock:
            for name in names:
                self._heads.pop(name, None)


class JetStreamAggregateRecorder(AggregateRecorder):
    """Writes and reads the events of aggregates; ``gaps`` allows versions to be left out (snapshots)."""

    def __init__(self, log: Log, bridge: Bridge, *, gaps: bool = False) -> None:
        self.log = log
        self.bridge = bridge
        self._gaps = gaps
        self._heads = _Heads()

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int] | None:
        """Write events in one atomic step; raises IntegrityError when an aggregate has moved on."""
        self._insert(stored_events)
        return None

    def select_events(
        self,
        originator_id: uuid.UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Read an aggregate's events with a version above ``gt`` up to ``lte``, the last ``limit`` when ``desc``."""
        name = _name(originator_id)
        if desc and limit == 1 and gt is None and lte is None:
            head = self.bridge.run(self.log.head(name))
            entries = [head] if head is not None else []
        else:
            entries = self._read(name, _BEFORE_ALL if gt is None else gt)
        if lte is not None:
            entries = [entry for entry in entries if entry.version <= lte]
        if desc:
            entries.reverse()
        return [_stored(entry) for entry in entries[:limit]]

    def _read(self, name: str, after: int) -> list[Entry]:
        known = self._heads.get(name)
        start = known[1] if known is not None and known[0] == after else 0
        entries = self.bridge.run(self.log.events(name, after, after_position=start))
        if entries:
            self._heads.put(name, entries[-1].version, entries[-1].position)
        return entries

    def _insert(self, stored_events: Sequence[StoredEvent]) -> list[int]:
        if not stored_events:
            return []
        names = [_name(event.originator_id) for event in stored_events]
        versions: dict[str, int] = {}
        for name, event in zip(names, stored_events, strict=True):
            if name in versions:
                self._check(name, versions[name], event.originator_version)
            versions[name] = event.originator_version
        try:
            return self._append(stored_events, names, versions)
        except ConflictError as error:
            self._heads.drop(names)
            raise IntegrityError(str(error)) from error

    def _append(self, events: Sequence[StoredEvent], names: Sequence[str], last: dict[str, int]) -> list[int]:
        expected: dict[str, int] = {}
        for name, event in zip(names, events, strict=True):
            if name not in expected:
                expected[name] = self._expected(name, event)
        appends = [_append(event, name, expected[name]) for name, event in zip(names, events, strict=True)]
        positions = self.bridge.run(self.log.append(appends))
        for name, position in zip(names, positions, strict=True):
            self._heads.put(name, last[name], position)
        return positions

    def _expected(self, name: str, event: StoredEvent) -> int:
        """Return the position the head must have for this event to be the next."""
        version = event.originator_version
        known = self._heads.get(name)
        if known is not None and known[0] == version - 1:
            return known[1]
        if isinstance(event, SealedEvent) and version == 1:
            return 0  # the server says whether the subject is new
        head = self.bridge.run(self.log.head(name))
        if head is not None:
            self._check(name, head.version, version)
        elif isinstance(event, SealedEvent):
            raise IntegrityError(f"{name} has no events, expected version {version - 1}")
        return head.position if head is not None else 0

    def _check(self, name: str, last: int, version: int) -> None:
        if version != last + 1 and not (self._gaps and version > last):
            raise IntegrityError(f"{name} is at version {last}, found {version} instead of the next")


class JetStreamApplicationRecorder(JetStreamAggregateRecorder, ApplicationRecorder):
    """Reads the whole log as the application's notifications; a notification's id is its position."""

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int] | None:
        """Write events in one atomic step and return their positions; IntegrityError on a version conflict."""
        return self._insert(stored_events)

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Read up to ``limit`` notifications from ``start`` to ``stop``, of the given topics or of all."""
        after = 0 if start is None else start - 1 if inclusive_of_start else start
        found: list[Notification] = []
        while len(found) < limit:
            wanted = limit - len(found)
            entries = self.bridge.run(self.log.read(after, wanted))
            inside = [entry for entry in entries if stop is None or entry.position <= stop]
            found += [notification_of(entry) for entry in inside if not topics or entry.topic in topics]
            if len(entries) < wanted or len(inside) < len(entries):
                break
            after = entries[-1].position
        return found

    def max_notification_id(self) -> int | None:
        """Return the position of the last event, None when there is none."""
        return self.bridge.run(self.log.last_position()) or None

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> Subscription[ApplicationRecorder]:
        """Follow the log from a position, waiting for new events."""
        return JetStreamSubscription(self, self.log, self.bridge, gt, topics)


def _name(originator_id: uuid.UUID | str) -> str:
    # The log knows only names; which are UUIDs is told by their form.
    return f"_.uuid.{originator_id.hex}" if isinstance(originator_id, uuid.UUID) else originator_id


def _append(event: StoredEvent, name: str, expected: int) -> Append:
    if isinstance(event, SealedEvent):
        clear = (event.schema, event.event_id, event.recorded_at, event.key_id)
    else:
        clear = (_PLAIN, uuid.uuid4().hex, datetime.now(UTC), "")
    return Append(name, event.originator_version, event.topic, *clear, event.state, expected)


def _stored(entry: Entry) -> StoredEvent:
    if entry.schema == _PLAIN:
        name = uuid_of(entry.originator_id) or entry.originator_id
        return StoredEvent(name, entry.version, entry.topic, entry.body)
    return SealedEvent(
        entry.originator_id,
        entry.version,
        entry.topic,
        entry.body,
        entry.event_id,
        entry.recorded_at,
        entry.schema,
        entry.key_id,
        entry.position,
    )
