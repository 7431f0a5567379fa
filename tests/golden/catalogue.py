"""The examples of the event catalogue: the recorded bodies of each topic's newest schema.

``python -m tests.golden.catalogue`` writes them where the service finds them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from domain.events import TOPICS
from gateways.asyncapi.catalogue import EXAMPLES, EventExample
from tests.golden.record import read

__all__ = ["from_golden", "main"]


class _Body(msgspec.Struct):
    data: dict[str, object]


def from_golden() -> list[EventExample]:
    """Return the data of every recorded body of a newest schema, without what is binary."""
    return [
        EventExample(line.topic, msgspec.json.decode(line.body.partition(b"\0")[0], type=_Body).data)
        for line in read()
        if line.schema == TOPICS[line.topic].SCHEMA
    ]


def main() -> None:
    """Write the file."""
    body = msgspec.json.format(msgspec.json.encode(from_golden()), indent=1)
    Path(str(EXAMPLES)).write_bytes(body + b"\n")
    sys.stdout.write(f"{EXAMPLES.name} written\n")


if __name__ == "__main__":
    main()
