"""Between envelopes and stored events: encryption on the way in, decryption on the way out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import Cipher, Compressor, Mapper, StoredEvent, Transcoder

from domain.envelope import Actor, Envelope
from domain.errors import InvalidInputError, MismatchError
from domain.events import Unreadable
from gateways.jetstream import codec
from gateways.jetstream.bridge import Bridge
from gateways.jetstream.keys import Key, KeyRing
from gateways.jetstream.wire import Entry

__all__ = ["EnvelopeMapper", "SealedEvent"]


@dataclass(frozen=True)
class SealedEvent(StoredEvent):
    """A stored event with the clear headers of an envelope; ``state`` is the ciphertext, ``position`` its sequence."""

    event_id: str
    recorded_at: datetime
    schema: int
    key_id: str
    position: int = 0


class EnvelopeMapper(Mapper[Any]):
    """Maps envelopes; any other domain event goes the library's own way."""

    def __init__(
        self,
        transcoder: Transcoder,
        compressor: Compressor | None = None,
        cipher: Cipher | None = None,
        *,
        keys: KeyRing | None = None,
        bridge: Bridge | None = None,
    ) -> None:
        super().__init__(transcoder, compressor, cipher)
        self._keys = keys
        self._bridge = bridge

    def to_stored_event(self, domain_event: DomainEventProtocol[Any]) -> StoredEvent:
        """Return an envelope encrypted under the key of its scope, made on first use."""
        if not isinstance(domain_event, Envelope):
            return super().to_stored_event(domain_event)
        if not domain_event.key_scope:
            raise InvalidInputError("an event has no key scope", expected="a scope", found=domain_event.topic)
        sealed = codec.seal(domain_event, self._key(domain_event.profile, domain_event.key_scope))
        return SealedEvent(
            originator_id=sealed.originator_id,
            originator_version=sealed.version,
            topic=sealed.topic,
            state=sealed.body,
            event_id=sealed.event_id,
            recorded_at=sealed.recorded_at,
            schema=sealed.schema,
            key_id=sealed.key_id,
        )

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[Any]:
        """Return the envelope, of an `Unreadable` where its key was destroyed; DamagedError when it was changed."""
        if not isinstance(stored_event, SealedEvent):
            return super().to_domain_event(stored_event)
        entry = Entry(
            originator_id=str(stored_event.originator_id),
            position=stored_event.position,
            version=stored_event.originator_version,
            topic=stored_event.topic,
            schema=stored_event.schema,
            event_id=stored_event.event_id,
            recorded_at=stored_event.recorded_at,
            key_id=stored_event.key_id,
            body=stored_event.state,
        )
        key = self._key_of(entry) if entry.key_id else None
        envelope = _unreadable(entry) if entry.key_id and key is None else codec.open(entry, key)
        return cast("DomainEventProtocol[Any]", envelope)

    def _key(self, profile: str, scope: str) -> Key:
        keys, bridge = self._ring()
        # Most events are under a key that was used before: no hop to the loop for them.
        return keys.cached(profile, scope) or bridge.run(keys.key(profile, scope))

    def _key_of(self, entry: Entry) -> Key | None:
        keys, bridge = self._ring()
        profile = entry.originator_id.split(".", 1)[0]
        return keys.cached_id(profile, entry.key_id) or bridge.run(keys.by_id(profile, entry.key_id))

    def _ring(self) -> tuple[KeyRing, Bridge]:
        if self._keys is None or self._bridge is None:
            raise MismatchError("envelopes need keys", expected="UMBRIEL_MASTER_KEY or a shared key ring", found="none")
        return self._keys, self._bridge


def _unreadable(entry: Entry) -> Envelope:
    return Envelope(
        originator_id=entry.originator_id,
        originator_version=entry.version,
        event_id=entry.event_id,
        recorded_at=entry.recorded_at,
        actor=Actor("", "service"),
        data=Unreadable(),
        key_id=entry.key_id,
        position=entry.position,
    )
