"""A chat over the API of OpenAI, which many servers speak: hosted ones, vLLM, Ollama, llama.cpp, routers."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
import openai

from domain.errors import MismatchError, UnavailableError
from domain.ports import Tokens
from gateways.models.http.chat import Call, HTTPChat, Said, not_too_long, whole
from gateways.models.http.failures import RETRIES, of_status, read_body, says
from gateways.models.meter import Meter, Prices

__all__ = ["OPENAI_URL", "OpenAIChat"]

OPENAI_URL = "https://api.openai.com/v1"
_FORMATS = ("json_schema", "json_object", "none")
_NO_FORMAT = re.compile(r"response_format|json_schema|json_object|structured output|grammar|schema", re.IGNORECASE)
_NO_EFFORT = re.compile(r"reasoning_effort|reasoning\.effort", re.IGNORECASE)
_OTHER_LIMIT = re.compile(r"max_completion_tokens", re.IGNORECASE)


class _Dialect(msgspec.Struct, frozen=True):
    """What a server was found to understand."""

    format: Literal["json_schema", "json_object", "none"] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    effort: bool = True


class OpenAIChat(HTTPChat):
    """Talks to ``base_url``. Without a key no Authorization header is sent.

    A server that does not take a JSON Schema is asked for a JSON object, then for text, one that does not know of
    effort without it, and the instance remembers.
    """

    provider = "openai"

    def __init__(
        self,
        *,
        small: str,
        large: str = "",
        base_url: str = OPENAI_URL,
        api_key: str = "",
        timeout: float = 60.0,
        meter: Meter | None = None,
        prices: dict[str, Prices] | None = None,
    ) -> None:
        super().__init__(small=small, large=large, timeout=timeout, meter=meter, prices=prices)
        self._client = openai.AsyncOpenAI(
            api_key=api_key or "none",
            admin_api_key="",
            base_url=base_url,
            timeout=timeout,
            max_retries=RETRIES,
            http_client=openai.DefaultAsyncHttpxClient(
                timeout=timeout, follow_redirects=False, event_hooks={"response": [not_too_long]}
            ),
        )
        # Else the client takes them from the environment and tells them to whatever server is configured.
        self._client.organization = self._client.project = None
        self._headers: dict[str, Any] = {} if api_key else {"Authorization": openai.Omit()}
        self._dialect = _Dialect()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _send(self, call: Call) -> Said:
        while True:
            dialect = self._dialect
            try:
                return _said(await self._post(call, dialect))
            except openai.APIStatusError as error:
                failure = of_status(self.provider, error.status_code, error.body)
                other = _other(dialect, error) if isinstance(failure, MismatchError) else None
                if other is None:
                    raise failure from error
                self._dialect = other
            except openai.APIConnectionError as error:
                raise UnavailableError(f"{self.provider} cannot be reached", found=type(error).__name__) from error

    async def _post(self, call: Call, dialect: _Dialect) -> dict[str, Any]:
        answer = await self._client.chat.completions.with_raw_response.create(
            model=call.model,
            messages=[
                {"role": "system", "content": _system(call, dialect)},
                *({"role": turn.role, "content": turn.text} for turn in call.turns),  # type: ignore[list-item]
            ],
            extra_headers={**self._headers, **call.headers},
            extra_body={dialect.limit: call.max_tokens, **_format(call, dialect), **_effort(call, dialect)},
        )
        return read_body(self.provider, answer.http_response.content)


def _system(call: Call, dialect: _Dialect) -> str:
    if dialect.format == "json_schema":
        return call.system
    return f"{call.system}\n\n{call.schema.wanted()}"


def _format(call: Call, dialect: _Dialect) -> dict[str, Any]:
    if dialect.format == "none":
        return {}
    if dialect.format == "json_object":
        return {"response_format": {"type": "json_object"}}
    schema = {"name": call.schema.name, "schema": call.schema.schema, "strict": call.schema.strict}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _effort(call: Call, dialect: _Dialect) -> dict[str, Any]:
    return {"reasoning_effort": call.effort} if call.effort and dialect.effort else {}


def _other(dialect: _Dialect, error: openai.APIStatusError) -> _Dialect | None:
    """Return what to try where a server does not understand the call, None where that is not the trouble."""
    if error.status_code not in {400, 422}:
        return None
    words = says(error.body)
    if dialect.effort and _NO_EFFORT.search(words):
        return msgspec.structs.replace(dialect, effort=False)
    if dialect.limit == "max_tokens" and _OTHER_LIMIT.search(words):
        return msgspec.structs.replace(dialect, limit="max_completion_tokens")
    if dialect.format != "none" and _NO_FORMAT.search(words):
        return msgspec.structs.replace(dialect, format=_FORMATS[_FORMATS.index(dialect.format) + 1])
    return None


def _said(body: dict[str, Any]) -> Said:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise UnavailableError("openai answered without a message", expected="choices", found="another body")
    ended, text = choice.get("finish_reason"), message.get("content")
    refused = ended == "content_filter" or bool(message.get("refusal"))
    return Said(
        text=text if isinstance(text, str) else "",
        ended="refused" if refused else "cut" if ended == "length" else "whole",
        tokens=_tokens(body.get("usage")),
    )


def _tokens(usage: object) -> Tokens | None:
    if not isinstance(usage, dict) or not whole(usage.get("prompt_tokens")):
        return None
    return Tokens(whole(usage["prompt_tokens"]), whole(usage.get("completion_tokens")))
