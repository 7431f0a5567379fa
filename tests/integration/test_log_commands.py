"""The commands that look at a log where no service runs: what they print, and how they end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateways.cli.app import _run
from tests.damage import cut_out
from tests.sealed_store import copied_store, nats_store

pytestmark = [pytest.mark.timeout(120), pytest.mark.fault]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command line; returns its exit code and what it wrote to both streams."""
    code = _run(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_a_damaged_log_is_verified_and_recovered_by_hand(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sound: 0, nothing to recover. Damaged: 1, a line a finding; a dry run changes nothing; recovered: 0."""
    data = str(copied_store(tmp_path_factory.mktemp("sound") / "made", tmp_path / "data"))
    capsys.readouterr()

    def ask(*arguments: str) -> tuple[int, Any]:
        code, out, err = run(capsys, *arguments, "--data", data, "--json")
        return code, msgspec.json.decode(out) if out else err

    code, sound = ask("verify")
    assert (code, sound["state"], sound.get("found", 0)) == (0, "done", 0)
    assert run(capsys, "verify", "--data", data)[1].startswith("Nothing is wrong: ")
    code, refusal = ask("recover")
    assert (code, "nothing to recover" in refusal) == (5, True)
    cut_out(nats_store(tmp_path / "data"), 7)
    code, out, _ = run(capsys, "verify", "--data", data)
    assert code == 1
    assert "missing: the log holds nothing that can be read at position 7 [UMBRIEL." in out
    for dry in (True, False):
        code, done = ask("recover", *(["--dry-run"] if dry else []))
        assert (code, done["dry_run"], done["lost"], done["views"]) == (0, dry, [[7, 7]], ["p"])
    assert (ask("verify")[0], ask("recover", "--dry-run")[0]) == (0, 5)
    code, out, _ = run(capsys, "recover", "--data", str(tmp_path / "elsewhere"))
    assert (code, out) == (7, "")
