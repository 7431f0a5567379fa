"""A grant is what a principal may do: every verb, every way around it, each with its control."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import nats
import pytest

from tests.e2e.grants_world import ANN, BOB, EVERYBODY, NOBODY, OTHER, PROFILE, STRANGE, World, ask, make_world
from tests.e2e.processes import ServiceProcess
from umbriel import RefusedError

pytestmark = pytest.mark.timeout(180)

Body = Callable[[World], dict[str, Any]]
MESSAGE = [{"role": "user", "content": "a new line"}]


class Attempt(msgspec.Struct, frozen=True):
    """A request that must not succeed as ``who``: its code (empty: answered), the word that must not be in the answer.

    ``control`` makes the same request with the right grant, and must be answered, with the word if there is one.
    """

    verb: str
    body: Body
    code: str = "refused"
    word: str = ""
    who: str = "limited"
    profile: str = PROFILE
    control: str = "full"
    #: what the control sends, where the attempt's own body is only ever wrong
    right: Body | None = None


def fixed(**body: Any) -> Body:
    """A body that needs nothing of the world."""
    return lambda _: body


def with_id(name: str, **body: Any) -> Body:
    """A body with the id of one thing in the world."""
    return lambda world: {"id": world.ids[name], **body}


#: what others may have said, without the records of what the caller asked itself
SAID = ["message", "conversation", "memory", "extraction", "embedding", "profile"]
READS = [
    Attempt("recall", fixed(query="harbour green", contact="bob"), word=BOB),
    Attempt("recall", fixed(query="harbour green", contact="*"), word=BOB),
    Attempt(
        "recall",
        fixed(query=f"{BOB} harbour", contact="ann"),
        code="",
        word=BOB,
        right=fixed(query=f"{BOB} harbour", contact="bob"),
    ),
    Attempt("recall", fixed(query=f"{NOBODY} harbour"), code="", word=NOBODY),
    Attempt("recall", fixed(query=f"{NOBODY} harbour", kinds=["message"]), code="", word=NOBODY),
    Attempt("recall", fixed(query=f"{NOBODY} harbour", kinds=["message", "fact"], explain=True), code="", word=NOBODY),
    Attempt(
        "recall",
        fixed(query=f"{BOB} green", explain=True),
        code="",
        word=BOB,
        right=fixed(query=f"{BOB} green", contact="bob", explain=True),
    ),
    Attempt("recall", fixed(query="green", contact="bob' OR 1=1 --"), right=fixed(query="green", contact="bob")),
    Attempt("recall", fixed(query="green", contact="an%"), right=fixed(query="green", contact="ann")),
    Attempt("recall", fixed(query="green", contact="ann "), right=fixed(query="green", contact="ann")),
    Attempt("recall", fixed(query="green", contact=["ann", "bob"]), code="invalid", right=fixed(query="green")),
    Attempt("messages", fixed(session="s-bob"), code="", word='"contact":"bob"'),
    Attempt("messages", fixed(session="s-none", order="newest"), code="", word=NOBODY),
    Attempt("get", with_id("bob-0"), code="not_found", word=BOB),
    Attempt("get", fixed(key="colour", contact="bob"), word=BOB),
    Attempt("get", fixed(key="colour", contact="*"), word=BOB, right=fixed(key="colour", contact="bob")),
    Attempt("get", fixed(key="colour"), code="not_found", word=BOB, right=fixed(key="colour", contact="bob")),
    Attempt("get", with_id("bob-0", contact="ann"), code="not_found", word=BOB),
    Attempt("history", with_id("bob-0"), code="not_found", word=BOB),
    Attempt("why", with_id("bob-0"), code="not_found", word=BOB),
    Attempt("list", fixed(contact="bob"), word=BOB),
    Attempt("list", fixed(contact="*"), word=BOB),
    Attempt(
        "list", fixed(status="all", limit=500), code="", word=BOB, right=fixed(status="all", limit=500, contact="*")
    ),
    Attempt("list", fixed(session="s-bob", contact="bob"), right=fixed(session="s-bob", contact="bob")),
    Attempt("list", lambda world: {"contact": "bob", "as_of": world.end}, word=BOB),
    Attempt("get", lambda world: {"id": world.ids["bob-0"], "as_of": world.end}, code="not_found", word=BOB),
    Attempt("recall", lambda world: {"query": "green", "contact": "bob", "as_of": world.end}, word=BOB),
    Attempt(
        "recall",
        lambda world: {"query": f"{NOBODY} harbour", "as_of": world.end},
        code="",
        word=NOBODY,
    ),
    Attempt("diff", fixed(contact="bob"), word=BOB),
    Attempt("diff", fixed(contact="*"), word=BOB),
    Attempt("diff", fixed(), code="", word=BOB, right=fixed(contact="bob")),
    Attempt("diff", fixed(contact="ann"), code="", word=BOB, right=fixed(contact="bob")),
    Attempt("feed", fixed(contact="bob"), word=BOB),
    Attempt("feed", fixed(limit=1000), code="", word=BOB),
    Attempt("feed", fixed(limit=1000, kinds=["message", "conversation"]), code="", word=NOBODY),
    Attempt("feed", lambda world: {"after": world.start, "limit": 1000}, code="", word=BOB),
    Attempt(
        "feed",
        lambda world: {"limit": 1000, "kinds": ["access", "embedding", "recall", "usage"]},
        code="",
        word="embedding.",
    ),
    Attempt("feed", lambda world: {"after": world.start.rsplit(":", 1)[0] + ":0", "limit": 1000}, code="", word=BOB),
    Attempt("export", fixed(contact="bob"), word=BOB),
    Attempt("export", fixed(kinds=SAID), code="", word=BOB),
    Attempt("export", fixed(kinds=SAID), code="", word=NOBODY),
    Attempt("status", fixed(), word="vectors"),
    Attempt("audit", fixed(contact="bob"), word="memory.remembered"),
    Attempt("audit", fixed(limit=500), code="", word='"bob"'),
    Attempt("audit", fixed(limit=500, action="refused"), code="", word="refusal.recorded"),
    Attempt("proof", with_id("bob-0"), word="umbriel-proof"),
    Attempt("proof", with_id("shared"), word="umbriel-proof"),
    Attempt("list_contacts", fixed(), word='"bob"'),
    Attempt("list_sessions", fixed(contact="bob"), word='"contact":"bob"'),
    Attempt("list_sessions", fixed(contact="*"), word='"contact":"bob"'),
    Attempt("list_sessions", fixed(), code="", word="s-none"),
]
WRITES = [
    Attempt("ingest", fixed(messages=MESSAGE, contact="bob", session="new-1")),
    Attempt(
        "ingest",
        fixed(messages=MESSAGE, contact="*", session="new-2"),
        right=fixed(messages=MESSAGE, contact="bob", session="new-2"),
    ),
    Attempt("ingest", fixed(messages=MESSAGE)),
    Attempt("ingest", fixed(messages=MESSAGE, session="new-3")),
    Attempt(
        "ingest",
        fixed(messages=MESSAGE, session="s-bob", contact="ann"),
        right=fixed(messages=MESSAGE, session="s-bob"),
    ),
    Attempt("ingest", fixed(messages=MESSAGE, session="s-bob")),
    Attempt(
        "ingest",
        fixed(messages=MESSAGE, session="s-none", contact="ann"),
        right=fixed(messages=MESSAGE, session="s-none"),
    ),
    Attempt("ingest", fixed(messages=MESSAGE, session="s-none")),
    Attempt("remember", fixed(content="bob is tall", contact="bob", wait=True)),
    Attempt("remember", fixed(content="everybody is tall", wait=True)),
    Attempt("remember", fixed(content="everybody is tall", scope="agent", key="tall", wait=True)),
    Attempt("remember", fixed(content="tall", contact="ann", session="s-bob", wait=True)),
    Attempt(
        "remember",
        fixed(content="tall", contact="ann", metadata={"contact": "bob", "scope": "bob"}, scope="agent"),
        code="invalid",
        right=fixed(content="tall", contact="ann"),
    ),
    Attempt("forget", with_id("bob-1", preview=True), code="not_found", word="touched"),
    Attempt("forget", with_id("bob-1"), code="not_found"),
    Attempt("forget", fixed(key="gone by key", contact="bob")),
    Attempt("forget", fixed(key="office", preview=True), word="touched"),
    Attempt("forget", with_id("shared", preview=True), word="touched"),
    Attempt("forget", with_id("bob-message"), code="not_found"),
    Attempt("forget", with_id("none-message", preview=True), code="not_found", word="touched"),
    Attempt("save_turn", fixed(session="s-bob", turn_id="t")),
    Attempt("save_turn", fixed(session="s-bob", turn_id="t", contact="ann"), right=fixed(session="s-bob", turn_id="t")),
    Attempt("save_turn", fixed(session="new-5", turn_id="t")),
    Attempt("save_turn", fixed(session="new-5", turn_id="t", contact="bob")),
    Attempt("resume_turn", fixed(session="s-bob")),
    Attempt("resume_turn", fixed(session="s-none")),
    Attempt("set_context", fixed(session="s-bob", notes="x"), right=fixed(session="s-bob", notes=BOB)),
    Attempt("set_context", fixed(session="s-bob", notes="x", contact="ann"), right=fixed(session="s-bob", notes=BOB)),
    Attempt("set_context", fixed(session="new-6", notes="x")),
    Attempt("set_context", fixed(session="s-none", notes="x", contact="ann"), right=fixed(session="s-none", notes="x")),
    Attempt("set_task", fixed(session="s-bob", task="x"), right=fixed(session="s-bob", task=f"{BOB} again")),
    Attempt("set_task", fixed(session="new-7", task="x", contact="bob")),
    Attempt("clear_task", fixed(session="new-7")),
    Attempt("reflect", fixed(topic="all", text="x")),
    Attempt("set_goal", fixed(text="x")),
    Attempt("progress_goal", fixed(goal="aim to go on with", fraction=0.5)),
    Attempt("close_goal", fixed(goal="aim to end", note="x")),
    Attempt("end_session", fixed(session="s-bob"), code="not_found"),
    Attempt("end_session", fixed(session="s-none"), code="not_found"),
    Attempt("delete_session", fixed(session="s-bob", preview=True), code="not_found", word="kept"),
    Attempt("delete_session", fixed(session="s-none", preview=True), code="not_found", word="kept"),
    Attempt("copy", with_id("bob-0", target=STRANGE)),
    Attempt("copy", with_id("ann-0", target=STRANGE)),
    Attempt("rebuild", fixed()),
    Attempt("link_contact", fixed(contact="ann", to="bob"), right=fixed(contact="zed-1", to="zed-2")),
    Attempt("unlink_contact", fixed(contact="zed-1")),
    Attempt("settings", fixed(), word="recall.fusion"),
    Attempt("settings", fixed(changes={"recall.fill": 1}), right=fixed(changes={"recall.fill": 0})),
    Attempt("retry", fixed()),
    Attempt("reflect_day", lambda _: {"day": datetime.now(UTC).date().isoformat(), "dry_run": True}, word="bob"),
    Attempt("reflect_day", fixed(day="2026-01-31")),
]
WORKING = [
    Attempt("get_context", fixed(session="s-bob"), code="", word=BOB),
    Attempt("get_task", fixed(session="s-bob"), code="", word=BOB),
    Attempt("list_reflections", fixed(), word=BOB),
    Attempt("list_goals", fixed(status="all"), word=BOB),
    Attempt("feed", fixed(limit=1000, kinds=["conversation", "reflection", "goal"]), code="", word=BOB),
]
LESSER = [
    Attempt("ingest", fixed(messages=MESSAGE, session="new-4"), who="reader"),
    Attempt("remember", fixed(content="x is y", wait=True), who="reader"),
    Attempt("forget", with_id("ann-1"), who="reader"),
    Attempt("save_turn", fixed(session="s-ann", turn_id="t"), who="reader"),
    Attempt("resume_turn", fixed(session="s-ann"), who="reader"),
    Attempt("set_context", fixed(session="s-ann", mode="clear"), who="reader"),
    Attempt("reflect", fixed(topic="x", text="y"), who="reader"),
    Attempt("set_goal", fixed(text="y"), who="reader"),
    Attempt("end_session", fixed(session="s-ann"), who="reader"),
    Attempt("delete_session", fixed(session="s-ann", preview=True), who="reader"),
    Attempt("copy", with_id("shared", target=STRANGE), who="writer"),
    Attempt("rebuild", fixed(), who="reader"),
    Attempt("rebuild", fixed(), who="writer"),
    Attempt("link_contact", fixed(contact="zed-1", to="zed-2"), who="reader"),
    Attempt("settings", fixed(changes={"recall.fill": 0}), who="writer"),
    Attempt("retry", fixed(), who="writer"),
    Attempt("reflect_day", fixed(day="2026-01-31"), who="writer"),
]
#: Every verb in a profile without a grant, whether there is one or not.
BODIES: dict[str, Body] = {
    "ingest": fixed(messages=MESSAGE),
    "remember": fixed(content="z is w", wait=True),
    "recall": fixed(query="green"),
    "get": with_id("strange"),
    "list": fixed(),
    "messages": fixed(session="s"),
    "history": with_id("strange"),
    "list_sessions": fixed(contact="*"),
    "why": with_id("strange"),
    "diff": fixed(contact="*"),
    "forget": with_id("strange", preview=True),
    "feed": fixed(),
    "export": fixed(),
    "status": fixed(),
    "rebuild": fixed(),
    "link_contact": fixed(contact="p", to="q"),
    "unlink_contact": fixed(contact="p"),
    "list_contacts": fixed(),
    "settings": fixed(),
    "retry": fixed(),
    "reflect_day": fixed(day="2026-01-31"),
    "audit": fixed(),
    "proof": with_id("strange"),
    "save_turn": fixed(session="s", turn_id="t"),
    "resume_turn": fixed(session="s"),
    "set_context": fixed(session="s", notes="x"),
    "get_context": fixed(session="s"),
    "set_task": fixed(session="s", task="x"),
    "get_task": fixed(session="s"),
    "clear_task": fixed(session="s"),
    "reflect": fixed(topic="x", text="y"),
    "list_reflections": fixed(),
    "set_goal": fixed(text="x", name="aim"),
    "progress_goal": fixed(goal="aim to go on with", note="x"),
    "close_goal": fixed(goal="aim to end"),
    "list_goals": fixed(),
}
PROFILES = [
    Attempt(
        verb,
        body,
        who=who,
        profile=STRANGE,
        word=OTHER if verb in {"recall", "get", "list", "why", "diff", "feed"} else "",
    )
    for verb, body in BODIES.items()
    for who in ("limited", "writer", "nobody")
]
ATTEMPTS = [*READS, *WRITES, *WORKING, *LESSER, *PROFILES]
ADMINISTRATION = [
    Attempt("principal_add", fixed(name="mine", grants=[{"profile": "*", "access": "admin"}]), profile="_", control=""),
    Attempt("principal_list", fixed(), profile="_", control=""),
    Attempt("principal_revoke", fixed(name="full"), profile="_", control=""),
    Attempt("principal_rotate", fixed(name="full"), profile="_", word="secret", control=""),
    Attempt("principal_token", fixed(name="local"), profile="_", word="umb_", control=""),
    Attempt("inspect", fixed(name="local"), profile="_", word="#code=", control=""),
    Attempt("principal_token_revoke", fixed(id="0" * 12), profile="_", control=""),
    Attempt("keys", fixed(), profile="_", control=""),
    Attempt("rotate_keys", fixed(), profile="_", control=""),
    Attempt("verify", fixed(), profile="_", control=""),
    Attempt("backup", fixed(action="start", path="/nowhere/one.backup"), profile="_", control=""),
]
ERASING = [
    Attempt("erase", fixed(contact="ann")),
    Attempt("delete_profile", fixed()),
]


@pytest.fixture(scope="module")
def world(service: ServiceProcess) -> World:
    """Two contacts, two profiles, principals of every reach."""
    return make_world(service)


@pytest.mark.parametrize(
    "attempt", [pytest.param(one, id=f"{n}-{one.who}-{one.verb}") for n, one in enumerate(ATTEMPTS)]
)
async def test_no_way_around_a_grant(world: World, service: ServiceProcess, attempt: Attempt) -> None:
    """The attempt is refused, or finds nothing; nothing is written; the same call with the right grant is answered."""
    async with await service.client(profile=attempt.profile, principal="local") as person:
        before = (await person.feed(limit=1000)).position
        code, answer = await ask(world, attempt.who, attempt.verb, attempt.profile, attempt.body(world))
        assert code == attempt.code, answer
        if attempt.word:
            assert attempt.word not in answer
        if attempt.code:
            error = json.loads(answer)
            assert error["expected"]
            assert error["found"]
        kinds = ["message", "conversation", "memory", "profile", "reflection", "goal"]
        assert (await person.feed(after=before, limit=1000, kinds=kinds)).events == []
    body = (attempt.right or attempt.body)(world)
    code, answer = await ask(world, attempt.control, attempt.verb, attempt.profile, body)
    assert code == "", answer
    assert attempt.word in answer


@pytest.mark.parametrize("who", ["limited", "writer", "full", "nobody", "boss"])
@pytest.mark.parametrize("attempt", ERASING, ids=lambda attempt: attempt.verb)
async def test_no_agent_erases(world: World, service: ServiceProcess, who: str, attempt: Attempt) -> None:
    """Nobody but a person who administers the profile erases, previews that or lifts it; a person does."""
    body = attempt.body(world)
    for changes in ({}, {"preview": True}, {"lift": True}):
        code, answer = await ask(world, who, attempt.verb, PROFILE, {**body, **changes})
        assert code == "refused", answer
        assert "messages" not in answer
    async with await service.client(profile=PROFILE, principal="local") as person:
        shown = await person.erase(contact="bob", preview=True)
        assert shown.preview
        assert shown.memories > 0


@pytest.mark.parametrize("who", ["limited", "writer", "full", "nobody", "boss"])
@pytest.mark.parametrize("attempt", ADMINISTRATION, ids=lambda attempt: attempt.verb)
async def test_agents_administer_no_principals(
    world: World, service: ServiceProcess, who: str, attempt: Attempt
) -> None:
    """No agent adds, lists, revokes or rotates principals, not even one with admin on everything; a person does."""
    code, answer = await ask(world, who, attempt.verb, "_", attempt.body(world))
    assert code == "refused", answer
    assert "secret" not in answer
    code, answer = await ask(world, who, attempt.verb, PROFILE, attempt.body(world))
    assert code == "invalid", answer
    async with await service.client(principal="local") as person:
        names = {one.name for one in (await person.principal_list()).principals}
    assert "mine" not in names
    assert {"limited", "full", "local"} <= names


@pytest.mark.parametrize("who", ["limited", "writer", "full", "nobody", "boss"])
async def test_no_agent_imports(world: World, service: ServiceProcess, who: str) -> None:
    """Authors and trust come as a file says, so only a person who administers the profile takes one over."""
    body = {"run": "a" * 64, "mode": "finish"}
    code, answer = await ask(world, who, "import", PROFILE, body)
    assert code == "refused", answer
    async with await service.client(profile=PROFILE, principal="local") as person:
        assert (await person.abandon_import()).counts == {}


@pytest.mark.parametrize("verb", list(BODIES))
async def test_a_foreign_profile_is_like_none(world: World, verb: str) -> None:
    """What is answered about a profile without a grant does not tell whether it exists."""
    body = BODIES[verb](world)
    there = await ask(world, "limited", verb, STRANGE, body)
    absent = await ask(world, "limited", verb, "iso-none", body)
    assert there[0] == absent[0] == "refused"
    assert there[1].replace(STRANGE, "x") == absent[1].replace("iso-none", "x")


@pytest.mark.parametrize("verb", ["get", "history", "why", "forget"])
async def test_a_foreign_id_is_like_none(world: World, verb: str) -> None:
    """What is answered about another contact's id is what is answered about an id that never was."""
    theirs, none = world.ids["bob-0"], "a" * 26 + "@1"
    there = await ask(world, "limited", verb, PROFILE, {"id": theirs})
    absent = await ask(world, "limited", verb, PROFILE, {"id": none})
    assert there[0] == absent[0] == "not_found"
    assert there[1].replace(theirs, "x") == absent[1].replace(none, "x")


@pytest.mark.parametrize("profile", ["*", ">", "iso.x", "_", "%", "..", "iso*"])
async def test_no_profile_stands_for_others(world: World, profile: str) -> None:
    """A wildcard, a missing name or a path in place of the profile reaches nothing."""
    try:
        code, answer = await ask(world, "limited", "recall", profile, {"query": "green"})
    except nats.errors.Error:
        return  # the client or the server refuses the subject itself, or nobody answers there
    assert code in {"invalid", "refused"}
    assert BOB not in answer
    assert OTHER not in answer


async def test_what_a_grant_gives(world: World) -> None:
    """A contact's grant reads the contact's and what is agent-wide, writes the contact's, and lists its profile."""
    code, answer = await ask(world, "limited", "recall", PROFILE, {"query": "green harbour", "contact": "ann"})
    assert (code, ANN in answer, EVERYBODY in answer) == ("", True, True)
    code, answer = await ask(world, "limited", "recall", PROFILE, {"query": "green"})
    assert (code, ANN in answer, EVERYBODY in answer) == ("", False, True)
    code, answer = await ask(world, "limited", "feed", PROFILE, {"limit": 1000})
    assert (code, ANN in answer, EVERYBODY in answer) == ("", True, True)
    for verb, body in (
        ("ingest", {"messages": MESSAGE, "session": "s-ann"}),
        ("ingest", {"messages": MESSAGE, "contact": "ann"}),
        ("ingest", {"messages": MESSAGE, "contact": "ann", "session": "fresh"}),
        ("ingest", {"messages": MESSAGE, "contact": "ann", "session": "fresh"}),
        ("remember", {"content": "ann is tall", "contact": "ann", "session": "s-ann"}),
        ("get", {"id": world.ids["shared"]}),
        ("why", {"id": world.ids["ann-0"]}),
        ("forget", {"id": world.ids["ann-2"]}),
    ):
        code, answer = await ask(world, "limited", verb, PROFILE, body)
        assert code == "", (verb, body, answer)
    code, answer = await ask(world, "limited", "profiles", "_", {})
    assert [one["name"] for one in json.loads(answer)["profiles"]] == [PROFILE]
    assert json.loads((await ask(world, "nobody", "profiles", "_", {}))[1])["profiles"] == []
    code, answer = await ask(world, "boss", "profiles", "_", {})
    assert {PROFILE, STRANGE} <= {one["name"] for one in json.loads(answer)["profiles"]}


async def test_a_link_widens_no_grant(world: World, service: ServiceProcess) -> None:
    """Of two linked contacts, who holds a grant for one reads that one; who holds all reads both, until the unlink."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("recall", {"query": "green harbour", "contact": "ann"}),
        ("list", {"contact": "ann", "status": "all", "limit": 500}),
        ("feed", {"contact": "ann", "limit": 1000}),
    ]
    async with await service.client(profile=PROFILE, principal="local") as person:
        await person.link_contact("ann", "bob")
        for verb, body in asked:
            code, answer = await ask(world, "limited", verb, PROFILE, body)
            assert (code, ANN in answer, BOB in answer, '"bob"' in answer) == ("", True, False, False), verb
            code, answer = await ask(world, "full", verb, PROFILE, body)
            assert (code, ANN in answer, BOB in answer) == ("", True, True), verb
        code, answer = await ask(world, "limited", "get", PROFILE, {"key": "colour", "contact": "ann"})
        assert (code, ANN in answer) == ("", True)
        linked = (await person.status()).log_position
        await person.unlink_contact("ann", "bob")
    for verb, then in (("list", {"as_of": linked}), ("diff", {"end": linked}), ("recall", {"query": "green"})):
        body = {"contact": "ann", **then, **({"as_of": linked} if verb == "recall" else {})}
        code, answer = await ask(world, "limited", verb, PROFILE, body)
        assert (code, ANN in answer, BOB in answer) == ("", True, False), verb
        code, answer = await ask(world, "full", verb, PROFILE, body)
        assert (code, ANN in answer, BOB in answer) == ("", True, True), verb
    for verb, body in asked[:2]:
        assert BOB not in (await ask(world, "full", verb, PROFILE, body))[1]


async def test_refusals_are_counted_and_logged_without_content(world: World, service: ServiceProcess) -> None:
    """Who was refused what, where, is in the log and in the count; what they sent is not."""
    async with await service.client(principal="local") as person:
        before = (await person.status(service=True)).refused
        code, _ = await ask(world, "nobody", "remember", PROFILE, {"content": "unspeakable words"})
        assert code == "refused"
        assert (await person.status(service=True)).refused == before + 1
    log = (service.data / "serve.log").read_text()
    line = next(line for line in reversed(log.splitlines()) if "request_refused" in line)
    for part in ("nobody", "remember", PROFILE):
        assert part in line
    assert "unspeakable" not in log


async def test_the_actor_is_the_grants(world: World, service: ServiceProcess) -> None:
    """Who wrote something, and whether a person did, follows from the principal and from nothing in the request."""
    body = {
        "content": "I am a person",
        "key": "who",
        "contact": "ann",
        "metadata": {"actor": "local", "author_type": "person"},
    }
    assert (await ask(world, "limited", "remember", PROFILE, body))[0] == ""
    claim = {"content": "x", "contact": "ann", "author_type": "person"}
    code, _ = await ask(world, "limited", "remember", PROFILE, claim)
    assert code == "invalid"
    async with await service.client(profile=PROFILE, principal="local") as person:
        found = await person.get(key="who", contact="ann", at_least=world.end)
    assert (found.author, found.author_type) == ("limited", "agent")
    with pytest.raises(RefusedError):
        async with await service.client(principal="local-agent") as agent:
            await agent.principal_list()
