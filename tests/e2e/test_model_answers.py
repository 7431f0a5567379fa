"""A service with a language model over HTTP: every good and bad answer ends in the right memories or a reason."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import ServiceProcess
from tests.model_server import ModelServer, Reply, Request, chat_reply, error_reply
from tests.scripted_chat import numbered, shown
from umbriel import Umbriel, UnavailableError
from umbriel.types import FeedEvent, Message

PATH = "/v1/chat/completions"
PROVIDERS = """
[[chat]]
kind = "openai"
base_url = "{url}/v1"
small = "tiny"
timeout = 1.0
prices = {{ tiny = {{ input = 1.0, output = 2.0 }} }}
"""
SOON = {"retry-after-ms": "10"}
_names = itertools.count(1)


def reading(request: Request) -> dict[str, Any]:
    """Answer as a model that understands "live in" would, whichever question it is asked."""
    prompt = request.json["messages"][1]["content"]
    match request.json["response_format"]["json_schema"]["name"].lower():
        case "statements":
            return {
                "items": [
                    {"text": f"The user lives in {place}.", "lines": [index], "type": "identity"}
                    for index, _, context, text in shown(prompt)
                    if not context
                    for place in re.findall(r"live in (\w+)", text)
                ]
            }
        case "verdicts":
            return {"items": [{"id": number, "verdict": "passed"} for number, _ in numbered(prompt)]}
        case _:
            return {
                "items": [
                    {"id": number, "kind": "fact", "key": "user home", "queries": ["Where does the user live?"]}
                    for number, _ in numbered(prompt)
                ]
            }


def plain(request: Request) -> Reply:
    """Answer rightly."""
    return chat_reply(json.dumps(reading(request)))


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """A model's server."""
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def thinking(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A service that has it configured."""
    data = tmp_path_factory.mktemp("thinking") / "data"
    data.mkdir()
    (data / "providers.toml").write_text(PROVIDERS.format(url=model.url))
    with ServiceProcess(data) as running:
        yield running


@pytest.fixture
async def client(thinking: ServiceProcess, model: ModelServer) -> AsyncIterator[Umbriel]:
    """A client on a profile of its own, with a model that answers rightly when nothing else is scripted."""
    model.always(PATH, plain)
    async with await thinking.client(profile=f"model-{next(_names)}") as connected:
        yield connected
    assert model.left(PATH) == 0


async def say(client: Umbriel, text: str = "I live in Lisbon.", session: str = "s") -> None:
    """Let a user say something, and wait until it is thought through."""
    await client.ingest([Message(role="user", content=text)], session=session)
    async with asyncio.timeout(60):
        while True:
            with suppress(UnavailableError):  # longer than a wait may take, and still going on
                await client.ingest([Message(role="user", content=text)], session=session, wait=True, timeout=30)
                return


async def texts(client: Umbriel) -> list[str]:
    """Return what the memories say."""
    return [memory.text for memory in (await client.list()).entries]


async def outcome(client: Umbriel) -> FeedEvent:
    """Return the last event about reading."""
    page = await client.feed(limit=500)
    return [event for event in page.events if event.topic.startswith("extraction.")][-1]


async def test_a_memory_with_all_it_rests_on(client: Umbriel) -> None:
    """It has its line, its key, its queries, the model's name, and what it cost."""
    await say(client)
    (memory,) = (await client.list()).entries
    assert (memory.text, memory.key) == ("The user lives in Lisbon.", "user_home")
    why = await client.why(memory.id)
    assert why.sources[0].text == "I live in Lisbon."
    read = await outcome(client)
    assert read.data["model"].startswith("openai:tiny")
    assert read.data["items"][0]["queries"] == ["Where does the user live?"]


WRITTEN: dict[str, Callable[[str], str]] = {
    "fenced": lambda answer: f"```json\n{answer}\n```",
    "prose": lambda answer: f"Sure, here it is: {answer}\nAnything else?",
    "note": lambda answer: f'Not {{"x": 1}} but\n```\n{answer}\n```',
    "surrogate": lambda answer: answer.replace("Lisbon.", "Lisbon. \\ud83d"),
}


@pytest.mark.parametrize("form", sorted(WRITTEN))
async def test_json_in_any_clothes(client: Umbriel, model: ModelServer, form: str) -> None:
    """Fences, prose and half characters around or in an answer lose nothing."""
    model.always(PATH, lambda request: chat_reply(WRITTEN[form](json.dumps(reading(request)))))
    await say(client)
    assert [text[:25] for text in await texts(client)] == ["The user lives in Lisbon."]


BAD_ANSWERS = {
    "shape": chat_reply('{"items": "none"}'),
    "prose": chat_reply("I found one statement."),
    "cut": chat_reply('{"items": [{"text": "The us', finish_reason="length"),
}


@pytest.mark.parametrize("bad", sorted(BAD_ANSWERS))
async def test_a_bad_answer_is_asked_for_once_more(client: Umbriel, model: ModelServer, bad: str) -> None:
    """And the second answer counts."""
    model.script(PATH, BAD_ANSWERS[bad])
    await say(client)
    assert await texts(client) == ["The user lives in Lisbon."]


PASSING = {
    "429": [error_reply(429, headers=SOON)],
    "500": [error_reply(500, headers=SOON)] * 2,
    "500 for long": [error_reply(503, headers=SOON)] * 4,
    "dropped": [Reply(broken="dropped")],
    "short": [Reply(body=b"{" * 50, broken="short")],
    "truncated stream": [Reply(body=b"{" * 50, broken="chunked")] * 3,
    "slow": [Reply(body="{}", delay=1.5)],
}


@pytest.mark.parametrize("fault", sorted(PASSING))
async def test_what_passes_costs_time_only(client: Umbriel, model: ModelServer, fault: str) -> None:
    """A limit, a fault of the server and a broken connection end in the memory all the same."""
    model.script(PATH, *PASSING[fault])
    await say(client)
    assert await texts(client) == ["The user lives in Lisbon."]


FINAL = {
    "unreadable": ([chat_reply("no"), chat_reply("no")], "damaged"),
    "empty": ([chat_reply(None), chat_reply("")], "damaged"),
    "key": ([error_reply(401, "bad key")], ""),
}


@pytest.mark.parametrize("fault", sorted(FINAL))
async def test_what_does_not_pass_is_on_record(client: Umbriel, model: ModelServer, fault: str) -> None:
    """The stretch is failed work with its reason, the next one is read, and a retry makes it good."""
    replies, code = FINAL[fault]
    model.script(PATH, *replies)
    await say(client)
    failed = await outcome(client)
    assert failed.topic == "extraction.failed"
    assert code in failed.data["reason"]
    assert (await client.status()).unreadable == 1
    await say(client, "I live in Faro.", session="t")
    assert await texts(client) == ["The user lives in Faro."]
    assert (await client.retry()).read == 1
    assert (await client.status()).unreadable == 0


async def test_what_the_model_declines_is_on_record(client: Umbriel, model: ModelServer) -> None:
    """Nothing is remembered of it, and the record says that the model declined."""
    model.script(PATH, chat_reply(None, refusal="I cannot."))
    await say(client)
    read = await outcome(client)
    assert read.topic == "extraction.completed"
    assert "declined" in json.dumps(read.data["dropped"])
    assert await texts(client) == []


async def test_one_bad_item_loses_none_of_the_others(client: Umbriel, model: ModelServer) -> None:
    """Lines that were never given, empty and endless statements, numbers from nowhere: each has its reason."""
    items = [
        {"text": "The user is a spy.", "lines": [99]},
        {"text": "", "lines": [0]},
        {"text": "x" * 40_000, "lines": [0]},
        {"text": "The user lives in Lisbon.", "lines": [0, 77]},
        {"text": "The user pays 4711 euros for it.", "lines": [0]},
    ]
    model.script(PATH, chat_reply(json.dumps({"items": items})))
    await say(client)
    assert await texts(client) == ["The user lives in Lisbon."]
    assert len((await outcome(client)).data["dropped"]) >= 3


async def test_verdicts_of_nobody_change_nothing(client: Umbriel, model: ModelServer) -> None:
    """An id that was never given is passed over, and so is a kind that does not exist."""

    def odd(request: Request) -> Reply:
        answer = reading(request)
        if request.json["response_format"]["json_schema"]["name"].lower() != "statements":
            answer["items"].insert(0, {"id": 4711, "verdict": "dropped", "kind": "secret", "key": "\0"})
        return chat_reply(json.dumps(answer))

    model.always(PATH, odd)
    await say(client)
    assert await texts(client) == ["The user lives in Lisbon."]


async def test_the_model_is_not_asked_about_nothing(client: Umbriel, model: ModelServer) -> None:
    """A system prompt and long tool output never reach it, and neither does the profile's name."""
    before = model.count(PATH)
    messages = [
        Message(role="system", content="I live in Rome."),
        Message(role="tool", content="I live in Rome " * 500),
    ]
    await client.ingest(messages, session="s", wait=True, timeout=30)
    assert model.count(PATH) == before
    await say(client, session="t")
    assert model.count(PATH) > before
    asked = model.requests[before:]
    assert all(client.profile.encode() not in request.body for request in asked)
    assert all(request.headers["x-session-affinity"] != client.profile for request in asked)


async def test_what_is_too_long_is_cut_in_pieces_and_not_sent_twice(client: Umbriel, model: ModelServer) -> None:
    """A model with a small window gets pieces of the conversation until they fit; no request is repeated."""

    def small(request: Request) -> Reply:
        if len(request.json["messages"][1]["content"]) > 4_000:
            return error_reply(400, "maximum context length exceeded", code="context_length_exceeded")
        return plain(request)

    model.always(PATH, small)
    before = model.count(PATH)
    lines = [Message(role="user", content=f"{n}: " + "well, " * 150) for n in range(8)]
    lines.append(Message(role="user", content="I live in Lisbon."))
    await client.ingest(lines, session="s", wait=True, timeout=30)
    assert await texts(client) == ["The user lives in Lisbon."]
    bodies = [request.body for request in model.requests[before:]]
    assert len(bodies) == len(set(bodies))


async def test_a_wrong_file_is_an_error_at_the_start(tmp_path: Path) -> None:
    """A provider with an unknown field keeps the service from starting, and says which."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "providers.toml").write_text('[[chat]]\nkind = "openai"\nurl = "http://127.0.0.1:1"\nsmall = "m"\n')
    service = ServiceProcess(data)
    with pytest.raises(AssertionError, match=r"providers\.toml"):
        service.start()
    service.stop()
