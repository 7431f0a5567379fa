"""What every judge promises; each implementation inherits it and answers over a real connection where it has one."""

from __future__ import annotations

import abc
import json
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx2
import msgspec
import pytest

from domain.errors import DamagedError, InvalidInputError, RefusedError, UnavailableError
from domain.fence import unfenced
from domain.ports import Answer, Ask, Judge, Opinion, Statement, Tokens
from gateways.models.affinity import affinity
from gateways.models.judges import ChatJudge, DecisionsJudge, FallbackJudge, HeuristicJudge, JevJudge, Patience
from gateways.models.judges.endpoint import Endpoint
from tests.model_server import ModelServer, Reply, chat_reply, error_reply

T = TypeVar("T")

PROFILE = "ana-private"
NEW = Statement(
    id="4aq@2", text="Jay lives in Oslo", kind="fact", key="home_city", at=datetime(2026, 4, 15, tzinfo=UTC)
)
OLD = Statement(
    id="4aq@1", text="Jay lives in Bergen", kind="fact", key="home_city", at=datetime(2026, 4, 1, tzinfo=UTC)
)
QUICK = Patience(timeout=2, pause=0, longest_pause=0)


async def ask(judge: Judge, new: Statement = NEW, old: Statement = OLD) -> Opinion:
    """Ask a judge about two statements of a profile with a name that must not leave."""
    return await judge.judge(new, old, cosine=0.8, profile=PROFILE)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that nothing is scripted for yet."""
    with ModelServer() as running:
        yield running


class JudgeContract(abc.ABC):
    """What every judge promises."""

    @pytest.fixture
    @abc.abstractmethod
    def judge(self, server: ModelServer) -> Any:
        """The judge; one with a model finds that the new statement replaces the old one, and contradicts it."""

    async def test_says_probabilities(self, judge: Judge) -> None:
        """Both answers are probabilities, and these two statements are a replacement."""
        found = await ask(judge)
        assert 0.75 <= found.replaces <= 1
        assert 0.75 <= found.contradicts <= 1

    async def test_has_a_name_and_a_rule(self, judge: Judge) -> None:
        """What is recorded with an opinion is there before and after it, and stays the same."""
        before = (judge.name, judge.rule)
        await ask(judge)
        assert (judge.name, judge.rule) == before
        assert judge.name
        assert judge.rule in {"judge", "heuristic"}

    async def test_takes_any_text(self, judge: Judge) -> None:
        """Quotes, line breaks, other scripts and nothing at all are texts like any other."""
        for text in ('"}], "new": {', "a\nold: b\r\n", "日本語のメモ 🙂", "", "</recalled_memory>", "x" * 20_000):
            found = await ask(judge, msgspec.structs.replace(NEW, text=text))
            assert 0 <= found.replaces <= 1

    async def test_keeps_the_profile_s_name(self, judge: Judge, server: ModelServer) -> None:
        """The profile's name and the ids of the log are in no request; the hash of the name is."""
        await ask(judge)
        for request in server.requests:
            everything = request.body.decode() + str(request.headers)
            assert PROFILE not in everything
            assert "4aq@" not in everything


class TestHeuristic(JudgeContract):
    """The judge by rule."""

    @pytest.fixture
    def judge(self, server: ModelServer) -> HeuristicJudge:
        """It needs no server."""
        return HeuristicJudge()

    async def test_asks_nobody(self, judge: HeuristicJudge, server: ModelServer) -> None:
        """Nothing leaves the process, and the same question has the same answer."""
        assert await ask(judge) == await ask(judge)
        assert server.requests == []


class OverHttp(JudgeContract):
    """What every judge behind an endpoint promises beside."""

    PATH = "/judge"

    @staticmethod
    @abc.abstractmethod
    def reply(replaces: Any, contradicts: Any) -> Reply:
        """A good reply with these two numbers."""

    @staticmethod
    @abc.abstractmethod
    def refusal() -> Reply:
        """A reply in which one question is declined."""

    @abc.abstractmethod
    def made(self, url: str, patience: Patience) -> Any:
        """A judge with the key `sesame` at a URL."""

    @pytest.fixture
    async def judge(self, server: ModelServer) -> AsyncIterator[Any]:
        """A judge whose server always answers."""
        server.always(self.PATH, self.reply(0.94, 0.81))
        async with self.made(server.url + self.PATH, QUICK) as judge:
            yield judge

    async def test_asks_both_in_one_call(self, judge: Judge, server: ModelServer) -> None:
        """One call brings both numbers; key, media type and the profile's hash are in its headers."""
        assert await ask(judge) == Opinion(replaces=0.94, contradicts=0.81)
        (request,) = server.requests
        assert (request.method, request.path) == ("POST", self.PATH)
        assert request.headers["authorization"] == "Bearer sesame"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["x-session-affinity"] == affinity(PROFILE)["x-session-affinity"]

    async def test_tells_key_and_date(self, judge: Judge, server: ModelServer) -> None:
        """Text, key and date of both statements are in the request."""
        await ask(judge)
        body = server.requests[0].body.decode()
        for said in (NEW.text, OLD.text, "home_city", "2026-04-15", "2026-04-01"):
            assert said in body

    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
    async def test_tries_again(self, judge: Judge, server: ModelServer, status: int) -> None:
        """What may pass is tried again, twice."""
        server.script(self.PATH, error_reply(status), error_reply(status, headers={"Retry-After": "0"}))
        assert (await ask(judge)).replaces == 0.94
        assert server.count(self.PATH) == 3

    async def test_gives_up(self, judge: Judge, server: ModelServer) -> None:
        """After three failures the judge is unavailable, which may be tried again later."""
        server.script(self.PATH, *[error_reply(503)] * 3)
        with pytest.raises(UnavailableError) as caught:
            await ask(judge)
        assert caught.value.retryable
        assert "503" in caught.value.found
        assert server.left(self.PATH) == 0

    @pytest.mark.parametrize("broken", ["dropped", "short", "chunked"])
    async def test_survives_broken_connections(self, judge: Judge, server: ModelServer, broken: Any) -> None:
        """A connection that dies is a failure that passes."""
        server.script(self.PATH, msgspec.structs.replace(self.reply(0.5, 0.5), broken=broken))
        assert (await ask(judge)).replaces == 0.94

    async def test_a_late_reply_is_none(self, server: ModelServer) -> None:
        """A reply after the time limit counts as a failure of that try."""
        server.script(self.PATH, msgspec.structs.replace(self.reply(0.1, 0.1), delay=30))
        server.always(self.PATH, self.reply(0.94, 0.81))
        quick = Patience(timeout=0.3, pause=0)
        async with self.made(server.url + self.PATH, quick) as judge:
            assert (await ask(judge)).replaces == 0.94
        assert server.count(self.PATH) == 2

    async def test_nobody_there(self) -> None:
        """A port that nobody listens on is a judge that is unavailable."""
        with ModelServer() as gone:
            url = gone.url
        async with self.made(url + self.PATH, QUICK) as judge:
            with pytest.raises(UnavailableError):
                await ask(judge)

    @pytest.mark.parametrize("status", [401, 402, 403, 404])
    async def test_is_turned_away(self, judge: Judge, server: ModelServer, status: int) -> None:
        """A wrong key or address is refused at once, with the provider's word for it and without its prose."""
        detail = {"error_type": "authentication_error", "message": f"no entry for {NEW.text}"}
        server.script(self.PATH, Reply(status=status, body={"detail": detail}))
        with pytest.raises(RefusedError) as caught:
            await ask(judge)
        assert caught.value.found == f"{status} authentication_error"
        assert server.count(self.PATH) == 1

    async def test_names_what_is_invalid(self, judge: Judge, server: ModelServer) -> None:
        """A 422 is invalid input, not tried again; places and sorts are told, messages may quote and are not."""
        detail = [{"loc": ["body", "state", 0], "msg": f"bad: {NEW.text}", "type": "too_long"}]
        server.script(self.PATH, Reply(status=422, body={"detail": detail}))
        with pytest.raises(InvalidInputError) as caught:
            await ask(judge)
        assert caught.value.found == "422 body.state.0 too_long"
        assert server.count(self.PATH) == 1

    @pytest.mark.parametrize("body", [b"", b"\xff", "<html>", "[]", "null", {"detail": 1}, {"detail": "no"}])
    async def test_any_error_body(self, judge: Judge, server: ModelServer, body: Any) -> None:
        """An error is known by its status, whatever its body is."""
        server.script(self.PATH, Reply(status=400, body=body))
        with pytest.raises(InvalidInputError) as caught:
            await ask(judge)
        assert caught.value.found == "400"

    @pytest.mark.parametrize("body", [b"", b"\xff", "<html>", "[]", "{}", "null", '{"answers":', {"answers": None}])
    async def test_unreadable_is_damaged(self, judge: Judge, server: ModelServer, body: Any) -> None:
        """A reply that is not of the expected shape is damaged, and not asked for again."""
        server.script(self.PATH, Reply(body=body))
        with pytest.raises(DamagedError):
            await ask(judge)
        assert server.count(self.PATH) == 1

    @pytest.mark.parametrize("number", [-0.01, 1.01, float("nan"), float("inf"), "0.9", None, True, [0.9]])
    async def test_no_probability_is_damaged(self, judge: Judge, server: ModelServer, number: Any) -> None:
        """What is no number of [0, 1] is no probability, for either question."""
        server.script(self.PATH, self.reply(number, 0.5), self.reply(0.5, number))
        for _ in range(2):
            with pytest.raises(DamagedError):
                await ask(judge)

    async def test_whole_numbers_are_probabilities(self, judge: Judge, server: ModelServer) -> None:
        """JSON writes 1.0 as 1."""
        server.script(self.PATH, self.reply(1, 0))
        assert await ask(judge) == Opinion(replaces=1.0, contradicts=0.0)

    async def test_endless_replies_are_damaged(self, judge: Judge, server: ModelServer) -> None:
        """A reply beyond any sense is not read to its end."""
        server.script(self.PATH, Reply(body=b" " * 2_000_000))
        with pytest.raises(DamagedError):
            await ask(judge)

    async def test_a_refusal_is_refused(self, judge: Judge, server: ModelServer) -> None:
        """A model that declines one question has declined."""
        server.script(self.PATH, self.refusal())
        with pytest.raises(RefusedError):
            await ask(judge)

    async def test_a_lone_surrogate_is_invalid(self, judge: Judge, server: ModelServer) -> None:
        """A text that cannot be sent is refused before anything is."""
        with pytest.raises(InvalidInputError):
            await ask(judge, msgspec.structs.replace(NEW, text="\ud800"))
        assert server.requests == []

    async def test_opens_again_after_close(self, judge: Any) -> None:
        """A closed judge opens new connections."""
        await ask(judge)
        await judge.close()
        assert (await ask(judge)).replaces == 0.94


class TestJev(OverHttp):
    """Jev, and who serves the same call."""

    @staticmethod
    def reply(replaces: Any, contradicts: Any) -> Reply:
        """Answers by name."""
        answers = {
            name: {"type": "noul", "noul": value}
            for name, value in (("replaces", replaces), ("contradicts", contradicts))
        }
        return Reply(body={"answers": answers, "usage": {"state_tokens": 40}})

    @staticmethod
    def refusal() -> Reply:
        """One answer is a refusal."""
        return Reply(body={"answers": {"replaces": {"type": "noul", "noul": 0.9}, "contradicts": {"type": "refusal"}}})

    def made(self, url: str, patience: Patience) -> JevJudge:
        """The default model."""
        return JevJudge("sesame", url=url, patience=patience)

    async def test_body(self, judge: JevJudge, server: ModelServer) -> None:
        """The statements are the state; each question says what true and false mean."""
        await ask(judge)
        body = server.requests[0].json
        assert sorted(body) == ["model", "questions", "state"]
        assert body["model"] == "jev-latest"
        assert body["state"]["new"] == {
            "id": "new",
            "text": NEW.text,
            "kind": "fact",
            "key": "home_city",
            "said_at": "2026-04-15T00:00:00+00:00",
        }
        assert body["state"]["old"]["id"] == "old"
        assert sorted(body["questions"]) == ["contradicts", "replaces"]
        for question in body["questions"].values():
            assert question["type"] == "noul"
            assert sorted(question["criteria"]) == ["false", "true"]
        assert judge.name == "jev:jev-latest"


class TestDecisions(OverHttp):
    """A Decisions endpoint."""

    @staticmethod
    def reply(replaces: Any, contradicts: Any) -> Reply:
        """Answers as a list, in no promised order."""
        named = (("contradicts", contradicts), ("replaces", replaces))
        answers = [{"type": "predicate", "name": name, "probability": value} for name, value in named]
        return Reply(body={"answers": answers})

    @staticmethod
    def refusal() -> Reply:
        """One answer is a refusal."""
        answers = [
            {"type": "predicate", "name": "replaces", "probability": 0.9},
            {"type": "refusal", "name": "contradicts"},
        ]
        return Reply(body={"answers": answers})

    def made(self, url: str, patience: Patience) -> DecisionsJudge:
        """The default model."""
        return DecisionsJudge("sesame", url=url, patience=patience)

    async def test_body(self, judge: DecisionsJudge, server: ModelServer) -> None:
        """The statements are fenced JSON lines of the input; each question is a predicate."""
        await ask(judge)
        body = server.requests[0].json
        assert sorted(body) == ["input", "model", "questions"]
        assert [(one["type"], one["name"]) for one in body["questions"]] == [
            ("predicate", "replaces"),
            ("predicate", "contradicts"),
        ]
        assert unfenced(body["input"]) == ""
        lines = [json.loads(line) for line in body["input"].splitlines() if line.startswith("{")]
        assert [(one["id"], one["text"]) for one in lines] == [("new", NEW.text), ("old", OLD.text)]

    @pytest.mark.parametrize("names", [[], ["replaces"], ["replaces", "contradicts", "replaces"]])
    async def test_missing_or_double_is_damaged(
        self, judge: DecisionsJudge, server: ModelServer, names: list[str]
    ) -> None:
        """Each question has one answer, or the reply is none."""
        answers = [{"type": "predicate", "name": name, "probability": 0.9} for name in names]
        server.script(self.PATH, Reply(body={"answers": answers}))
        with pytest.raises(DamagedError):
            await ask(judge)

    async def test_other_answers_are_left(self, judge: DecisionsJudge, server: ModelServer) -> None:
        """An answer to what was not asked changes nothing."""
        reply = self.reply(0.7, 0.2)
        reply.body["answers"].append({"type": "predicate", "name": "other", "probability": 0.9})
        server.script(self.PATH, reply)
        assert (await ask(judge)).replaces == 0.7


class PlainChat:
    """A chat over a real connection: one completion, its content decoded into the shape."""

    def __init__(self, url: str) -> None:
        self._url = url

    @property
    def name(self) -> str:
        """As providers name themselves."""
        return "plain:small-model"

    async def ask(self, ask: Ask, shape: type[T]) -> Answer[T]:
        """Post the prompt; what is not of the shape is damaged."""
        messages = [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}]
        async with httpx2.AsyncClient() as client:
            headers = affinity(ask.profile)
            reply = await client.post(self._url, json={"messages": messages}, headers=headers)
        if reply.is_error:
            raise UnavailableError("the model does not answer", found=str(reply.status_code))
        content = reply.json()["choices"][0]["message"]["content"]
        try:
            value = msgspec.json.decode(content, type=shape)
        except msgspec.DecodeError as error:
            raise DamagedError("the reply cannot be read", found=str(error)) from error
        return Answer(value=value, model="small-model", tokens=Tokens(11, 7))


def verdict(replaces: tuple[str, float], contradicts: tuple[str, float]) -> Reply:
    """A completion that answers both questions."""
    both = {"replaces": replaces, "contradicts": contradicts}
    said = {name: {"answer": answer, "probability": chance} for name, (answer, chance) in both.items()}
    return chat_reply(json.dumps(said))


class TestChat(JudgeContract):
    """A language model."""

    PATH = "/v1/chat/completions"

    @pytest.fixture
    def judge(self, server: ModelServer) -> ChatJudge:
        """A model that is sure of both."""
        server.always(self.PATH, verdict(("yes", 0.9), ("yes", 0.8)))
        return ChatJudge(PlainChat(server.url + self.PATH))

    async def test_asks_in_one_prompt(self, judge: ChatJudge, server: ModelServer) -> None:
        """Both questions go with the instructions, the statements as fenced data with the question."""
        assert await ask(judge) == Opinion(replaces=0.9, contradicts=0.8)
        (request,) = server.requests
        system, user = (message["content"] for message in request.json["messages"])
        assert "replaces:" in system
        assert "contradicts:" in system
        assert NEW.text not in system
        assert unfenced(user) == ""
        assert judge.name == "plain:small-model"

    @pytest.mark.parametrize("chance, expected", [(0.1, 0.1), (0.9, 0.1), (0.5, 0.5)])
    async def test_a_no_is_never_likely(
        self, judge: ChatJudge, server: ModelServer, chance: float, expected: float
    ) -> None:
        """A model that writes down how sure it is of its no means the same as one that answers the question."""
        server.script(self.PATH, verdict(("no", chance), ("no", chance)))
        assert (await ask(judge)).replaces == pytest.approx(expected)

    @pytest.mark.parametrize("content", ["maybe", "{}", '{"replaces": {"answer": "yes", "probability": 3}}'])
    async def test_unreadable_is_damaged(self, judge: ChatJudge, server: ModelServer, content: str) -> None:
        """What is not of the shape is the chat's DamagedError."""
        server.script(self.PATH, chat_reply(content))
        with pytest.raises(DamagedError):
            await ask(judge)


class TestFallback(JudgeContract):
    """Several judges as one."""

    @pytest.fixture
    async def judge(self, server: ModelServer) -> AsyncIterator[FallbackJudge]:
        """Jev, then Decisions, then the heuristic; the first answers."""
        server.always("/jev", TestJev.reply(0.94, 0.81))
        server.always("/decisions", TestDecisions.reply(0.86, 0.82))
        async with (
            JevJudge("k", url=server.url + "/jev", patience=QUICK) as jev,
            DecisionsJudge("k", url=server.url + "/decisions", patience=QUICK) as decisions,
        ):
            yield FallbackJudge([jev, decisions, HeuristicJudge()])

    async def test_says_who_answered(self, judge: FallbackJudge) -> None:
        """The first judge's opinion is put down to it."""
        found = await ask(judge)
        assert (found.replaces, found.model, found.rule) == (0.94, "jev:jev-latest", "judge")
        assert (judge.name, judge.rule) == ("jev:jev-latest", "judge")

    @pytest.mark.parametrize(
        "failing",
        [
            lambda: [error_reply(503)] * 3,
            lambda: [Reply(body="no JSON")],
            lambda: [TestJev.refusal()],
            lambda: [error_reply(401)],
        ],
        ids=["unavailable", "damaged", "refusal", "wrong key"],
    )
    async def test_goes_on(self, judge: FallbackJudge, server: ModelServer, failing: Callable[[], list[Reply]]) -> None:
        """One that cannot answer is passed over, and the opinion names the one that did."""
        server.script("/jev", *failing())
        found = await ask(judge)
        assert (found.replaces, found.model, found.rule) == (0.86, "decisions:gpt-6-luna", "judge")
        server.script("/jev", *failing())
        server.script("/decisions", error_reply(403))
        found = await ask(judge)
        assert (found.model, found.rule) == ("heuristic-1", "heuristic")

    async def test_invalid_is_invalid_for_all(self, judge: FallbackJudge, server: ModelServer) -> None:
        """A request that cannot be accepted asks nobody else."""
        server.script("/jev", error_reply(422))
        with pytest.raises(InvalidInputError):
            await ask(judge)
        assert server.count("/decisions") == 0

    async def test_the_last_error_is_the_whole_s(self, server: ModelServer) -> None:
        """When nobody answers, the last one's error is raised."""
        server.script("/jev", Reply(body="no JSON"))
        server.script("/decisions", *[error_reply(500)] * 3)
        async with (
            JevJudge("k", url=server.url + "/jev", patience=QUICK) as jev,
            DecisionsJudge("k", url=server.url + "/decisions", patience=QUICK) as decisions,
        ):
            with pytest.raises(UnavailableError):
                await ask(FallbackJudge([jev, decisions]))

    def test_none_is_no_fallback(self) -> None:
        """A fallback needs judges."""
        with pytest.raises(InvalidInputError):
            FallbackJudge([])


@pytest.mark.parametrize(
    "header, expected",
    [
        ("7", 5.0),
        ("2", 2.0),
        ("-3", 0.0),
        ("soon", 0.25),
        ("nan", 0.25),
        ("Sat, 21 Oct 2415 07:28:00 GMT", 5.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
async def test_retry_after(server: ModelServer, monkeypatch: pytest.MonkeyPatch, header: str, expected: float) -> None:
    """Retry-After is honoured, in seconds or as a date, up to a limit; without a readable one the pause is our own."""
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("gateways.models.judges.endpoint.asyncio.sleep", wait)
    server.script("/judge", error_reply(429, headers={"Retry-After": header}))
    server.always("/judge", TestJev.reply(0.9, 0.9))
    patience = Patience(pause=0.25, longest_pause=5.0)
    async with JevJudge("k", url=server.url + "/judge", patience=patience) as judge:
        await ask(judge)
    assert waited == [expected]


@pytest.mark.parametrize("url", ["", "judge.example", "ftp://judge.example", "http://", "http://a:b"])
def test_no_address_is_invalid(url: str) -> None:
    """An address is looked at before the first call."""
    with pytest.raises(InvalidInputError):
        Endpoint(url)


@pytest.mark.parametrize("key", ["schlüssel", "a\nb"])
def test_no_key_is_invalid(key: str) -> None:
    """A key that no header can carry is refused, without being repeated."""
    with pytest.raises(InvalidInputError) as caught:
        Endpoint("http://judge.example", key)
    assert key not in str(caught.value)


def test_no_key_is_no_header(server: ModelServer) -> None:
    """An own endpoint may need no key."""
    assert Endpoint(server.url)._headers == {}
