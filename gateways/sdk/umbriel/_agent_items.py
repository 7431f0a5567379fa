"""Items of an agent's conversation as messages, and back: the words are the content, the exact item lies beside them.

An item is one message, or several linked ones where its words or its JSON are larger than a message takes. The links
are in the messages' client ids, ``item:<id>:<part>:<parts>``; an item of which a part is missing is not there.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from umbriel._errors import InvalidInputError
from umbriel.messages import SaidMessage
from umbriel.types import Message

__all__ = ["StoredItem", "items_newest_first", "items_oldest_first", "messages_of", "spoken"]

#: bytes of a message's words, and of what is kept beside them as JSON writes it; both below what a message takes
_WORDS = 32_000
_BESIDE = 262_000
_LINK = re.compile(r"item:([0-9a-f]{32}):([0-9]+):([0-9]+)\Z")
_CONTINUED = "(continued)"
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
#: what part of an item's content is called where it has no words
_MEDIA = {"input_image": "image", "input_file": "file", "input_audio": "audio"}


class StoredItem(msgspec.Struct, frozen=True):
    """An item, and the ids of the messages that it is made of, the first one first."""

    item: dict[str, Any]
    messages: tuple[str, ...]


def messages_of(item: Mapping[str, Any]) -> list[Message]:
    """Return an item as messages; raises InvalidInputError for one that is no JSON object."""
    role, words = spoken(item)
    texts, parts = list(_pieces(_storable(words), _WORDS)), list(_pieces(_exact(item), _BESIDE, escaped=True))
    count, name = max(len(texts), len(parts)), uuid.uuid4().hex
    return [
        Message(
            role=role,
            content=texts[at] if at < len(texts) else _CONTINUED,
            id=f"item:{name}:{at + 1}:{count}",
            attachment=parts[at] if at < len(parts) else "",
        )
        for at in range(count)
    ]


def _exact(item: Mapping[str, Any]) -> str:
    try:
        return json.dumps(item)
    except (TypeError, ValueError) as error:
        raise InvalidInputError("an item is no JSON", expected="what json.dumps writes", found=str(error)) from error


def _pieces(text: str, most: int, *, escaped: bool = False) -> Iterator[str]:
    """Yield a text in pieces of at most so many bytes (as JSON writes them where ``escaped``), none of them blank."""
    left = text
    while left:
        size = min(len(left), most)
        while _size(left[:size], escaped=escaped) > most:
            size = size * 2 // 3
        piece, left = left[:size], left[size:]
        yield piece if escaped or piece.strip() else _CONTINUED


def _size(text: str, *, escaped: bool) -> int:
    return len(msgspec.json.encode(text)) if escaped else len(text.encode())


def _storable(words: str) -> str:
    """Return words as a message takes them; exact they are in the item."""
    return words.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


# -- what an item says --------------------------------------------------------------------------


def spoken(item: Mapping[str, Any]) -> tuple[str, str]:
    """Return the role and the words that an item is found and read by; never blank."""
    kind = str(item.get("type", "message"))
    role = _ROLES.get(str(item.get("role", "")), "tool")
    if role != "tool" and kind == "message":
        words = _words(item.get("content"))
    elif kind.endswith("_call"):
        words = f"{item.get('name') or kind} {_words(item.get('arguments', item.get('action', '')))}"
    elif kind.endswith("_output"):
        words = _words(item.get("output"))
    else:
        words = _words(item.get("summary")) or _words(item.get("content"))
    return role, words if words.strip() else f"[{kind}]"


def _words(content: object) -> str:
    """Return the words in an item's content: text as it is, of parts the texts, of anything else its JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "\n".join(filter(None, (_part(one) for one in content)))
    return _part(content)


def _part(part: object) -> str:
    if not isinstance(part, Mapping):
        return part if isinstance(part, str) else json.dumps(part, default=str)
    for field in ("text", "refusal", "transcript"):
        if isinstance(part.get(field), str):
            return str(part[field])
    kind = str(part.get("type", ""))
    if kind in _MEDIA:
        return f"[{part.get('filename') or _MEDIA[kind]}]"
    return json.dumps(part, default=str)


# -- and back -----------------------------------------------------------------------------------


class _Parts(msgspec.Struct):
    messages: dict[int, SaidMessage]
    count: int

    def whole(self) -> StoredItem | None:
        if len(self.messages) < self.count:
            return None
        ordered = [self.messages[number] for number in sorted(self.messages)]
        item: dict[str, Any] = json.loads("".join(one.attachment for one in ordered))
        return StoredItem(item, tuple(one.id for one in ordered))


def items_newest_first(pages: Iterable[SaidMessage], kept: dict[str, _Parts]) -> Iterator[StoredItem]:
    """Yield the items that end with these messages, which come newest first; ``kept`` is what is not whole yet.

    The first message of an item comes last, so items come in the order in which they began.
    """
    for said in pages:
        link = _LINK.match(said.client_id)
        if link is None:
            yield from _foreign(said)
            continue
        parts = kept.setdefault(link[1], _Parts({}, int(link[3])))
        parts.messages[int(link[2])] = said
        if int(link[2]) == 1 and (found := kept.pop(link[1]).whole()) is not None:
            yield found


def items_oldest_first(messages: Sequence[SaidMessage]) -> list[StoredItem]:
    """Return the items of all messages of a session, which come oldest first."""
    return list(items_newest_first(reversed(messages), {}))[::-1]


def _foreign(said: SaidMessage) -> Iterator[StoredItem]:
    """What was said in the session by other ways is an item of plain words; what tools said there is none."""
    if said.role != "tool":
        yield StoredItem({"role": said.role, "content": said.content}, (said.id,))
