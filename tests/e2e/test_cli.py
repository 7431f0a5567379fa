"""The command line against a real service that it starts itself in a fresh data directory."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.fence import unfenced
from umbriel import Umbriel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

TALK = [
    {"role": "user", "name": "Mara", "content": "I practise a suite by Bach for the summer concert.", "id": "m1"},
    {"role": "assistant", "content": "Then we plan your evenings around the rehearsals.", "id": "m2"},
    {"role": "user", "name": "Mara", "content": "And I cannot eat peanuts.", "id": "m3"},
]


class Cli:
    """Runs ``umbriel`` as a process of its own on one data directory."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def run(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run one command and check its exit code."""
        command = [sys.executable, "-m", "gateways.cli", *arguments, "--data", str(self.data)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done

    def json(self, *arguments: str) -> Any:
        """Run one command with --json and return what it printed."""
        return json.loads(self.run(*arguments, "--json").stdout)

    def fails(self, *arguments: str, code: int) -> str:
        """Run a command that must fail with ``code`` and one line on stderr; return the line."""
        done = self.run(*arguments, code=code)
        assert done.stdout == ""
        assert done.stderr.startswith("umbriel: ")
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A data directory of its own; the service that the first command starts is ended at the end."""
    data = tmp_path_factory.mktemp("cli") / "data"
    yield Cli(data)
    asyncio.run(Umbriel.stop_embedded(data))


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small conversation as a file."""
    path = tmp_path_factory.mktemp("files") / "talk.json"
    path.write_text(json.dumps({"session": "evening", "messages": TALK}))
    return path


def test_ingest_records_once_and_recall_finds_the_turn(cli: Cli, talk: Path) -> None:
    """A file is recorded, a second time nothing is, and a question finds the turn, also after a rebuild."""
    first = cli.json("ingest", str(talk), "--profile", "ingest")
    again = cli.json("ingest", str(talk), "--profile", "ingest")
    assert (first["recorded"], first["duplicate"], first["blocked"]) == (3, 0, 0)
    assert (again["recorded"], again["duplicate"]) == (0, 3)
    question = ("recall", "What is Mara practising?", "--profile", "ingest", "--explain")
    before = cli.json(*question)["results"]
    assert "Bach" in before[0]["text"]
    assert before[0]["channels"]
    rebuilt = cli.json("rebuild", "--profile", "ingest")
    assert rebuilt["events"] > 0
    assert [one["id"] for one in cli.json(*question)["results"]] == [one["id"] for one in before]
    assert "Bach" in cli.run(*question).stdout
    prompt = cli.run(*question, "--fenced").stdout
    assert before[0]["text"] in prompt, "a line of any length stays one line"
    assert unfenced(prompt).strip() == "", "all of it is fenced, so none of it is remembered again"


def test_remember_supersede_why_and_forget(cli: Cli) -> None:
    """One key, two statements: the second supersedes, why and history show both, forget ends them."""
    old = cli.json("remember", "Mara lives in Lisbon", "--key", "home city", "--profile", "memory")
    new = cli.json("remember", "Mara lives in Porto", "--key", "Home-City", "--profile", "memory", "--wait")
    assert (old["outcome"], new["outcome"]) == ("remembered", "superseded")
    at = ("--profile", "memory", "--at-least", new["position"])
    identity = new["memory"]["id"]
    assert cli.json("get", "--key", "home city", *at)["id"] == identity
    assert [one["id"] for one in cli.json("list", *at)["entries"]] == [identity]
    assert len(cli.json("history", identity, *at)["versions"]) == 2
    reason = cli.json("why", identity, *at)
    assert "memory.superseded" in [event["topic"] for event in reason["events"]]
    assert "Lisbon" in cli.run("why", identity, *at).stdout
    preview = cli.json("forget", identity, "--preview", "--profile", "memory")
    assert preview["touched"]
    gone = cli.json("forget", identity, "--profile", "memory")
    found = cli.json("recall", "Where does Mara live?", "--profile", "memory", "--at-least", gone["position"])
    assert found["results"] == []
    cli.fails("get", identity, "--profile", "memory", "--at-least", gone["position"], code=3)


def test_feed_and_export_show_the_same_events(cli: Cli, talk: Path, tmp_path: Path) -> None:
    """The feed is in log order and resumes after a position; the export is CloudEvents with the same ids."""
    cli.json("ingest", str(talk), "--profile", "feed", "--no-wait")
    events = cli.json("feed", "--profile", "feed", "--kind", "message")["events"]
    assert [event["data"]["content"] for event in events] == [message["content"] for message in TALK]
    rest = cli.json("feed", "--profile", "feed", "--kind", "message", "--after", events[0]["position"])["events"]
    assert rest == events[1:]
    target = tmp_path / "events.jsonl"
    assert cli.json("export", "--profile", "feed", "--kind", "message", "--output", str(target))["events"] == 3
    header, *lines, trailer = [json.loads(line) for line in target.read_text().splitlines()]
    assert (header["data"]["kinds"], trailer["data"]["types"]) == (["message"], {"message.recorded": 3})
    assert lines == [
        json.loads(line)
        for line in cli.run("export", "--profile", "feed", "--kind", "message").stdout.splitlines()[1:-1]
    ]
    assert json.loads(cli.run("export", "--schema").stdout)["$id"] == "urn:umbriel:export:2"
    for line, event in zip(lines, events, strict=True):
        assert line["specversion"] == "1.0"
        assert line["source"] == "umbriel/feed"
        assert (line["id"], line["type"]) == (event["event_id"], "message.recorded")
        assert line["umbrielposition"] == event["position"]


def test_an_export_is_taken_up_imported_and_read(cli: Cli, talk: Path, tmp_path: Path) -> None:
    """Cut off, it goes on where it was; imported twice it is there once; Markdown is for people and always the same."""
    cli.json("ingest", str(talk), "--profile", "out", "--no-wait")
    cli.json("remember", "Mara *lives* in Faro", "--key", "home city", "--contact", "mara", "--profile", "out")
    target = tmp_path / "out.jsonl"
    cli.json("export", "--profile", "out", "--kind", "message", "--kind", "memory", "--output", str(target))
    whole = target.read_bytes().splitlines(keepends=True)
    target.with_name("out.jsonl.partial").write_bytes(b"".join(whole[:3]) + whole[3][:20])
    resumed = cli.json("export", "--profile", "out", "--output", str(target), "--resume")
    assert target.read_bytes().splitlines()[1:-1] == b"".join(whole).splitlines()[1:-1]
    assert "every line fits" in cli.run("import", str(target), "--check", "--profile", "in").stdout
    assert cli.json("import", str(target), "--profile", "in")["counts"] == {"imported": resumed["events"]}
    assert "duplicate" in cli.run("import", str(target), "--profile", "in").stdout
    shown = cli.run("export", "--markdown", "--profile", "in").stdout
    assert "## mara" in shown
    assert "**home city**: Mara \\*lives\\* in Faro" in shown
    assert shown.split("\n", 1)[1] == cli.run("export", "--markdown", "--profile", "out").stdout.split("\n", 1)[1]
    target.write_bytes(b"".join(whole[:-1]))
    assert "cut off" in cli.fails("import", str(target), "--profile", "other", code=2)


def test_status_and_profiles(cli: Cli, talk: Path) -> None:
    """Every profile written to is listed, and status shows positions of one profile and of the service."""
    cli.json("ingest", str(talk), "--profile", "listed")
    assert "listed" in [one["name"] for one in cli.json("profiles")["profiles"]]
    assert cli.json("status", "--profile", "listed")["applied"]
    assert cli.json("status")["log_position"]
    assert "applied" in cli.run("status").stdout


def test_bad_input_is_one_line_and_an_exit_code(cli: Cli, tmp_path: Path) -> None:
    """Usage, bad files, bad names, nothing there: one line on stderr, nothing on stdout."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"role": "user", "content": "x"}\n{"role": "user" "content": "y"}\n')
    assert "line 2" in cli.fails("ingest", str(bad), code=2)
    cli.fails("remember", "x", "--colour", "blue", code=2)
    cli.fails("remember", "   ", code=2)
    cli.fails("recall", "x", "--profile", "a.b", code=2)
    cli.fails("recall", "x", "--limit", "0", code=2)
    cli.fails("remember", "x", "--metadata", "[1]", code=2)
    cli.fails("remember", "x", "--expires-at", "soon", code=2)
    cli.fails("get", "no-id", code=2)


def test_no_service_is_unavailable(tmp_path: Path) -> None:
    """A NATS URL where nothing listens is exit code 6, at once."""
    command = [sys.executable, "-m", "gateways.cli", "recall", "x", "--nats", "nats://127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (6, "")
    assert "cannot connect" in done.stderr


def test_a_second_serve_is_refused(cli: Cli) -> None:
    """One data directory, one server; every other command joins it."""
    cli.run("status")
    cli.fails("serve", code=8)
    cli.run("status")


def test_two_first_commands_at_once_share_one_service(tmp_path: Path) -> None:
    """Two commands that find no server start together: one wins, the other joins, both are answered."""
    data = tmp_path / "data"
    command = [sys.executable, "-m", "gateways.cli", "status", "--json", "--data", str(data)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        for process in running:
            out, err = process.communicate(timeout=90)
            assert process.returncode == 0, err
            assert json.loads(out)["version"]
    finally:
        asyncio.run(Umbriel.stop_embedded(data))


def test_demo_holds() -> None:
    """The demonstration checks every step of the story itself."""
    command = [sys.executable, "-m", "gateways.cli", "demo", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["steps"]) >= 15


def test_a_memory_is_corrected_rejected_and_restored(cli: Cli) -> None:
    """The verbs of the command line change what is live, previews do not; descriptions are understood."""
    place = ("--profile", "changes")
    wrote = cli.json("remember", "The gate opens at nine", "--key", "gate", *place)["memory"]["id"]
    preview = cli.json("correct", wrote, "The gate opens at ten", "--preview", *place)
    done = cli.json("correct", wrote, "The gate opens at ten", *place)
    assert preview["touched"] == done["touched"]
    assert done["memory"] == wrote[:-1] + "2"
    assert cli.json("get", "--key", "gate", "--at-least", done["position"], *place)["text"] == "The gate opens at ten"
    assert cli.run("reject", "--key", "gate", *place).stdout == f"Rejected {done['memory']}.\n"
    assert cli.json("restore", "--key", "gate", *place)["touched"] == [done["memory"]]
    expired = cli.json("expire", done["memory"], "--at", "2020-01-01", *place)
    assert expired["touched"] == [done["memory"]]
    assert "descriptions" in cli.fails("retract", "the gate", *place, code=2)
    said = cli.json("remember", "Ana paints doors and repairs gates", *place)["memory"]["id"]
    shown = cli.run("forget", "--matching", "Ana repairs gates", "--preview", *place).stdout
    assert shown.startswith(f"Would forget {said[:-1]}2, {said}.\n")
    assert "left: Ana paints doors" in shown
    told = cli.json("correct", "--matching", "Ana paints doors", "Ana paints walls", *place)
    assert cli.json("get", told["memory"], *place)["text"] == "Ana paints walls and repairs gates"
    assert "no memory fits" in cli.fails("forget", "--matching", "Bea repairs gates", *place, code=3)
