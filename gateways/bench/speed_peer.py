"""A peer in the same run: a script that adds and searches by itself, and says how long that took.

The script is called as ``SCRIPT --n SIZE`` and prints one line for each figure, ``[store] add: n=… p50=… p99=…`` in
milliseconds; ``search`` likewise. What it needs is its own affair: without it the figures are missing, and why is said.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

import msgspec

from umbriel import InvalidInputError

__all__ = ["Peer", "PeerFigures", "read_figures"]

_LINE = re.compile(r"^\[[^\]]*\] (?P<what>add|search): .*?\bp50=(?P<p50>[\d.]+) .*?\bp99=(?P<p99>[\d.]+)", re.MULTILINE)


class PeerFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a peer takes at one size, in milliseconds; ``missing`` says why there are none."""

    add_p50: float | None = None
    add_p99: float | None = None
    search_p50: float | None = None
    search_p99: float | None = None
    missing: str = ""


def read_figures(printed: str) -> PeerFigures:
    """Return the figures a peer printed; those it did not print are None."""
    found = {one["what"]: (float(one["p50"]), float(one["p99"])) for one in _LINE.finditer(printed)}
    add, search = found.get("add", (None, None)), found.get("search", (None, None))
    missing = "" if found else "it printed no line `[store] add: … p50=… p99=…`"
    return PeerFigures(add_p50=add[0], add_p99=add[1], search_p50=search[0], search_p99=search[1], missing=missing)


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """A script, the interpreter that has its packages, and how long one run of it may take."""

    script: Path
    python: Path = Path(sys.executable)
    minutes: float = 30.0

    @property
    def name(self) -> str:
        """What the peer is called in tables."""
        return self.script.stem

    def check(self) -> None:
        """Raise InvalidInputError when there is no such script or interpreter."""
        for path, what in ((self.script, "a peer's script"), (self.python, "an interpreter")):
            if not path.is_file():
                raise InvalidInputError(f"cannot read {path}", expected=what, found="no such file")

    async def measure(self, size: int) -> PeerFigures:
        """Run the peer at one size; what keeps it from its figures is said, not raised."""
        with tempfile.TemporaryDirectory(prefix="umbriel-peer-", ignore_cleanup_errors=True) as scratch:
            process = await asyncio.create_subprocess_exec(
                str(self.python),
                str(self.script),
                "--n",
                str(size),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                # What it leaves behind goes with the directory.
                env={**os.environ, "TMPDIR": scratch},
            )
            try:
                async with asyncio.timeout(60 * self.minutes):
                    out, err = await process.communicate()
            except TimeoutError:
                return PeerFigures(missing=f"it did not end within {self.minutes:g} minutes")
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if process.returncode:
            return PeerFigures(missing=_reason(err.decode(errors="replace"), process.returncode, self.python))
        return read_figures(out.decode(errors="replace"))


def _reason(errors: str, code: int, python: Path) -> str:
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "it printed no reason")
    hint = f"; install its packages for {python}, or name another --peer-python" if "No module named" in last else ""
    return f"exit code {code}: {last[:200]}{hint}"
