"""Pages of an answer, one after the other, from the client that awaits and from the one that waits."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import ParamSpec, Protocol, TypeVar, cast, overload

__all__ = ["Paged", "pages"]

P = ParamSpec("P")


class Paged(Protocol):
    """A reply with a cursor, which is empty on the last page."""

    @property
    def cursor(self) -> str:
        """Where the next page begins."""


Page = TypeVar("Page", bound=Paged)


@overload
def pages(verb: Callable[P, Coroutine[None, None, Page]], *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Page]: ...
@overload
def pages(verb: Callable[P, Page], *args: P.args, **kwargs: P.kwargs) -> Iterator[Page]: ...
def pages(
    verb: Callable[P, Page] | Callable[P, Coroutine[None, None, Page]], *args: P.args, **kwargs: P.kwargs
) -> Iterator[Page] | AsyncIterator[Page]:
    """Yield every page of a verb that takes a ``cursor``: ``list``, ``audit``, ``diff``, ``list_goals`` and the like.

    What follows the verb are its own arguments. Nothing is asked for before it is wanted.

    >>> [entry.text for page in pages(memory.list, kind="instruction", limit=1) for entry in page.entries]
    ['Answer in French', 'Sign with the first name']
    """
    if inspect.iscoroutinefunction(verb):
        return _awaited(cast("Callable[P, Coroutine[None, None, Page]]", verb), *args, **kwargs)
    return _waited(cast("Callable[P, Page]", verb), *args, **kwargs)


def _waited(verb: Callable[P, Page], *args: P.args, **kwargs: P.kwargs) -> Iterator[Page]:
    while True:
        page = verb(*args, **kwargs)
        yield page
        if not page.cursor:
            return
        kwargs["cursor"] = page.cursor


async def _awaited(
    verb: Callable[P, Coroutine[None, None, Page]], *args: P.args, **kwargs: P.kwargs
) -> AsyncIterator[Page]:
    while True:
        page = await verb(*args, **kwargs)
        yield page
        if not page.cursor:
            return
        kwargs["cursor"] = page.cursor
