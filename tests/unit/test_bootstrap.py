"""What the composition root does by itself: ending its workers."""

from __future__ import annotations

import asyncio
import resource

import pytest

from gateways import bootstrap


async def test_a_worker_that_missed_its_cancellation_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11's ``wait_for`` drops a cancellation when its result comes at the same moment."""
    monkeypatch.setattr(bootstrap, "_CANCEL_AGAIN", 0.05)
    missed = 0

    async def work() -> None:
        nonlocal missed
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                missed += 1
                if missed > 1:
                    raise

    worker = asyncio.create_task(work())
    await asyncio.sleep(0)
    await asyncio.wait_for(bootstrap._cancel([worker]), 5)
    assert worker.cancelled()


def test_the_limit_of_open_files_is_raised() -> None:
    """A soft limit below what the open profiles need is raised to what the hard one allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, soft), hard))
        bootstrap._raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(16_384, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
