"""One event loop in a thread of its own, for code that waits for answers instead of awaiting them."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TypeVar

from umbriel._errors import InvalidInputError, UnavailableError

__all__ = ["Loop"]

#: Seconds that a connection may take to say goodbye, and that closing waits for the thread to end.
_FAREWELL_SECONDS = 3.0
_CLOSE_SECONDS = 5.0
#: As much at the interpreter's exit, where a person waits for the prompt.
_EXIT_SECONDS = 1.0

R = TypeVar("R")
Work = Callable[[], Coroutine[None, None, None]]


class Loop:
    """Runs coroutines for any number of threads until it is closed, dropped, or the interpreter ends.

    The thread is a daemon and holds nothing of this object, so neither keeps the other or the process alive.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._farewells: list[Work] = []
        self._thread = threading.Thread(
            target=_serve, args=(self._loop, self._farewells), name="umbriel-sync", daemon=True
        )
        self._lock = threading.Lock()
        self._closed = False
        self._pid = os.getpid()
        self._thread.start()
        weakref.finalize(self, _stop, self._loop, self._pid).atexit = False
        _OPEN.add(self)

    @property
    def closed(self) -> bool:
        """Whether nothing is carried out any more."""
        return self._closed

    def at_end(self, work: Work) -> None:
        """Carry this out before the loop ends, however it ends; it must not hold this object."""
        self._farewells.append(work)

    def run(self, work: Callable[[], Coroutine[None, None, R]]) -> R:
        """Carry out a coroutine and return what it returns; interrupted, it is cancelled.

        Raises UnavailableError when the loop is closed, by then or meanwhile, and InvalidInputError in the loop's own
        thread, which would wait for itself.
        """
        return self.outcome(self.begin(work))

    @staticmethod
    def outcome(future: concurrent.futures.Future[R]) -> R:
        """Wait for what was begun, as `run` does."""
        try:
            return future.result()
        except concurrent.futures.CancelledError as error:
            raise _closed(found="one that was closed meanwhile") from error
        except BaseException:
            future.cancel()
            raise

    def begin(self, work: Callable[[], Coroutine[None, None, R]]) -> concurrent.futures.Future[R]:
        """Start a coroutine, and return where its outcome will be; raises as `run` does."""
        self._check_thread()
        with self._lock:
            if self._closed:
                raise _closed()
            return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def close(self, seconds: float = _CLOSE_SECONDS) -> None:
        """Carry out what was left for the end, cancel what runs besides, and end the thread; twice does nothing."""
        if self._pid != os.getpid():
            return
        self._check_thread()
        with self._lock:
            self._closed = True
            _stop(self._loop, self._pid)
        self._thread.join(seconds)

    def _check_thread(self) -> None:
        if self._pid != os.getpid():
            raise _closed("a client opened in this process", "one that was opened before the fork")
        if threading.current_thread() is self._thread:
            raise InvalidInputError(
                "the client cannot be waited for by its own thread",
                expected="a call from another thread",
                found="a call from a callback of the client, as `progress`",
            )


def _closed(expected: str = "an open client", found: str = "a closed one") -> UnavailableError:
    error = UnavailableError("the client is closed", expected=expected, found=found)
    error.retryable = False
    return error


def _serve(loop: asyncio.AbstractEventLoop, farewells: list[Work]) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        for last in farewells:
            # A connection that cannot say goodbye is as closed as one that has.
            with suppress(Exception):
                loop.run_until_complete(asyncio.wait_for(last(), _FAREWELL_SECONDS))
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, pid: int) -> None:
    # A forked child has the loop's files but not its thread: what it wrote there would reach the parent.
    if pid == os.getpid():
        with suppress(RuntimeError):  # it is closed already
            loop.call_soon_threadsafe(loop.stop)


_OPEN: weakref.WeakSet[Loop] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for loop in list(_OPEN):
        loop.close(_EXIT_SECONDS)
