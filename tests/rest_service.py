"""A service with its REST API in a thread of this process, and short ways to ask it over HTTP and over NATS."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Coroutine, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from domain.grants import Grant, Principal
from domain.settings import Settings
from gateways import bootstrap
from gateways.bootstrap import Runtime
from gateways.jetstream.tls import Tls
from gateways.rest.problems import Problem
from gateways.rest.reading import kinds_of
from gateways.rest.routes import Route, routes
from gateways.web import Web, over_http, web_address
from tests.cheap import CheapEmbedder
from umbriel import Umbriel

__all__ = ["NO_TLS", "RestService", "as_http", "plain_client", "problem", "remember"]

T = TypeVar("T")
_SECONDS = 60.0
#: What a client of plain HTTP verifies with; the default reads every authority there is, for each client.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

_PERSON = Principal("local", "person", (Grant("*", "admin"),))
#: Events that a write makes.
_WRITTEN = ["message", "conversation", "memory", "profile", "reflection", "goal"]


def plain_client(url: str, **headers: str) -> httpx2.Client:
    """Return a client of plain HTTP."""
    return httpx2.Client(base_url=url, headers=headers, timeout=30, verify=NO_TLS)


def as_http(verb: str, profile: str, body: Mapping[str, Any], way: Route | None = None) -> tuple[str, str, Any, Any]:
    """Return a verb's request as method, path, query and body of HTTP, by the first way that has its fields."""
    ways = [way] if way else [one for one in routes(verb) if all(body.get(field) for field in one.in_path)]
    chosen = next(one for one in ways if one.only is None or set(body) <= {*one.in_path, *one.only})
    path = chosen.path.replace("{profile}", quote(profile, safe=""))
    for field in chosen.in_path:
        path = path.replace(f"{{{field}}}", _segment(str(body[field])))
    rest = {field: value for field, value in body.items() if field not in chosen.in_path}
    if chosen.method in {"GET", "DELETE"}:
        return chosen.method, path, [pair for one in rest.items() for pair in _query(verb, *one)], None
    return chosen.method, path, None, rest


def _segment(text: str) -> str:
    """Return a path's part; one of dots alone would be taken for a way up."""
    return text.replace(".", "%2E") if text in {".", ".."} else quote(text, safe="")


def _query(verb: str, field: str, value: Any) -> list[tuple[str, str]]:
    values = value if isinstance(value, list) else [value]
    if isinstance(value, list) and kinds_of(verb).get(field) != "list":
        return [(field, msgspec.json.encode(value).decode())]
    return [(field, one if isinstance(one, str) else msgspec.json.encode(one).decode()) for one in values]


def problem(response: httpx2.Response) -> Problem:
    """The problem that a response is, with everything that one has."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    said = msgspec.json.decode(response.content, type=Problem, strict=True)
    assert said.status == response.status_code
    assert said.message == said.detail
    return said


def remember(client: httpx2.Client, profile: str, content: str, **fields: Any) -> httpx2.Response:
    """State a memory, and wait until it can be found."""
    response = client.post(f"/v1/profiles/{profile}/memories", json={"content": content, "wait": True, **fields})
    assert response.is_success, response.text
    return response


class RestService:
    """Runs until the context ends; nothing happens in it that a test did not ask for."""

    def __init__(self, data: Path, settings: Settings | None = None, *, tls: Tls | None = None) -> None:
        self._data = data
        self._tls = tls
        self._settings = settings or Settings(thinking=False, wait_seconds=20.0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="rest-service")
        self._started = threading.Event()
        self._stop = asyncio.Event()
        self._error: BaseException | None = None
        self._tokens: dict[str, str] = {}
        self.runtime: Runtime
        self.web: Web

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait(_SECONDS)
        if self._error is not None:
            raise self._error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:  # noqa: BLE001 -- told to the test
            self._error = error
        finally:
            self._started.set()
            self._loop.close()

    async def _serve(self) -> None:
        running = bootstrap.running(self._data, settings=self._settings, embedder=CheapEmbedder())
        async with running as self.runtime, over_http(self.runtime, web_address("127.0.0.1:0", self._tls)) as self.web:
            self._started.set()
            await self._stop.wait()

    @property
    def data(self) -> Path:
        """Its data directory."""
        return self._data

    async def client(self, *, profile: str = "p", principal: str = "local-agent") -> Umbriel:
        """Connect a client over NATS, as an embedded principal."""
        password = (self._data / "secrets" / f"{principal}.password").read_text().strip()
        return await Umbriel.connect(self.runtime.url, principal=principal, password=password, profile=profile)

    def on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something where the service runs, and return what came of it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)

    def principal(self, name: str, *grants: Grant) -> Principal:
        """Return a principal with these grants, added when there is none."""
        found = self.runtime.principals.get(name)
        return found or self.runtime.principals.add(Principal(name, "agent", grants))[0].principal

    def token(self, name: str = "local-agent") -> str:
        """Return a token of a principal."""
        if name not in self._tokens:
            self._tokens[name] = self.runtime.principals.tokens.add(name, now=datetime.now(UTC))[1]
        return self._tokens[name]

    def speaking(self, name: str = "local-agent", **headers: str) -> httpx2.Client:
        """Return an HTTP client that speaks as a principal."""
        said = {"Authorization": f"Bearer {self.token(name)}", **headers}
        return plain_client(self.web.url, **said)

    def nobody(self) -> httpx2.Client:
        """Return an HTTP client without a token."""
        return plain_client(self.web.url)

    def end(self, profile: str) -> str:
        """Return the position of the log's end."""
        return str(self.ask("feed", profile, b'{"after": "new"}', _PERSON)["position"])

    def written(self, profile: str, after: str) -> list[Any]:
        """Return what somebody wrote into a profile after a position."""
        asked = {"after": after, "limit": 1000, "kinds": _WRITTEN}
        events: list[Any] = self.ask("feed", profile, msgspec.json.encode(asked), _PERSON)["events"]
        return events

    def ask(self, verb: str, profile: str, body: bytes, principal: Principal) -> Any:
        """Ask the service as NATS does, and return the reply as JSON."""
        reply = self.on_loop(self.runtime.service.call(verb, principal, profile, body))
        return msgspec.json.decode(msgspec.json.encode(reply))
