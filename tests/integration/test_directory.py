"""The directory on a real SQLite file."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from domain.errors import DamagedError, UnavailableError
from domain.events import ProfileCreated
from projections.directory import Directory, FailedWork, ProfileRecord
from tests.builders import NOW, Log


def test_profiles_and_marks_survive_a_reopen(tmp_path: Path) -> None:
    """A profile is noted once, marks only rise, the incarnation stays; all of it is durable."""
    path = tmp_path / "directory.sqlite"
    directory = Directory(path)
    assert (directory.low_water_mark(), directory.incarnation, directory.profiles()) == (0, "", [])
    log = Log()
    log.append(ProfileCreated(name="home"), at=NOW)
    directory.apply(log.envelopes[0])
    directory.add_profile("home", NOW + timedelta(days=1), 99)
    directory.set_mark(10)
    directory.set_mark(7)
    directory.set_mark(30, partition=5)
    directory.incarnation = "i2"
    directory.close()
    again = Directory(path)
    assert again.profiles() == [ProfileRecord("home", NOW, 1)]
    assert again.has_profile("home")
    assert not again.has_profile("hom_")
    assert (again.low_water_mark(), again.incarnation) == (10, "i2")
    again.reset_marks()
    again.remove_profile("home")
    assert (again.low_water_mark(), again.profiles()) == (0, [])
    again.close()


def test_failed_work_is_noted_and_cleared(tmp_path: Path) -> None:
    """Work that was given up shows with its latest reason until it is cleared."""
    directory = Directory(tmp_path / "d.sqlite")
    directory.note_failed(FailedWork("home", "w1", "first", NOW))
    directory.note_failed(FailedWork("home", "w1", "second", NOW))
    directory.note_failed(FailedWork("other", "w1", "x", NOW))
    assert directory.failed_work("home") == [FailedWork("home", "w1", "second", NOW)]
    directory.clear_failed("home", "w1")
    assert [failed.profile for failed in directory.failed_work()] == ["other"]
    directory.close()


def test_damage_and_closing_are_named(tmp_path: Path) -> None:
    """A file that is no database and a closed directory raise our errors."""
    (tmp_path / "bad").write_bytes(b"x" * 5000)
    with pytest.raises(DamagedError):
        Directory(tmp_path / "bad")
    directory = Directory(tmp_path / "good")
    directory.close()
    with pytest.raises(UnavailableError):
        directory.profiles()


def test_what_was_forwarded_survives_a_reopen(tmp_path: Path) -> None:
    """Positions and names are kept for each place; a profile that is removed takes its own along."""
    directory = Directory(tmp_path / "directory.sqlite")
    assert directory.forwarded_to("p", "there", "messages") == 0
    directory.set_forwarded("p", "there", "messages", 7)
    directory.note_forwarded("p", "there", "memory", {"a@1": "one", "b@1": "one", "c@1": "two"})
    directory.note_forwarded("p", "there", "message", {"m": "session", "n": "session", "o": "other"})
    directory.close()
    again = Directory(tmp_path / "directory.sqlite")
    assert again.forwarded_to("p", "there", "messages") == 7
    assert again.forwarded_to("p", "elsewhere", "messages") == again.forwarded_to("p", "there", "memories") == 0
    assert again.remote_names("p", "there", "memory", ["a@1", "c@1", "x@1"]) == {"a@1": "one", "c@1": "two"}
    assert again.local_names("p", "there", "memory", "one") == ["a@1", "b@1"]
    again.drop_forwarded("p", "there", "memory", ["a@1"])
    again.drop_session("p", "there", "session")
    assert again.local_names("p", "there", "memory", "one") == ["b@1"]
    assert again.remote_names("p", "there", "message", ["m", "n", "o"]) == {"o": "other"}
    again.remove_profile("p")
    assert again.forwarded_to("p", "there", "messages") == 0
    assert again.local_names("p", "there", "memory", "two") == []
    again.close()
