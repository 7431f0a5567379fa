"""``umbriel demo``: the whole story in under a minute, checked at every step."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.progress import Progress

from gateways.cli import output
from gateways.cli.errors import CommandError
from gateways.cli.options import Json
from gateways.cli.reads import show_recall, show_why
from gateways.cli.session import LOCAL
from umbriel import Message, RecallReply, RecallResult, Umbriel

__all__ = ["DemoReport", "demo"]

_PROFILE = "demo"
_CITY = "home city"
_WHERE = "Where does Mara live now?"
_TALK = "What is Mara practising for?"
_SCORE_TOLERANCE = 1e-5

CONVERSATION = (
    ("user", "Mara", "I started learning the cello in spring, my teacher is called Tomas."),
    ("assistant", "", "How lovely! What are you working on at the moment?"),
    ("user", "Mara", "I practise a suite by Bach for the summer concert in July."),
    ("assistant", "", "Then we should plan your evenings around the rehearsals."),
    ("user", "Mara", "Also, I cannot eat peanuts, please keep that in mind for the picnic."),
)


class DemoReport(msgspec.Struct, frozen=True):
    """The steps that held, in order."""

    steps: list[str]


class _Story:
    """The steps of the demonstration on one data directory; each says what it does and checks it."""

    def __init__(self, data: Path, bar: Progress, *, quiet: bool) -> None:
        self._data = data
        self._bar = bar
        self._task = bar.add_task("demonstrating", total=None)
        self._quiet = quiet
        self.held: list[str] = []

    async def run(self) -> None:
        async with await self._open() as memory:
            self._say("Started a service with its own event log in an empty directory.")
            position = await self._write(memory)
            city = await self._supersede(memory)
            await self._why(memory, city)
            position = await self._forget(memory)
            before = await self._answers(memory, position)
        await self._delete_views()
        async with await self._open() as memory:
            await self._rebuild(memory, position, before)

    async def _open(self) -> Umbriel:
        return await Umbriel.embedded(self._data, profile=_PROFILE, principal=LOCAL)

    async def _write(self, memory: Umbriel) -> str:
        at = datetime(2025, 5, 3, 18, 30, tzinfo=UTC)
        messages = [Message(role=role, name=name, content=content, at=at) for role, name, content in CONVERSATION]
        first = await memory.ingest(messages, session="evening", wait=True)
        again = await memory.ingest(messages, session="evening")
        self._check("five messages are recorded", _outcomes(first.outcomes) == ["recorded"] * 5, first)
        self._check("sent again, none is recorded twice", _outcomes(again.outcomes) == ["duplicate"] * 5, again)
        self._say("Recorded a conversation of five messages; sending it again recorded nothing.")
        found = await memory.recall(_TALK, limit=3, explain=True)
        self._show(f"Asked: {_TALK}", lambda: show_recall(found))
        self._check("the right turn is found", any("Bach" in one.text for one in found.results), found)
        self._check("every result says which channels found it", all(one.channels for one in found.results), found)
        return first.position

    async def _supersede(self, memory: Umbriel) -> str:
        old = await memory.remember("Mara lives in Lisbon", key=_CITY)
        new = await memory.remember("Mara lives in Porto", key=_CITY, wait=True)
        self._check("the second statement supersedes the first", new.superseded == old.memory.id, new)
        self._say("Remembered that Mara lives in Lisbon, then in Porto: the same key, so the second supersedes.")
        found = await memory.recall(_WHERE, limit=3, at_least=new.position, explain=True)
        self._show(f"Asked: {_WHERE}", lambda: show_recall(found))
        ids = _ids(found)
        self._check("Porto is the answer", ids[:1] == [new.memory.id], found)
        self._check("Lisbon is not an answer any more", old.memory.id not in ids, found)
        live = await memory.get(key=_CITY, at_least=new.position)
        self._check("the key leads to the live version", live.id == new.memory.id, live)
        return new.memory.id

    async def _why(self, memory: Umbriel, city: str) -> None:
        reason = await memory.why(city)
        self._show("Asked why:", lambda: show_why(reason))
        self._check("both versions are still there", len(reason.versions) == 2, reason)  # noqa: PLR2004 - two were written
        self._check("the supersession is on record", "memory.superseded" in [e.topic for e in reason.events], reason)

    async def _forget(self, memory: Umbriel) -> str:
        secret = await memory.remember("Mara keeps her spare key under the blue pot", key="spare key", wait=True)
        asked = "Where is the spare key?"
        before = await memory.recall(asked, at_least=secret.position)
        self._check("it is found before it is forgotten", secret.memory.id in _ids(before), before)
        gone = await memory.forget(secret.memory.id)
        after = await memory.recall(asked, at_least=gone.position)
        self._check("it is not found after", secret.memory.id not in _ids(after), after)
        self._say("Remembered where the spare key is, forgot it, and asked again: it is gone from every view.")
        return gone.position

    async def _answers(self, memory: Umbriel, position: str) -> list[RecallReply]:
        return [await memory.recall(query, at_least=position) for query in (_WHERE, _TALK)]

    async def _delete_views(self) -> None:
        self._check("the service stops when told", await Umbriel.stop_embedded(self._data))
        views = self._data / "profiles"
        self._check("the views are directories of their own", views.is_dir() and any(views.iterdir()))
        shutil.rmtree(views)
        self._say("Stopped the service and deleted every projection. Only the log is left.")

    async def _rebuild(self, memory: Umbriel, position: str, before: Sequence[RecallReply]) -> None:
        rebuilt = await memory.rebuild()
        after = await self._answers(memory, position)
        self._say(f"Started again and rebuilt the views from {rebuilt.events} events in {rebuilt.seconds:.1f} s.")
        for one, other in zip(before, after, strict=True):
            self._check("the answers are the same, in ids, order and scores", _same(one.results, other.results), other)
        self._show(f"Asked again: {_WHERE}", lambda: show_recall(after[0]))

    def _check(self, what: str, holds: bool, found: msgspec.Struct | None = None) -> None:
        if not holds:
            shown = msgspec.json.encode(found).decode()[:600] if found is not None else "the opposite"
            raise CommandError(f"the demonstration failed after {len(self.held)} steps", expected=what, found=shown)
        self.held.append(what)
        self._bar.advance(self._task)

    def _say(self, text: str) -> None:
        self._print(lambda: output.say(f"• {text}", style="bold green"))

    def _show(self, text: str, people: Callable[[], None]) -> None:
        self._print(lambda: output.say(text, style="bold"), people)

    def _print(self, *parts: Callable[[], None]) -> None:
        if self._quiet:
            return
        self._bar.stop()  # so that stdout and the bar on stderr do not write over each other
        for part in parts:
            part()
        self._bar.start()


def _outcomes(outcomes: Sequence[object]) -> list[str]:
    return [getattr(one, "outcome", "") for one in outcomes]


def _ids(reply: RecallReply) -> list[str]:
    return [one.id for one in reply.results]


def _same(one: Sequence[RecallResult], other: Sequence[RecallResult]) -> bool:
    return [result.id for result in one] == [result.id for result in other] and all(
        abs(a.score - b.score) <= _SCORE_TOLERANCE for a, b in zip(one, other, strict=True)
    )


async def _tell(data: Path, *, quiet: bool) -> DemoReport:
    with output.progress(shown=not quiet) as bar:
        story = _Story(data, bar, quiet=quiet)
        try:
            await story.run()
        finally:
            await Umbriel.stop_embedded(data)
    return DemoReport(story.held)


def demo(json: Json = False) -> None:
    """See it work: write, supersede, recall, why, forget, delete every view, rebuild, same answers."""
    with tempfile.TemporaryDirectory(prefix="umbriel-demo-") as directory:
        report = asyncio.run(_tell(Path(directory), quiet=json))
    if json:
        output.write_json(report)
    else:
        output.say(f"All {len(report.steps)} checks held. Nothing of this demonstration is left on disk.")
