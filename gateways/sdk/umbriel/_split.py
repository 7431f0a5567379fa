"""Splitting one ingest call into requests that fit the wire, and joining their replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from umbriel._surrogates import lone_surrogate
from umbriel.types import IngestReply, Message

__all__ = ["MAX_BYTES", "MAX_MESSAGES", "batches", "later_position", "merge", "sequence_of", "with_occurrences"]

#: Most messages in one request.
MAX_MESSAGES = 500
#: Most bytes of encoded messages in one request; NATS carries 1 MiB, the rest is for the other fields.
MAX_BYTES = 900 * 1024


def with_occurrences(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with their ordinal among equal (role, content) of the whole call, from 1.

    An ordinal the caller already set counts when it is higher, so numbering twice changes nothing. A
    message that the call names twice by its id is one occurrence.
    """
    seen: Counter[tuple[str, str]] = Counter()
    by_id: dict[tuple[str, str, str], int] = {}
    numbered = []
    for message in messages:
        triple = (message.role, message.content)
        known = by_id.get((*triple, message.id)) if message.id else None
        if known is None:
            known = seen[triple] = max(seen[triple] + 1, message.occurrence)
            by_id[(*triple, message.id)] = known
        numbered.append(msgspec.structs.replace(message, occurrence=known))
    return numbered


def batches(
    messages: Sequence[Message], *, max_messages: int = MAX_MESSAGES, max_bytes: int = MAX_BYTES
) -> Iterator[list[Message]]:
    """Yield the messages in order, in batches within both limits.

    A message larger than ``max_bytes`` travels alone (the server says no to it), and no messages
    are one empty batch, so that the server answers for both.
    """
    batch: list[Message] = []
    size = 0
    for message in messages:
        length = _size(message) + 1
        if batch and (len(batch) >= max_messages or size + length > max_bytes):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch or not messages:
        yield batch


def _size(message: Message) -> int:
    try:
        return len(msgspec.json.encode(message))
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from error


def merge(replies: Sequence[IngestReply]) -> IngestReply:
    """Return one reply for all requests of a call: outcomes in order, the highest position."""
    return IngestReply(
        session=replies[0].session,
        outcomes=[outcome for reply in replies for outcome in reply.outcomes],
        position=later_position(*(reply.position for reply in replies)),
    )


def later_position(*positions: str) -> str:
    """Return the highest of several positions of one stream (``<stream>.<incarnation>:<sequence>``)."""
    return max(positions, key=sequence_of, default="")


def sequence_of(position: str) -> int:
    """Return the sequence of a position, 0 for none; sequences of one stream can be compared."""
    tail = position.rpartition(":")[2]
    return int(tail) if tail.isdecimal() else 0
