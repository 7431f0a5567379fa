"""Our aggregates through the library's application: encrypted, conflict-checked, over a shared connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import pytest
from eventsourcing.application import Application
from eventsourcing.persistence import IntegrityError

from domain.conversation import Conversation
from domain.envelope import Actor
from domain.errors import InvalidInputError, MismatchError, UnavailableError
from domain.kernel import Context, projector
from domain.kinds import conversation_scope
from gateways.jetstream.bridge import Bridge
from gateways.jetstream.connection import Connection
from gateways.jetstream.factory import share
from gateways.jetstream.keys import KeyRing
from gateways.jetstream.log import Log
from gateways.jetstream.server import NatsServer
from gateways.jetstream.users import SERVICE

T = TypeVar("T")
CONTEXT = Context(actor=Actor("local", "person"), now=datetime(2026, 1, 2, tzinfo=UTC))


@pytest.fixture
async def application(fresh_log: Log, key_ring: KeyRing) -> Application[str]:
    """An application on the test's loop and connection."""
    return Application[str](env=share(fresh_log, key_ring, Bridge(asyncio.get_running_loop())))


async def in_thread(function: Callable[[], T]) -> T:
    """Run blocking code as the service does."""
    return await asyncio.to_thread(function)


def load(application: Application[str], name: str = "p.conversation.a") -> Conversation:
    """A conversation as the log has it."""
    return application.repository.get(name, projector_func=projector(Conversation, name))


def change(application: Application[str], contact: str) -> int:
    """Load, decide, save; the position."""
    conversation = load(application)
    conversation.set_contact("s", contact, "cli", CONTEXT)
    return application.save(conversation)[-1].notification.id


async def test_an_aggregate_is_saved_encrypted_and_loaded(application: Application[str], fresh_log: Log) -> None:
    """Events go to their subject under their scope's key, and fold to the same state."""
    assert await in_thread(lambda: change(application, "ada")) == 1
    assert await in_thread(lambda: change(application, "grace")) == 2
    conversation = await in_thread(lambda: load(application))
    assert (conversation.contact, conversation.version) == ("grace", 2)
    head = await fresh_log.head("p.conversation.a")
    assert head is not None
    assert head.key_id
    assert b"grace" not in head.body
    assert head.topic == "conversation.contact_set"
    assert head.recorded_at == CONTEXT.now


async def test_two_writers_of_one_version(application: Application[str], fresh_log: Log, key_ring: KeyRing) -> None:
    """The second writer gets IntegrityError, also in another instance, and can go on after a reload."""
    other = Application[str](env=share(fresh_log, key_ring, Bridge(asyncio.get_running_loop())))
    await in_thread(lambda: change(application, "ada"))
    mine, theirs = await in_thread(lambda: (load(application), load(other)))
    mine.set_contact("s", "mine", "", CONTEXT)
    theirs.set_contact("s", "theirs", "", CONTEXT)
    await in_thread(lambda: application.save(mine))
    with pytest.raises(IntegrityError):
        await in_thread(lambda: other.save(theirs))
    assert await in_thread(lambda: change(other, "later")) == 3
    assert await in_thread(lambda: change(application, "last")) == 4


async def test_many_threads_change_one_aggregate(application: Application[str]) -> None:
    """Every command gets in once when lost races are decided again."""

    def command(number: int) -> None:
        for _ in range(100):
            try:
                change(application, f"contact {number}")
            except IntegrityError:
                continue
            return
        raise AssertionError

    await asyncio.gather(*(in_thread(lambda n=n: command(n)) for n in range(12)))  # type: ignore[misc]
    assert (await in_thread(lambda: load(application))).version == 12


async def test_a_load_and_a_save_read_the_head_once(
    application: Application[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saving what was just loaded costs one publish, and fast-forwarding reads only what is new."""
    await in_thread(lambda: change(application, "ada"))
    conversation = await in_thread(lambda: load(application))
    conversation.set_contact("s", "grace", "", CONTEXT)
    subjects: list[str] = []
    original = Connection.request

    async def counting(self: Connection, subject: str, *rest: Any) -> Any:
        subjects.append(subject)
        return await original(self, subject, *rest)

    monkeypatch.setattr(Connection, "request", counting)
    await in_thread(lambda: application.save(conversation))
    assert len(subjects) == 1
    assert subjects[0].startswith("umbriel.events.")
    events = await in_thread(lambda: list(application.events.get("p.conversation.a", gt=1)))
    assert [event.originator_version for event in events] == [2]
    assert await in_thread(lambda: list(application.events.get("p.conversation.a", gt=2))) == []


async def test_an_erased_aggregate_says_nothing(application: Application[str], key_ring: KeyRing) -> None:
    """After its key was destroyed an aggregate is empty, and goes on after the events that nobody can read."""
    await in_thread(lambda: change(application, "ada"))
    key = await key_ring.key("p", conversation_scope("s"))
    await key_ring.destroy("p", key.key_id)
    erased = await in_thread(lambda: load(application))
    assert (erased.contact, erased.version, erased.erased) == ("", 1, True)
    await in_thread(lambda: change(application, "bea"))
    again = await in_thread(lambda: load(application))
    assert (again.contact, again.version) == ("bea", 2)


async def test_an_event_without_scope_is_refused(application: Application[str]) -> None:
    """Nothing is written in the clear by forgetting a scope."""
    conversation = Conversation("p.conversation.a")
    conversation.set_contact("s", "ada", "", CONTEXT)
    event = conversation.collect_events()[0]
    bare = msgspec.structs.replace(event, key_scope="")
    with pytest.raises(InvalidInputError):
        await in_thread(lambda: application.mapper.to_stored_event(bare))


async def test_blocking_on_the_loop_is_refused(application: Application[str]) -> None:
    """A call that would wait for itself says so instead of hanging."""
    with pytest.raises(RuntimeError, match="event loop"):
        application.recorder.max_notification_id()


@pytest.fixture
def environment(fresh_streams: NatsServer) -> dict[str, str]:
    """An environment for an application with a connection of its own."""
    return {
        "PERSISTENCE_MODULE": "gateways.jetstream",
        "NATS_URL": fresh_streams.url,
        "NATS_USER": SERVICE,
        "NATS_PASSWORD": fresh_streams.password(SERVICE),
        "UMBRIEL_MASTER_KEY": fresh_streams.secrets.master_key().hex(),
    }


def test_an_application_of_its_own(environment: dict[str, str]) -> None:
    """From the environment alone an application connects, encrypts, and closes for good."""
    with Application[str](env=environment) as application:
        assert change(application, "ada") == 1
        assert load(application).contact == "ada"
    with Application[str](env={**environment, "UMBRIEL_MASTER_KEY": ""}) as without, pytest.raises(MismatchError):
        load(without)
    with pytest.raises(MismatchError):
        Application[str](env={**environment, "UMBRIEL_MASTER_KEY": "00" * 32})
    with pytest.raises(InvalidInputError):
        Application[str](env={**environment, "UMBRIEL_MASTER_KEY": "secret"})
    with pytest.raises(UnavailableError):
        load(application)


def test_a_subscription_ends_when_it_is_stopped(environment: dict[str, str]) -> None:
    """A waiting subscription ends with stop, and closing does not wait for it."""
    with Application[str](env=environment) as application:
        change(application, "ada")
        with application.recorder.subscribe(gt=0) as subscription:
            assert next(subscription).topic == "conversation.contact_set"
            subscription.stop()
            assert list(subscription) == []
        left = application.recorder.subscribe(gt=1)
    with pytest.raises((StopIteration, UnavailableError)):
        next(left)
