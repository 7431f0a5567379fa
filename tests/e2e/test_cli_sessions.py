"""The commands that end, delete and copy, against a real service that they start themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_cli import Cli
from tests.rest_service import plain_client
from umbriel import Umbriel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A data directory of its own; the service that the first command starts is ended at the end."""
    data = tmp_path_factory.mktemp("sessions") / "data"
    yield Cli(data)
    asyncio.run(Umbriel.stop_embedded(data))


def test_sessions_are_ended_and_deleted(cli: Cli, tmp_path: Path) -> None:
    """A task ends with its session; a deletion says first what would go, and asks unless told not to."""
    talk = tmp_path / "talk.json"
    talk.write_text(json.dumps([{"role": "user", "content": "I live in Porto.", "session": "monday"}]))
    cli.run("ingest", str(talk))
    (said,) = cli.json("messages", "monday")["messages"]
    assert (said["role"], said["content"]) == ("user", "I live in Porto.")
    assert said["id"] in "".join(cli.run("messages", "monday", "--newest", "-n", "1").stdout.split())
    assert "Nothing was said" in cli.run("messages", "tuesday").stdout
    assert [(one["session"], one["messages"]) for one in cli.json("sessions")["sessions"]] == [("monday", 1)]
    assert "monday" in cli.run("sessions").stdout
    cli.json("remember", "Buy milk", "--kind", "task", "--session", "monday", "--wait")
    assert "Buy milk" in [one["text"] for one in cli.json("list", "--session", "monday")["entries"]]
    assert "1 task" in cli.run("end-session", "monday", "--wait").stdout
    assert "--yes" in cli.fails("delete-session", "monday", code=2)
    preview = cli.json("delete-session", "monday", "--preview")
    assert (preview["messages"], len(preview["memories"]), preview["preview"]) == (1, 2, True)
    assert "Would forget 1 message(s) and 2 memories" in cli.run("delete-session", "monday", "--preview").stdout
    assert len(cli.json("list", "--session", "monday")["entries"]) == 1
    assert "Forgot 1 message(s) and 2 memories" in cli.run("delete-session", "monday", "--yes").stdout
    assert not [one for one in cli.json("list")["entries"] if "Porto" in one["text"] or one["kind"] == "task"]
    assert cli.json("list", "--session", "monday")["entries"] == []
    assert "no such session" in cli.fails("delete-session", "tuesday", "--yes", code=3)


def test_a_memory_is_copied(cli: Cli) -> None:
    """It is in the other profile with its origin, and copied again it is there already."""
    one = cli.json("remember", "The gate is green", "--key", "gate", "--wait")["memory"]["id"]
    assert "copied, there" in cli.run("copy", one, "other").stdout
    assert "is there already" in cli.run("copy", one, "other").stdout
    (copy,) = cli.json("list", "--profile", "other")["entries"]
    assert f"{one} in default, live" in " ".join(cli.run("get", copy["id"], "--profile", "other").stdout.split())
    assert (copy["text"], copy["origin"]["memory"]) == ("The gate is green", one)
    assert "another profile" in cli.fails("copy", one, "default", code=2)


def test_the_inspector_is_opened(cli: Cli) -> None:
    """A service without HTTP serves it when it is asked to, on a port of its own, and says where from then on."""
    printed = cli.run("inspect", "--no-open", "--profile", "home")
    (link,) = printed.stdout.split()
    url, _, code = link.partition("/#code=")
    assert code.endswith("&profile=home")
    assert "once" in printed.stderr
    endpoint = json.loads((cli.data / "endpoint.json").read_text())
    assert endpoint["http"] == url
    with plain_client(url) as nobody:
        assert "inspector" in nobody.get("/").text
        said = nobody.post("/v1/login", json={"code": code.partition("&")[0]}).json()
        assert said["principal"] == "local"
    assert cli.json("inspect", "--as", "local-agent")["url"] == url
    assert "nobody-such" in cli.fails("inspect", "--as", "nobody-such", code=3)
