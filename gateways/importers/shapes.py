"""The shapes that files of conversations have, each recognised by what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from gateways.importers import beam, chat, chatgpt, claude, locomo, longmemeval, telegram, whatsapp
from gateways.importers.archive import Blob
from gateways.importers.blocks import is_step
from gateways.importers.conversation import BadValueError, Conversation, shape_of
from gateways.importers.entries import Hints, Speakers, whole
from gateways.importers.memories import source_of

__all__ = [
    "AMONG_PEOPLE",
    "EXPORTS",
    "JSON_NAMES",
    "KNOWN",
    "NO_HINTS",
    "SLACK",
    "WHATSAPP",
    "Shape",
    "read_text",
    "shape_of_item",
]

NO_HINTS = Hints()
JSON_NAMES = frozenset({"json", "jsonl", "ndjson"})
SLACK = "Slack"
WHATSAPP = "WhatsApp"
_TELEGRAM = "Telegram"
_CHAT = "chat messages"

Items = Iterator[chat.Item]


class Shape(msgspec.Struct, frozen=True):
    """A kind of JSON file: how its first value is recognised, and how all of them are read."""

    name: str
    fits: Callable[[object], bool]
    read: Callable[[Items, Hints], Iterator[Conversation]]


def shape_of_item(first: object) -> Shape:
    """Return the shape of a file by its first value; what fits no other is read as messages, which know their names."""
    return next((shape for shape in _SHAPES if shape.fits(first)), _MESSAGES)


def read_text(blob: Blob, hints: Hints) -> Iterator[Conversation]:
    """Yield the conversations of a chat as text."""
    speakers = Speakers(hints.me)
    yield from whatsapp.read_lines(blob.lines, hints, speakers)
    speakers.check()


def _one_by_one(
    what: str, fits: Callable[[object], bool], read: Callable[[Mapping[str, object], Hints], Iterator[Conversation]]
) -> Callable[[Items, Hints], Iterator[Conversation]]:
    """Return a reader of values that must all be of one kind."""

    def read_all(items: Items, hints: Hints) -> Iterator[Conversation]:
        for where, item in items:
            yield from whole(_one(item, hints), where, hints)

    def _one(item: object, hints: Hints) -> Iterator[Conversation]:
        if not fits(item) or not isinstance(item, dict):
            raise BadValueError(f"not {what}", expected=what, found=shape_of(item))
        yield from read(item, hints)

    return read_all


def _telegram(items: Items, hints: Hints) -> Iterator[Conversation]:
    speakers = Speakers(hints.me)
    read = _one_by_one(
        "a Telegram export", telegram.is_telegram, lambda value, hints: telegram.read_chats(value, hints, speakers)
    )
    yield from read(items, hints)
    speakers.check()


def _messages(items: Items, _hints: Hints) -> Iterator[Conversation]:
    yield from chat.read_document(_known(items))


def _known(items: Items) -> Items:
    """Yield the items; a file that begins with what is no message is of no known shape."""
    for number, (path, item) in enumerate(items):
        if number == 0 and (memory := source_of(item)):
            raise BadValueError(
                "memories, not messages", expected=f"`umbriel import --from {memory}`", found=shape_of(item), path=path
            )
        if number == 0 and not (chat.is_message(item) or chat.is_conversation(item) or is_step(item)):
            raise BadValueError(
                "neither a message nor a conversation nor an export that is known",
                expected=f"one of {KNOWN}",
                found=shape_of(item),
                path=path,
            )
        yield path, item


_SHAPES = (
    Shape(
        "LoCoMo",
        locomo.is_locomo,
        _one_by_one("a LoCoMo sample", locomo.is_locomo, lambda one, _: locomo.read_sample(one)),
    ),
    Shape(
        "LongMemEval",
        longmemeval.is_longmemeval,
        _one_by_one("a LongMemEval item", longmemeval.is_longmemeval, lambda one, _: longmemeval.read_haystack(one)),
    ),
    Shape("BEAM", beam.is_beam, lambda items, _: beam.read_batches(item for _, item in items)),
    Shape("ChatGPT", chatgpt.is_chatgpt, _one_by_one("a ChatGPT conversation", chatgpt.is_chatgpt, chatgpt.read_tree)),
    Shape("Claude", claude.is_claude, _one_by_one("a Claude conversation", claude.is_claude, claude.read_chat)),
    Shape(_TELEGRAM, telegram.is_telegram, _telegram),
)
_MESSAGES = Shape(_CHAT, lambda _: True, _messages)
KNOWN = (
    "ChatGPT, Claude and Slack exports (also as zip), Telegram's result.json, WhatsApp's _chat.txt, LoCoMo, "
    "LongMemEval, BEAM, chat-message JSON or JSON Lines"
)
#: Exports of these are looked for in folders and archives; --me is for the people of some.
EXPORTS = frozenset({"ChatGPT", "Claude", _TELEGRAM, WHATSAPP})
AMONG_PEOPLE = frozenset({SLACK, WHATSAPP, _TELEGRAM})
