"""ChatGPT's export: trees of messages, of which the branch that ends in the current node is what was said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from gateways.importers.conversation import (
    NO_TEXT,
    BadValueError,
    Conversation,
    as_name,
    as_time,
    checked,
    session_name,
    shape_of,
)
from gateways.importers.entries import Entry, Hints, gathered
from umbriel import Message

__all__ = ["is_chatgpt", "read_tree"]

_Fields = Mapping[str, object]
_TEXTS = ("text", "multimodal_text")
_REASONING = ("thoughts", "reasoning_recap")
# The page's own marks of where a source was shown, in characters of private use.
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201")


def is_chatgpt(value: object) -> bool:
    """Return whether a JSON value is one conversation of the export."""
    return isinstance(value, Mapping) and isinstance(value.get("mapping"), Mapping)


def read_tree(tree: _Fields, _hints: Hints) -> Iterator[Conversation]:
    """Yield one conversation under its own id; messages have theirs, so that a longer export adds what is new."""
    session = as_name(tree.get("conversation_id") or tree.get("id"), field="id")
    try:
        began = as_time(tree.get("create_time"))
    except BadValueError as error:
        raise error.under("create_time") from error
    yield gathered(_entries(tree, began), session=session_name(session), channel="chatgpt")


def _entries(tree: _Fields, began: datetime | None) -> Iterator[Entry]:
    last = began
    for key, node in _branch(tree):
        message = node.get("message")
        if message is None:  # a root holds the tree together
            continue
        try:
            entry = _entry(_fields(message, "a message"), last)
        except BadValueError as error:
            raise error.under("mapping", key, "message") from error
        last = (entry.message and entry.message.at) or last
        yield entry


def _branch(tree: _Fields) -> list[tuple[str, _Fields]]:
    """Return the nodes from the root to the current one."""
    mapping = _fields(tree["mapping"], "a mapping")
    key = _end(tree, mapping)
    found: dict[str, _Fields] = {}
    while key:
        if key in found:
            raise BadValueError("parents in a circle", expected="a tree", found=ascii(key), path=("mapping", key))
        found[key] = _node(mapping, key)
        parent = found[key].get("parent")
        if parent is not None and not _is_in(parent, mapping):
            raise BadValueError(
                "a parent that is not there",
                expected="a node of the mapping",
                found=shape_of(parent),
                path=("mapping", key, "parent"),
            )
        key = str(parent or "")
    return list(reversed(found.items()))


def _end(tree: _Fields, mapping: _Fields) -> str:
    """Return the current node; where none is named, the end of the newest branch, which is shown last."""
    current = tree.get("current_node")
    if current is not None:
        if not _is_in(current, mapping):
            raise BadValueError(
                "a current node that is not there",
                expected="a node of the mapping",
                found=shape_of(current),
                path=("current_node",),
            )
        return str(current)
    key = next((key for key in mapping if _node(mapping, key).get("parent") is None), "")
    passed: set[str] = set()
    while key and key not in passed:
        passed.add(key)
        children = _node(mapping, key).get("children")
        following = [child for child in children if _is_in(child, mapping)] if isinstance(children, list) else []
        key = str(following[-1]) if following else key
    return key


def _is_in(key: object, mapping: _Fields) -> bool:
    return isinstance(key, str) and key in mapping


def _node(mapping: _Fields, key: str) -> _Fields:
    node = mapping[key]
    if not isinstance(node, Mapping):
        raise BadValueError(
            "not a node", expected="an object with message and parent", found=shape_of(node), path=("mapping", key)
        )
    return node


def _entry(message: _Fields, last: datetime | None) -> Entry:
    role = _fields(message.get("author"), "an author").get("role")
    if not isinstance(role, str):
        raise BadValueError("a message without a role", expected="user or assistant", found=shape_of(role))
    if reason := _aside(message, role):
        return Entry(skipped=reason)
    content = _fields(message.get("content"), "a content")
    kind = str(content.get("content_type"))
    if kind in _TEXTS:
        text, left_out = _parts(content.get("parts"))
    elif kind == "code":
        text, left_out = str(content.get("text") or ""), ()
    else:
        return Entry(skipped="reasoning" if kind in _REASONING else f"content of type {kind}")
    text = _CITATION.sub("", text)
    if not text.strip():
        return Entry(skipped=NO_TEXT, left_out=left_out)
    at = as_time(message.get("create_time")) or last
    said = checked(Message(role=role, content=text, id=as_name(message.get("id"), field="id"), at=at))
    return Entry(message=said, left_out=left_out)


def _aside(message: _Fields, role: str) -> str:
    """Return why a message is none of what was said to each other, empty when it is."""
    metadata = message.get("metadata")
    hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation") is True
    if role == "system":
        return "system"
    if role == "tool" or message.get("recipient") not in (None, "", "all"):
        return "tool"
    return "hidden" if hidden or message.get("weight") == 0 else ""


def _parts(parts: object) -> tuple[str, tuple[str, ...]]:
    """Return the texts of a content joined, and what its other parts were."""
    texts: list[str] = []
    left_out: list[str] = []
    for part in parts if isinstance(parts, list) else []:
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str):
            texts.append(text)
        else:
            kind = part.get("content_type") if isinstance(part, Mapping) else type(part).__name__
            left_out.append(str(kind))
    return "\n".join(filter(None, texts)), tuple(left_out)


def _fields(value: object, what: str) -> _Fields:
    if not isinstance(value, Mapping):
        raise BadValueError(f"not {what}", expected="an object", found=shape_of(value))
    return value
