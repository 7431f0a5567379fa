"""Writes the bodies of examples that are not recorded yet: ``python -m tests.golden.record``.

A recorded line is never written again: it stands for data that exists. A topic with a new schema gets new lines
after the old ones.
"""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import msgspec

from domain.envelope import Envelope, decode_body, encode_body
from tests.golden.examples import EXAMPLES

__all__ = ["FILE", "Line", "main", "read", "reopen"]

FILE = Path(__file__).with_name("bodies.jsonl")


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One recorded event: its clear fields and its plaintext body (base64 in JSON)."""

    topic: str
    schema: int
    originator_id: str
    originator_version: int
    event_id: str
    recorded_at: datetime
    key_id: str
    body: bytes


def read() -> list[Line]:
    """Return the recorded lines, none before the first recording."""
    if not FILE.exists():
        return []
    return [msgspec.json.decode(line, type=Line) for line in FILE.read_bytes().splitlines()]


def reopen(line: Line) -> Envelope:
    """Return the envelope of a recorded line, as a reader of the log gets it."""
    return decode_body(
        line.body,
        originator_id=line.originator_id,
        originator_version=line.originator_version,
        topic=line.topic,
        schema=line.schema,
        event_id=line.event_id,
        recorded_at=line.recorded_at,
        key_id=line.key_id,
    )


def main() -> None:
    """Append what is missing."""
    missing = EXAMPLES[len(read()) :]
    with FILE.open("ab") as file:
        for envelope in missing:
            file.write(msgspec.json.encode(_line(envelope)) + b"\n")
    sys.stdout.write(f"{len(missing)} bodies recorded in {FILE.name}\n")


def _line(envelope: Envelope) -> Line:
    return Line(
        topic=envelope.topic,
        schema=envelope.data.SCHEMA,
        originator_id=envelope.originator_id,
        originator_version=envelope.originator_version,
        event_id=envelope.event_id,
        recorded_at=envelope.recorded_at,
        key_id=envelope.key_id,
        body=encode_body(envelope),
    )


if __name__ == "__main__":
    main()
