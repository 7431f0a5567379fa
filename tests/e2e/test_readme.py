"""What the README shows is what happens."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from umbriel import Umbriel

README = Path(__file__).parents[2] / "README.md"


def run(*command: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would."""
    return subprocess.run(command, input=stdin, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def first_lines(count: int, *command: str, cwd: Path) -> list[str]:
    """Run a command that goes on for ever until it has printed so many lines."""
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        lines = [following.stdout.readline() for _ in range(count)]
        following.kill()
    return lines


def blocks(language: str) -> list[str]:
    """Code blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)


async def test_the_python_example_runs(tmp_path: Path) -> None:
    """The first Python block, run as a script, prints the new city first and both versions."""
    (tmp_path / "example.py").write_text(blocks("python")[0], "utf-8")
    try:
        done = run(sys.executable, "example.py", cwd=tmp_path)
    finally:
        await Umbriel.stop_embedded(tmp_path / "memory")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("fact Mara lives in Porto")
    assert lines[-2:] == ["superseded Mara lives in Lisbon", "live Mara lives in Porto"]


async def test_the_command_line_example_runs(tmp_path: Path) -> None:
    """The commands of the second block work one after the other on one data directory."""
    (tmp_path / "chats.jsonl").write_text('{"role": "user", "content": "Send invoices early in the week."}\n', "utf-8")
    (commands,) = [block for block in blocks("sh") if "umbriel ingest" in block]
    memory = ""
    try:
        for line in commands.strip().splitlines():
            words = shlex.split(line.partition(" > ")[0].replace("MEMORY_ID", memory))
            done = run(sys.executable, "-m", "gateways.cli", *words[1:], "--json", cwd=tmp_path)
            assert done.returncode == 0, f"{line}: {done.stderr}"
            if words[1] == "remember":
                memory = re.findall(r'"id": "([a-z2-7]+@1)"', done.stdout)[0]
            if words[1] == "recall":
                assert memory in done.stdout
    finally:
        await Umbriel.stop_embedded(tmp_path / "memory")


async def test_the_subscription_example_runs(tmp_path: Path) -> None:
    """The Python block prints one contact's events in order; the command line then follows from the start."""
    (example,) = [block for block in blocks("python") if "subscribe(" in block]
    (command,) = [block for block in blocks("sh") if "umbriel subscribe" in block]
    (tmp_path / "example.py").write_text(example, "utf-8")
    try:
        done = run(sys.executable, "example.py", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        words = [sys.executable, "-m", "gateways.cli", *shlex.split(command)[1:]]
        lines = first_lines(2, *words, cwd=tmp_path)
    finally:
        await Umbriel.stop_embedded(tmp_path / "memory")
    shown = done.stdout.splitlines()
    assert shown[0] == "memory.remembered Mara plays the cello"
    assert "memory.remembered Mara plays the viola" in shown
    assert "Jon" not in done.stdout
    assert shown[-1].startswith("go on with UMBRIEL.")
    assert "cello" in lines[0]
    assert "drums" in lines[1]


async def test_the_waiting_and_the_bare_client_run(tmp_path: Path) -> None:
    """The block without an event loop prints what it wrote; any NATS client recalls what a command remembered."""
    (waiting,) = [block for block in blocks("python") if "UmbrielSync" in block]
    (bare,) = [block for block in blocks("python") if "import nats" in block]
    try:
        printed = run(sys.executable, "-c", waiting, cwd=tmp_path)
        words = ["remember", "The ferry leaves at nine", "--wait", "--data", "memory"]
        assert run(sys.executable, "-m", "gateways.cli", *words, cwd=tmp_path).returncode == 0
        answered = run(sys.executable, "-c", bare, cwd=tmp_path)
    finally:
        await Umbriel.stop_embedded(tmp_path / "memory")
    assert printed.stdout == "['Mara lives in Porto']\n", printed.stderr
    assert json.loads(answered.stdout)["results"][0]["text"] == "The ferry leaves at nine"


async def test_the_tools_remember_across_restarts(tmp_path: Path) -> None:
    """A client of the protocol with the configuration shown: what one start remembers, the next one recalls."""
    (block,) = blocks("json")
    shown = json.loads(block)["mcpServers"]["umbriel"]
    assert shown.pop("command") == "umbriel"
    arguments = ["-m", "gateways.cli", *shown["args"]]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ), cwd=tmp_path)
    try:
        async with Client(server) as tools:
            await tools.call_tool("remember", {"content": "The ferry leaves at nine", "key": "ferry"})
        await Umbriel.stop_embedded(tmp_path / "memory")
        async with Client(server) as tools:
            found = await tools.call_tool("recall", {"query": "When does the ferry leave?"})
    finally:
        await Umbriel.stop_embedded(tmp_path / "memory")
    assert "The ferry leaves at nine" in str(found.content)


async def test_the_hooks_remember_across_restarts(tmp_path: Path) -> None:
    """The two commands, with a stop of the service between them: the second prints what the first kept."""
    (commands,) = [block for block in blocks("sh") if "umbriel hook" in block]
    shown = []
    for line in commands.strip().splitlines():
        said, _, words = line.removeprefix("echo ").partition(" | ")
        command = [sys.executable, "-m", "gateways.cli", *shlex.split(words)[1:], "--data", "memory"]
        try:
            shown.append(run(*command, cwd=tmp_path, stdin=said.strip("'")))
        finally:
            await Umbriel.stop_embedded(tmp_path / "memory")
    assert [done.returncode for done in shown] == [0, 0], shown
    assert "Releases go out on Tuesdays." in shown[1].stdout


def in_shell(script: str, cwd: Path) -> list[str]:
    """Run a script with `umbriel` on its path and return what it showed; what it left in the background may go on."""
    command = cwd / "bin" / "umbriel"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m gateways.cli "$@"\n', "utf-8")
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"}
    # Into a file: a service in the background would hold a pipe open.
    with (cwd / "shown").open("w") as shown:
        subprocess.run(
            ["bash", "-c", script], cwd=cwd, env=environment, stdout=shown, stderr=shown, timeout=100, check=True
        )
    return (cwd / "shown").read_text("utf-8").splitlines()


@pytest.mark.skipif(shutil.which("curl") is None, reason="NOT TESTED: there is no curl on this machine")
async def test_curl_remembers_across_restarts(tmp_path: Path) -> None:
    """The lines of curl, as a script: what was said before the restart is in what a model is to see after it."""
    (block,) = [block for block in blocks("sh") if "curl" in block]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    try:
        lines = in_shell(block.replace("8400", port), tmp_path)
    finally:
        await Umbriel.stop_embedded(tmp_path / "memory")
    answers = [json.loads(line) for line in lines if line.startswith("{")]
    assert [min(one) for one in answers] == ["outcomes", "memory", "budget"], lines
    (seen,) = [one["content"] for one in answers[-1]["messages"]]
    assert "The user lives in Porto." in seen
    assert "Answer in French" in seen


async def test_the_agent_loop_remembers_across_restarts(tmp_path: Path) -> None:
    """The loop of twenty lines goes on where it was when it is run again, with what was learnt in its context."""
    (example,) = [block for block in blocks("python") if "context(" in block]
    (tmp_path / "example.py").write_text(example, "utf-8")
    seen: list[int] = []
    for _ in range(2):
        try:
            done = run(sys.executable, "example.py", cwd=tmp_path)
        finally:
            await Umbriel.stop_embedded(tmp_path / "memory")
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) == 2, "a model answers the user, not what is fenced as data"
        assert lines[1].endswith("You said: Which trains go to Lisbon?")
        seen += [int(line.split()[1]) for line in lines]
    assert seen == sorted(seen)
    assert seen[2] > seen[1]
