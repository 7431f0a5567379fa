"""How hard a model is to think: asked for in each provider's own words, and not again where they are not known."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from domain.ports import Ask
from gateways.models.http.anthropic_chat import AnthropicChat
from gateways.models.http.openai_chat import OpenAIChat
from tests.model_server import ModelServer, chat_reply, error_reply, messages_reply

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"


class Said(msgspec.Struct, frozen=True):
    """What is asked for."""

    text: str


def question(effort: Any = "high") -> Ask:
    """A question to be thought about."""
    return Ask(purpose="test", system="Answer.", user="Why?", profile="p", size="large", effort=effort)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that answers whatever it is asked."""
    with ModelServer() as running:
        running.always(CHAT, chat_reply('{"text": "so"}'))
        running.always(MESSAGES, messages_reply(tool={"text": "so"}))
        yield running


@pytest.fixture
async def openai(server: ModelServer) -> AsyncIterator[OpenAIChat]:
    """A chat over OpenAI's API."""
    chat = OpenAIChat(small="m", base_url=f"{server.url}/v1")
    yield chat
    await chat.close()


@pytest.fixture
async def anthropic(server: ModelServer) -> AsyncIterator[AnthropicChat]:
    """A chat over Anthropic's API."""
    chat = AnthropicChat(small="m", base_url=server.url)
    yield chat
    await chat.close()


async def test_openai_is_told(server: ModelServer, openai: OpenAIChat) -> None:
    """By its own parameter, and not at all where nothing is asked for."""
    await openai.ask(question(), Said)
    await openai.ask(question(""), Said)
    assert [request.json.get("reasoning_effort") for request in server.requests] == ["high", None]


async def test_a_model_of_openai_that_does_not_reason(server: ModelServer, openai: OpenAIChat) -> None:
    """It is asked without, at once and from then on, and in the same format."""
    server.script(CHAT, error_reply(400, "Unrecognized request argument supplied: reasoning_effort"))
    assert (await openai.ask(question(), Said)).value == Said("so")
    await openai.ask(question(), Said)
    assert [request.json.get("reasoning_effort") for request in server.requests] == ["high", None, None]
    assert {request.json["response_format"]["type"] for request in server.requests} == {"json_schema"}


async def test_anthropic_is_told(server: ModelServer, anthropic: AnthropicChat) -> None:
    """Beside the tool that the model has to use."""
    await anthropic.ask(question("low"), Said)
    await anthropic.ask(question(""), Said)
    assert [request.json.get("output_config") for request in server.requests] == [{"effort": "low"}, None]
    assert all(request.json["tools"] for request in server.requests)


@pytest.mark.parametrize("words", ["This model does not support effort", "output_config: extra inputs not permitted"])
async def test_a_model_of_anthropic_without_it(server: ModelServer, anthropic: AnthropicChat, words: str) -> None:
    """It is asked without from then on, and still has to use the tool."""
    server.script(MESSAGES, error_reply(400, words))
    assert (await anthropic.ask(question(), Said)).value == Said("so")
    await anthropic.ask(question(), Said)
    assert [request.json.get("output_config") for request in server.requests] == [{"effort": "high"}, None, None]
    assert all(request.json["tools"] for request in server.requests)


async def test_effort_and_the_form_are_told_apart(server: ModelServer, anthropic: AnthropicChat) -> None:
    """A model that may not be made to use a tool keeps its effort; the schema then stands beside it."""
    server.script(MESSAGES, error_reply(400, "thinking may not be enabled when tool_choice forces tool use"))
    server.always(MESSAGES, messages_reply('{"text": "so"}'))
    assert (await anthropic.ask(question(), Said)).value == Said("so")
    asked = server.requests[-1].json
    assert (asked["output_config"]["effort"], "tools" in asked) == ("high", False)
    assert asked["output_config"]["format"]["type"] == "json_schema"
