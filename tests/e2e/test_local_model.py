"""A chat over HTTP with a real language model behind a real server: the protocol and its recovery, not wisdom."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Literal

import msgspec
import pytest

from domain.errors import DamagedError, InvalidInputError
from domain.ports import Ask
from gateways.models.http.openai_chat import OpenAIChat
from gateways.models.meter import Meter
from tests.e2e.local_model import serving, weights

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


class Mood(msgspec.Struct, frozen=True):
    """A small shape, which a server that decodes by grammar cannot miss."""

    mood: Literal["good", "bad"]
    certain: bool


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of the running model."""
    with serving(weights(tmp_path_factory.mktemp("weights"))) as started:
        yield started


@pytest.fixture
def meter() -> Meter:
    """What calls are counted on."""
    return Meter()


@pytest.fixture
async def chat(url: str, meter: Meter) -> AsyncIterator[OpenAIChat]:
    """A chat without a key."""
    chat = OpenAIChat(small="smollm2", base_url=url, meter=meter, timeout=60)
    yield chat
    await chat.close()


def question(user: str, max_tokens: int = 64) -> Ask:
    """An ask of one profile."""
    return Ask(purpose="test", system="Answer as JSON.", user=user, profile="p", max_tokens=max_tokens)


async def test_an_answer_has_the_shape_or_is_damaged(chat: OpenAIChat, meter: Meter) -> None:
    """Whatever the model says, its answer is of the shape or refused, and the server's own figures are counted."""
    calls = 0
    for user in ("I am happy today.", "Everything went wrong.", "{ ``` }"):
        try:
            answer = await chat.ask(question(user), Mood)
        except DamagedError:
            calls += 2
        else:
            calls += 2 if answer.repaired else 1
            assert answer.value.mood in {"good", "bad"}
            assert answer.tokens.output > 0
            assert not answer.tokens.estimated
    (usage,) = meter.take()["p"]
    assert (usage.calls, usage.provider, usage.model, usage.estimated) == (calls, "openai", "smollm2", False)
    assert usage.input_tokens > calls


async def test_an_answer_cut_at_its_limit_is_damaged(chat: OpenAIChat, meter: Meter) -> None:
    """Two tokens hold no answer: asked twice, then an error."""
    with pytest.raises(DamagedError):
        await chat.ask(question("I am happy.", max_tokens=2), Mood)
    assert meter.take()["p"][0].calls == 2


async def test_input_beyond_the_window_is_invalid(chat: OpenAIChat, meter: Meter) -> None:
    """The server's own words for too long an input are understood."""
    with pytest.raises(InvalidInputError):
        await chat.ask(question("one more word " * 3_000), Mood)
    assert meter.take() == {}
