"""``server.toml``: what it says holds, what it does not stays, and what does not fit is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.errors import InvalidInputError, NotFoundError
from domain.settings import BackupSettings, Settings
from gateways.server_settings import ENVIRONMENT, FILE, load_settings


def test_without_a_file_nothing_changes(tmp_path: Path) -> None:
    """What was given comes back; by default no backup is made."""
    given = Settings(idle_seconds=7.0)
    assert load_settings(tmp_path, given, {}) == given
    assert load_settings(tmp_path, environ={}).backup.directory == ""


def test_the_file_says_how_backups_are_made(tmp_path: Path) -> None:
    """Its values are taken over beside those that were given; another file may be named."""
    (tmp_path / FILE).write_text('[backup]\ndirectory = "/var/backups"\nevery = 6\n')
    found = load_settings(tmp_path, Settings(thinking=False), {})
    assert (found.backup, found.thinking) == (BackupSettings(directory="/var/backups", every=6, keep=7), False)
    other = tmp_path / "other.toml"
    other.write_text('[backup]\ndirectory = "~/backups"\nkeep = 1\n')
    assert load_settings(tmp_path, environ={ENVIRONMENT: str(other)}).backup.keep == 1


@pytest.mark.parametrize(
    "content",
    [
        "[backup",
        '[backup]\ndirectory = "here"',
        '[backup]\nkeep = 0\ndirectory = "/b"',
        '[backup]\nevery = 0\ndirectory = "/b"',
        "[backup]\nevry = 1",
        "[backups]\nevery = 1",
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, content: str) -> None:
    """A word that is none, a value out of bounds, or a directory that depends on where the service was started."""
    (tmp_path / FILE).write_text(content)
    with pytest.raises(InvalidInputError, match=FILE):
        load_settings(tmp_path, environ={})


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    """Nobody believes that settings count which are not read."""
    with pytest.raises(NotFoundError):
        load_settings(tmp_path, environ={ENVIRONMENT: str(tmp_path / "none.toml")})
