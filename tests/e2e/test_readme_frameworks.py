"""What the README shows of agent frameworks remembers across restarts."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_readme import blocks
from umbriel import Umbriel


def shown(words: str) -> str:
    """The one Python block with these words."""
    found = [block for block in blocks("python") if words in block]
    if not found:
        pytest.skip("NOT TESTED: the README does not show it")
    (block,) = found
    return block


def run(block: str, cwd: Path, said: str, **environment: str) -> str:
    """What a script prints that is told one line."""
    done = subprocess.run(
        [sys.executable, "-c", block],
        input=said,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().rpartition("> ")[2]


class Model(BaseHTTPRequestHandler):
    """Answers the Responses API with how many items it was shown, and the first of them."""

    def do_POST(self) -> None:
        """Answer one request."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        items = asked["input"]
        text = f"{len(items)} items, first: {items[0]['content']}"
        body = json.dumps(_response(asked["model"], text)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


def _response(model: str, text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": model,
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "completed",
    }


@contextmanager
def a_model() -> Iterator[str]:
    """The URL of a model's API."""
    with HTTPServer(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_agents_remember_across_restarts(tmp_path: Path) -> None:
    """Both scripts at once, twice, with a stop of the service in between: then they know what was said before."""
    session, store = shown("UmbrielSession("), shown("UmbrielStore.")
    printed = []
    with a_model() as url, ThreadPoolExecutor(2) as two:
        settings = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        for said in ("I live in Porto.", "Where do I live?"):
            try:
                first = two.submit(run, session, tmp_path, said, **settings)
                second = two.submit(run, store, tmp_path, said)
                printed.append((first.result(), second.result()))
            finally:
                asyncio.run(Umbriel.stop_embedded(tmp_path / "memory"))
    assert printed == [
        ("1 items, first: I live in Porto.", "You told me: []"),
        ("3 items, first: I live in Porto.", "You told me: ['I live in Porto.']"),
    ]
