"""Which keys were destroyed: what a backup made before must not bring back.

The keys stream has a tombstone for each. Beside backups lies a file that is added to when a key is destroyed, so that
it is known there even where the stream is lost: one JSON line a key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
from filelock import FileLock

from domain.errors import DamagedError
from domain.ids import partition_of
from gateways.jetstream.connection import REQUEST_SECONDS, Connection
from gateways.jetstream.direct import StreamReader
from gateways.jetstream.errors import translated
from gateways.jetstream.keys import SECRET, KeyRing
from gateways.jetstream.streams import KEYS_PREFIX, KEYS_STREAM
from gateways.jetstream.wire import Entry

__all__ = ["FILE", "DestroyedKey", "add_destroyed", "destroy_again", "destroyed_in", "parse_destroyed", "shown"]

#: The file's name, beside backups and in them.
FILE = "destroyed-keys.jsonl"
_PAGE = 1_000
#: the header in which a tombstone says more than that the key is destroyed
_SAYS = "Umbriel-Topic"


class DestroyedKey(msgspec.Struct, frozen=True, omit_defaults=True):
    """A key that was destroyed. ``record`` is the fingerprint of what it was, ``says`` what its tombstone adds to that.

    A profile's secret has the same name in each of the profile's lives; its fingerprint tells which it was.
    """

    profile: str
    key_id: str
    record: str = ""
    says: str = ""

    @property
    def tells(self) -> bool:
        """Whether it tells which key is meant."""
        return self.key_id != SECRET or bool(self.record or self.says)


async def destroyed_in(connection: Connection) -> list[DestroyedKey]:
    """Return the keys that the keys stream holds a tombstone of."""
    reader, last, start = StreamReader(connection, KEYS_STREAM, KEYS_PREFIX), dict[str, Entry](), 1
    while True:
        page = await reader.after(f"{KEYS_PREFIX}.>", start, _PAGE)
        last |= {one.originator_id: one for one in page.entries}
        if not page.more or not page.entries:
            break
        start = page.entries[-1].position + 1
    found = [
        DestroyedKey(name.partition(".")[0], name.partition(".")[2], says=one.topic)
        for name, one in last.items()
        if not one.body and name.count(".") == 1
    ]
    return [one for one in found if one.tells]


async def destroy_again(connection: Connection, keys: KeyRing, destroyed: Iterable[DestroyedKey]) -> int:
    """Destroy those of these keys that are there; returns how many were.

    A key that is not there gets its tombstone where its profile is: nobody may make it anew.
    """
    count = 0
    # Secrets last: without its secret a profile has no other keys to destroy.
    for one in sorted(dict.fromkeys(destroyed), key=lambda key: key.key_id == SECRET):
        here = await keys.fingerprint_of(one.profile, one.key_id)
        if not one.tells or await keys.fingerprint_of(one.profile, SECRET) is None:
            continue
        if one.key_id == SECRET and one.record and here != one.record:
            continue
        await keys.destroy(one.profile, one.key_id)
        if one.says:
            await _say(connection, one)
        count += here is not None
    return count


async def _say(connection: Connection, one: DestroyedKey) -> None:
    subject = f"{KEYS_PREFIX}.{partition_of(one.profile):02d}.{one.profile}.{one.key_id}"
    with translated("writing a tombstone"):
        await connection.js.publish(subject, b"", headers={_SAYS: one.says}, timeout=REQUEST_SECONDS)


# -- the file -----------------------------------------------------------------------------------


def shown(destroyed: Iterable[DestroyedKey]) -> bytes:
    """Return the lines of some keys."""
    return b"".join(msgspec.json.encode(one) + b"\n" for one in destroyed)


def parse_destroyed(content: bytes, name: str) -> list[DestroyedKey]:
    """Return the keys of such lines; one that was cut off at the end is none. Raises DamagedError for other lines."""
    lines = content.split(b"\n")
    try:
        return [msgspec.json.decode(line, type=DestroyedKey) for line in lines[:-1] if line]
    except msgspec.MsgspecError as error:
        raise DamagedError("not a list of destroyed keys", expected="a JSON line a key", found=name) from error


def add_destroyed(directory: Path, destroyed: Iterable[DestroyedKey]) -> None:
    """Add keys to the directory's file, those that it does not have; on disk when this returns."""
    path = directory / FILE
    with FileLock(directory / f".{FILE}.lock"):
        content = path.read_bytes() if path.exists() else b""
        known = parse_destroyed(content, str(path))
        both = list(dict.fromkeys((*known, *destroyed)))
        if len(both) == len(known):
            return
        partial = path.with_name(f".{FILE}.partial")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(shown(both))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
