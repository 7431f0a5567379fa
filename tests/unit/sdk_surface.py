"""What a program may rely on: the public names of the client and their signatures, one a line.

``python -m tests.unit.sdk_surface`` writes it anew; the difference then shows in the change what it adds or takes away.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

import umbriel
import umbriel.types

__all__ = ["FILE", "main", "surface"]

FILE = Path(__file__).with_name("sdk_surface.txt")


def surface() -> list[str]:
    """Return a line for every public name, field and method."""
    return [
        line
        for module in (umbriel, umbriel.types)
        for name in sorted(module.__all__)
        for line in _lines(f"{module.__name__}.{name}", getattr(module, name))
    ]


def _lines(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, type):
        yield f"{name}{_signature(value)}" if inspect.isfunction(value) else f"{name} = {value}"
        return
    bases = [base.__name__ for base in value.__mro__[1:] if base is Exception or _is_public(base)]
    yield f"{name}({', '.join(bases)})"
    if issubclass(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            yield f"{name}.{field.encode_name}: {_annotation(value, field.name)}{_default(field)}"
        return
    for member in sorted(one for one in dir(value) if not one.startswith("_")):
        yield from _member(value, name, member)


def _is_public(base: type) -> bool:
    return base.__module__.startswith("umbriel") and base.__name__ in umbriel.__all__


def _annotation(struct: type, field: str) -> str:
    said = [inspect.get_annotations(one) for one in struct.__mro__]
    return next(str(one[field]) for one in said if field in one)


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.default_factory is not msgspec.NODEFAULT:
        return " = ..."
    return "" if field.default is msgspec.NODEFAULT else f" = {field.default!r}"


def _member(owner: type, name: str, member: str) -> Iterator[str]:
    static, value = inspect.getattr_static(owner, member), getattr(owner, member)
    if isinstance(static, property):
        yield f"{name}.{member}: {inspect.get_annotations(static.fget)['return'] if static.fget else ''}"
    elif inspect.unwrap(value) is not value and hasattr(umbriel.Umbriel, member):
        yield f"{name}.{member}: as Umbriel.{member}, waited for"
    elif inspect.isfunction(value) or inspect.ismethod(value):
        kind = "async " if inspect.iscoroutinefunction(value) else ""
        yield f"{kind}{name}.{member}{_signature(value)}"
    elif not callable(value) and not inspect.isdatadescriptor(static):
        yield f"{name}.{member} = {value!r}"


def _signature(function: Callable[..., Any]) -> str:
    """Return a signature that reads the same under every version of Python."""
    parts, before = [], None
    signature = inspect.signature(function)
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and before not in {one.KEYWORD_ONLY, one.VAR_POSITIONAL}:
            parts.append("*")
        star = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        typed = "" if one.annotation is one.empty else f": {one.annotation}"
        default = one.default.__name__ if callable(one.default) else repr(one.default)
        parts.append(f"{star}{one.name}{typed}" + ("" if one.default is one.empty else f" = {default}"))
        before = one.kind
    return f"({', '.join(parts)}) -> {signature.return_annotation}"


def main() -> None:
    """Write the file."""
    FILE.write_text("\n".join(surface()) + "\n", encoding="utf-8")
    sys.stdout.write(f"{FILE.name} written\n")


if __name__ == "__main__":
    main()
