"""The one bridge between the synchronous library and the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, Self, TypeVar

from domain.errors import UnavailableError

__all__ = ["Bridge"]

T = TypeVar("T")
_JOIN_SECONDS = 10.0


class Bridge:
    """Runs coroutines for threads that cannot await: on a loop of its own, or on one that runs already.

    With a given ``loop`` the bridge only borrows it; without one it starts a thread that `close` ends.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._thread: threading.Thread | None = None
        self._closed = False
        if loop is None:
            loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._serve, args=(loop,), name="jetstream", daemon=True)
            self._thread.start()
        self._loop = loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop without waiting for it."""
        if self._closed or self._loop.is_closed():
            work.close()
            raise UnavailableError("the log was closed", expected="an open log", found="a closed one")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return what it returns; never call it from the loop's own thread."""
        if _running_loop() is self._loop:
            work.close()
            raise RuntimeError("a blocking call on the event loop would wait for itself")
        try:
            return self.start(work).result()
        except CancelledError as error:
            raise UnavailableError("the log was closed", expected="an open log", found="a closed one") from error

    def close(self) -> None:
        """End a loop of its own, cancelling what still runs on it; closing twice does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result(_JOIN_SECONDS)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_JOIN_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
