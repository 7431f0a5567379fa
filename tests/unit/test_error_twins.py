"""The client stands alone, so it has an error tree of its own: the two must say the same."""

from __future__ import annotations

import inspect
from types import ModuleType

import umbriel
from domain import errors


def tree(module: ModuleType) -> dict[str, tuple[str, bool, str]]:
    """Class name to code, retryable and parent of every error of a module."""
    found = {
        name: cls
        for name, cls in vars(module).items()
        if inspect.isclass(cls) and issubclass(cls, module.UmbrielError) and not name.startswith("_")
    }
    return {
        name: (str(getattr(cls, "code", "")), bool(getattr(cls, "retryable", False)), cls.__mro__[1].__name__)
        for name, cls in found.items()
    }


def test_client_and_server_have_one_error_tree() -> None:
    """Every error of the server exists in the client with the same code, retryability and parent, and no others."""
    assert tree(umbriel) == tree(errors)
