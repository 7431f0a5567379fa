"""How one instance runs: ``server.toml`` in the data directory, or the file that ``UMBRIEL_SERVER`` names.

::

    [backup]
    directory = "/var/backups/umbriel"   # backups go there by themselves; without it none do
    every = 24                           # hours
    keep = 7                             # the newest that stay

Without the file everything is as by default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from domain.errors import InvalidInputError, NotFoundError
from domain.settings import BackupSettings, Settings

__all__ = ["ENVIRONMENT", "FILE", "load_settings"]

FILE = "server.toml"
ENVIRONMENT = "UMBRIEL_SERVER"


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    backup: BackupSettings = BackupSettings()


def load_settings(data: Path, settings: Settings | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Return settings as the file of a data directory has them; what it does not say stays.

    Raises NotFoundError when the file that the variable names is not there, InvalidInputError for one that does not
    fit.
    """
    settings, named = settings or Settings(), environ.get(ENVIRONMENT, "")
    path = Path(named) if named else data / FILE
    try:
        content = path.read_text("utf-8")
    except FileNotFoundError as error:
        if named:
            raise NotFoundError("the server's settings are missing", expected="a file", found=named) from error
        return settings
    try:
        found = msgspec.convert(tomllib.loads(content), _File)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InvalidInputError(f"{path} cannot be used", expected="[backup] as shown", found=str(error)) from error
    directory = found.backup.directory
    if directory and not Path(directory).expanduser().is_absolute():
        raise InvalidInputError(
            f"{path}: backup.directory must not depend on where the service is started",
            expected="an absolute path",
            found=directory,
        )
    return msgspec.structs.replace(settings, backup=found.backup)
