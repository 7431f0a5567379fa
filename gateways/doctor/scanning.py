"""Looks for words in every file of a data directory, in the forms in which whoever has the disk would find them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

__all__ = ["Scan", "Sighting", "forms_of", "scan"]

_PART = 4 * 1024**2


class Sighting(msgspec.Struct, frozen=True):
    """A file that holds some words, by their number, and the form they are in there."""

    file: str
    words: int
    form: str


class Scan(msgspec.Struct, frozen=True):
    """How many files and bytes were read, and what was found in them."""

    files: int
    bytes: int
    found: list[Sighting]


def forms_of(words: str) -> dict[str, bytes]:
    """Return the bytes to look for: as written, and without case, each in UTF-8, UTF-16 and base64."""
    forms: dict[str, bytes] = {}
    for case, text in {"": words, "lower-case ": words.lower(), "folded ": words.casefold()}.items():
        utf8 = text.encode()
        forms[f"{case}utf-8"] = utf8
        forms[f"{case}utf-16-le"] = text.encode("utf-16-le")
        forms[f"{case}utf-16-be"] = text.encode("utf-16-be")
        forms |= {f"{case}base64 +{shift}": found for shift in range(3) if (found := _base64(utf8, shift))}
        forms[f"{case}json"] = msgspec.json.encode(text)[1:-1]
        forms[f"{case}json ascii"] = json.dumps(text)[1:-1].encode()
    seen: dict[bytes, str] = {}
    for form, raw in forms.items():
        seen.setdefault(raw, form)
    return {form: raw for raw, form in seen.items() if raw}


def _base64(raw: bytes, shift: int) -> bytes:
    """Return what is the same in every base64 text in which these bytes begin ``shift`` after a group of three."""
    whole = base64.b64encode(b"\0" * shift + raw)
    first = (0, 2, 3)[shift]
    last = len(raw) + shift
    sure = last // 3 * 4 + (0, 1, 2)[last % 3]
    return whole[first:sure]


def scan(directory: Path, words: Sequence[str]) -> Scan:
    """Read every file below a directory, and tell which hold one of these words; links are not followed."""
    needles = [forms_of(one) for one in words]
    files, size, found = 0, 0, list[Sighting]()
    for path in sorted(directory.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        files += 1
        try:
            read, seen = _look(path, needles)
        except FileNotFoundError:
            continue  # removed meanwhile
        size += read
        name = str(path.relative_to(directory))
        found += [Sighting(name, number, form) for number, form in seen]
        found += [Sighting(name, number, "file name") for number, one in enumerate(words) if one in name]
    return Scan(files, size, found)


def _look(path: Path, needles: Sequence[dict[str, bytes]]) -> tuple[int, list[tuple[int, str]]]:
    read, seen = 0, dict[tuple[int, str], None]()
    for part in _parts(path, max((len(raw) for forms in needles for raw in forms.values()), default=1)):
        read += len(part)
        lowered = part.lower()
        for number, forms in enumerate(needles):
            for form, raw in forms.items():
                # ASCII case makes no difference, so that a title case is found as well; base64 has case of its own.
                if raw in part or ("base64" not in form and raw.lower() in lowered):
                    seen[number, form] = None
    return read, list(seen)


def _parts(path: Path, overlap: int) -> Iterable[bytes]:
    def parts() -> Iterator[bytes]:
        before = b""
        with path.open("rb") as file:
            while part := file.read(_PART):
                yield before + part
                before = part[-overlap:]

    return parts()
