"""The table of paths: every verb has a way, no two ways are one, and what a path names is in the request."""

from __future__ import annotations

import re
from collections import Counter

import msgspec
import pytest

from gateways.rest.examples import EXAMPLES
from gateways.rest.openapi import document
from gateways.rest.routes import ROUTES, Route, routes
from gateways.service.service import VERBS

WAYS = [way for verb in VERBS for way in routes(verb)]


def shape(way: Route) -> tuple[str, str]:
    """What a request is matched by: the names in braces do not count."""
    return way.method, re.sub(r"\{\w+\}", "{}", way.path)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_way(verb: str) -> None:
    """Under the service or under a profile, as the verb is about one or the other."""
    ways = routes(verb)
    assert ways
    about = VERBS[verb].needs.service
    under = [way.path.startswith("/v1/profiles/{profile}") for way in ways]
    assert {"no": all(under), "only": not any(under), "also": any(under) and not all(under)}[about]


def test_the_table_names_verbs_only() -> None:
    """A verb that was renamed does not leave its path behind."""
    assert set(ROUTES) <= set(VERBS)
    assert set(EXAMPLES) <= set(VERBS)


def test_no_two_ways_are_one() -> None:
    """Method and path lead to one verb, and each way has a name of its own."""
    assert [found for found, count in Counter(map(shape, WAYS)).items() if count > 1] == []
    assert [name for name, count in Counter(way.name for way in WAYS).items() if count > 1] == []


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_a_path_names_fields_of_the_request(way: Route) -> None:
    """Everything in braces but the profile, and every field that a way is limited to."""
    fields = VERBS[way.verb].request.__struct_fields__
    assert set(way.in_path) | set(way.only or ()) <= set(fields)


@pytest.mark.parametrize("verb", EXAMPLES)
def test_the_examples_are_requests(verb: str) -> None:
    """Each is decoded by the very type that decodes a request."""
    example = EXAMPLES[verb].request
    if example is not None:
        raw = msgspec.json.encode(example)
        assert msgspec.json.decode(raw, type=VERBS[verb].request, strict=True) == example


def test_a_verb_without_a_line_answers_under_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verb that comes later is served, and described, before anybody gives it a better path."""
    later = msgspec.structs.replace(VERBS["remember"], name="come_later")
    monkeypatch.setitem(VERBS, "come_later", later)
    (way,) = routes("come_later")
    assert (way.method, way.path) == ("POST", "/v1/profiles/{profile}/come-later")
    assert document()["paths"][way.path]["post"]["summary"] == "Come later"
