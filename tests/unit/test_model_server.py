"""The scripted model server: what others' tests rest on."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

import pytest

from tests.model_server import ModelServer, Reply, chat_reply, embeddings_reply

CHAT = "/v1/chat/completions"


def post(server: ModelServer, path: str, body: object) -> tuple[int, bytes]:
    """Return status and body of one request on a connection of its own."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=5)
    try:
        connection.request("POST", path, json.dumps(body), {"X-Name": "value"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_replies_come_in_order_and_requests_are_kept() -> None:
    """Scripted replies first, then the lasting one; header names are lower-case."""
    with ModelServer() as server:
        server.script(CHAT, Reply(status=503), chat_reply("hello"))
        server.always(CHAT, lambda request: Reply(body={"echo": request.json["n"]}))
        assert post(server, CHAT, {"n": 1})[0] == 503
        assert json.loads(post(server, CHAT, {"n": 2})[1])["choices"][0]["message"]["content"] == "hello"
        assert json.loads(post(server, f"{CHAT}?x=1", {"n": 3})[1]) == {"echo": 3}
        assert [request.json for request in server.requests] == [{"n": 1}, {"n": 2}, {"n": 3}]
        assert server.requests[2].headers["x-name"] == "value"
        assert (server.count(CHAT), server.left(CHAT), server.requests[2].query) == (3, 0, "x=1")


def test_what_is_not_scripted_is_a_bad_request() -> None:
    """A path that nobody scripted is refused so that no client tries it again."""
    with ModelServer() as server:
        assert post(server, "/v1/other", {})[0] == 400


@pytest.mark.parametrize("broken", ["dropped", "short", "chunked"])
def test_connections_die_as_scripted(broken: str) -> None:
    """Each way of dying is seen by the client as an incomplete answer."""
    with ModelServer() as server:
        server.script(CHAT, Reply(body=embeddings_reply([[1.0, 2.0]]).body, broken=broken))  # type: ignore[arg-type]
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            post(server, CHAT, {})


def test_closing_does_not_wait_for_delays() -> None:
    """A long delay and a kept connection end with the server."""
    with ModelServer() as server:
        server.script(CHAT, Reply(delay=600))
        kept = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=5)
        kept.request("POST", CHAT, "{}")
    kept.close()
