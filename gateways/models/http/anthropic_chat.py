"""A chat over Anthropic's own API: the shape is the input of a tool that the model has to use.

A model that cannot be made to use a tool is asked for output of the schema, then told the schema in words.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import anthropic
from anthropic.types import MessageParam

from domain.errors import MismatchError, UnavailableError
from domain.ports import Tokens
from gateways.models.http.chat import Call, HTTPChat, Said, Turn, not_too_long, whole
from gateways.models.http.failures import RETRIES, of_status, read_body, says
from gateways.models.meter import Meter, Prices

__all__ = ["ANTHROPIC_URL", "AnthropicChat"]

_Form = Literal["tool", "output", "words"]

ANTHROPIC_URL = "https://api.anthropic.com"
_TOOL = "answer"
_FORMS: tuple[_Form, ...] = ("tool", "output", "words")
_NO_FORM = re.compile(r"tool_choice|thinking|tools|input_schema|output_config|output_format|schema", re.IGNORECASE)
#: how a server says that it knows nothing of effort: in one form only, ``output_config`` holds something else as well
_NO_EFFORT: dict[_Form, re.Pattern[str]] = {
    "tool": re.compile(r"effort|output_config", re.IGNORECASE),
    "output": re.compile(r"effort", re.IGNORECASE),
    "words": re.compile(r"effort|output_config", re.IGNORECASE),
}
_MISUNDERSTOOD = 400
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicChat(HTTPChat):
    """Talks to ``base_url`` with a key; remembers in which form a shape can be asked for, and whether effort can."""

    provider = "anthropic"

    def __init__(
        self,
        *,
        small: str,
        large: str = "",
        base_url: str = ANTHROPIC_URL,
        api_key: str = "",
        timeout: float = 60.0,
        meter: Meter | None = None,
        prices: dict[str, Prices] | None = None,
    ) -> None:
        super().__init__(small=small, large=large, timeout=timeout, meter=meter, prices=prices)
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key or "none",  # without one the client would take what the environment holds
            base_url=base_url,
            timeout=timeout,
            max_retries=RETRIES,
            http_client=anthropic.DefaultAsyncHttpxClient(
                timeout=timeout, follow_redirects=False, event_hooks={"response": [not_too_long]}
            ),
        )
        self._form: _Form = _FORMS[0]
        self._effort = True

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _send(self, call: Call) -> Said:
        while True:
            form, effort = self._form, call.effort if self._effort else ""
            try:
                return _said(await self._post(call, form, effort))
            except anthropic.APIStatusError as error:
                failure = of_status(self.provider, error.status_code, error.body)
                if effort and isinstance(failure, MismatchError) and _unfit(error, _NO_EFFORT[form]):
                    self._effort = False
                elif form != _FORMS[-1] and isinstance(failure, MismatchError) and _unfit(error, _NO_FORM):
                    self._form = _FORMS[_FORMS.index(form) + 1]
                else:
                    raise failure from error
            except anthropic.APIConnectionError as error:
                raise UnavailableError(f"{self.provider} cannot be reached", found=type(error).__name__) from error

    async def _post(self, call: Call, form: _Form, effort: str) -> dict[str, Any]:
        system = call.system or "Answer."
        answer = await self._client.messages.with_raw_response.create(
            model=call.model,
            system=system if form != "words" else f"{system}\n\n{call.schema.wanted()}",
            messages=[_message(turn) for turn in call.turns],
            max_tokens=call.max_tokens,
            extra_headers=call.headers,
            extra_body=_asked(call, form, effort),
        )
        return read_body(self.provider, answer.http_response.content)


def _message(turn: Turn) -> MessageParam:
    if turn.role == "user":
        return {"role": "user", "content": turn.text}
    return {"role": "assistant", "content": turn.text}


def _unfit(error: anthropic.APIStatusError, what: re.Pattern[str]) -> bool:
    """Whether it is this of the call that was refused."""
    return error.status_code == _MISUNDERSTOOD and what.search(says(error.body)) is not None


def _asked(call: Call, form: _Form, effort: str) -> dict[str, Any]:
    output: dict[str, Any] = {"effort": effort} if effort else {}
    asked: dict[str, Any] = {}
    if form == "tool":
        tool = {"name": _TOOL, "description": "Give the answer.", "input_schema": call.schema.schema}
        asked = {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}
    elif form == "output":
        output["format"] = {"type": "json_schema", "schema": call.schema.schema}
    return asked | ({"output_config": output} if output else {})


def _said(body: dict[str, Any]) -> Said:
    blocks = body.get("content")
    if not isinstance(blocks, list):
        raise UnavailableError("anthropic answered without a message", expected="content", found="another body")
    ended = body.get("stop_reason")
    return Said(
        text=_text([block for block in blocks if isinstance(block, dict)]),
        ended="refused" if ended == "refusal" else "cut" if ended in _CUT else "whole",
        tokens=_tokens(body.get("usage")),
    )


def _text(blocks: list[dict[str, Any]]) -> str:
    """Return what the tool was given, as JSON, else what was said in words."""
    for block in blocks:
        if block.get("type") == "tool_use" and "input" in block:
            return json.dumps(block["input"])
    return "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")


def _tokens(usage: object) -> Tokens | None:
    if not isinstance(usage, dict) or not whole(usage.get("input_tokens")):
        return None
    cached = sum(whole(usage.get(name)) for name in _CACHED)
    return Tokens(whole(usage["input_tokens"]) + cached, whole(usage.get("output_tokens")))
