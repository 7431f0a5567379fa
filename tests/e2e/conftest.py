"""One running service for tests that do not break it, each with a profile of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from tests.e2e.processes import ServiceProcess
from umbriel import Umbriel

_names = count(1)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A running service that only keeps what it is told: nothing happens in it that a test did not ask for."""
    with ServiceProcess(tmp_path_factory.mktemp("service") / "data", thinking=False, http="127.0.0.1:0") as running:
        yield running


@pytest.fixture
async def client(service: ServiceProcess) -> AsyncIterator[Umbriel]:
    """An agent's client on a new profile."""
    async with await service.client(profile=f"test-{next(_names)}") as connected:
        yield connected


@pytest.fixture
async def person(service: ServiceProcess, client: Umbriel) -> AsyncIterator[Umbriel]:
    """A person's client on the same profile."""
    async with await service.client(profile=client.profile, principal="local") as connected:
        yield connected
