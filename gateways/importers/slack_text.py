"""Text as Slack writes it: a mention or a link stands between angle brackets, three characters are escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

__all__ = ["Names", "plain"]

_MARK = re.compile(r"<([^<>\s][^<>\n]*)>")
_ESCAPED = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


class Names(msgspec.Struct, frozen=True):
    """Names of people and of channels by id."""

    people: Mapping[str, str] = {}
    channels: Mapping[str, str] = {}


def plain(text: str, names: Names) -> str:
    """Return a text as people saw it: mentions by name, links as their label and address."""
    shown = _MARK.sub(lambda match: _shown(match[1], names), text)
    for escaped, char in _ESCAPED:
        shown = shown.replace(escaped, char)
    return shown


def _shown(mark: str, names: Names) -> str:
    target, _, label = mark.partition("|")
    match target[:1]:
        case "@":
            return f"@{names.people.get(target[1:]) or label or target[1:]}"
        case "#":
            return f"#{label or names.channels.get(target[1:], target[1:])}"
        case "!":
            return _command(target[1:], label)
        case _:
            return _link(target, label)


def _command(name: str, label: str) -> str:
    """Return a mention of a group as ``@here``, a date as it was shown."""
    if name.startswith("date^"):
        return label
    return label if label.startswith("@") else f"@{label or name.partition('^')[0]}"


def _link(address: str, label: str) -> str:
    bare = address.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in (address, bare, bare.partition("://")[2]):
        return bare
    return f"{label} ({bare})"
