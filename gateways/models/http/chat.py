"""What every chat over HTTP does: ask, read the answer as the shape, ask once more with what was wrong, count."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

import msgspec

from domain.errors import DamagedError, RefusedError, UnavailableError
from domain.ports import Answer, Ask, Tokens
from domain.tokens import estimated_tokens
from gateways.models.affinity import affinity
from gateways.models.http.failures import RETRIES, RETRY_AFTER_LIMIT, end_long_waits
from gateways.models.http.structured import NotInShapeError, Schema, parsed, schema_of, valid_text
from gateways.models.meter import Meter, Prices

__all__ = ["Call", "HTTPChat", "Said", "Turn", "not_too_long", "whole"]

T = TypeVar("T")


class Turn(msgspec.Struct, frozen=True):
    """One message of a call."""

    role: Literal["user", "assistant"]
    text: str


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model, before it takes a provider's form."""

    model: str
    system: str
    turns: tuple[Turn, ...]
    schema: Schema
    max_tokens: int
    headers: dict[str, str]
    effort: str = ""

    def text(self) -> str:
        """Return everything that is sent, to be estimated."""
        return "\n".join([self.system, *(turn.text for turn in self.turns)])


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider answered: the text, how it ended, and the tokens if it counts them."""

    text: str
    ended: Literal["whole", "cut", "refused"] = "whole"
    tokens: Tokens | None = None


def whole(value: object) -> int:
    """Return a count of tokens as a provider wrote it, 0 for anything else."""
    return value if isinstance(value, int) and value > 0 else 0


async def not_too_long(response: Any) -> None:
    """Do what `end_long_waits` does, as asynchronous clients want their hooks."""
    end_long_waits(response)


class HTTPChat(ABC):
    """A `domain.ports.Chat`; a provider gives `_send` and `close`.

    ``large`` is the model for prose, the small one where it is empty. ``timeout`` is in seconds and holds for one
    try of a call; there are up to three.
    """

    provider: str

    def __init__(
        self,
        *,
        small: str,
        large: str = "",
        timeout: float = 60.0,
        meter: Meter | None = None,
        prices: dict[str, Prices] | None = None,
    ) -> None:
        self._models = {"small": small, "large": large or small}
        self._meter = meter or Meter()
        self._prices = prices or {}
        self._deadline = (RETRIES + 1) * timeout + RETRIES * RETRY_AFTER_LIMIT

    @property
    def name(self) -> str:
        """Provider and model for structure."""
        return f"{self.provider}:{self._models['small']}"

    async def ask(self, ask: Ask, shape: type[T]) -> Answer[T]:
        """Return an answer of ``shape``; raises as `domain.ports` says, and MismatchError for a refused key or call."""
        call = Call(
            model=self._models[ask.size],
            system=valid_text(ask.system),
            turns=(Turn("user", valid_text(ask.user)),),
            schema=schema_of(shape),
            max_tokens=ask.max_tokens,
            headers=affinity(ask.profile),
            effort=ask.effort,
        )
        said, tokens = await self._ask(ask, call)
        try:
            return Answer(_read(said, shape), f"{self.provider}:{call.model}", tokens)
        except NotInShapeError as error:
            again = _with_reason(call, said, str(error))
        said, more = await self._ask(ask, again)
        try:
            return Answer(_read(said, shape), f"{self.provider}:{call.model}", _sum(tokens, more), repaired=True)
        except NotInShapeError as error:
            raise DamagedError(
                f"{self.name} answered twice in another shape", expected=call.schema.name, found=str(error)
            ) from None

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""

    @abstractmethod
    async def _send(self, call: Call) -> Said:
        """Return what the provider answers; raises the domain's errors."""

    async def _ask(self, ask: Ask, call: Call) -> tuple[Said, Tokens]:
        async with self._in_time():
            said = await self._send(call)
        tokens = said.tokens or Tokens(estimated_tokens(call.text()), estimated_tokens(said.text), estimated=True)
        self._meter.count(
            ask.profile,
            provider=self.provider,
            model=call.model,
            purpose=ask.purpose,
            tokens=tokens,
            prices=self._prices.get(call.model),
        )
        if said.ended == "refused":
            raise RefusedError(f"{self.provider}:{call.model} declined", expected="an answer", found="a refusal")
        return said, tokens

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """Bound a call as a whole: a server that sends a byte now and then never runs into a read's limit."""
        try:
            async with asyncio.timeout(self._deadline):
                yield
        except TimeoutError as error:
            raise UnavailableError(f"{self.provider} did not answer in time") from error


def _read(said: Said, shape: type[T]) -> T:
    if said.ended == "cut":
        raise NotInShapeError("the answer was cut off at the limit of tokens; a shorter one is needed")
    return parsed(said.text, shape)


def _with_reason(call: Call, said: Said, reason: str) -> Call:
    """Return a call that also says what was wrong; a cut-off answer is not sent along."""
    wanted = f"That answer cannot be used: {reason}. {call.schema.wanted()}"
    text = valid_text(said.text)
    if said.ended == "cut" or not text.strip():
        turns = (*call.turns[:-1], Turn("user", f"{call.turns[-1].text}\n\n{wanted}"))
    else:
        turns = (*call.turns, Turn("assistant", text), Turn("user", wanted))
    return msgspec.structs.replace(call, turns=turns)


def _sum(one: Tokens, other: Tokens) -> Tokens:
    return Tokens(one.input + other.input, one.output + other.output, one.estimated or other.estimated)
