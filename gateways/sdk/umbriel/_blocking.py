"""Verbs of the asynchronous client that wait for their answer, typed as they are; a part of the client.

A signature is written once, in the asynchronous client: `ParamSpec` carries names, defaults and types over, so that a
type checker and `help` see the very same parameters. Generated code would say them a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from umbriel._loop import Loop
from umbriel.client import Umbriel

__all__ = ["Blocking", "apart", "blocking"]

P = ParamSpec("P")
R = TypeVar("R")


class Blocking:
    """An asynchronous client, and the loop that it runs in."""

    _client: Umbriel
    _loop: Loop


def blocking(
    verb: Callable[Concatenate[Umbriel, P], Coroutine[None, None, R]],
) -> Callable[Concatenate[Blocking, P], R]:
    """Return a method that takes what ``verb`` takes and returns what it is awaited for."""

    @wraps(verb)
    def call(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.run(lambda: verb(self._client, *args, **kwargs))

    return call


def apart(work: Callable[P, Coroutine[None, None, R]]) -> Callable[P, R]:
    """Return a function that needs no client, carried out in a loop that ends with it."""

    @wraps(work)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        loop = Loop()
        try:
            return loop.run(lambda: work(*args, **kwargs))
        finally:
            loop.close()

    return call
