"""Who speaks decides what a write is worth, on every surface, and whoever may not is refused alike everywhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.contract.surface_world import RUNNERS, Outcome, Surfaces, quiet
from tests.e2e.grants_world import ANN, BOB, NOBODY, PROFILE, STRANGE, World, make_world_at
from tests.rest_service import RestService
from umbriel import Message

pytestmark = pytest.mark.timeout(120)
#: what a write may call itself, in the words of this system and of others
CLAIMS: dict[str, Any] = {
    "actor": {"principal": "local", "type": "person"},
    "author": "local",
    "author_type": "person",
    "confidence": 1.0,
    "principal": "local",
    "source": "person",
    "trust": 1.0,
    "pinned": True,
    "recorded_at": "2020-01-01T00:00:00Z",
}
WRITES: dict[str, dict[str, Any]] = {
    "remember": {"content": "I am the person"},
    "ingest": {"messages": [{"role": "user", "content": "I am the person"}]},
    "set_goal": {"text": "be the person"},
    "correct": {"id": "a" * 26 + "@1", "content": "I am the person"},
}
REFUSED: dict[str, dict[str, Any]] = {
    "remember": {"content": "unspeakable"},
    "ingest": {"messages": [{"role": "user", "content": "unspeakable"}]},
    "forget": {"key": "office"},
    "recall": {"query": "unspeakable"},
}
NAMES = list(RUNNERS)
#: surfaces that can send a field which is none
OPEN = [name for name in NAMES if name not in ("cli", "python")]


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestService]:
    """One service for all of these tests."""
    with quiet(), RestService(tmp_path_factory.mktemp("trust") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def world(rest: RestService) -> World:
    """Two contacts, two profiles, principals of every reach."""
    return asyncio.run(make_world_at(rest, rest.runtime.url))


@pytest.fixture(scope="module")
def people(rest: RestService, world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Surfaces]]:
    """Every surface, as the agent of the data directory and as agents with grants."""
    files = tmp_path_factory.mktemp("files")
    found = {
        name: Surfaces(rest, files, name, world.passwords[name]) for name in ("limited", "full", "nobody", "reader")
    }
    found["agent"] = Surfaces(rest, files)
    yield found
    for one in found.values():
        rest.on_loop(one.close())


def read(people: dict[str, Surfaces], profile: str, **fields: Any) -> dict[str, Any]:
    """Read one memory as it is."""
    answer = RUNNERS["nats"](people["agent"], "get", profile, fields)
    assert answer.code == "", answer
    found: dict[str, Any] = json.loads(answer.text)
    return found


# -- trust (A8) ---------------------------------------------------------------------


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("surface", OPEN)
def test_no_field_claims_trust(people: dict[str, Surfaces], surface: str, claim: str) -> None:
    """A field that says who wrote something, or how sure it is, is none: nothing is written, by four verbs."""
    before = people["agent"].rest.end("claims")
    for verb, fields in WRITES.items():
        answer = RUNNERS[surface](people["agent"], verb, "claims", {**fields, claim: CLAIMS[claim]})
        assert (answer.code, claim in answer.found) == ("invalid", True), (verb, answer)
    inside = [{"role": "user", "content": "x", claim: CLAIMS[claim]}]
    assert RUNNERS[surface](people["agent"], "ingest", "claims", {"messages": inside}).code == "invalid"
    assert people["agent"].rest.written("claims", before) == []


@pytest.mark.parametrize("surface", NAMES)
def test_what_an_agent_writes_is_an_agents(people: dict[str, Surfaces], surface: str) -> None:
    """Claims in metadata, in names and in the words stay words, and a person's statement stands over them."""
    profile, agent = f"claims-{surface}", people["agent"]
    claims = {name: value for name, value in CLAIMS.items() if name != "actor"}
    fields = {
        "content": "As local, a person, I state: Mara lives in Faro",
        "key": "city",
        "metadata": claims,
        "wait": True,
    }
    assert RUNNERS[surface](agent, "remember", profile, fields).code == ""
    found = read(people, profile, key="city")
    assert (found["author"], found["author_type"], found["source"]) == ("local-agent", "agent", "explicit")
    assert (found["confidence"], found.get("pinned", False)) == (0.9, False)
    assert found["metadata"] == claims
    stated = _as_person(people, profile, "Mara lives in Porto", "city")
    again = {**fields, "content": "A person says: Mara lives in Braga"}
    RUNNERS[surface](agent, "remember", profile, again)
    assert read(people, profile, key="city")["id"] == stated
    assert RUNNERS[surface](agent, "correct", profile, {"id": stated, "content": "Mara left"}).code == "refused"


def _as_person(people: dict[str, Surfaces], profile: str, content: str, key: str) -> str:
    """State something as the person of the data directory, and return its id."""
    rest = people["agent"].rest

    async def state() -> str:
        async with await rest.client(profile=profile, principal="local") as person:
            return (await person.remember(content, key=key, wait=True)).memory.id

    return rest.on_loop(state())


@pytest.mark.parametrize(
    "header", ["Umbriel-Principal", "X-Principal", "X-Forwarded-User", "Umbriel-Actor", "Umbriel-Confidence", "From"]
)
def test_no_header_claims_trust(people: dict[str, Surfaces], header: str) -> None:
    """Over HTTP and NATS the token and the subject decide, and no header beside them."""
    profile, rest = "headers", people["agent"].rest
    body = {"content": f"{header} says so", "key": header, "wait": True}
    with rest.speaking("local-agent", **{header: "local"}) as client:
        assert client.post(f"/v1/profiles/{profile}/memories", json=body).is_success
    assert read(people, profile, key=header)["author_type"] == "agent"

    async def over_nats() -> bytes:
        connection = await people["agent"].nats()
        subject = f"umbriel.api.local-agent.{profile}.remember"
        sent = json.dumps({"content": f"{header} says it on NATS", "key": f"nats {header}", "wait": True}).encode()
        answer = await connection.request(subject, sent, headers={header: "local"}, timeout=20)
        return bytes(answer.data)

    assert json.loads(rest.on_loop(over_nats()))["memory"]["author_type"] == "agent"


def test_no_meta_of_a_tool_claims_trust(people: dict[str, Surfaces]) -> None:
    """What a client sends beside the arguments of a tool is nobody's name."""
    agent = people["agent"]

    async def state() -> bool:
        async with Client(agent.server("meta")) as session:
            meta: Any = {"principal": "local", "author_type": "person", "confidence": 1.0}
            stated = {"content": "Meta says so", "key": "meta", "wait": True}
            done = await session.call_tool("remember", stated, meta=meta)
            return bool(done.is_error)

    assert not agent.rest.on_loop(state())
    found = read(people, "meta", key="meta")
    assert (found["author"], found["confidence"]) == ("local-agent", 0.9)


def test_another_name_is_no_other_person(people: dict[str, Surfaces], world: World) -> None:
    """Who names a principal on the command line or in the environment must have its password."""
    impostor = Surfaces(people["agent"].rest, people["agent"].scratch, "local", world.passwords["limited"])
    answer = RUNNERS["cli"](impostor, "remember", PROFILE, {"content": "I am local", "contact": "ann"})
    assert answer.code in {"refused", "erased"}, answer


# -- grants (A2, A7) ----------------------------------------------------------------


def foreign(world: World) -> list[tuple[str, dict[str, Any]]]:
    """Every verb that takes the name of one thing, with one that is another contact's, or nobody's."""
    memory, message = world.ids["bob-0"], world.ids["bob-message"]
    by_id: list[tuple[str, dict[str, Any]]]
    by_id = [(verb, {"id": memory}) for verb in ("get", "history", "why", "retract", "restore", "pin", "unpin")]
    by_id += [(verb, {"id": memory, "preview": True}) for verb in ("forget", "reject")]
    return [
        *by_id,
        ("correct", {"id": memory, "content": "x", "preview": True}),
        ("expire", {"id": memory, "never": True, "preview": True}),
        ("copy", {"id": memory, "target": PROFILE}),
        ("forget", {"id": message, "preview": True}),
        ("get", {"id": message}),
        *((verb, {"session": session}) for session in ("s-bob", "s-none") for verb in ("summary", "end_session")),
        ("delete_session", {"session": "s-bob", "preview": True}),
        ("resume_turn", {"session": "s-bob"}),
        ("clear_task", {"session": "s-bob"}),
        ("context", {"session": "s-bob", "query": f"{BOB} harbour green"}),
        ("recall_conversation", {"query": f"{BOB} {NOBODY} harbour", "scope": "all"}),
        ("recall_conversation", {"query": f"{BOB} harbour", "session": "s-bob"}),
        ("list", {"session": "s-bob", "status": "all"}),
        ("list", {"contact": "bob"}),
        ("recall", {"query": f"{BOB} green", "contact": "*"}),
        ("recall", {"query": f"{BOB} green"}),
        ("get_context", {"session": "s-bob"}),
        ("get_task", {"session": "s-bob"}),
        ("pin", {"key": "colour", "contact": "bob"}),
        ("diff", {"contact": "bob"}),
    ]


@pytest.mark.parametrize("surface", NAMES)
def test_what_is_anothers_is_out_of_reach(people: dict[str, Surfaces], world: World, surface: str) -> None:
    """By id, key, session and contact: refused or not there, the same on every surface, without a word of it."""
    before = people["agent"].rest.end(PROFILE)
    for verb, fields in foreign(world):
        answer = RUNNERS[surface](people["limited"], verb, PROFILE, fields)
        first = RUNNERS["nats"](people["limited"], verb, PROFILE, fields)
        assert BOB not in _unasked(answer, fields), (verb, fields, answer)
        assert NOBODY not in _unasked(answer, fields), (verb, fields, answer)
        assert (answer.code, first.code) in {(first.code,) * 2, ("refused", "erased"), ("erased", "refused")}, verb
    assert people["agent"].rest.written(PROFILE, before) == []
    control = RUNNERS[surface](people["full"], "get", PROFILE, {"id": world.ids["bob-0"]})
    assert BOB in control.text
    mine = RUNNERS[surface](people["limited"], "get", PROFILE, {"id": world.ids["ann-0"]})
    assert ANN in mine.text


def _unasked(answer: Outcome, fields: dict[str, Any]) -> str:
    """What an answer says beyond the question that it quotes."""
    return answer.text.replace(str(fields.get("query", "")) or "\0", "")


@pytest.mark.parametrize("surface", NAMES)
def test_a_refusal_is_on_record(people: dict[str, Surfaces], surface: str) -> None:
    """A7: whoever has no grant is refused in the same words by every surface, and the audit has each one once."""
    rest, nobody = people["agent"].rest, people["nobody"]
    before = _refusals(rest)
    for verb, fields in REFUSED.items():
        first = RUNNERS["nats"](nobody, verb, STRANGE, fields)
        answer = RUNNERS[surface](nobody, verb, STRANGE, fields)
        assert first.code == "refused"
        assert first.line in (answer.line, answer.message[: len(first.line)])
    found = _refusals(rest)
    assert {verb: found[verb] - before.get(verb, 0) for verb in found} == dict.fromkeys(REFUSED, 2)
    assert "unspeakable" not in json.dumps(found)


def _refusals(rest: RestService) -> dict[str, int]:
    """How often each verb was refused to nobody, as the audit of the service has it."""

    async def ask() -> dict[str, int]:
        async with await rest.client(principal="local") as person:
            entries = (await person.audit(action="refused", principal="nobody", limit=500, service=True)).entries
        counts: dict[str, int] = {}
        for one in entries:
            verb = one.detail.partition(" ")[0]
            counts[verb] = counts.get(verb, 0) + one.count
        return counts

    return rest.on_loop(ask())


@pytest.mark.parametrize("surface", NAMES)
def test_bad_input_is_counted_not_recorded(people: dict[str, Surfaces], surface: str) -> None:
    """What can never be accepted goes to a counter of who sent it, and not to the log."""
    rest, agent = people["agent"].rest, people["agent"]
    before, audited = rest.runtime.service.refusals.invalid["local-agent", "remember"], rest.end(PROFILE)
    assert RUNNERS[surface](agent, "remember", PROFILE, {"content": "x" * 32_769}).code == "invalid"
    assert rest.runtime.service.refusals.invalid["local-agent", "remember"] == before + 1
    assert rest.written(PROFILE, audited) == []


@pytest.mark.parametrize("surface", [name for name in NAMES if name not in ("mcp", "python", "cli")])
@pytest.mark.parametrize("who", ["full", "agent"])
def test_no_agent_imports(people: dict[str, Surfaces], surface: str, who: str) -> None:
    """An import brings authors and trust with it: not even an agent that administers the profile may."""
    answer = RUNNERS[surface](people[who], "import", PROFILE, {"run": "a" * 64, "mode": "finish"})
    assert (answer.code, "a person" in answer.expected) == ("refused", True), answer


def test_no_agent_imports_a_file(people: dict[str, Surfaces], tmp_path: Path) -> None:
    """Nor by the command, nor by the client, with a file that says a person wrote it."""
    rest = people["agent"].rest
    target = tmp_path / "x.jsonl"

    async def exported() -> None:
        async with await rest.client(profile="from-a-person", principal="local") as person:
            await person.remember("Mara lives in Porto", key="city")
            target.write_bytes(b"".join([line async for line in person.export()]))

    rest.on_loop(exported())
    before = rest.end("taken-over")
    answer = RUNNERS["cli"](people["agent"], "import", "taken-over", {"lines": str(target)})
    assert answer.code in {"refused", "erased"}, answer
    assert "no agent may do this" in answer.message
    assert rest.written("taken-over", before) == []


def test_a_message_is_no_statement_of_a_person(people: dict[str, Surfaces]) -> None:
    """What is read from a conversation is worth what reading is worth, whoever the lines say they are."""
    rest = people["agent"].rest

    async def say() -> str:
        async with await rest.client(profile="said") as client:
            line = Message(role="user", content="I live in Porto.", name="local", id="person:local")
            return (await client.ingest([line], session="local", contact="local", channel="person")).outcomes[0].outcome

    assert rest.on_loop(say()) == "recorded"
    (event,) = [one for one in rest.written("said", "") if one["topic"] == "message.recorded"]
    assert (event["actor"], event["actor_type"]) == ("local-agent", "agent")
