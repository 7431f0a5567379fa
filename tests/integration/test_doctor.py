"""The doctor on real directories and services: everything sound, and one thing broken at a time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from gateways.bootstrap import Runtime, running
from gateways.doctor import Report, examine
from projections.soundness import profile_name
from tests.integration.test_administration import Moody
from umbriel import Umbriel

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    """A service with something in it, which says where it answers."""
    async with running(tmp_path, embedder=Moody()) as started:
        (tmp_path / "endpoint.json").write_bytes(msgspec.json.encode({"url": started.url, "pid": 1}))
        async with await _client(tmp_path, started) as client:
            await client.remember("The parcel is red", wait=True)
        yield started


async def _client(data: Path, started: Runtime) -> Umbriel:
    password = (data / "secrets" / "local.password").read_text().strip()
    return await Umbriel.connect(started.url, principal="local", password=password, profile="Home")


def _states(report: Report) -> dict[str, str]:
    return {one.check: one.state for one in report.checks}


def _failed(report: Report) -> list[str]:
    for one in report.checks:
        assert (one.fix != "") == (one.state in ("warn", "fail")), one
    assert report.exit_code == int(report.count("fail") > 0)
    return [one.check for one in report.checks if one.state == "fail"]


@pytest.mark.usefixtures("runtime")
async def test_a_sound_service_passes_every_check(tmp_path: Path) -> None:
    """With a service running every check is carried out, nothing fails, and nothing is written by looking."""
    report = await examine(tmp_path)
    assert _failed(report) == []
    assert "skipped" not in _states(report).values()
    online = {"port", "streams", "keys", "positions", "service", "work", "schedules", "backups"}
    assert set(_states(report)) >= online | {"secrets", "lock", "nats-server", "model files", "disk space", "views"}
    again = await examine(tmp_path)
    assert [one for one in again.checks if one.check == "streams"] == [
        one for one in report.checks if one.check == "streams"
    ]


async def test_what_is_broken_at_rest_is_named(tmp_path: Path) -> None:
    """Loose secrets, a lost key, a changed index file and a damaged ledger each fail with a fix, without a service."""
    async with running(tmp_path, embedder=Moody()) as started, await _client(tmp_path, started) as client:
        await client.remember("The parcel is red", wait=True)
    sound = await examine(tmp_path)
    assert _failed(sound) == []
    assert _states(sound)["port"] == "skipped"
    key, password = tmp_path / "secrets" / "master.key", tmp_path / "secrets" / "local.password"
    password.chmod(0o644)
    report = await examine(tmp_path)
    assert _failed(report) == ["secrets"]
    assert "local.password" in next(one.found for one in report.checks if one.check == "secrets")
    password.chmod(0o600)
    key.rename(tmp_path / "elsewhere")
    assert _failed(await examine(tmp_path)) == ["secrets"]
    (tmp_path / "elsewhere").rename(key)
    providers = tmp_path / "providers.toml"
    providers.write_text('[[chat]]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\nsmall = "m"\nkey = "k"\n')
    assert _failed(await examine(tmp_path)) == ["providers"]
    providers.unlink()
    segment = _file(tmp_path, "profiles/*/vectors/*/s*.seg")
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    report = await examine(tmp_path)
    assert _failed(report) == ["views"]
    assert "umbriel rebuild --profile Home" in next(one.fix for one in report.checks if one.check == "views")
    segment.write_bytes(whole)
    ledger = _file(tmp_path, "profiles/*/ledger/*/ledger.sqlite")
    raw = bytearray(ledger.read_bytes())
    raw[100:4000] = b"\xff" * 3900
    ledger.write_bytes(bytes(raw))
    assert _failed(await examine(tmp_path)) == ["views"]


@pytest.mark.usefixtures("runtime")
async def test_views_of_another_log_are_named(tmp_path: Path) -> None:
    """A ledger ahead of the log, or made from another event, fails with the profile's name."""
    ledger = _file(tmp_path, "profiles/*/ledger/*/ledger.sqlite")
    changes = ("UPDATE checkpoint SET event_id = 'foreign'", "UPDATE checkpoint SET position = 1000000")
    for change in changes:
        await asyncio.to_thread(_change, ledger, change)
        report = await examine(tmp_path)
        assert _failed(report) == ["positions"]
        assert any(one.found.startswith("Home ") for one in report.checks if one.check == "positions")


def _file(data: Path, pattern: str) -> Path:
    return next(data.glob(pattern))


def _change(path: Path, sql: str) -> None:
    db = sqlite3.connect(path)
    db.execute(sql)
    db.commit()
    db.close()


async def test_what_the_service_says_is_passed_on(tmp_path: Path, runtime: Runtime) -> None:
    """A stopped view fails, failed work warns; another master key fails before anything is lost to it."""
    (opened,) = runtime.service.core.profiles.opened()
    opened.views.stopped["vectors"] = "ValueError: x"
    report = await examine(tmp_path)
    assert _failed(report) == ["work"]
    assert any("umbriel retry --profile Home" in one.fix for one in report.checks)
    opened.views.stopped.clear()
    key = tmp_path / "secrets" / "master.key"
    key.write_bytes(bytes(32))
    assert _failed(await examine(tmp_path)) == ["keys"]


async def test_a_service_that_does_not_answer_is_named(tmp_path: Path, runtime: Runtime) -> None:
    """An endpoint that leads nowhere fails at the port; none at all fails too, and a directory that is not there."""
    assert runtime.url
    endpoint = tmp_path / "endpoint.json"
    endpoint.write_bytes(msgspec.json.encode({"url": "nats://127.0.0.1:1", "pid": 1}))
    assert _failed(await examine(tmp_path)) == ["port"]
    endpoint.write_text("{")
    assert _failed(await examine(tmp_path)) == ["endpoint"]
    endpoint.unlink()
    assert _failed(await examine(tmp_path)) == ["endpoint"]
    assert _failed(await examine(tmp_path / "nowhere")) == ["data directory"]


def test_directories_lead_back_to_names() -> None:
    """The profile's name is read from its directory, capitals included."""
    assert profile_name(Path("p.+home-1_x")) == "Home-1_x"
