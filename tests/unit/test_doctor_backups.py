"""What the doctor says of the directory that backups go to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateways.doctor import backups
from gateways.server_settings import ENVIRONMENT
from gateways.service.archive import ArchiveWriter, Manifest
from gateways.service.backup_files import kept_in, name_for, remove_old

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for backups that a data directory names; one is due each day."""
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    found = tmp_path / "backups"
    found.mkdir()
    (tmp_path / "server.toml").write_text(f'[backup]\ndirectory = "{found}"\nevery = 24\n')
    return found


def write(place: Path, at: datetime, incarnation: str = "i1") -> Path:
    """Write a backup without streams."""
    writer = ArchiveWriter(place / name_for(at))
    manifest = Manifest(
        version="1", created_at=at, stream="S", incarnation=incarnation, last_position=3, events=2, parts=()
    )
    writer.add("note", b"one")
    writer.finish(manifest, b"k" * 32)
    writer.close()
    return writer.path


def states(data: Path) -> list[str]:
    """How the checks end."""
    return [one.state for one in backups.look(data, NOW)]


@pytest.mark.parametrize("hours, state", [(1, "ok"), (47, "ok"), (49, "fail")])
def test_the_last_backup_must_not_be_old(tmp_path: Path, place: Path, hours: int, state: str) -> None:
    """The newest counts; older than twice the interval, one was missed."""
    write(place, NOW - timedelta(hours=hours + 100))
    write(place, NOW - timedelta(hours=hours))
    assert states(tmp_path) == [state]


def test_none_yet_and_none_wanted(tmp_path: Path) -> None:
    """A directory without a backup is worth a look; without a directory all is as it was set up."""
    assert states(tmp_path) == ["warn"]
    (tmp_path / "server.toml").unlink()
    assert states(tmp_path) == ["ok"]


def test_a_file_that_is_no_backup_is_named(tmp_path: Path, place: Path) -> None:
    """One that was cut off counts as none, and is told of."""
    cut = write(place, NOW)
    cut.write_bytes(cut.read_bytes()[:-30])
    assert states(tmp_path) == ["warn", "warn"]
    assert cut.name in next(backups.look(tmp_path, NOW)).found


def test_what_may_go(place: Path) -> None:
    """The newest stay and the one known to be good, of this log; another log's are nobody's to remove."""
    paths = [write(place, NOW - timedelta(days=days)) for days in range(5)]
    foreign = write(place, NOW - timedelta(days=9), "i2")
    kept = kept_in(place, "i1")
    assert [one.path for one in kept] == paths
    assert remove_old(kept, 2, paths[3]) == [paths[2], paths[4]]
    assert remove_old(kept_in(place, "i1"), 0, paths[0]) == [paths[1], paths[3]]
    assert sorted(place.iterdir()) == sorted([paths[0], foreign])
