"""The client that waits: the same verbs under the same signatures, seen by type checkers and by people."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from importlib.resources import files
from typing import assert_type

import pytest

from tests.unit.sdk_surface import FILE, surface
from umbriel import (
    Export,
    ExportSync,
    FeedEvent,
    InvalidInputError,
    ListReply,
    RecallReply,
    RememberReply,
    StatusReply,
    SubscriptionSync,
    Umbriel,
    UmbrielSync,
    UnavailableError,
    pages,
)
from umbriel._loop import Loop
from umbriel.auditing import AuditReply

#: What each client does in its own way.
_OWN = {"close", "connected", "for_profile", "principal", "profile"}
_VERBS = sorted(one for one in dir(Umbriel) if not one.startswith("_") and one not in _OWN)


@pytest.mark.parametrize("verb", _VERBS)
def test_every_verb_waits_under_its_own_signature(verb: str) -> None:
    """Each public method of the asynchronous client is one of the other, with its parameters and its docstring."""
    assert hasattr(UmbrielSync, verb), f"add to UmbrielSync: {verb} = blocking(Umbriel.{verb})"
    awaited, waited = getattr(Umbriel, verb), getattr(UmbrielSync, verb)
    assert not inspect.iscoroutinefunction(waited)
    assert inspect.signature(waited).parameters == inspect.signature(awaited).parameters
    assert waited.__doc__ == awaited.__doc__


def test_neither_client_has_a_verb_alone() -> None:
    """What the one has, the other has, but for what belongs to a loop."""
    waited = {one for one in dir(UmbrielSync) if not one.startswith("_")}
    assert waited == {one for one in dir(Umbriel) if not one.startswith("_")}


def test_the_surface_is_the_recorded_one() -> None:
    """No name, parameter or default changes by accident; ``python -m tests.unit.sdk_surface`` records a wanted one."""
    assert surface() == FILE.read_text(encoding="utf-8").splitlines()


def test_types_are_shipped() -> None:
    """A type checker believes the package's annotations."""
    assert files("umbriel").joinpath("py.typed").is_file()


def _types_are_kept(memory: UmbrielSync, awaited: Umbriel) -> None:
    """Never called: mypy proves it, and each ignored mistake that were none would be a mistake itself."""
    assert_type(memory.recall("where", limit=3), RecallReply)
    assert_type(memory.remember("that", key="this", wait=True), RememberReply)
    assert_type(UmbrielSync.connect("nats://host", principal="me"), UmbrielSync)
    assert_type(UmbrielSync.stop_embedded(), bool)
    assert_type(memory.call("status", {}, StatusReply), StatusReply)
    assert_type(memory.export(vectors=False), ExportSync)
    assert_type(awaited.export(vectors=False), Export)
    assert_type(memory.subscribe(), SubscriptionSync)
    assert_type(next(memory.subscribe()), FeedEvent)
    assert_type(pages(memory.list, kind="fact"), Iterator[ListReply])
    assert_type(pages(awaited.audit, limit=9), AsyncIterator[AuditReply])
    memory.recall("where", limt=3)  # type: ignore[call-arg]
    memory.recall()  # type: ignore[call-arg]
    memory.list(kind="fakt")  # type: ignore[arg-type]
    pages(memory.list, kynd="fact")  # type: ignore[call-overload]
    pages(memory.status)  # type: ignore[call-overload]


def test_a_loop_carries_out_until_it_is_closed() -> None:
    """Its own thread cannot wait for it, what comes after the end is refused, and closing twice does nothing."""
    loop = Loop()

    async def answer() -> int:
        with pytest.raises(InvalidInputError, match="its own thread"):
            loop.run(answer)
        return 7

    assert loop.run(answer) == 7
    loop.close()
    loop.close()
    assert not loop._thread.is_alive()
    with pytest.raises(UnavailableError, match="the client is closed") as caught:
        loop.run(answer)
    assert not caught.value.retryable


def test_a_loop_that_nobody_holds_ends() -> None:
    """A client that was dropped without being closed leaves no thread."""
    loop = Loop()
    thread = loop._thread
    del loop
    thread.join(10)
    assert not thread.is_alive()
