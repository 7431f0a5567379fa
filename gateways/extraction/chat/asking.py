"""Calls to the model: a few at once, and what is too long asked again in halves, never as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from domain.errors import DamagedError, InvalidInputError, RefusedError
from domain.ports import Ask, Chat

__all__ = ["Asker", "in_halves", "together"]

T = TypeVar("T")
R = TypeVar("R")


class Asker:
    """Asks one model for one profile, at most ``parallel`` questions at the same time."""

    def __init__(self, chat: Chat, *, profile: str, parallel: int) -> None:
        self._chat = chat
        self._profile = profile
        self._turn = asyncio.Semaphore(max(1, parallel))

    async def ask(self, purpose: str, system: str, user: str, shape: type[T]) -> T:
        """Return the model's answer; raises what `domain.ports.Chat` raises."""
        async with self._turn:
            answer = await self._chat.ask(
                Ask(purpose=f"extract.{purpose}", system=system, user=user, profile=self._profile), shape
            )
        return answer.value


async def together(work: Iterable[Coroutine[Any, Any, R]]) -> list[R]:
    """Return the results in order; the first error ends the rest and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


async def in_halves(
    items: Sequence[T], ask: Callable[[Sequence[T]], Awaitable[R]], otherwise: Callable[[Sequence[T]], R]
) -> list[R]:
    """Return what ``ask`` makes of the items, at once or in halves where that is too long for the model.

    ``otherwise`` stands in for an answer that was declined or unreadable, and for a single item that is too long.
    """
    if not items:
        return []
    try:
        return [await ask(items)]
    except (RefusedError, DamagedError):
        return [otherwise(items)]
    except InvalidInputError:
        if len(items) == 1:
            return [otherwise(items)]
    middle = len(items) // 2
    return [*await in_halves(items[:middle], ask, otherwise), *await in_halves(items[middle:], ask, otherwise)]
