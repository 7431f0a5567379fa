"""A grant over HTTP is the grant over NATS: the same table of ways around it, each with its control."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from domain.settings import Settings
from tests.e2e.grants_world import PROFILE, STRANGE, World, make_world_at
from tests.e2e.test_grants import ADMINISTRATION, ATTEMPTS, BODIES, Attempt
from tests.rest_service import RestService, as_http

pytestmark = pytest.mark.timeout(180)

#: One attempt of each verb, and one in a strange profile; what checks is the service's, on which all of the table runs.
CHOSEN = {(one.verb, one.profile): one for one in reversed(ATTEMPTS)}


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestService]:
    """A service in which nothing happens that a test did not ask for."""
    with RestService(tmp_path_factory.mktemp("rest-grants") / "data", Settings(thinking=False)) as running:
        yield running


@pytest.fixture(scope="module")
def world(rest: RestService) -> World:
    """Two contacts, two profiles, principals of every reach."""
    return asyncio.run(make_world_at(rest, rest.runtime.url))


def ask(rest: RestService, who: str, verb: str, profile: str, body: dict[str, Any]) -> tuple[str, str]:
    """Send one request as a principal; returns the error's code (empty for none) and everything that was answered."""
    method, path, query, sent = as_http(verb, profile, body)
    with rest.speaking(who) as client:
        response = client.request(method, path, params=query, json=sent)
    return ("" if response.is_success else str(response.json()["code"])), response.text


@pytest.mark.parametrize("attempt", [pytest.param(one, id=f"{n}-{one.verb}") for n, one in enumerate(CHOSEN.values())])
def test_no_way_around_a_grant(world: World, rest: RestService, attempt: Attempt) -> None:
    """The attempt is refused, or finds nothing; nothing is written; the same call with the right grant is answered."""
    before = rest.end(attempt.profile)
    code, answer = ask(rest, attempt.who, attempt.verb, attempt.profile, attempt.body(world))
    assert code == attempt.code, answer
    if attempt.word:
        assert attempt.word not in answer
    assert rest.written(attempt.profile, before) == []
    code, answer = ask(rest, attempt.control, attempt.verb, attempt.profile, (attempt.right or attempt.body)(world))
    assert code == "", answer
    assert attempt.word in answer


@pytest.mark.parametrize("who", ["limited", "boss"])
@pytest.mark.parametrize("attempt", ADMINISTRATION, ids=lambda attempt: attempt.verb)
def test_agents_administer_no_principals(world: World, rest: RestService, who: str, attempt: Attempt) -> None:
    """Not even one with admin on everything, and no answer holds a secret."""
    code, answer = ask(rest, who, attempt.verb, "_", attempt.body(world))
    assert code == "refused", answer
    assert "secret" not in answer
    assert "umb_" not in answer


@pytest.mark.parametrize("verb", list(BODIES))
def test_a_foreign_profile_is_like_none(world: World, rest: RestService, verb: str) -> None:
    """What is answered about a profile without a grant does not tell whether it exists, by status, code or words."""
    body = BODIES[verb](world)
    there, absent = (ask(rest, "limited", verb, profile, body) for profile in (STRANGE, "iso-none"))
    assert there[0] == absent[0] == "refused"
    assert there[1].replace(STRANGE, "x") == absent[1].replace("iso-none", "x")


@pytest.mark.parametrize("profile", ["*", ">", "iso.x", "%", "..", "iso*", "_", "ISO", f"{PROFILE} ", f"{PROFILE}/x"])
def test_no_profile_stands_for_others(world: World, rest: RestService, profile: str) -> None:
    """A wildcard, a path, or another spelling in place of the profile reaches nothing."""
    path = as_http("recall", "PROFILE", {})[1].replace("PROFILE", "".join(f"%{ord(one):02X}" for one in profile))
    with rest.speaking("limited") as client:
        response = client.post(path, json={"query": "green"})
    assert response.json()["code"] in {"invalid", "refused"}
    assert "word" not in response.text
