"""A chat over Anthropic's own API: the shape is the input of a tool that the model has to use."""

from __future__ import annotations

import json
from typing import Any

import anthropic

from domain.errors import UnavailableError
from domain.ports import Tokens
from gateways.models.http.chat import Call, HTTPChat, Said, not_too_long, whole
from gateways.models.http.failures import RETRIES, of_status, read_body
from gateways.models.meter import Meter, Prices

__all__ = ["ANTHROPIC_URL", "AnthropicChat"]

ANTHROPIC_URL = "https://api.anthropic.com"
_TOOL = "answer"
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicChat(HTTPChat):
    """Talks to ``base_url`` with a key."""

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
            http_client=anthropic.DefaultAsyncHttpxClient(timeout=timeout, event_hooks={"response": [not_too_long]}),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _send(self, call: Call) -> Said:
        try:
            answer = await self._client.messages.with_raw_response.create(
                model=call.model,
                system=call.system or "Answer.",
                messages=[{"role": turn.role, "content": turn.text} for turn in call.turns],
                max_tokens=call.max_tokens,
                tools=[{"name": _TOOL, "description": "Give the answer.", "input_schema": call.schema.schema}],
                tool_choice={"type": "tool", "name": _TOOL},
                extra_headers=call.headers,
            )
        except anthropic.APIStatusError as error:
            raise of_status(self.provider, error.status_code, error.body) from error
        except anthropic.APIConnectionError as error:
            raise UnavailableError(f"{self.provider} cannot be reached", found=type(error).__name__) from error
        return _said(read_body(self.provider, answer.http_response.content))


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
