"""Who the REST API answers, under which names and addresses, and whether it is ready."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import httpx2
import pytest

from domain.errors import AlreadyRunningError, InvalidInputError
from domain.grants import Grant, Principal
from gateways.jetstream.tls import Tls
from gateways.rest import reading
from gateways.rest.server import http_address
from gateways.web import over_http, web_address
from tests.e2e.test_tls import Authority
from tests.rest_service import RestService, plain_client, problem, remember

pytestmark = pytest.mark.timeout(120)

_profiles = count(1)


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestService]:
    """One service for all of these tests; each has a profile of its own."""
    with RestService(tmp_path_factory.mktemp("rest") / "data") as running:
        yield running


@pytest.fixture
def profile() -> str:
    """A profile that nothing is in."""
    return f"p{next(_profiles)}"


@pytest.fixture
def client(rest: RestService) -> Iterator[httpx2.Client]:
    """A client that speaks as the agent of the data directory."""
    with rest.speaking() as connected:
        yield connected


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer x", "Basic bG9jYWw6eA==", "Bearer umb_000000000000_x", "Bearer ÿ"]
)
def test_who_speaks_must_be_known(rest: RestService, profile: str, given: str) -> None:
    """Without a valid token nothing is read, not even whether the request is one; it is counted."""
    before = rest.runtime.service.refusals.total
    with rest.nobody() as nobody:
        headers = [(b"Authorization", given.encode("latin-1"))] if given else []
        response = nobody.post(f"/v1/profiles/{profile}/memories", content=b"{", headers=headers)
    said = problem(response)
    assert (said.status, said.code) in {(401, "refused"), (429, "refused")}
    assert said.status == 429 or response.headers["www-authenticate"].startswith("Bearer")
    assert rest.runtime.service.refusals.total >= before


def test_failures_are_slowed_down_and_shut_nobody_out(tmp_path: Path) -> None:
    """After twenty in a minute an address is told to wait; who has a token at that address is answered all the same."""
    with (
        RestService(tmp_path / "data") as rest,
        rest.speaking() as client,
        rest.nobody() as nobody,
    ):
        path = "/v1/profiles/p/memories"
        seen = [nobody.get(path).status_code for _ in range(22)]
        assert seen == [401] * 20 + [429] * 2
        assert int(nobody.get(path).headers["retry-after"]) > 0
        assert client.get(path).status_code == 200
        assert rest.runtime.service.refusals.total == 20


def test_a_token_that_was_taken_away(rest: RestService, profile: str) -> None:
    """A revoked or ended token, and one of a revoked principal, are refused at the next request."""
    rest.principal("leaver", Grant(profile, "read"))
    tokens, now = rest.runtime.principals.tokens, datetime.now(UTC)
    _, ended = tokens.add("leaver", now=now, expires_at=now - timedelta(seconds=1))
    gone, text = tokens.add("leaver", now=now)
    path = f"/v1/profiles/{profile}/memories"

    def asked(token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}

    with rest.speaking("leaver") as other:
        assert other.get(path).status_code == other.get(path, headers=asked(text)).status_code == 200
        tokens.revoke(gone.id)
        for one in (ended, text):
            assert other.get(path, headers=asked(one)).status_code in {401, 429}
        assert other.get(path).status_code == 200
        rest.runtime.principals.revoke("leaver")
        assert other.get(path).status_code in {401, 429}


def test_the_grant_says_who_writes(rest: RestService, profile: str) -> None:
    """A person's token writes as a person, an agent's as an agent, whatever the request claims."""
    with rest.speaking("local") as person, rest.speaking() as agent:
        ids = [remember(one, profile, text).json()["memory"]["id"] for one, text in ((person, "a"), (agent, "b"))]
        shown = [agent.get(f"/v1/profiles/{profile}/memories/{one}").json() for one in ids]
        assert [(one["author"], one["author_type"]) for one in shown] == [("local", "person"), ("local-agent", "agent")]
        for claim in ({"author_type": "person"}, {"actor": "local"}, {"confidence": 1.0}, {"principal": "local"}):
            sent = agent.post(f"/v1/profiles/{profile}/memories", json={"content": "c", **claim})
            assert problem(sent).code == "invalid"


@pytest.mark.parametrize(
    "host, status",
    [
        ("127.0.0.1", 200),
        ("localhost:8400", 200),
        ("LOCALHOST", 200),
        ("[::1]:80", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
        ("[::1].evil.example", 421),
        ("8.8.8.8", 421),
        ("127.0.0.9:8400", 200),
        ("", 421),
    ],
)
def test_a_page_of_elsewhere_cannot_ask(client: httpx2.Client, host: str, status: int) -> None:
    """A loopback service answers under the names of this machine only, and gives no other origin leave to read."""
    response = client.get("/v1/profiles", headers={"Host": host, "Origin": "http://evil.example"})
    assert response.status_code == status
    assert not [name for name in response.headers if name.startswith("access-control")]


def test_health_and_docs_ask_for_no_token(rest: RestService, client: httpx2.Client) -> None:
    """They say nothing of what is kept; the page loads and runs nothing, from here or elsewhere."""
    with rest.nobody() as nobody:
        assert nobody.get("/healthz").json() == {"status": "ok"}
        assert nobody.get("/readyz").json() == {"ready": True, "reasons": []}
        assert nobody.get("/schema/openapi.json").json()["openapi"] == "3.1.0"
        page = nobody.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    for part in ("<script", "<link", "<img", "@import", "url(", "http://", "https://"):
        assert part not in page.text
    assert "/v1/profiles/{profile}/memories/{id}/why" in page.text


def test_not_ready_says_why(tmp_path: Path) -> None:
    """Without its NATS server the service lives and is not ready."""
    with RestService(tmp_path / "data") as rest, rest.nobody() as nobody:
        assert nobody.get("/readyz").status_code == 200
        rest.on_loop(rest.runtime.service.core.events.log.connection.client.close())
        rest.web.rest._health._asked -= 10
        response = nobody.get("/readyz")
        assert (response.status_code, response.json()["ready"]) == (503, False)
        assert response.json()["reasons"]
        assert nobody.get("/healthz").status_code == 200


@pytest.mark.parametrize("text", ["", "8400", "127.0.0.1", ":8400", "127.0.0.1:", "h:99999", "h:-1", "::1:80", "h:٣"])
def test_an_address_is_host_and_port(text: str) -> None:
    """Anything else is refused before something listens."""
    with pytest.raises(InvalidInputError):
        http_address(text)


def test_beyond_loopback_only_with_tls() -> None:
    """A public address without a certificate is refused; with one it is HTTPS."""
    for public in ("0.0.0.0:0", "[::]:0", "memory.example:80"):
        with pytest.raises(InvalidInputError, match="without TLS"):
            web_address(public, None)
    address = web_address("0.0.0.0:0", Tls(Path("chain.pem"), Path("key.pem")))
    assert (address.certificate, address.key) == (Path("chain.pem"), Path("key.pem"))
    assert web_address("[::1]:0", None).host == "::1"


def test_over_tls(tmp_path: Path) -> None:
    """With a certificate it is HTTPS: who trusts its authority is served; who trusts another, or none, is not."""
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    with RestService(tmp_path / "data", tls=Tls(ours.certificate, ours.key)) as rest:
        assert rest.web.url.startswith("https://127.0.0.1:")
        for authority, served in ((ours, True), (other, False)):
            context = ssl.create_default_context(cafile=str(authority.file))
            with httpx2.Client(base_url=rest.web.url, verify=context) as client:
                if served:
                    assert client.get("/healthz").status_code == 200
                else:
                    with pytest.raises(httpx2.ConnectError):
                        client.get("/healthz")
        with plain_client(rest.web.url.replace("https", "http")) as client, pytest.raises(httpx2.HTTPError):
            client.get("/healthz")


def test_a_body_that_does_not_arrive(rest: RestService, profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up with an answer, and holds nothing."""
    monkeypatch.setattr(reading, "BODY_SECONDS", 0.05)
    host, port = rest.web.url.removeprefix("http://").split(":")
    head = (
        f"POST /v1/profiles/{profile}/memories HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n"
        f"Content-Type: application/json\r\nAuthorization: Bearer {rest.token()}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=10) as slow:
        slow.sendall(head.encode() + b"{")
        answer = slow.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert rest.web.rest.active == 0


def test_a_port_that_is_taken(rest: RestService) -> None:
    """It is an error that says so, and not a second listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        async def second() -> None:
            async with over_http(rest.runtime, web_address(f"127.0.0.1:{taken.getsockname()[1]}", None)):
                raise AssertionError("it listens")

        with pytest.raises(AlreadyRunningError):
            rest.on_loop(second())


def test_principals_over_http(rest: RestService) -> None:
    """A person adds one and makes its token; an agent with admin on everything does neither."""
    added = {"name": "http-bot", "grants": [{"profile": "h", "access": "write"}]}
    with rest.speaking("local") as person, rest.speaking() as agent:
        assert problem(agent.post("/v1/principals", json=added)).code == "refused"
        assert person.post("/v1/principals", json=added).json()["secret"]
        for path in ("/v1/principals/http-bot/tokens", "/v1/principals/local/tokens"):
            assert problem(agent.post(path)).code == "refused"
        made = person.post("/v1/principals/http-bot/tokens", json={"label": "shop"}).json()
        listed = {one["name"]: one for one in person.get("/v1/principals").json()["principals"]}
        assert [one["label"] for one in listed["http-bot"]["tokens"]] == ["shop"]
        assert made["token"] not in person.get("/v1/principals").text
        said = {"Authorization": f"Bearer {made['token']}"}
        assert agent.get("/v1/profiles/h/memories", headers=said).status_code == 200
        assert problem(agent.get("/v1/profiles/other/memories", headers=said)).code == "refused"
        assert person.delete(f"/v1/tokens/{made['info']['id']}").json()["principal"] == "http-bot"
        assert agent.get("/v1/profiles/h/memories", headers=said).status_code in {401, 429}
        late = {"expires_at": "2020-01-01T00:00:00Z"}
        assert problem(person.post("/v1/principals/http-bot/tokens", json=late)).code == "invalid"
        assert problem(person.post("/v1/principals/none/tokens")).code == "not_found"


def test_a_principal_of_nothing_gets_nothing(rest: RestService, profile: str) -> None:
    """A known principal without a grant is refused with 403, whether there is such a profile or not."""
    rest.principal("stranger")
    assert isinstance(rest.principal("stranger"), Principal)
    with rest.speaking() as agent, rest.speaking("stranger") as stranger:
        remember(agent, profile, "secret things")
        for name in (profile, f"{profile}-none"):
            said = problem(stranger.post(f"/v1/profiles/{name}/recall", json={"query": "secret"}))
            assert (said.status, said.code) == (403, "refused")
