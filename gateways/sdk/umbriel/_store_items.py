"""Items of a key-value store as memories, and back.

An item is a fact at an address of its own: the contact is its namespace, the key a hash of its key, for keys of
memories fold case and spaces and a store's keys do not. What it is found by is the text. The exact value lies in the
metadata where it fits, else behind those words in the text; the exact namespace and key lie in the metadata always.
"""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from umbriel._errors import InvalidInputError
from umbriel.types import Memory

__all__ = [
    "FACT_TYPE",
    "Packed",
    "Stored",
    "contact_of",
    "contacts_below",
    "exact_json",
    "key_of",
    "leaves",
    "marked",
    "pack",
    "unpack",
]

#: The fact type by which the service knows an item: nothing but its own key replaces it.
FACT_TYPE = "item"
_FIELD = "item"
#: Begins the contact of a namespace whose path no contact can be called.
_HASHED = "#"
_CONTACT_CHARS = 256
_METADATA_BYTES = 4_096
_CONTENT_BYTES = 32_768
#: bytes of a text that are left for a mark
_MARK_BYTES = 64
#: between the words that an item is found by and its value, where both lie in the text
_GAP = "\n\n"


class Stored(msgspec.Struct, frozen=True):
    """An item as it is kept; ``ttl`` is in minutes, ``id`` the version of the memory that it is."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    id: str
    contact: str
    position: str
    text: str
    indexed: bool
    ttl: float | None
    expires_at: datetime | None


class Packed(msgspec.Struct, frozen=True):
    """What is remembered of an item."""

    contact: str
    key: str
    content: str
    metadata: dict[str, Any]

    def says(self, memory: Memory) -> bool:
        """Whether a memory is this item already, whenever that began."""
        mine, other = self.metadata[_FIELD], memory.metadata.get(_FIELD, {})
        return {**mine, "since": ""} == {**other, "since": ""} and ("at" not in mine or memory.text == self.content)


def contact_of(namespace: Sequence[str]) -> str:
    """Return the contact that a namespace is: its path with dots, or a hash where no contact can be called that."""
    path = ".".join(namespace)
    usable = (
        len(path) <= _CONTACT_CHARS
        and path.strip()
        and path != "*"
        and not path.startswith(_HASHED)
        and all(unicodedata.category(char) not in {"Cc", "Cs"} for char in path)
    )
    return path if usable else _HASHED + _digest(namespace)


def contacts_below(prefix: Sequence[str], contacts: Sequence[str]) -> list[str]:
    """Return those of the contacts that may be namespaces beginning with a prefix."""
    path, own = ".".join(prefix), contact_of(prefix)
    return [one for one in contacts if one in (path, own) or one.startswith((f"{path}.", _HASHED))]


def key_of(key: str) -> str:
    """Return the key of the memory for an item's key, which may be any text."""
    return f"item {_digest([key])}"


def _digest(parts: Sequence[str]) -> str:
    raw = hashlib.sha256(json.dumps(list(parts)).encode()).digest()[:20]
    return base64.b32encode(raw).decode().lower()


def pack(
    namespace: Sequence[str],
    key: str,
    value: Mapping[str, Any],
    *,
    texts: Sequence[str] | None,
    ttl: float | None,
    since: datetime | None,
) -> Packed:
    """Return what is remembered of an item; raises InvalidInputError for one that is no JSON or too large.

    ``texts`` is what it is found by, None where it is not to be found by words; ``since`` is when it began, where it
    is there already.
    """
    exact = exact_json(value)
    about: dict[str, Any] = {"path": json.dumps([*namespace, key])}
    if texts is None:
        about["hidden"] = True
    if ttl is not None:
        about["ttl"] = ttl
    about["since"] = since.isoformat() if since else ""
    words = "\n".join(texts or ()).replace("\0", "\ufffd").encode("utf-8", "replace").decode().strip()
    words = words or f"({key_of(key)})"
    inside = {**about, "value": exact}
    if _size(inside) <= _METADATA_BYTES and len(words.encode()) <= _CONTENT_BYTES // 2:
        return Packed(contact_of(namespace), key_of(key), words, {_FIELD: inside})
    # What is searched as a whole need not stand there twice.
    before = "" if texts is None or list(texts) == leaves(value) else words + _GAP
    packed = Packed(contact_of(namespace), key_of(key), before + exact, {_FIELD: {**about, "at": len(before)}})
    return _checked(packed, _CONTENT_BYTES - _MARK_BYTES)


def _checked(packed: Packed, most: int = _CONTENT_BYTES) -> Packed:
    if (size := _size(packed.metadata[_FIELD])) > _METADATA_BYTES:
        raise InvalidInputError(
            "the namespace and key are too long", expected=f"at most {_METADATA_BYTES} bytes", found=f"{size} bytes"
        )
    if (size := len(packed.content.encode())) > most:
        raise InvalidInputError(
            "the value is too large",
            expected=f"at most {most} bytes of JSON, with what it is found by",
            found=f"{size} bytes",
        )
    return packed


def marked(packed: Packed) -> Packed:
    """Return the same item in a text that no earlier one has: texts that differ only in case count as equal."""
    mark = f"[{_digest([json.dumps(packed.metadata), packed.content])[:16]}]"
    about = packed.metadata[_FIELD]
    if "at" not in about:
        return msgspec.structs.replace(packed, content=f"{packed.content}\n{mark}")
    head, exact = packed.content[: about["at"]], packed.content[about["at"] :]
    head = f"{head.rstrip()}\n{mark}{_GAP}" if head else f"{mark}{_GAP}"
    metadata = {_FIELD: {**about, "at": len(head)}}
    return _checked(msgspec.structs.replace(packed, content=head + exact, metadata=metadata))


def _size(about: Mapping[str, Any]) -> int:
    return len(msgspec.json.encode({_FIELD: about}))


def exact_json(value: Mapping[str, Any]) -> str:
    """Return a value as JSON that UTF-8 can write; raises InvalidInputError for one that is no JSON."""
    try:
        exact = json.dumps(dict(value), ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InvalidInputError("the value is no JSON", expected="a JSON object", found=str(error)) from error
    try:
        exact.encode()
    except UnicodeEncodeError:
        # A lone surrogate is no UTF-8.
        return json.dumps(dict(value))
    return exact


def leaves(value: object, name: str = "") -> list[str]:
    """Return what a value says, a line for each of its leaves, with its name where there are several."""
    found = list(_leaves(value, name))
    return [text for _, text in found] if len(found) == 1 else [f"{path}: {text}" for path, text in found]


def _leaves(value: object, path: str) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [one for name, inner in value.items() for one in _leaves(inner, f"{path}.{name}" if path else str(name))]
    if isinstance(value, list | tuple):
        return [one for inner in value for one in _leaves(inner, path)]
    return [] if value is None else [(path, value if isinstance(value, str) else json.dumps(value))]


def unpack(memory: Memory) -> Stored | None:
    """Return the item that a memory is, None for a memory that is none."""
    about = memory.metadata.get(_FIELD)
    if memory.fact_type != FACT_TYPE or not isinstance(about, dict) or "path" not in about:
        return None
    *namespace, key = json.loads(about["path"])
    since = about.get("since", "")
    return Stored(
        namespace=tuple(namespace),
        key=key,
        value=json.loads(about["value"] if "value" in about else memory.text[about["at"] :]),
        created_at=datetime.fromisoformat(since) if since else memory.recorded_at,
        updated_at=memory.recorded_at,
        id=memory.id,
        contact=memory.contact,
        position=memory.position,
        text=memory.text,
        indexed=not about.get("hidden", False),
        ttl=about.get("ttl"),
        expires_at=memory.expires_at,
    )
