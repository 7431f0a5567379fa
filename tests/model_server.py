"""A real HTTP server on a free loopback port that answers as scripted and keeps what it was asked.

::

    with ModelServer() as server:
        server.script("/v1/chat/completions", error_reply(500), chat_reply('{"name": "Ada"}'))
        server.always("/v1/embeddings", lambda request: embeddings_reply([[1.0, 0.0]] * len(request.json["input"])))
        ...
        assert server.count("/v1/chat/completions") == 2
        assert server.requests[0].headers["x-session-affinity"]

Replies of a path are taken in order; when they are used up, what `ModelServer.always` gave is answered, else 400, which
no client tries again. Any path works: the judges' and others' as well. A query string is not part of the path.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

__all__ = [
    "ModelServer",
    "Reply",
    "Request",
    "chat_reply",
    "embeddings_reply",
    "error_reply",
    "messages_reply",
]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a client sent; header names are lower-case, ``json`` is None where the body is no JSON."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    json: Any = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What to answer: a body of bytes, text or JSON, after ``delay`` seconds.

    ``broken`` says how the connection dies: ``dropped`` before anything is sent, ``short`` after half of the announced
    body, ``chunked`` within a chunked body that never ends as it must.
    """

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = {}
    delay: float = 0.0
    broken: Literal["", "dropped", "short", "chunked"] = ""

    def content(self) -> bytes:
        """Return the body as it goes over the wire."""
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


def chat_reply(
    content: str | None,
    *,
    usage: tuple[int, int] | None = (11, 7),
    finish_reason: str = "stop",
    refusal: str | None = None,
    model: str = "small-model",
) -> Reply:
    """A completion of /v1/chat/completions; ``usage`` is (input, output) tokens."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": message}],
    }
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return Reply(body=body)


def messages_reply(
    text: str | None = None,
    *,
    tool: Any = None,
    usage: tuple[int, int] | None = (11, 7),
    stop_reason: str = "end_turn",
    model: str = "small-model",
) -> Reply:
    """A message of /v1/messages: a text block, and a tool_use block whose input is ``tool`` where given."""
    blocks: list[dict[str, Any]] = [] if text is None else [{"type": "text", "text": text}]
    if tool is not None:
        blocks.append({"type": "tool_use", "id": "toolu_1", "name": "answer", "input": tool})
    body: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": stop_reason,
        "stop_sequence": None,
    }
    if usage is not None:
        body["usage"] = {"input_tokens": usage[0], "output_tokens": usage[1]}
    return Reply(body=body)


def embeddings_reply(vectors: Sequence[Sequence[float]], *, model: str = "embedding-model", tokens: int = 5) -> Reply:
    """The vectors of one request to /v1/embeddings, in the order of its texts."""
    data = [{"object": "embedding", "index": index, "embedding": list(row)} for index, row in enumerate(vectors)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Reply(body={"object": "list", "data": data, "model": model, "usage": usage})


def error_reply(
    status: int, message: str = "scripted error", *, code: str | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    """An error as OpenAI and Anthropic write it, in one body that both clients read."""
    error = {"message": message, "type": code or "scripted", "code": code, "param": None}
    return Reply(status=status, body={"type": "error", "error": error}, headers=headers or {})


Answering = Callable[[Request], Reply]


class ModelServer:
    """The server; start and stop it with ``with``. Usable from any thread and any event loop."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._queues: dict[str, deque[Reply]] = defaultdict(deque)
        self._always: dict[str, Answering] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join(timeout=5)

    @property
    def url(self) -> str:
        """Scheme, host and port, without a path: ``http://127.0.0.1:40123``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, path: str, *replies: Reply) -> None:
        """Answer the next requests to ``path`` with these, after those scripted before."""
        with self._lock:
            self._queues[path].extend(replies)

    def always(self, path: str, reply: Reply | Answering) -> None:
        """Answer requests to ``path`` with this, or with what it makes of the request, when nothing is scripted."""
        with self._lock:
            self._always[path] = reply if callable(reply) else lambda _: reply

    def count(self, path: str) -> int:
        """Return how many requests came for ``path``."""
        with self._lock:
            return sum(request.path == path for request in self.requests)

    def left(self, path: str) -> int:
        """Return how many scripted replies of ``path`` nobody asked for yet."""
        with self._lock:
            return len(self._queues[path])

    def answer(self, request: Request) -> Reply:
        """Record a request and return its reply; waits out the reply's delay unless the server closes."""
        with self._lock:
            self.requests.append(request)
            queue, always = self._queues[request.path], self._always.get(request.path)
            reply = queue.popleft() if queue else None
        if reply is None:
            reply = always(request) if always else error_reply(400, f"nothing is scripted for {request.path}")
        if reply.delay:
            self._closing.wait(reply.delay)
        return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True
    request_queue_size = 64

    def __init__(self, owner: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self._open: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what time limits do."""

    def hang_up(self) -> None:
        """End the connections that clients keep open, so that their threads end."""
        for connection in tuple(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: tests read ``requests``."""

    def _serve(self) -> None:
        reply = self.server.owner.answer(self._request())
        if reply.broken == "dropped":
            self.close_connection = True
            return
        content = reply.content()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        if reply.broken == "chunked":
            self._chunked(content)
            return
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if reply.broken == "short":
            content, self.close_connection = content[: len(content) // 2], True
        self.wfile.write(content)

    def _chunked(self, content: bytes) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        half = content[: len(content) // 2]
        self.wfile.write(b"%x\r\n%s\r\n" % (len(half), half))
        self.close_connection = True

    def _request(self) -> Request:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            decoded = json.loads(body)
        except ValueError:
            decoded = None
        path, _, query = self.path.partition("?")
        return Request(
            method=self.command,
            path=path,
            query=query,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
            json=decoded,
        )
