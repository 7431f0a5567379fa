"""Names and ids: what identifies a profile, a message, an address and a memory.

Public ids are unkeyed SHA-256 truncated to 128 bits, so that they survive export and import.
Ids in subjects are HMAC-SHA-256 of the public id under the profile's secret, so that nothing
readable stays in the log after erasure. Both are written as 26 characters of lower-case base32.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from datetime import UTC, datetime

from domain.errors import InvalidInputError

__all__ = [
    "PARTITIONS",
    "base_message_id",
    "check_profile",
    "digest128",
    "directory_name",
    "keyed_id",
    "memory_id",
    "message_id",
    "moment_text",
    "numbered",
    "originator_id",
    "partition_of",
    "split_memory_id",
    "split_message_id",
]

PARTITIONS = 64
_ID_BYTES = 16
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_MEMORY = re.compile(r"([a-z2-7]{26})@([1-9][0-9]{0,8})\Z")
_MESSAGE = re.compile(r"([a-z2-7]{26})(?:\.([2-9]|[1-9][0-9]{1,8}))?\Z")


def _base32(raw: bytes) -> str:
    return base64.b32encode(raw).decode("ascii").rstrip("=").lower()


def digest128(*parts: str) -> str:
    """Return SHA-256 over the length-prefixed UTF-8 ``parts``, cut to 128 bits, in base32.

    Each part is preceded by its byte length as an unsigned 64-bit big-endian integer, so that
    ("ab", "c") and ("a", "bc") differ.
    """
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return _base32(digest.digest()[:_ID_BYTES])


def keyed_id(secret: bytes, *parts: str) -> str:
    """Return HMAC-SHA-256 over ``parts`` (framed as in `digest128`), cut to 128 bits, in base32."""
    mac = hmac.new(secret, digestmod=hashlib.sha256)
    for part in parts:
        raw = part.encode("utf-8")
        mac.update(len(raw).to_bytes(8, "big"))
        mac.update(raw)
    return _base32(mac.digest()[:_ID_BYTES])


def moment_text(moment: datetime | None) -> str:
    """Return a time as it enters an id: UTC with microseconds, so that one instant has one id.

    None is empty; raises InvalidInputError without a time zone.
    """
    if moment is None:
        return ""
    if moment.tzinfo is None:
        raise InvalidInputError("a time has no zone", expected="a time with an offset", found=moment.isoformat())
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def base_message_id(session: str, role: str, content: str) -> str:
    """Return the id of the first occurrence of this content in this session."""
    return digest128(session, role, content)


def message_id(session: str, role: str, content: str, occurrence: int = 1) -> str:
    """Return the content-addressed id of the n-th occurrence (1 for the first)."""
    return numbered(base_message_id(session, role, content), occurrence)


def numbered(base: str, occurrence: int) -> str:
    """Return the message id of the n-th occurrence of a base id."""
    return base if occurrence == 1 else f"{base}.{occurrence}"


def split_message_id(public: str) -> tuple[str, int]:
    """Return (base id, occurrence) of a message id, or raise InvalidInputError."""
    match = _MESSAGE.match(public)
    if match is None:
        raise InvalidInputError(
            "not a message id", expected="26 base32 characters, then .n for a repeat", found=repr(public[:80])
        )
    return match[1], int(match[2] or 1)


def memory_id(address: str, version: int) -> str:
    """Return the id of one version of the memory at ``address``."""
    return f"{address}@{version}"


def split_memory_id(public: str) -> tuple[str, int]:
    """Return (address hash, version) of a memory id, or raise InvalidInputError."""
    match = _MEMORY.match(public)
    if match is None:
        raise InvalidInputError("not a memory id", expected="<26 base32 characters>@<version>", found=repr(public[:80]))
    return match[1], int(match[2])


def check_profile(name: str) -> str:
    """Return ``name`` when it can be a profile's or principal's name, or raise InvalidInputError."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise InvalidInputError(
            "not a valid profile name", expected="1 to 64 of A-Z a-z 0-9 _ -", found=repr(str(name)[:80])
        )
    if name == "_":
        raise InvalidInputError("the profile name _ is reserved", expected="another name", found="'_'")
    return name


def directory_name(profile: str) -> str:
    """Return a directory name for ``profile`` that is safe on file systems that fold case.

    Upper-case letters are escaped as ``+`` and their lower-case form, and every name begins with ``p.``:
    a device name such as ``con`` stays reserved whatever follows its dot, but not behind one.
    """
    return "p." + "".join(f"+{ch.lower()}" if ch.isupper() else ch for ch in profile)


def partition_of(profile: str) -> int:
    """Return the partition (0 to 63) that a profile's subjects carry."""
    return hashlib.sha256(profile.encode("utf-8")).digest()[0] % PARTITIONS


def originator_id(profile: str, category: str, keyed: str) -> str:
    """Return the aggregate id that maps to one subject of the log."""
    return f"{profile}.{category}.{keyed}"
