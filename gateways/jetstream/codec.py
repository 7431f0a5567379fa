"""Between envelopes and what lies in the log: AES-256-GCM over the body, bound to the clear headers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from domain.envelope import Envelope, decode_body, encode_body
from domain.errors import DamagedError
from gateways.jetstream.keys import Key
from gateways.jetstream.streams import subject_for
from gateways.jetstream.wire import Append, Entry

__all__ = ["open", "readable", "seal"]

_NONCE = 12


def _bound(originator_id: str, version: int, topic: str, schema: int, event_id: str, key_id: str) -> bytes:
    """Return the associated data: every clear field that may not change, each after its length (64-bit)."""
    fields = (subject_for(originator_id), str(version), topic, str(schema), event_id, key_id)
    raw = [field.encode("utf-8") for field in fields]
    return b"".join(len(field).to_bytes(8, "big") + field for field in raw)


def seal(envelope: Envelope, key: Key | None, *, expected: int | None = None) -> Append:
    """Return what to append for an envelope: its body encrypted under ``key``, or clear without one."""
    event = envelope.data
    body = encode_body(envelope)
    key_id = key.key_id if key else ""
    if key is not None:
        bound = _bound(
            envelope.originator_id, envelope.originator_version, event.TOPIC, event.SCHEMA, envelope.event_id, key_id
        )
        nonce = os.urandom(_NONCE)
        body = nonce + AESGCM(key.material).encrypt(nonce, body, bound)
    return Append(
        originator_id=envelope.originator_id,
        version=envelope.originator_version,
        topic=event.TOPIC,
        schema=event.SCHEMA,
        event_id=envelope.event_id,
        recorded_at=envelope.recorded_at,
        key_id=key_id,
        body=body,
        expected=expected,
    )


def open(entry: Entry, key: Key | None) -> Envelope:  # noqa: A001 -- used as codec.open, the opposite of seal
    """Return the envelope of an entry; raises DamagedError naming the position when anything was changed."""
    body = entry.body
    if bool(entry.key_id) != (key is not None) or (key is not None and key.key_id != entry.key_id):
        raise DamagedError(
            "an event cannot be opened with this key",
            expected=entry.key_id or "no key",
            found=f"{key.key_id if key else 'no key'} at position {entry.position}",
        )
    if key is not None:
        body = _decrypt(entry, key)
    return decode_body(
        body,
        originator_id=entry.originator_id,
        originator_version=entry.version,
        topic=entry.topic,
        schema=entry.schema,
        event_id=entry.event_id,
        recorded_at=entry.recorded_at,
        key_id=entry.key_id,
        position=entry.position,
    )


def readable(entries: Iterable[Entry], keys: Sequence[Key]) -> int:
    """Return how many of these entries can be read with one of these keys, whichever key they name."""
    ciphers = [AESGCM(key.material) for key in keys]
    return sum(_opens(entry, ciphers) for entry in entries)


def _opens(entry: Entry, ciphers: Iterable[AESGCM]) -> bool:
    bound = _bound(entry.originator_id, entry.version, entry.topic, entry.schema, entry.event_id, entry.key_id)
    nonce, sealed = entry.body[:_NONCE], entry.body[_NONCE:]
    for cipher in ciphers:
        with suppress(InvalidTag, ValueError):
            cipher.decrypt(nonce, sealed, bound)
            return True
    return False


def _decrypt(entry: Entry, key: Key) -> bytes:
    bound = _bound(entry.originator_id, entry.version, entry.topic, entry.schema, entry.event_id, entry.key_id)
    try:
        return AESGCM(key.material).decrypt(entry.body[:_NONCE], entry.body[_NONCE:], bound)
    except (InvalidTag, ValueError) as error:
        raise DamagedError(
            "an event was changed after it was written",
            expected="the body and headers that were sealed",
            found=f"something else at position {entry.position}",
        ) from error
