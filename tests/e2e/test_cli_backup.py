"""``umbriel backup`` and ``umbriel restore-backup`` on a running service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateways.cli import app
from tests.e2e.processes import ServiceProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_from_a_backup_to_a_data_directory(
    service: ServiceProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made and verified while the service runs, tried out, and restored elsewhere; each refusal has its exit code."""
    file, new = str(tmp_path / "one.backup"), str(tmp_path / "new")
    key = ("--master-key", str(service.data / "secrets" / "master.key"))
    monkeypatch.delenv("UMBRIEL_DATA", raising=False)

    def run(*arguments: str, data: str = new) -> tuple[int, str]:
        with pytest.raises(SystemExit) as left:
            app.run([*arguments, "--data", data])
        shown = capsys.readouterr()
        return int(str(left.value.code)), shown.out + shown.err

    assert run("remember", "The invoice goes out on Mondays", "--profile", "backed", data=str(service.data))[0] == 0
    code, told = run("backup", file, data=str(service.data))
    assert code == 0, told
    assert "read again and whole" in " ".join(told.split())
    assert "does not hold the master key" in told
    assert run("backup", file, data=str(service.data))[0] == 2
    code, told = run("restore-backup", file, *key, "--check")
    assert (code, "can be restored" in told) == (0, True), told
    assert not Path(new).exists()
    code, told = run("restore-backup", file)
    assert (code, "--master-key" in told) == (3, True), told
    code, told = run("restore-backup", file, *key, "--json")
    assert code == 0, told
    done = json.loads(told)
    assert done["data"] == new
    assert done["streams"]["UMBRIEL"] == done["events"] > 0
    code, told = run("restore-backup", file, *key)
    assert (code, "not empty" in told) == (2, True), told
