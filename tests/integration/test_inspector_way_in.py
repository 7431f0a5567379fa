"""The inspector's way in and its files, over plain HTTP: codes, tokens, headers; and reads that only look."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from domain.errors import RefusedError
from domain.grants import Grant, Principal
from gateways.service import inspector
from gateways.service.inspector import LABEL
from tests.rest_service import RestService, problem, remember

PERSON = Principal("local", "person", (Grant("*", "admin"),))

_profiles = count(1)


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestService]:
    """One service for all of these tests."""
    with RestService(tmp_path_factory.mktemp("inspector") / "data") as running:
        yield running


@pytest.fixture
def profile() -> str:
    """A profile that nothing is in."""
    return f"p{next(_profiles)}"


def test_a_link_lets_in_once(rest: RestService) -> None:
    """A code becomes a token of its principal that ends by itself and shows in the list; used again it is none."""
    made = rest.ask("inspect", "_", b"{}", PERSON)
    assert made["link"] == f"{rest.web.url}/#code={made['code']}"
    with rest.nobody() as nobody:
        response = nobody.post("/v1/login", json={"code": made["code"]})
        assert response.headers["cache-control"] == "no-store"
        assert "set-cookie" not in response.headers
        said = response.json()
        assert said["principal"] == "local"
        inside = nobody.get("/v1/status", headers={"Authorization": f"Bearer {said['token']}"})
        assert inside.json()["principal"] == "local"
        again = problem(nobody.post("/v1/login", json={"code": made["code"]}))
        assert (again.status, again.code) == (401, "refused")
        assert "used already" in again.message
    listed = rest.ask("principal_list", "_", b"{}", PERSON)["principals"]
    (token,) = [one for p in listed for one in p.get("tokens", []) if one["id"] == said["token"].split("_")[1]]
    assert token["label"] == LABEL
    assert datetime.fromisoformat(token["expires_at"]) < datetime.now(UTC) + timedelta(hours=13)


def test_a_link_ends(rest: RestService, monkeypatch: pytest.MonkeyPatch) -> None:
    """A code that nobody used in time lets nobody in."""
    monkeypatch.setattr(inspector, "_CODE_SECONDS", -1)
    made = rest.ask("inspect", "_", b"{}", PERSON)
    with rest.nobody() as nobody:
        assert problem(nobody.post("/v1/login", json={"code": made["code"]})).status == 401


def test_a_link_for_somebody_else(rest: RestService) -> None:
    """A person who administers lets others in, as who they are; not who is unknown."""
    rest.principal("reader", Grant("*", "read"))
    made = rest.ask("inspect", "_", b'{"name": "reader"}', PERSON)
    with rest.nobody() as nobody:
        assert nobody.post("/v1/login", json={"code": made["code"]}).json()["principal"] == "reader"
    with rest.speaking("local") as person:
        assert problem(person.post("/v1/inspect", json={"name": "nobody-such"})).status == 404


def test_no_agent_gets_a_link(rest: RestService) -> None:
    """An agent gets none, not even one that administers everything."""
    boss = rest.principal("boss", Grant("*", "admin"))
    with pytest.raises(RefusedError):
        rest.ask("inspect", "_", b"{}", boss)


@pytest.mark.parametrize(
    "send, status",
    [
        ({"json": {}}, 400),
        ({"json": {"code": 1}}, 400),
        ({"json": {"code": "x", "name": "local"}}, 400),
        ({"content": b"code=x", "headers": {"Content-Type": "text/plain"}}, 415),
        ({"data": {"code": "x"}}, 415),
        ({"content": b'{"code": "\\ud800"}', "headers": {"Content-Type": "application/json"}}, 400),
    ],
)
def test_a_login_is_json_and_nothing_else(rest: RestService, send: dict[str, object], status: int) -> None:
    """What a form of another page could send is refused before it is looked at."""
    with rest.nobody() as nobody:
        assert nobody.post("/v1/login", **send).status_code == status  # type: ignore[arg-type]


def test_guessing_codes_is_slowed_down(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Wrong codes count as requests without a token: after twenty in a minute an address is told to wait."""
    with RestService(tmp_path_factory.mktemp("guess") / "data") as rest, rest.nobody() as nobody:
        seen = [nobody.post("/v1/login", json={"code": f"guess {n}"}).status_code for n in range(22)]
    assert seen == [401] * 20 + [429] * 2


def test_the_files(rest: RestService) -> None:
    """The page and what it loads come with a strict policy, are checked by their tag, and nothing else is found."""
    with rest.nobody() as nobody:
        page = nobody.get("/")
        assert page.headers["content-type"].startswith("text/html")
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert page.headers["x-frame-options"] == "DENY"
        for name in ("app.js", "base.css", "icon.svg"):
            found = nobody.get(f"/inspector/{name}")
            assert found.status_code == 200
            assert found.headers["x-content-type-options"] == "nosniff"
            fresh = nobody.get(f"/inspector/{name}", headers={"If-None-Match": found.headers["etag"]})
            assert (fresh.status_code, fresh.content) == (304, b"")
        for name in ("index.py", "__init__.py", "..%2F__init__.py", "%2e%2e%2f__init__.py", "none.js"):
            assert problem(nobody.get(f"/inspector/{name}")).status == 404
        assert nobody.post("/").status_code == 405


def test_the_page_names_what_there_is(rest: RestService) -> None:
    """Every file that the page or a module asks for is one of the files, and none is without use."""
    with rest.nobody() as nobody:
        waiting, seen = ["/"], {"/"}
        while waiting:
            text = nobody.get(waiting.pop()).text
            named = {part.split('"')[0] for part in text.split('"/inspector/')[1:]}
            named |= {part.split('"')[0] for part in text.split('from "./')[1:]}
            for one in {f"/inspector/{name}" for name in named} - seen:
                assert nobody.get(one).status_code == 200, one
                seen.add(one)
                waiting.append(one)
    assert len(seen) > 20


def test_looking_counts_nothing(rest: RestService, profile: str) -> None:
    """An inspection is explained, holds the prompt, is on record as what it is, and counts as no access."""
    with rest.speaking("local") as person:
        kept = remember(person, profile, "Mara lives in Porto", key="home city").json()["memory"]["id"]
        asked = {"query": "where does Mara live", "inspect": True}
        said = person.post(f"/v1/profiles/{profile}/recall", json=asked).json()
        (result,) = said["results"]
        assert result["id"] == kept
        assert "Mara lives in Porto" in said["prompt"]
        assert said["prompt_tokens"] > 0
        assert said["heard"] == {kept: "Mara lives in Porto"}
        added = sum(hit["contribution"] for hit in result["channels"])
        for factor in result["factors"].values():
            added *= factor
        assert added == pytest.approx(result["score"], abs=1e-6)
        audit = person.get(f"/v1/profiles/{profile}/audit", params={"action": "recalled"}).json()["entries"]
        assert [one["via"] for one in audit] == ["inspect"]
        rest.on_loop(rest.runtime.service.handed_out.accesses.flush())
        end = rest.end(profile)
        (listed,) = person.get(f"/v1/profiles/{profile}/memories", params={"at_least": end}).json()["entries"]
        assert listed.get("accesses", 0) == 0
        plain = person.post(f"/v1/profiles/{profile}/recall", json={"query": "where does Mara live"}).json()
        assert not plain.get("prompt")
        assert not any(hit.get("contribution") for hit in plain["results"][0]["channels"])


@pytest.mark.parametrize("fusion", ["default", "classic"])
def test_contributions_add_up(rest: RestService, profile: str, fusion: str) -> None:
    """What the channels added, times the factors, is the score, whichever way they are fused."""
    with rest.speaking("local") as person:
        person.patch(f"/v1/profiles/{profile}/settings", json={"changes": {"recall.fusion": fusion}})
        for city in ("Porto", "Lisbon", "Braga"):
            remember(person, profile, f"Somebody lives in {city}", key=f"city {city}")
        asked = {"query": "who lives in Porto, city", "explain": True}
        results = person.post(f"/v1/profiles/{profile}/recall", json=asked).json()["results"]
    assert len(results) == 3
    for one in results:
        added = sum(hit["contribution"] for hit in one["channels"])
        for factor in one["factors"].values():
            added *= factor
        assert added == pytest.approx(one["score"], abs=1e-6)


def test_a_list_of_what_says_something(rest: RestService, profile: str) -> None:
    """Words are looked for in texts and keys, in any case and script; a sign of SQL is just a sign."""
    with rest.speaking("local") as person:
        for content, key in (("Straße nach ÉVORA", "trip"), ("100% done", "progress_bar"), ("Plain", "évora")):
            remember(person, profile, content, key=key)

        def texts(text: str) -> set[str]:
            reply = person.get(f"/v1/profiles/{profile}/memories", params={"text": text})
            return {one["text"] for one in reply.json()["entries"]}

        assert texts("évora") == {"Straße nach ÉVORA", "Plain"}
        assert texts("STRASSE") == {"Straße nach ÉVORA"}
        assert texts("0%") == {"100% done"}
        assert texts("_") == {"100% done"}
        assert texts("' OR 1=1 --") == set()
        start = rest.end(profile)
        person.post(f"/v1/profiles/{profile}/memories/forget", json={"key": "trip"})
        then = person.get(f"/v1/profiles/{profile}/memories", params={"text": "évora", "as_of": start})
        assert [one["text"] for one in then.json()["entries"]] == ["Plain"]
        too_long = person.get(f"/v1/profiles/{profile}/memories", params={"text": "x" * 1_025})
        assert problem(too_long).code == "invalid"


def test_sessions_are_listed(rest: RestService, profile: str) -> None:
    """Conversations with how many messages they have, the one heard last first, in pages, by contact and its links."""
    with rest.speaking("local") as person:
        for session, contact in (("one", "ann"), ("two", ""), ("three", "ann"), ("four", "t:1")):
            messages = [{"role": "user", "content": f"{session} {n}"} for n in range(2)]
            body = {"session": session, "contact": contact, "messages": messages, "wait": True}
            assert person.post(f"/v1/profiles/{profile}/ingest", json=body).is_success

        def listed(**query: object) -> list[tuple[str, int]]:
            reply = person.get(f"/v1/profiles/{profile}/sessions", params=query)  # type: ignore[arg-type]
            return [(one["session"], one["messages"]) for one in reply.json()["sessions"]]

        assert listed(contact="*") == [("four", 2), ("three", 2), ("two", 2), ("one", 2)]
        assert listed(contact="ann") == [("three", 2), ("one", 2)]
        assert listed() == [("two", 2)]
        person.post(f"/v1/profiles/{profile}/contacts/link", json={"contact": "ann", "to": "t:1"})
        assert listed(contact="t:1") == [("four", 2), ("three", 2), ("one", 2)]
        first = person.get(f"/v1/profiles/{profile}/sessions", params={"contact": "*", "limit": 3}).json()
        assert listed(contact="*", cursor=first["cursor"]) == [("one", 2)]
        assert problem(person.get(f"/v1/profiles/{profile}/sessions", params={"cursor": "x"})).code == "invalid"
        person.delete(f"/v1/profiles/{profile}/sessions/two")
        assert listed() == []
