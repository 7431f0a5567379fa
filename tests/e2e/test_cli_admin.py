"""The commands that look after a profile, against a real service that they start themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from tests.e2e.test_cli import Cli
from umbriel import Umbriel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A data directory of its own; the service that the first command starts is ended at the end."""
    data = tmp_path_factory.mktemp("admin") / "data"
    yield Cli(data)
    asyncio.run(Umbriel.stop_embedded(data))


def test_why_shows_what_decided(cli: Cli) -> None:
    """The decisions of a supersession name the rule and the successor."""
    old = cli.json("remember", "Mara lives in Porto", "--key", "city", "--profile", "why")["memory"]["id"]
    new = cli.json("remember", "Mara lives in Faro", "--key", "city", "--profile", "why", "--wait")["memory"]["id"]
    shown = " ".join(cli.run("why", old, "--profile", "why").stdout.split())
    assert f"replaced by {new}" in shown
    assert "rule: address" in shown


def test_contacts_are_linked_listed_and_unlinked(cli: Cli) -> None:
    """Two names of one person answer for each other until they are unlinked."""
    where = ("--profile", "contacts")
    mine = cli.json("remember", "The parcel is red", "--key", "parcel", "--contact", "t:1", "--wait", *where)
    assert "One person: mara, t:1." in cli.run("link", "mara", "t:1", *where).stdout
    assert cli.json("get", "--key", "parcel", "--contact", "mara", *where)["id"] == mine["memory"]["id"]
    listed = cli.json("contacts", *where)["contacts"]
    assert [(one["contact"], one["links"]) for one in listed] == [("mara", ["t:1"]), ("t:1", ["mara"])]
    assert "linked to" in cli.run("contacts", *where).stdout
    assert "Unlinked mara and t:1." in cli.run("unlink", "mara", *where).stdout
    assert "there was no such link" in cli.run("unlink", "mara", "t:1", *where).stdout
    cli.fails("get", "--key", "parcel", "--contact", "mara", *where, code=3)
    assert "itself" in cli.fails("link", "mara", "mara", *where, code=2)


def test_settings_are_shown_changed_and_refused(cli: Cli) -> None:
    """Settings are set by name, with their version; wrong names, values and versions change nothing."""
    where = ("--profile", "settings")
    assert cli.json("settings", *where)["version"] == 0
    changed = cli.json("settings", "recall.fusion=classic", "recall.message_share=0.5", *where)
    assert (changed["version"], changed["settings"]["recall.fusion"]) == (1, "classic")
    assert cli.json("settings", *where)["settings"] == changed["settings"]
    assert "recall.message_share" in cli.run("settings", *where).stdout
    assert "unknown setting" in cli.fails("settings", "speed=1", *where, code=2)
    assert "recall.fill" in cli.fails("settings", "recall.fill=many", *where, code=2)
    assert "KEY=VALUE" in cli.fails("settings", "recall.fill", *where, code=2)
    assert "version 1" in cli.fails("settings", "recall.fill=1", "--expected", "0", *where, code=5)


def test_status_retry_and_doctor(cli: Cli) -> None:
    """Status has positions, lag and cost for people and scripts; nothing to retry is no failure; the doctor agrees."""
    where = ("--profile", "status")
    cli.run("remember", "The parcel is red", "--wait", *where)
    for arguments in (where, ()):
        status = cli.json("status", *arguments)
        assert (status["pending"], status["failed"], status.get("lag_events", 0)) == (0, 0, 0)
        assert min(status["log_bytes"], status["views_bytes"], status["resident_bytes"]) > 0
        assert "last commit" in cli.run("status", *arguments).stdout
    assert cli.json("retry", *where)["tried"] == 0
    assert "Tried 0 embeddings" in cli.run("retry", *where).stdout
    assert "status" in [one["name"] for one in cli.json("profiles")["profiles"]]
    report = json.loads(cli.run("doctor", "--json").stdout)
    assert {one["state"] for one in report["checks"]} == {"ok"}
    secret = cli.data / "secrets" / "local.password"
    secret.chmod(0o644)
    shown = cli.run("doctor", code=1).stdout
    secret.chmod(0o600)
    assert "FAIL" in shown
    assert "chmod" in shown


def test_consolidate_shows_what_it_would_do_and_does_it(cli: Cli) -> None:
    """A dry run lists the merge and changes nothing; the run does it; the status knows the daily pass."""
    where = ("--profile", "tidy")
    cli.run("settings", "verifier.enabled=false", *where)
    cli.run("remember", "Mara lives in Porto", "--wait", *where)
    stands = cli.json("remember", "Mara is living in Porto", "--wait", *where)["memory"]["id"]
    shown = " ".join(cli.run("consolidate", "--dry-run", *where).stdout.split())
    assert "Would merge" in shown
    assert len(cli.json("list", *where)["entries"]) == 2
    done = cli.json("consolidate", *where)
    assert [merge["memory"] for merge in done["merges"]] == [stands]
    assert [one["id"] for one in cli.json("list", "--at-least", done["position"], *where)["entries"]] == [stands]
    assert "consolidation" in cli.run("status", *where).stdout
    assert "dry run" in cli.fails("consolidate", "--day", "2026-01-31", *where, code=2)
