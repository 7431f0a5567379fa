"""Every example of the AsyncAPI document, sent over NATS to a running service, and answered as the document says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import nats
import pytest
from nats.aio.msg import Msg

from gateways.asyncapi.catalogue import catalogue
from gateways.asyncapi.document import document
from gateways.rest.examples import EXAMPLE_MEMORY
from gateways.service.service import VERBS
from tests.rest_service import RestService
from tests.unit.test_asyncapi import resolved, validator
from umbriel import UmbrielSync
from umbriel.types import ErrorReply

DOCUMENT = document()
#: What the example names is not there: an answer all the same.
_REFUSED = {"diff", "import", "principal_token_revoke", "settings"}
#: What everything else needs comes first, what takes it away comes last.
_FIRST, _LAST = ("remember",), ("principal_revoke", "delete_profile")
_VALUES = {"principal": "local", "profile": "shown"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestService]:
    """A service that only keeps what it is told."""
    with RestService(tmp_path_factory.mktemp("asyncapi") / "data") as running:
        yield running


async def test_every_example_is_answered_as_documented(service: RestService) -> None:
    """Subject, request, reply and error header are as the document has them; the log's headers and bodies as well."""
    password = (service.data / "secrets" / "local.password").read_text().strip()
    connection = await nats.connect(service.runtime.url, user="local", password=password, inbox_prefix="_INBOX_local")
    known, failed = "", dict[str, dict[str, str]]()
    try:
        for verb in (*_FIRST, *(one for one in VERBS if one not in {*_FIRST, *_LAST}), *_LAST):
            operation = DOCUMENT["operations"][verb]
            subject = resolved(operation["channel"]["$ref"])["address"].format(**_VALUES)
            for message in operation["messages"]:
                for example in resolved(message["$ref"])["examples"]:
                    body = json.dumps(example["payload"]).replace(EXAMPLE_MEMORY, known)
                    answer = await connection.request(subject, body.encode(), timeout=30)
                    if check(operation, answer):
                        failed[verb] = json.loads(answer.data)
                    known = known or json.loads(answer.data)["memory"]["id"]
    finally:
        await connection.close()
    assert set(failed) <= _REFUSED, failed
    assert {one["code"] for one in failed.values()} <= {"invalid", "not_found", "conflict"}, failed


def check(operation: dict[str, Any], answer: Msg) -> str:
    """Validate a reply against the schema that the document has for it, decode it strictly, and return its error."""
    reply, error = (resolved(one["$ref"]) for one in operation["reply"]["messages"])
    code: str = (answer.headers or {}).get("Umbriel-Error", "")
    expected = error if code else reply
    if code:
        assert code in expected["headers"]["properties"]["Umbriel-Error"]["enum"]
    said = json.loads(answer.data)
    wrong = [f"{one.json_path}: {one.message}" for one in validator(expected["payload"]["$ref"]).iter_errors(said)]
    assert not wrong, (operation["title"], wrong[:3])
    msgspec.json.decode(answer.data, type=ErrorReply if code else VERBS[operation["title"]].reply, strict=True)
    return code


def test_events_are_recorded_as_documented(service: RestService) -> None:
    """What a feed shows fits the catalogue, and in the log exactly the topics that it says are in the clear are."""
    password = (service.data / "secrets" / "local.password").read_text().strip()
    kinds = {kind.topic: kind for kind in catalogue()}
    with UmbrielSync.connect(service.runtime.url, principal="local", password=password, profile="seen") as memory:
        memory.remember("The shop opens at nine", key="opening", contact="ann", wait=True)
        memory.remember("The shop opens at ten", key="opening", contact="ann", wait=True)
        memory.set_task("monday", "Count the tills")
        memory.set_goal("Sell more bread")
        memory.erase(contact="ann")
        end = memory.lift_erasure(contact="ann").position
        page = memory.feed(
            kinds=sorted({kind.category for kind in kinds.values()} - {"principal", "recovery"}), limit=500
        )
    assert page.position >= end
    for event in page.events:
        validator(kinds[event.topic].body["$ref"]).validate(event.data)
    seen = service.on_loop(headers(service))
    assert {"memory.superseded", "conversation.task_set", "goal.set", "profile.erasure_lifted"} <= seen.keys()
    assert len(page.events) > 5
    for topic, key in seen.items():
        assert key == kinds[topic].encrypted, topic


async def headers(service: RestService) -> dict[str, bool]:
    """Return of each topic in the log whether its events name a key."""
    core = service.runtime.service.core
    assert core.seal is not None
    await core.seal()
    entries = await core.events.log.read(0, 1000)
    return {entry.topic: bool(entry.key_id) for entry in entries}


def test_served_over_http_without_a_token(service: RestService) -> None:
    """The document and its page are there for whoever reaches the service; the page may load and run nothing."""
    with service.nobody() as client:
        assert client.get("/schema/asyncapi.json").json() == json.loads(msgspec.json.encode(DOCUMENT))
        shown = client.get("/docs/events")
    assert shown.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert "memory.superseded" in shown.text
