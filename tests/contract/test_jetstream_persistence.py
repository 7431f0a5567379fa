"""The `eventsourcing` library's own test cases, unchanged, over the JetStream persistence module."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any
from unittest import TestCase
from uuid import UUID

import pytest
from eventsourcing.application import Application
from eventsourcing.persistence import (
    AggregateRecorder,
    InfrastructureFactory,
    NotSupportedError,
    ProcessRecorder,
    TrackingRecorder,
)
from eventsourcing.tests.application import ApplicationTestCase, ExampleApplicationTestCase
from eventsourcing.tests.persistence import (
    AggregateRecorderTestCase,
    ApplicationRecorderTestCase,
    InfrastructureFactoryTestCase,
    NonInterleavingNotificationIDsBaseCase,
)
from eventsourcing.utils import Environment

from gateways.jetstream import JetStreamFactory
from gateways.jetstream.factory import Shared
from gateways.jetstream.recorders import JetStreamAggregateRecorder, JetStreamApplicationRecorder
from gateways.jetstream.server import NatsServer
from tests.nats_fixtures import OPERATOR, delete_streams

# The library's tests leave their applications open; connections are closed here, at the end of each test.
_opened: list[JetStreamFactory] = []


@pytest.fixture(autouse=True)
def fresh_stream(nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has empty streams and an environment that leads to them."""
    asyncio.run(delete_streams(nats_server))
    for name, value in _environment(nats_server).items():
        monkeypatch.setenv(name, value)
    _remember_opened(monkeypatch)
    yield
    while _opened:
        _opened.pop().close()


def _environment(server: NatsServer) -> dict[str, str]:
    return {
        "PERSISTENCE_MODULE": "gateways.jetstream",
        "NATS_URL": server.url,
        # Snapshots have a stream of their own, which the service's rights do not cover.
        "NATS_USER": OPERATOR,
        "NATS_PASSWORD": server.password(OPERATOR),
    }


def _remember_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    original = JetStreamFactory._open

    def opening(factory: JetStreamFactory) -> Shared:
        _opened.append(factory)
        return original(factory)

    monkeypatch.setattr(JetStreamFactory, "_open", opening)


def _factory() -> InfrastructureFactory[Any]:
    return InfrastructureFactory[Any].construct(Environment(env=dict(os.environ)))


class TestAggregateRecorder(AggregateRecorderTestCase):
    """An aggregate's events are written atomically and read back by version."""

    def create_recorder(self) -> AggregateRecorder:
        """Return the recorder under test."""
        return _factory().aggregate_recorder()


class TestApplicationRecorder(ApplicationRecorderTestCase[Any]):
    """All events are read back in the order of their positions, by several readers and writers."""

    def create_recorder(self) -> Any:
        """Return the recorder under test."""
        return _factory().application_recorder()

    def test_insert_subscribe(self) -> None:
        """A subscription yields what is recorded, before and after it began."""
        self.optional_test_insert_subscribe()


class TestNonInterleaving(NonInterleavingNotificationIDsBaseCase):
    """Two steps of a thousand events each do not interleave."""

    def create_recorder(self) -> Any:
        """Return the recorder under test."""
        return _factory().application_recorder()


class TestExampleApplication(ExampleApplicationTestCase):
    """The library's example application works, snapshots included."""

    expected_factory_topic = "gateways.jetstream.factory:JetStreamFactory"


# The library tests its own deprecated attribute and looks at the warning.
@pytest.mark.filterwarnings("default:'log' is deprecated:DeprecationWarning")
class TestApplication(ApplicationTestCase):
    """The library's application works, with caches and fast-forward."""


class TestFactory(InfrastructureFactoryTestCase[JetStreamFactory]):
    """The factory makes what it can make."""

    def setUp(self) -> None:
        """Take the environment that the fixture made."""
        self.env = Environment(env=dict(os.environ))
        super().setUp()

    def expected_factory_class(self) -> type[JetStreamFactory]:
        """Return the class under test."""
        return JetStreamFactory

    def expected_aggregate_recorder_class(self) -> type[AggregateRecorder]:
        """Return the recorder of aggregates."""
        return JetStreamAggregateRecorder

    def expected_application_recorder_class(self) -> type[JetStreamApplicationRecorder]:
        """Return the recorder of the log."""
        return JetStreamApplicationRecorder

    def expected_tracking_recorder_class(self) -> type[TrackingRecorder]:
        """Return nothing: there is none."""
        raise NotImplementedError

    def tracking_recorder_subclass(self) -> type[TrackingRecorder]:
        """Return nothing: there is none."""
        raise NotImplementedError

    def expected_process_recorder_class(self) -> type[ProcessRecorder]:
        """Return nothing: there is none."""
        raise NotImplementedError

    def test_create_tracking_recorder(self) -> None:
        """Tracking records are refused loudly: views own their positions."""
        with pytest.raises(NotSupportedError):
            self.factory.tracking_recorder()

    def test_create_process_recorder(self) -> None:
        """Process recorders are refused loudly: views own their positions."""
        with pytest.raises(NotSupportedError):
            self.factory.process_recorder()


class TestClosing(TestCase):
    """Closing an application ends its connection and its thread."""

    def test_close_twice(self) -> None:
        """Closing twice does nothing, and the application is unusable afterwards."""
        application = Application[UUID](env=dict(os.environ))
        application.save()
        application.close()
        application.close()


# What is imported to be inherited is not collected itself.
del AggregateRecorderTestCase, ApplicationRecorderTestCase, NonInterleavingNotificationIDsBaseCase
del ExampleApplicationTestCase, ApplicationTestCase, InfrastructureFactoryTestCase
