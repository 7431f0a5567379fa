"""A managed memory over real HTTP, with faults to order."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from gateways.managed import ManagedSettings

__all__ = ["KEY", "ManagedServer"]

KEY = "secret-key"
_PATH = re.compile(r"/api/agent-memory/namespaces/([^/]+)/profiles/([^/]+)/(.+)\Z")


class ManagedServer:
    """Serves on 127.0.0.1; ``faults`` are answered first, one a request: a status, headers and errors."""

    def __init__(self, *, namespace: str = "test") -> None:
        self.namespace = namespace
        self.memories: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self.calls: list[tuple[str, str, Any]] = []
        self.faults: deque[tuple[int, dict[str, str], list[dict[str, Any]]]] = deque()
        self.down = False
        self.lock = threading.Lock()
        self._arrived, self._go = threading.Event(), threading.Event()
        self._go.set()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def settings(self, **changes: Any) -> ManagedSettings:
        """Return how it is reached, with quick retries."""
        url = f"http://127.0.0.1:{self._http.server_address[1]}/api/agent-memory"
        fields: dict[str, Any] = {"key": KEY, "pause": 0.01, "tries": 2, "timeout": 5.0, **changes}
        return ManagedSettings(base_url=url, namespace=self.namespace, **fields)

    def fail(self, status: int, *, code: int = 10000, message: str = "no", **headers: str) -> None:
        """Answer the next request with an error."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.faults.append((status, named, [{"code": code, "message": message}]))

    @contextmanager
    def held(self) -> Iterator[threading.Event]:
        """Answer nothing until the block ends; the event is set when a request waits."""
        arrived, self._go = threading.Event(), threading.Event()
        self._arrived = arrived
        try:
            yield arrived
        finally:
            self._go.set()

    def texts(self) -> list[str]:
        """Return what it holds, in the order of its coming."""
        return [one["content"] for held in self.memories.values() for one in held.values()]

    def sent(self, verb: str) -> list[Any]:
        """Return the bodies of the calls of a verb."""
        return [body for _, path, body in self.calls if path.split("/")[-1] == verb]

    def answer(self, method: str, target: str, body: Any, key: str) -> tuple[int, dict[str, str], dict[str, Any]]:
        """Return status, headers and envelope for a request."""
        url = urlsplit(target)
        self._arrived.set()
        self._go.wait(60)
        with self.lock:
            self.calls.append((method, url.path, body))
            if self.down:
                return 503, {}, _failed(10013, "down")
            if self.faults:
                status, headers, errors = self.faults.popleft()
                return status, headers, {"result": None, "success": False, "errors": errors, "messages": []}
            if key != f"Bearer {KEY}":
                return 401, {}, _failed(10001, "Authentication error")
            match = _PATH.match(url.path)
            if match is None or unquote(match[1]) != self.namespace:
                return 404, {}, _failed(10007, "Namespace not found")
            held, path = self.memories[unquote(match[2])], [unquote(part) for part in match[3].split("/")]
            return self._operate(method, held, path, body, {k: v[0] for k, v in parse_qs(url.query).items()})

    def _operate(
        self, method: str, held: dict[str, dict[str, Any]], path: list[str], body: Any, query: dict[str, str]
    ) -> tuple[int, dict[str, str], dict[str, Any]]:
        match (method, *path):
            case ("POST", "ingest"):
                for message in body["messages"]:
                    _keep(held, message["content"], body["sessionId"], "fact")
                return 200, {}, _ok(None)
            case ("POST", "remember"):
                return 200, {}, _ok(_keep(held, body["content"], body.get("sessionId"), "fact"))
            case ("POST", "recall"):
                return 200, {}, _ok(_recalled(held, body["query"]))
            case ("GET", "memories"):
                return 200, {}, _page(held, query)
            case ("GET", "memories", memory) if memory in held:
                return 200, {}, _ok(held[memory])
            case ("DELETE", what, name):
                return _deleted(held, what, name)
            case ("POST", "summary"):
                return 200, {}, _ok({"summary": "\n".join(one["summary"] for one in held.values())})
            case _:
                return 404, {}, _failed(10007, "not found")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                with suppress(ConnectionError):  # whoever asked did not wait
                    self._answer()

            def _answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                body = json.loads(raw) if raw else None
                key = self.headers.get("authorization", "")
                status, headers, envelope = server.answer(self.command, self.path, body, key)
                content = json.dumps(envelope).encode()
                self.send_response(status)
                for name, value in {**headers, "content-type": "application/json"}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = _serve  # noqa: N815 -- http.server's own names

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        return Handler


def _deleted(held: dict[str, dict[str, Any]], what: str, name: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    if what == "memories" and name in held:
        return 200, {}, _ok(held.pop(name))
    if what != "sessions":
        return 404, {}, _failed(10007, "not found")
    for memory in [one for one, kept in held.items() if kept["sessionId"] == name]:
        del held[memory]
    return 200, {}, _ok(None)


def _keep(held: dict[str, dict[str, Any]], content: str, session: str | None, kind: str) -> dict[str, Any]:
    """Keep content under an id made of it, so that the same is kept once."""
    memory = hashlib.sha256(f"{session}\0{content}".encode()).hexdigest()[:26]
    kept = {"id": memory, "type": kind, "summary": content, "content": content, "sessionId": session}
    return held.setdefault(memory, kept)


def _recalled(held: dict[str, dict[str, Any]], query: str) -> dict[str, Any]:
    words = set(query.casefold().split())
    scored = [(len(words & set(one["content"].casefold().split())) / max(len(words), 1), one) for one in held.values()]
    found = sorted(((score, one) for score, one in scored if score), key=lambda pair: -pair[0])
    candidates = [
        {"id": one["id"], "summary": one["summary"], "sessionId": one["sessionId"], "score": score}
        for score, one in found
    ]
    answer = candidates[0]["summary"] if candidates else ""
    return {"answer": answer, "count": len(candidates), "candidates": candidates}


def _page(held: dict[str, dict[str, Any]], query: dict[str, str]) -> dict[str, Any]:
    start, size = int(query.get("cursor", "0")), int(query.get("per_page", "20"))
    entries = [
        {name: value for name, value in one.items() if name != "content"}
        for one in held.values()
        if query.get("session_id") in {None, one["sessionId"]} and query.get("type") in {None, one["type"]}
    ]
    info: dict[str, Any] = {"per_page": size, "count": len(entries[start : start + size])}
    if start + size < len(entries):
        info["cursor"] = str(start + size)
    return {**_ok(entries[start : start + size]), "result_info": info}


def _ok(result: Any) -> dict[str, Any]:
    return {"result": result, "success": True, "errors": [], "messages": []}


def _failed(code: int, message: str) -> dict[str, Any]:
    return {"result": None, "success": False, "errors": [{"code": code, "message": message}], "messages": []}
