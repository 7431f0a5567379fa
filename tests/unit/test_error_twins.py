"""The client stands alone, so it has an error tree of its own: the two must say the same."""

from __future__ import annotations

import inspect

import umbriel

from domain import errors


def tree(module: object) -> dict[str, tuple[str, bool, str]]:
    """Class name to code, retryable and parent of every error of a module."""
    base = module.UmbrielError  # type: ignore[attr-defined]
    return {
        name: (cls.code, cls.retryable, cls.__mro__[1].__name__)
        for name, cls in vars(module).items()
        if inspect.isclass(cls) and issubclass(cls, base) and not name.startswith("_")
    }


def test_client_and_server_have_one_error_tree() -> None:
    """Every error of the server exists in the client with the same code, retryability and parent, and no others."""
    assert tree(umbriel) == tree(errors)
