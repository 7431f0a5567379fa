"""The distributions as users get them: built, installed apart from this checkout, and used.

Nothing is fetched. The client's environment holds its wheel and copies of the two distributions that it asks for, and
nothing else. The server's holds both wheels, and finds what they depend on in the environment that runs the tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_SDK = _ROOT / "gateways" / "sdk"
_ASKED_FOR = {"nats-py", "msgspec"}

_USE = """
import sys
from umbriel import UmbrielSync, sequence_of
from importlib.metadata import distributions
assert {one.name for one in distributions()} == {"umbriel", "nats-py", "msgspec"}, list(distributions())
assert "umbriel" in sys.modules["umbriel"].__file__ and "%(venv)s" in sys.modules["umbriel"].__file__
with UmbrielSync.embedded("%(data)s", profile="shop") as memory:
    assert [one.text for one in memory.recall("when does the shop open?").results] == ["The shop opens at nine"]
    at = memory.remember("The shop is closed on Sundays").position
    assert len(memory.list(at_least=at).entries) == 2
    assert sum(1 for _ in memory.export(kinds=["memory"])) >= 4
print(UmbrielSync.stop_embedded("%(data)s"))
"""


def _environment() -> dict[str, str]:
    """Return this process's environment without what leads into the checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "UMBRIEL", "VIRTUAL"))}


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _built(source: Path, target: str, where: Path) -> Path:
    _run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", where, cwd=source)
    return next(where.iterdir())


def _environment_in(where: Path) -> Path:
    """Make a virtual environment with nothing in it, and return its site-packages."""
    venv.create(where, with_pip=False, symlinks=True)
    return next((where / "lib").glob("python*/site-packages"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The client's sdist, the wheel made of that sdist, and the server's wheel."""
    where = tmp_path_factory.mktemp("dist")
    with tarfile.open(_built(_SDK, "sdist", where / "sdist")) as archive:
        archive.extractall(where / "source", filter="data")
    unpacked = next((where / "source").iterdir())
    return {
        "sdist": unpacked,
        "client": _built(unpacked, "wheel", where / "client"),
        "server": _built(_ROOT, "wheel", where / "server"),
    }


@pytest.fixture(scope="module")
def client(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the client, nats-py and msgspec, and nothing else."""
    where = tmp_path_factory.mktemp("client") / "env"
    site = _environment_in(where)
    # Of a wheel of pure Python without commands, being unpacked is all that installing is.
    shutil.unpack_archive(built["client"], site, "zip")
    for name in _ASKED_FOR:
        found = distribution(name)
        for file in found.files or ():
            if not file.parts[0].startswith("..") and "__pycache__" not in file.parts:
                target = site / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(found.locate_file(file)), target)
    return where


@pytest.fixture(scope="module")
def server(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with both wheels; a path entry there runs no hook, so that no editable checkout is found."""
    where = tmp_path_factory.mktemp("server") / "env"
    site = _environment_in(where)
    pip = (sys.executable, "-m", "pip", "--python", str(where / "bin" / "python"), "--disable-pip-version-check")
    _run(*pip, "install", "-q", "--no-deps", "--no-index", "--no-compile", built["client"], built["server"], cwd=where)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return where


def test_what_the_wheels_hold(built: dict[str, Path], client: Path, server: Path) -> None:
    """Each ships what it needs and nothing of the other; the page of the client is its own README."""
    theirs = next((client / "lib").glob("python*/site-packages"))
    metadata = next(theirs.glob("umbriel-*.dist-info/METADATA")).read_text()
    asked = {re.split(r"[^\w-]", one)[0] for one in re.findall(r"^Requires-Dist: ([^;\n]+)$", metadata, re.MULTILINE)}
    assert asked == _ASKED_FOR
    assert (_SDK / "README.md").read_text() in metadata
    assert {"py.typed", "export.schema.json", "sync.py"} <= {one.name for one in (theirs / "umbriel").iterdir()}
    ours = next((server / "lib").glob("python*/site-packages"))
    record = next(ours.glob("umbriel_server-*.dist-info/RECORD")).read_text()
    assert "gateways/sdk" not in record
    assert "tests/" not in record
    assert {"domain", "projections", "gateways", "umbriel"} <= {one.name for one in ours.iterdir()}
    assert (built["sdist"] / "README.md").is_file()


def test_remember_and_recall_with_what_was_installed(client: Path, server: Path, tmp_path: Path) -> None:
    """The server's command starts a service that remembers; the client alone finds it there, and stops it."""
    data, umbriel = tmp_path / "data", server / "bin" / "umbriel"
    try:
        written = _run(
            umbriel, "remember", "The shop opens at nine", "--json", "--data", data, "--profile", "shop", cwd=tmp_path
        )
        assert json.loads(written)["memory"]["text"] == "The shop opens at nine"
        where = json.loads((data / "endpoint.json").read_text())
        assert str(server) in Path(f"/proc/{where['pid']}/cmdline").read_text()
        used = _run(client / "bin" / "python", "-c", _USE % {"venv": client, "data": data}, cwd=tmp_path)
        assert used == "True\n"
    finally:
        _run(
            sys.executable, "-c", "import sys, umbriel; umbriel.UmbrielSync.stop_embedded(sys.argv[1])", data, cwd=_SDK
        )


def test_versions_agree() -> None:
    """Server, client and changelog name one version, and the server asks for a client that fits."""
    ours, theirs = (tomllib.loads((one / "pyproject.toml").read_text())["project"] for one in (_ROOT, _SDK))
    assert ours["version"] == theirs["version"] == distribution("umbriel-server").version
    assert distribution("umbriel").version == theirs["version"]
    major, minor, _ = map(int, theirs["version"].split("."))
    assert f"umbriel>={major}.{minor},<{major}.{minor + 1}" in ours["dependencies"]
    assert set(theirs["dependencies"]) <= set(ours["dependencies"])
    headings = re.findall(r"^## \[([^]]+)\]", (_ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] in {"Unreleased", ours["version"]}
    released = [tuple(map(int, one.split("."))) for one in headings if one != "Unreleased"]
    assert released == sorted(released, reverse=True)
    assert all(one <= (major, minor, int(ours["version"].split(".")[2])) for one in released)
