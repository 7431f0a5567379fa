"""The client that waits, against a running service: threads, running loops, iterators, Ctrl-C, exit and fork."""

from __future__ import annotations

import doctest
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count, islice
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

import umbriel
from tests.rest_service import RestService
from umbriel import (
    InvalidInputError,
    NotFoundError,
    Umbriel,
    UmbrielSync,
    UnavailableError,
    _iterators,
    _paging,
    pages,
    sync,
)
from umbriel._embedded import Endpoint

_names = count(1)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestService]:
    """A service that only keeps what it is told, and says where it is as `umbriel serve` does."""
    with RestService(tmp_path_factory.mktemp("sync") / "data") as running:
        endpoint = Endpoint(url=running.runtime.url, pid=os.getpid())
        (running.data / "endpoint.json").write_bytes(msgspec.json.encode(endpoint))
        yield running


@pytest.fixture
def memory(service: RestService) -> Iterator[UmbrielSync]:
    """A client on a profile of its own."""
    with UmbrielSync.embedded(service.data, profile=f"sync-{next(_names)}") as opened:
        yield opened


@pytest.fixture
def script(service: RestService) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Start Python on some lines that find a client as ``memory``."""
    opened = f"from umbriel import *\nmemory = UmbrielSync.embedded({str(service.data)!r}, profile='x')\n"
    with ExitStack() as running:

        def start(lines: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", opened + lines],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            running.enter_context(process)
            running.callback(process.kill)
            return process

        yield start


def test_write_read_and_errors(memory: UmbrielSync) -> None:
    """Replies come back and errors are raised, as the asynchronous client has them."""
    written = memory.remember("The lab is in Lisbon", key="lab city", wait=True)
    assert memory.recall("where is the lab?", at_least=written.position).results[0].id == written.memory.id
    assert (memory.connected, memory.principal) == (True, "local-agent")
    other = memory.for_profile("sync-other")
    assert other.profile == "sync-other"
    assert not other.list().entries
    with pytest.raises(NotFoundError):
        memory.get("a" * 26 + "@1")


async def test_inside_a_running_loop(service: RestService, memory: UmbrielSync) -> None:
    """A notebook has a loop that runs; the client works beside it, and its answers are those of the other client."""
    at = memory.remember("Said in a notebook").position
    async with await Umbriel.embedded(service.data, profile=memory.profile) as awaited:
        theirs = [entry.text async for page in pages(awaited.list, at_least=at) for entry in page.entries]
    assert (
        theirs
        == [entry.text for page in pages(memory.list, at_least=at) for entry in page.entries]
        == ["Said in a notebook"]
    )


def test_many_threads_share_one_client(memory: UmbrielSync) -> None:
    """Each thread gets the answers to its own questions, and nothing is lost or written twice."""

    def write(number: int) -> umbriel.RememberReply:
        return memory.remember(f"Fact number {number}", key=f"number {number}")

    with ThreadPoolExecutor(8) as threads:
        written = list(threads.map(write, range(40)))
    assert [one.memory.text for one in written] == [f"Fact number {number}" for number in range(40)]
    at = max((one.position for one in written), key=umbriel.sequence_of)
    found = [entry.text for page in pages(memory.list, limit=7, at_least=at) for entry in page.entries]
    assert sorted(found) == sorted(f"Fact number {number}" for number in range(40))
    assert [len(page.entries) for page in pages(memory.list, limit=15)] == [15, 15, 10]


def test_a_callback_may_not_wait_for_its_own_thread(memory: UmbrielSync) -> None:
    """Instead of waiting for itself for ever, a call from ``progress`` is refused, and the client goes on."""

    def asks(done: int, total: int) -> None:
        memory.status()

    with pytest.raises(InvalidInputError, match="its own thread"):
        memory.ingest([umbriel.Message(role="user", content="hello")], session="s", progress=asks)
    assert memory.status().principal == memory.principal


def test_an_export_line_by_line(memory: UmbrielSync) -> None:
    """The lines are those of the export, and one that was cut off goes on where it was."""
    for number in range(3):
        memory.remember(f"Line {number}")
    whole = memory.export(kinds=["memory"])
    lines = list(whole)
    assert (whole.events, whole.position, len(lines)) == (3, whole.until, 5)
    rest = list(memory.export().resume(lines[:3]))
    assert [msgspec.json.decode(line)["id"] for line in rest[:-1]] == [
        msgspec.json.decode(line)["id"] for line in lines[3:-1]
    ]


def test_a_subscription_waits_and_ends(memory: UmbrielSync) -> None:
    """Events come in order from where they were left; a time-out loses none; closing wakes whoever waits."""
    memory.remember("before")
    with memory.subscribe(after="new", kinds=["memory"]).start() as events:
        assert events.next(timeout=0.05) is None
        begun = events.position
        for text in ("one", "two", "three"):
            memory.remember(text)
        first = next(events)
        assert [first.data["text"], *(event.data["text"] for event in islice(events, 2))] == [
            "one",
            "two",
            "three",
        ]
        again = memory.subscribe(after=first.position, kinds=["memory"])
        assert [event.data["text"] for event in islice(again, 2)] == ["two", "three"]
        assert umbriel.sequence_of(events.position) > umbriel.sequence_of(begun)
        seen: list[object] = []
        reader = threading.Thread(target=lambda: seen.extend(events))
        reader.start()
    reader.join(10)
    assert not reader.is_alive()
    assert not seen
    assert list(events) == []


def test_closing_ends_what_waits(service: RestService) -> None:
    """A call that waits in another thread fails at once, later ones too, and nothing of the client goes on."""
    memory = UmbrielSync.embedded(service.data, profile="sync-closing")
    outcome: list[Exception] = []

    def wait() -> None:
        try:
            memory.feed(after="", kinds=["goal"], wait=25)
        except UnavailableError as error:
            outcome.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    sibling = memory.for_profile("sync-sibling")
    memory.close()
    memory.close()
    waiting.join(10)
    assert [str(error).split(" (")[0] for error in outcome] == ["the client is closed"]
    for late in (memory, sibling):
        with pytest.raises(UnavailableError, match="closed") as caught:
            late.status()
        assert not caught.value.retryable
        assert not late.connected
    assert not memory._loop._thread.is_alive()


def test_opening_in_vain_leaves_no_thread() -> None:
    """A client that cannot be opened says so, and its thread is gone."""
    before = set(threading.enumerate())
    with pytest.raises(UnavailableError, match="cannot connect"):
        UmbrielSync.connect("nats://127.0.0.1:1", principal="local")
    with pytest.raises(InvalidInputError):
        UmbrielSync.connect("nats://127.0.0.1:1", principal="not a name")
    assert set(threading.enumerate()) <= before


def test_ctrl_c_gives_a_call_up(script: Callable[[str], subprocess.Popen[str]]) -> None:
    """The call that waits raises KeyboardInterrupt, the client answers the next one, and the process ends."""
    process = script(
        "try:\n"
        "    print('waits', flush=True)\n"
        "    memory.feed(kinds=['goal'], wait=29)\n"
        "except KeyboardInterrupt:\n"
        "    print(memory.status(service=True).principal)\n"
        "events = memory.subscribe(kinds=['goal'])\n"
        "print('waits', flush=True)\n"
        "next(events)\n"
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "local-agent\n"
    assert process.stdout.readline() == "waits\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT


def test_exit_fork_and_open_clients(script: Callable[[str], subprocess.Popen[str]]) -> None:
    """The interpreter ends with clients open and a thread that waits; a forked child is told, and ends as well."""
    process = script(
        "import os, threading\n"
        "other = memory.for_profile('y')\n"
        "threading.Thread(target=lambda: list(memory.subscribe()), daemon=True).start()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    try:\n"
        "        memory.status()\n"
        "    except UnavailableError as error:\n"
        "        raise SystemExit(error.found == 'one that was opened before the fork')\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), memory.status(service=True).principal)\n"
    )
    said, wrong = process.communicate(timeout=20)
    assert (said, wrong, process.returncode) == ("1 local-agent\n", "", 0)


@pytest.mark.parametrize("module", [_iterators, _paging, sync], ids=lambda module: module.__name__)
def test_examples_in_docstrings(service: RestService, memory: UmbrielSync, module: ModuleType) -> None:
    """What the docstrings show is what a service answers."""
    memory.remember("Sign with the first name", kind="instruction")
    memory.remember("Answer in French", kind="instruction", key="language", wait=True)
    shown = {**vars(umbriel), "memory": memory, "data": service.data}
    found = doctest.DocTestFinder().find(module, globs=shown)
    runner = doctest.DocTestRunner()
    assert sum(bool(one.examples) for one in found) > 0
    for one in found:
        assert runner.run(one).failed == 0, one.name


def test_the_readme_of_the_client(service: RestService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page of the distribution shows is what a service answers, in the order in which it is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memory").symlink_to(service.data)
    page = Path(umbriel.__file__).parents[1] / "README.md"
    shown = doctest.DocTestParser().get_doctest(
        page.read_text(encoding="utf-8").replace("\n```", "\n\n```"), {}, page.name, str(page), 0
    )
    assert len(shown.examples) > 9
    assert doctest.DocTestRunner().run(shown).failed == 0
    awaited = next(block for block in page.read_text(encoding="utf-8").split("```") if "asyncio.run" in block)
    done = subprocess.run(
        [sys.executable, "-c", awaited.removeprefix("python")], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("['Mara lives in Porto']\n", "")
