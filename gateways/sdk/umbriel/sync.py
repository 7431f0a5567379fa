"""The client that waits: every verb of `Umbriel`, for code without an event loop, or with one that it may block."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import ParamSpec, Self

from umbriel._blocking import Blocking, apart, blocking
from umbriel._iterators import exporting, subscribing
from umbriel._loop import Loop
from umbriel.client import Umbriel

__all__ = ["UmbrielSync"]

P = ParamSpec("P")


def _opening(way: Callable[P, Coroutine[None, None, Umbriel]]) -> Callable[P, UmbrielSync]:
    """Return a function that opens a client as ``way`` does, with a loop that ends with it."""

    @wraps(way)
    def call(*args: P.args, **kwargs: P.kwargs) -> UmbrielSync:
        loop = Loop()
        try:
            client = loop.run(lambda: way(*args, **kwargs))
            loop.at_end(client.close)
            return UmbrielSync(client, loop)
        except BaseException:
            loop.close()
            raise

    return call


class UmbrielSync(Blocking):
    """A connection to Umbriel as `Umbriel` is, whose verbs return their answer instead of being awaited.

    >>> with UmbrielSync.embedded(data, profile="support") as memory:
    ...     written = memory.remember("Mara lives in Porto", key="home city", contact="mara", wait=True)
    ...     found = memory.recall("Where does Mara live?", contact="mara", at_least=written.position)
    ...     print(found.results[0].text)
    Mara lives in Porto

    Parameters, replies and errors are those of `Umbriel`. Any number of threads may use one client at a time; it works
    inside a running event loop as well (a notebook), where it blocks that loop for as long as it waits. Interrupted
    with Ctrl-C, a call is given up and the client goes on; a callback such as ``progress`` is called in the client's
    own thread. Nothing is left running when the interpreter ends; a forked process opens a client of its own.
    """

    def __init__(self, client: Umbriel, loop: Loop) -> None:
        self._client = client
        self._loop = loop

    connect = staticmethod(_opening(Umbriel.connect))
    embedded = staticmethod(_opening(Umbriel.embedded))
    stop_embedded = staticmethod(apart(Umbriel.stop_embedded))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and end its thread; calls that wait fail with UnavailableError. Twice does nothing."""
        self._loop.close()

    @property
    def profile(self) -> str:
        """The profile this client speaks for."""
        return self._client.profile

    @property
    def principal(self) -> str:
        """The principal this client speaks as."""
        return self._client.principal

    @property
    def connected(self) -> bool:
        """Whether the connection stands; it reconnects by itself to the same address, not to a service moved on."""
        return self._client.connected

    def for_profile(self, profile: str) -> UmbrielSync:
        """Return a client for another profile on the same connection (closing either closes both)."""
        return UmbrielSync(self._client.for_profile(profile), self._loop)

    call = blocking(Umbriel.call)
    ingest = blocking(Umbriel.ingest)
    remember = blocking(Umbriel.remember)
    recall = blocking(Umbriel.recall)
    get = blocking(Umbriel.get)
    list = blocking(Umbriel.list)
    history = blocking(Umbriel.history)
    why = blocking(Umbriel.why)
    feed = blocking(Umbriel.feed)
    subscribe = subscribing(Umbriel.subscribe)
    status = blocking(Umbriel.status)
    rebuild = blocking(Umbriel.rebuild)
    profiles = blocking(Umbriel.profiles)
    correct = blocking(Umbriel.correct)
    forget = blocking(Umbriel.forget)
    expire = blocking(Umbriel.expire)
    retract = blocking(Umbriel.retract)
    reject = blocking(Umbriel.reject)
    restore = blocking(Umbriel.restore)
    pin = blocking(Umbriel.pin)
    unpin = blocking(Umbriel.unpin)
    context = blocking(Umbriel.context)
    recall_conversation = blocking(Umbriel.recall_conversation)
    summary = blocking(Umbriel.summary)
    end_session = blocking(Umbriel.end_session)
    delete_session = blocking(Umbriel.delete_session)
    save_turn = blocking(Umbriel.save_turn)
    resume_turn = blocking(Umbriel.resume_turn)
    set_context = blocking(Umbriel.set_context)
    get_context = blocking(Umbriel.get_context)
    set_task = blocking(Umbriel.set_task)
    get_task = blocking(Umbriel.get_task)
    clear_task = blocking(Umbriel.clear_task)
    reflect = blocking(Umbriel.reflect)
    list_reflections = blocking(Umbriel.list_reflections)
    set_goal = blocking(Umbriel.set_goal)
    progress_goal = blocking(Umbriel.progress_goal)
    close_goal = blocking(Umbriel.close_goal)
    list_goals = blocking(Umbriel.list_goals)
    copy = blocking(Umbriel.copy)
    export = exporting(Umbriel.export)
    import_export = blocking(Umbriel.import_export)
    abandon_import = blocking(Umbriel.abandon_import)
    diff = blocking(Umbriel.diff)
    link_contact = blocking(Umbriel.link_contact)
    unlink_contact = blocking(Umbriel.unlink_contact)
    list_contacts = blocking(Umbriel.list_contacts)
    settings = blocking(Umbriel.settings)
    retry = blocking(Umbriel.retry)
    principal_add = blocking(Umbriel.principal_add)
    principal_list = blocking(Umbriel.principal_list)
    principal_revoke = blocking(Umbriel.principal_revoke)
    principal_rotate = blocking(Umbriel.principal_rotate)
    principal_token = blocking(Umbriel.principal_token)
    principal_token_revoke = blocking(Umbriel.principal_token_revoke)
    consolidate = blocking(Umbriel.consolidate)
    reflect_day = blocking(Umbriel.reflect_day)
    erase = blocking(Umbriel.erase)
    erasure_proof = blocking(Umbriel.erasure_proof)
    lift_erasure = blocking(Umbriel.lift_erasure)
    delete_profile = blocking(Umbriel.delete_profile)
    keys = blocking(Umbriel.keys)
    rotate_keys = blocking(Umbriel.rotate_keys)
    backup = blocking(Umbriel.backup)
    verify = blocking(Umbriel.verify)
    proof = blocking(Umbriel.proof)
    audit = blocking(Umbriel.audit)
