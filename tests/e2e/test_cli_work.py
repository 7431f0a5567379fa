"""The commands of notes, tasks, turns, goals and reflections, against a real service that they start themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_cli import Cli
from umbriel import Umbriel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A data directory of its own; the service that the first command starts is ended at the end."""
    data = tmp_path_factory.mktemp("work") / "data"
    yield Cli(data)
    asyncio.run(Umbriel.stop_embedded(data))


def test_notes_and_tasks(cli: Cli) -> None:
    """Set, added to, shown and cleared, for people and for scripts."""
    where = ("--profile", "notes")
    cli.run("note", "set", "monday", "short answers", "--contact", "mara", *where)
    assert cli.run("note", "add", "monday", "in French", *where).stdout == "short answers\nin French\n"
    shown = cli.json("note", "show", "monday", *where)
    assert (shown["notes"], shown["author_type"]) == ("short answers\nin French", "person")
    assert cli.run("note", "clear", "monday", *where).stdout == "No notes.\n"
    assert cli.run("task", "set", "monday", "book the trip", *where).stdout == "book the trip\n"
    assert cli.json("task", "show", "monday", *where)["task"] == "book the trip"
    assert cli.run("task", "clear", "monday", *where).stdout == "No task.\n"
    assert "16384" in cli.fails("note", "set", "monday", "x" * 20_000, *where, code=2)


def test_goals_and_reflections(cli: Cli) -> None:
    """A goal from its setting to its end, and a reflection with what was learnt."""
    where = ("--profile", "goals")
    assert cli.json("goal", "set", "Answer within a day", "--name", "speed", *where)["changed"] is True
    assert "nothing was written" in cli.run("goal", "set", "Answer within a day", "--name", "speed", *where).stdout
    assert "50%" in cli.run("goal", "progress", "speed", "half of them", "--fraction", "0.5", *where).stdout
    assert "Answer within a day" in cli.run("goal", "list", *where).stdout
    assert "achieved, dropped, failed" in cli.fails("goal", "close", "speed", "--outcome", "done", *where, code=2)
    cli.run("goal", "close", "speed", "--note", "all of them", *where)
    shown = cli.run("goal", "show", "speed", *where).stdout
    assert all(part in shown for part in ("achieved", "half of them", "all of them"))
    assert cli.json("goal", "list", *where)["goals"] == []
    cli.fails("goal", "progress", "nothing", "x", *where, code=3)
    told = cli.run("reflect", "deploys", "Fridays went wrong", "--learnt", "No deploys on Fridays", *where).stdout
    assert "remembered: No deploys on Fridays" in told
    assert "No deploys on Fridays" in cli.run("reflections", "--topic", "deploys", *where).stdout
    assert cli.json("reflections", *where)["reflections"][0]["learnings"][0]["outcome"] == "remembered"


def test_a_day_is_thought_about(cli: Cli, tmp_path: Path) -> None:
    """A dry run shows what the day comes to, the run writes it, and it is there once; the status knows the pass."""
    where, chat = ("--profile", "days"), tmp_path / "chat.json"
    said = {"role": "user", "content": "We decided to go with Postgres.", "at": "2026-03-04T10:00:00Z"}
    chat.write_text(json.dumps([said]))
    cli.run("ingest", str(chat), "--session", "monday", "--contact", "mara", "--wait", *where)
    shown = cli.run("reflect-day", "--day", "2026-03-04", "--dry-run", *where).stdout
    assert "Talked with mara" in shown
    assert cli.json("reflections", *where)["reflections"] == []
    done = cli.json("reflect-day", "--day", "2026-03-04", *where)
    assert done["days"][0]["recorded"] is True
    assert "recorded before" in cli.run("reflect-day", "--day", "2026-03-04", *where).stdout
    listed = cli.json("reflections", "--day", "2026-03-04", "--at-least", done["position"], *where)["reflections"]
    assert {one["contact"] for one in listed} == {"mara"}
    assert "Nothing happened" in cli.run("reflect-day", "--day", "2026-03-05", *where).stdout
    assert "is not over" in cli.fails("reflect-day", "--day", "2999-01-01", *where, code=2)
    assert "reflection" in cli.run("status", *where).stdout


def test_a_turn_is_kept(cli: Cli, tmp_path: Path) -> None:
    """Rows from a file; a turn that was saved just now is nobody's to take over."""
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([{"tool": "search", "result": "Line 28" + "x" * 5_000}]))
    told = cli.run("turn", "save", "monday", "t1", str(rows), "--open", "browser=b-17").stdout
    assert "Kept 1 calls" in told
    assert "2007 characters are cut" in told
    assert cli.json("turn", "resume", "monday") == {}
    assert "NAME=ID" in cli.fails("turn", "save", "monday", "t1", str(rows), "--open", "browser", code=2)
    rows.write_text("{}")
    assert "no rows" in cli.fails("turn", "save", "monday", "t1", str(rows), code=2)
