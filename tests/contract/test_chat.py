"""The contract of `domain.ports.Chat` over HTTP, inherited by one class per wire, against a real scripted server."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

import msgspec
import pytest

from domain.errors import DamagedError, InvalidInputError, MismatchError, RefusedError, UmbrielError, UnavailableError
from domain.ports import Ask, Tokens
from gateways.models.affinity import affinity
from gateways.models.http.anthropic_chat import AnthropicChat
from gateways.models.http.chat import HTTPChat
from gateways.models.http.openai_chat import OpenAIChat
from gateways.models.meter import Meter, Prices
from tests.model_server import ModelServer, Reply, chat_reply, error_reply, messages_reply

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
GOOD = '{"name": "Ada", "born": 1815}'
AT_ONCE = {"retry-after-ms": "1"}


class Person(msgspec.Struct, frozen=True):
    """What is asked for."""

    name: str
    born: int


ADA = Person("Ada", 1815)


def question(**fields: Any) -> Ask:
    """An ask, with some of its fields changed."""
    given = {
        "purpose": "test",
        "system": "You name people.",
        "user": "Who wrote the first program?",
        "profile": "alice",
    }
    return Ask(**{**given, **fields})


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A scripted server."""
    with ModelServer() as started:
        yield started


@pytest.fixture
def meter() -> Meter:
    """What the chat counts on."""
    return Meter()


class ChatContract(ABC):
    """What every chat over HTTP keeps; a wire inherits it and says how its server answers."""

    path: str

    @abstractmethod
    def make(self, server: ModelServer, meter: Meter, **options: Any) -> HTTPChat:
        """Return a chat that talks to the server."""

    @abstractmethod
    def reply(
        self,
        text: str,
        *,
        usage: tuple[int, int] | None = (11, 7),
        ended: Literal["whole", "cut", "refused"] = "whole",
    ) -> Reply:
        """Return how the provider answers a text."""

    @pytest.fixture
    async def chat(self, server: ModelServer, meter: Meter) -> AsyncIterator[HTTPChat]:
        """A chat with an ordinary time limit."""
        chat = self.make(server, meter)
        yield chat
        await chat.close()

    async def fails(self, chat: HTTPChat, kind: type[UmbrielError]) -> UmbrielError:
        """Ask and return the error, which must be exactly of this kind."""
        with pytest.raises(kind) as caught:
            await chat.ask(question(), Person)
        assert type(caught.value) is kind
        return caught.value

    @pytest.mark.parametrize(
        "text",
        [
            GOOD,
            f"```json\n{GOOD}\n```",
            f"```\n{GOOD}\n```",
            f"Here is the person {{as asked}}:\n\n{GOOD}\n\nShall I name another [one]?",
            f'<think>Perhaps {{"name": "Bob", "born": 1}}?</think>{GOOD}',
            f"First: {GOOD}\nThe same once more: {GOOD}",
        ],
    )
    async def test_json_is_found_in_what_surrounds_it(self, server: ModelServer, chat: HTTPChat, text: str) -> None:
        """Fences, prose and thoughts around the JSON are passed over at the first try."""
        server.script(self.path, self.reply(text))
        answer = await chat.ask(question(), Person)
        assert (answer.value, answer.repaired, server.count(self.path)) == (ADA, False, 1)
        assert answer.model == chat.name

    @pytest.mark.parametrize("value", ["```json\n{}\n```", "a } and a {", '"quoted" [', "back\\slash"])
    async def test_values_may_hold_fences_and_brackets(self, server: ModelServer, chat: HTTPChat, value: str) -> None:
        """What looks like the end of the JSON inside a value is part of the value."""
        server.script(self.path, self.reply("```json\n" + json.dumps({"name": value, "born": 1}) + "\n```"))
        assert (await chat.ask(question(), Person)).value == Person(value, 1)

    async def test_lone_surrogates_are_replaced(self, server: ModelServer, chat: HTTPChat) -> None:
        """Broken halves of characters, asked or answered, never crash; whole pairs stay."""
        server.script(self.path, self.reply('{"name": "A\\ud800da \\ud83d\\ude42", "born": 1815}'))
        answer = await chat.ask(question(user="Who is \ud800?"), Person)
        assert answer.value.name == "A\ufffdda 🙂"

    async def test_a_refusal_is_refused(self, server: ModelServer, chat: HTTPChat) -> None:
        """A model that declines is not asked again."""
        server.script(self.path, self.reply("I cannot help with that.", ended="refused"))
        assert not (await self.fails(chat, RefusedError)).retryable
        assert server.count(self.path) == 1

    async def test_an_empty_answer_is_asked_for_again(self, server: ModelServer, chat: HTTPChat) -> None:
        """Nothing at all is repaired once, then damaged."""
        server.script(self.path, self.reply(""), self.reply(GOOD))
        assert (await chat.ask(question(), Person)).repaired
        server.script(self.path, self.reply(""), self.reply("  "))
        await self.fails(chat, DamagedError)
        assert server.count(self.path) == 4

    async def test_a_rate_limit_is_waited_out(self, server: ModelServer, chat: HTTPChat) -> None:
        """A short Retry-After is honoured by the client itself."""
        server.script(self.path, error_reply(429, headers={"retry-after": "0.05"}), self.reply(GOOD))
        assert (await chat.ask(question(), Person)).value == ADA
        assert server.count(self.path) == 2

    async def test_a_long_wait_is_left_to_the_worker(self, server: ModelServer, chat: HTTPChat) -> None:
        """A Retry-After beyond the limit is not slept through."""
        server.script(self.path, error_reply(429, headers={"retry-after": "3600"}))
        assert (await self.fails(chat, UnavailableError)).retryable
        assert server.count(self.path) == 1

    async def test_passing_errors_of_the_server_pass(self, server: ModelServer, chat: HTTPChat) -> None:
        """Two failures and then an answer are an answer."""
        server.script(self.path, error_reply(500, headers=AT_ONCE), error_reply(503, headers=AT_ONCE), self.reply(GOOD))
        assert (await chat.ask(question(), Person)).value == ADA

    async def test_lasting_errors_of_the_server_are_unavailable(self, server: ModelServer, chat: HTTPChat) -> None:
        """Three tries, then the worker's turn."""
        server.always(self.path, error_reply(500, headers=AT_ONCE))
        assert (await self.fails(chat, UnavailableError)).retryable
        assert server.count(self.path) == 3

    async def test_silence_is_unavailable(self, server: ModelServer, meter: Meter) -> None:
        """A server that does not answer runs into the time limit."""
        server.always(self.path, Reply(delay=600))
        chat = self.make(server, meter, timeout=0.1)
        try:
            await self.fails(chat, UnavailableError)
        finally:
            await chat.close()

    @pytest.mark.parametrize("broken", ["dropped", "short", "chunked"])
    async def test_a_cut_off_body_is_unavailable(self, server: ModelServer, chat: HTTPChat, broken: Any) -> None:
        """A connection that dies on the way is tried again, and then unavailable."""
        server.always(self.path, Reply(body=self.reply(GOOD).body, broken=broken))
        assert (await self.fails(chat, UnavailableError)).retryable

    @pytest.mark.parametrize("body", ["<html>gateway</html>", "{", "[]", "{}", {"error": {"code": 502}}])
    async def test_a_body_that_is_no_answer_is_unavailable(
        self, server: ModelServer, chat: HTTPChat, body: Any
    ) -> None:
        """What a proxy says in a provider's place is no answer of the model."""
        server.always(self.path, Reply(body=body))
        await self.fails(chat, UnavailableError)

    @pytest.mark.parametrize(
        "text",
        [
            '{"name": "Ada", "born": "1815"}',
            '{"name": "Ada"}',
            '{"people": [{"name": "Ada", "born": 1815}], "mo',
            '{"name": "Ada", "born": 1815},\n{"name": "Bob", "born": 2}',
            f"[{GOOD}",
            '{"name": "Ada", "born": NaN}',
            "[" * 100_000,
            "I do not know.",
        ],
    )
    async def test_a_wrong_shape_is_repaired(self, server: ModelServer, chat: HTTPChat, text: str) -> None:
        """Other types, missing fields, cut-off JSON, several answers: the model is told, once, and heard."""
        server.script(self.path, self.reply(text), self.reply(GOOD))
        answer = await chat.ask(question(), Person)
        assert (answer.value, answer.repaired, answer.tokens) == (ADA, True, Tokens(22, 14))
        first, second = server.requests
        assert len(second.json["messages"]) > len(first.json["messages"])
        assert "cannot be used" in second.json["messages"][-1]["content"]

    async def test_a_wrong_shape_twice_is_damaged(self, server: ModelServer, chat: HTTPChat) -> None:
        """There is one repair, and the error holds none of the model's words."""
        server.always(self.path, self.reply('{"name": "secret words"}'))
        error = await self.fails(chat, DamagedError)
        assert server.count(self.path) == 2
        assert "secret words" not in str(error)
        assert error.expected == "Person"

    async def test_an_answer_cut_at_its_limit_is_not_asked_for_unchanged(
        self, server: ModelServer, chat: HTTPChat
    ) -> None:
        """The second call says that a shorter answer is needed; then it is damaged."""
        server.always(self.path, self.reply('{"name": "Ad', ended="cut"))
        await self.fails(chat, DamagedError)
        first, second = (request.json["messages"][-1]["content"] for request in server.requests)
        assert first != second
        assert "shorter" in second

    @pytest.mark.parametrize(
        "reply",
        [
            error_reply(400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded"),
            error_reply(400, "prompt is too long: 210000 tokens > 200000 maximum", code="invalid_request_error"),
            error_reply(
                400, "input is too long: the schema of response_format and tools does not fit the context window"
            ),
            error_reply(413, "Request exceeds the maximum size", code="request_too_large"),
        ],
    )
    async def test_too_much_input_is_not_sent_again(self, server: ModelServer, chat: HTTPChat, reply: Reply) -> None:
        """Input beyond the window is the caller's to cut: one request, no repeat."""
        server.always(self.path, reply)
        assert not (await self.fails(chat, InvalidInputError)).retryable
        assert server.count(self.path) == 1

    @pytest.mark.parametrize("status", [401, 403, 404])
    async def test_a_refused_key_is_a_mismatch(self, server: ModelServer, chat: HTTPChat, status: int) -> None:
        """A wrong key or model is said once; the provider's words are kept out of it."""
        server.always(self.path, error_reply(status, "words about alice", code="invalid_api_key"))
        error = await self.fails(chat, MismatchError)
        assert f"{status}, invalid_api_key" in error.found
        assert "alice" not in str(error)
        assert server.count(self.path) == 1

    async def test_a_redirect_is_not_followed(self, server: ModelServer, chat: HTTPChat) -> None:
        """Content goes where it was configured to go, wherever the server points."""
        server.always(self.path, Reply(status=307, headers={"location": f"{server.url}/elsewhere"}))
        await self.fails(chat, MismatchError)
        assert server.count("/elsewhere") == 0

    async def test_calls_of_a_profile_are_kept_together(self, server: ModelServer, chat: HTTPChat) -> None:
        """Every call, the repair too, has the header; it is a hash, and the profile's name is nowhere."""
        server.script(self.path, self.reply("no"), self.reply(GOOD))
        await chat.ask(question(), Person)
        for request in server.requests:
            assert request.headers["x-session-affinity"] == affinity("alice")["x-session-affinity"]
            assert "alice" not in json.dumps([request.headers, request.json])

    async def test_the_key_is_sent(self, server: ModelServer, chat: HTTPChat) -> None:
        """The configured key is used, whatever the environment holds."""
        server.script(self.path, self.reply(GOOD))
        await chat.ask(question(), Person)
        assert "the-key" in json.dumps(server.requests[0].headers)

    async def test_size_chooses_the_model(self, server: ModelServer, chat: HTTPChat, meter: Meter) -> None:
        """Large asks go to the large model and are counted under its name and price."""
        server.always(self.path, self.reply(GOOD))
        await chat.ask(question(), Person)
        answer = await chat.ask(question(size="large"), Person)
        assert [request.json["model"] for request in server.requests] == ["small-model", "large-model"]
        assert answer.model.endswith(":large-model")
        costs = {entry.model: entry.cost for entry in meter.take()["alice"]}
        assert costs == {"small-model": None, "large-model": pytest.approx(11e-6 + 14e-6)}

    async def test_usage_is_the_providers(self, server: ModelServer, chat: HTTPChat, meter: Meter) -> None:
        """Calls that were answered count, a useless answer too, with the provider's figures."""
        server.script(self.path, self.reply("no"), error_reply(500, headers=AT_ONCE), self.reply(GOOD))
        assert (await chat.ask(question(), Person)).tokens == Tokens(22, 14)
        (entry,) = meter.take()["alice"]
        assert (entry.calls, entry.input_tokens, entry.output_tokens, entry.estimated) == (2, 22, 14, False)
        assert (entry.purpose, f"{entry.provider}:{entry.model}") == ("test", chat.name)

    async def test_usage_is_estimated_where_it_is_not_said(self, server: ModelServer, chat: HTTPChat) -> None:
        """Without figures from the provider there are ours, marked as such."""
        server.script(self.path, self.reply(GOOD, usage=None))
        tokens = (await chat.ask(question(), Person)).tokens
        assert tokens.estimated
        assert tokens.input > 5
        assert tokens.output == 10


class TestOpenAI(ChatContract):
    path = CHAT

    def make(self, server: ModelServer, meter: Meter, **options: Any) -> HTTPChat:
        """An OpenAI chat."""
        given = {
            "api_key": "the-key",
            "base_url": f"{server.url}/v1",
            "prices": {"large-model": Prices(input=1, output=2)},
        }
        return OpenAIChat(small="small-model", large="large-model", meter=meter, **{**given, **options})

    def reply(
        self, text: str, *, usage: tuple[int, int] | None = (11, 7), ended: Literal["whole", "cut", "refused"] = "whole"
    ) -> Reply:
        """A completion."""
        if ended == "refused":
            return chat_reply(None, refusal=text, usage=usage)
        return chat_reply(text, usage=usage, finish_reason="length" if ended == "cut" else "stop")

    async def test_the_schema_is_asked_for(self, server: ModelServer, chat: HTTPChat) -> None:
        """The reply's format is the Struct's schema, strictly."""
        server.script(CHAT, self.reply(GOOD))
        await chat.ask(question(), Person)
        asked = server.requests[0].json["response_format"]["json_schema"]
        assert (asked["name"], asked["strict"]) == ("Person", True)
        assert asked["schema"]["required"] == ["name", "born"]

    async def test_a_server_without_schemas_is_remembered(self, server: ModelServer, chat: HTTPChat) -> None:
        """A schema, an object, plain text: what was refused once is not tried again."""
        server.script(
            CHAT,
            error_reply(400, "response_format json_schema is not supported"),
            error_reply(400, "unknown field response_format"),
            self.reply(GOOD),
            self.reply(GOOD),
        )
        assert not (await chat.ask(question(), Person)).repaired
        await chat.ask(question(), Person)
        asked = [request.json.get("response_format", {}).get("type") for request in server.requests]
        assert asked == ["json_schema", "json_object", None, None]
        assert '"born"' in server.requests[-1].json["messages"][0]["content"]

    async def test_the_newer_name_of_the_limit_is_learnt(self, server: ModelServer, chat: HTTPChat) -> None:
        """Servers that want max_completion_tokens get it from then on."""
        server.script(
            CHAT, error_reply(400, "max_tokens is unsupported, use 'max_completion_tokens'"), self.reply(GOOD)
        )
        await chat.ask(question(max_tokens=99), Person)
        assert server.requests[0].json["max_tokens"] == 99
        assert server.requests[1].json["max_completion_tokens"] == 99

    async def test_a_content_filter_is_a_refusal(self, server: ModelServer, chat: HTTPChat) -> None:
        """A filter that stops the answer, or does not let the question through, is a refusal."""
        server.script(CHAT, chat_reply("half", finish_reason="content_filter"), error_reply(400, code="content_filter"))
        await self.fails(chat, RefusedError)
        await self.fails(chat, RefusedError)

    async def test_without_a_key_none_is_sent(
        self, server: ModelServer, meter: Meter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A key in the environment that nobody named goes nowhere."""
        for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
            monkeypatch.setenv(name, "leaked")
        server.script(CHAT, self.reply(GOOD))
        chat = self.make(server, meter, api_key="")
        await chat.ask(question(), Person)
        await chat.close()
        assert "authorization" not in server.requests[0].headers
        assert "leaked" not in str(server.requests[0].headers)


class TestAnthropic(ChatContract):
    path = MESSAGES

    def make(self, server: ModelServer, meter: Meter, **options: Any) -> HTTPChat:
        """An Anthropic chat."""
        given = {"api_key": "the-key", "base_url": server.url, "prices": {"large-model": Prices(input=1, output=2)}}
        return AnthropicChat(small="small-model", large="large-model", meter=meter, **{**given, **options})

    def reply(
        self, text: str, *, usage: tuple[int, int] | None = (11, 7), ended: Literal["whole", "cut", "refused"] = "whole"
    ) -> Reply:
        """A message in words."""
        reasons = {"whole": "end_turn", "cut": "max_tokens", "refused": "refusal"}
        return messages_reply(text, usage=usage, stop_reason=reasons[ended])

    async def test_the_answer_is_the_tools_input(self, server: ModelServer, chat: HTTPChat) -> None:
        """The model has to use the tool whose input has the Struct's schema."""
        server.script(MESSAGES, messages_reply("Let me see.", tool=msgspec.to_builtins(ADA), stop_reason="tool_use"))
        assert (await chat.ask(question(), Person)).value == ADA
        asked = server.requests[0].json
        assert asked["tools"][0]["input_schema"]["required"] == ["name", "born"]
        assert asked["tool_choice"] == {"type": "tool", "name": asked["tools"][0]["name"]}

    async def test_a_model_that_cannot_be_made_to_use_a_tool_is_remembered(
        self, server: ModelServer, chat: HTTPChat
    ) -> None:
        """A tool, output of the schema, words: what was refused once is not tried again."""
        server.script(
            MESSAGES,
            error_reply(400, "thinking may not be enabled when tool_choice forces tool use"),
            error_reply(400, "output_config: extra inputs are not permitted"),
            self.reply(GOOD),
            self.reply(GOOD),
        )
        assert not (await chat.ask(question(), Person)).repaired
        await chat.ask(question(), Person)
        asked = [sorted(request.json.keys() & {"tools", "output_config"}) for request in server.requests]
        assert asked == [["tools"], ["output_config"], [], []]
        assert '"born"' in server.requests[-1].json["system"]

    async def test_overload_is_unavailable(self, server: ModelServer, chat: HTTPChat) -> None:
        """Status 529 is a passing state."""
        server.always(MESSAGES, error_reply(529, code="overloaded_error", headers=AT_ONCE))
        await self.fails(chat, UnavailableError)
