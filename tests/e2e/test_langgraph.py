"""The store of LangGraph: what its own store in memory does, in a log, for any number of processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from operator import itemgetter
from typing import Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from tests.e2e.processes import ServiceProcess
from umbriel import GrantSpec, InvalidInputError, RefusedError, Umbriel
from umbriel.langgraph import UmbrielStore

_names = count(1)
LABELS = st.sampled_from(["a", "A", "a%", "a_", "*", "b"])
#: few, so that operations meet
SPACES = st.sampled_from([(), ("a",), ("a", "b"), ("A",), ("a%",), ("a_",), ("*", "é"), ("x" * 300,), ("\x01", "#")])
KEYS = st.sampled_from(["k", "k", "K", "k-1", "k_1", "", "long" * 100, "\0"])
WORDS = st.sampled_from(["tea", "Tea", "tea.", "coffee", "", " ", "\0", "\ud800", "ab" * 3_000, "AB" * 3_000])
VALUES = st.dictionaries(st.sampled_from(["v", "n", "w"]), WORDS | st.integers(0, 3) | st.lists(WORDS, max_size=2))
FILTERS = st.none() | st.dictionaries(
    st.sampled_from(["n", "v", "none"]),
    st.integers(0, 3) | WORDS | st.fixed_dictionaries({"$ne": st.integers(0, 3)}) | st.just({"$eq": 1}),
    max_size=1,
)
OPS = st.one_of(
    st.tuples(SPACES, KEYS, st.none() | VALUES).map(lambda put: PutOp(*put)),
    st.tuples(SPACES, KEYS, VALUES).map(lambda put: PutOp(*put)),
    st.tuples(SPACES, KEYS).map(lambda get: GetOp(*get)),
    st.builds(lambda space, wanted: SearchOp(space, wanted, limit=1_000), SPACES, FILTERS),
    st.builds(
        lambda conditions, depth: ListNamespacesOp(conditions, depth, limit=1_000),
        st.none()
        | st.tuples(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), st.tuples(LABELS | st.just("*")))),
        st.sampled_from([None, 2, 3]),
    ),
)
BATCHES = st.lists(st.lists(OPS, min_size=1, max_size=4), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def played(service: ServiceProcess) -> Iterator[UmbrielStore]:
    """A store that many examples use, each below a label of its own."""
    with UmbrielStore(lambda: service.client(profile="store-played")) as store:
        yield store


@pytest.fixture
def profile() -> str:
    """A new profile's name."""
    return f"store-{next(_names)}"


@pytest.fixture
def store(service: ServiceProcess, profile: str) -> Iterator[UmbrielStore]:
    """A store on a new profile."""
    with UmbrielStore(lambda: service.client(profile=profile)) as opened:
        yield opened


def below(op: Any, root: str) -> Any:
    """The same operation below a label."""
    match op:
        case SearchOp():
            return op._replace(namespace_prefix=(root, *op.namespace_prefix))
        case ListNamespacesOp():
            here = MatchCondition("prefix", (root,))
            ends = [one for one in op.match_conditions or () if one.match_type == "suffix"]
            begins = [
                MatchCondition("prefix", (root, *one.path))
                for one in op.match_conditions or ()
                if one.match_type == "prefix"
            ]
            return op._replace(match_conditions=(here, *ends, *begins))
        case _:
            return op._replace(namespace=(root, *op.namespace))


def plain(result: Any) -> Any:
    """What a result says, without times and order."""
    if isinstance(result, Item):
        return result.namespace, result.key, result.value
    if isinstance(result, list) and result and isinstance(result[0], Item):
        return sorted((plain(one) for one in result), key=repr)
    return result


def without_empty(model: InMemoryStore) -> InMemoryStore:
    """The model without namespaces in which nothing is left, which it goes on listing."""
    for space in [space for space, items in model._data.items() if not items]:
        del model._data[space]
    return model


@given(batches=BATCHES)
@settings(max_examples=12)
def test_it_does_what_the_store_in_memory_does(played: UmbrielStore, batches: list[list[Any]]) -> None:
    """Over any sequence of batches both answer the same, exactly, in whatever names and values there are."""
    root, model = f"example {next(_names)}", InMemoryStore()
    for batch in batches:
        ops = [below(op, root) for op in batch]
        theirs = [without_empty(model).batch([op])[0] if not isinstance(op, PutOp) else None for op in ops]
        model.batch([op for op in ops if isinstance(op, PutOp)])
        assert [plain(one) for one in played.batch(ops)] == [plain(one) for one in theirs]
    assert plain(played.search((root,), limit=1_000)) == plain(model.search((root,), limit=1_000))


def test_no_value_is_lost_among_those_that_fold_to_the_same(store: UmbrielStore) -> None:
    """A value that differs only in case, marks or spaces is another value, large or small, under keys that fold too."""
    values = ["Tea", "tea", "tea.", "tea .", {"Tea": 1}, {"tea": 1}, "AB" * 3_000, "ab" * 3_000, "AB" * 3_000, "Tea"]
    for value in values:
        store.put(("n",), "a-b", {"v": value})
        item = store.get(("n",), "a-b")
        assert item is not None
        assert item.value == {"v": value}
    store.batch([PutOp(("n",), key, {"v": "Tea"}) for key in ("a_b", "A b")])
    assert {one.key for one in store.search(("n",), filter={"v": "Tea"})} == {"a-b", "a_b", "A b"}


def test_pages_of_a_search(store: UmbrielStore) -> None:
    """What was written last comes first; limit and offset cut one and the same order, filtered or not."""
    for number in range(7):
        store.put(("n", str(number % 2)), f"k{number}", {"n": number})
    store.put(("n", "0"), "k0", {"n": 0, "again": True})
    order = [one.key for one in store.search(("n",))]
    assert order == ["k0", "k6", "k5", "k4", "k3", "k2", "k1"]
    assert [one.key for one in store.search(("n",), limit=2, offset=3)] == order[3:5]
    assert store.search(("n",), offset=7) == store.search(("n",), limit=0) == store.search(("m",)) == []
    few = store.search(("n",), filter={"n": {"$gte": 2, "$lt": 6.5}}, limit=2, offset=1)
    assert [one.key for one in few] == ["k5", "k4"]
    assert store.search(("n",), filter={"missing": {"$gt": 1}}) == []
    with pytest.raises(ValueError, match="operator"):
        store.search(("n",), filter={"n": {"$like": 1}})


def test_an_item_has_times_of_its_own(store: UmbrielStore) -> None:
    """It keeps when it began when it is put again; deleted and put again it inherits nothing."""
    store.put(("n",), "k", {"v": 1})
    first = store.get(("n",), "k")
    store.put(("n",), "k", {"v": 2}, ttl=60)
    second = store.get(("n",), "k")
    assert first is not None
    assert second is not None
    assert first.created_at == first.updated_at == second.created_at < second.updated_at
    store.delete(("n",), "k")
    store.delete(("n",), "never")
    assert store.get(("n",), "k") is None
    assert store.list_namespaces() == []
    store.put(("n",), "k", {"w": 1})
    third = store.get(("n",), "k")
    assert third is not None
    assert (third.value, third.created_at == third.updated_at) == ({"w": 1}, True)
    assert third.created_at > second.updated_at


async def test_a_search_by_words(store: UmbrielStore, profile: str, service: ServiceProcess) -> None:
    """The best comes first with a score; what is not indexed, or not by these fields, has none and comes last."""
    await store.aput(("m", "mara"), "pet", {"text": "Mara has a small dog called Rex", "note": "violin"})
    await store.aput(("m", "mara"), "work", {"text": "Mara works at a bank in Porto"}, index=["text"])
    await store.aput(("m", "mara"), "hidden", {"text": "Mara had a dog before"}, index=False)
    talks = {"talks": [{"about": "boats"}, {"about": "ferries"}]}
    await store.aput(("m", "mara"), "deep", talks, index=["talks[*].about"])
    await store.aput(("m", "jo"), "pet", {"text": "Jo has two dogs"})
    await store.aput(("q",), "pet", {"text": "dog dog dog"})
    found = await store.asearch(("m", "mara"), query="Which dog does she have?")
    assert found[0].key == "pet"
    scores = {one.key: one.score for one in found}
    assert set(scores) == {"pet", "work", "hidden", "deep"}
    assert scores["hidden"] is None
    ordered = [one.score if one.score is not None else -1.0 for one in found]
    assert ordered == sorted(ordered, reverse=True)
    assert (await store.asearch(("m",), query="dog", limit=2))[0].score is not None
    assert {one.key for one in await store.asearch(("m",), query="dog", limit=2)} == {"pet"}
    assert (await store.asearch(("m", "mara"), query="ferries"))[0].key == "deep"
    assert [one.key for one in await store.asearch(("m", "jo"), query="dog", filter={"text": "x"})] == []
    await store.adelete(("m", "mara"), "pet")
    await store.aput(("m", "mara"), "pet", {"text": "a grey parrot"})
    again = {one.key: one.score for one in await store.asearch(("m", "mara"), query="a parrot")}
    assert again["pet"] == max(score for score in again.values() if score is not None)
    async with await service.client(profile=profile) as memory:
        texts = {one.text for one in (await memory.list(contact="m.mara")).entries}
        assert "Mara works at a bank in Porto" in texts
        recalled = await memory.recall("parrot", contact="m.mara")
        assert recalled.results[0].text == "a grey parrot"


def test_many_namespaces_and_items_with_the_same_words(store: UmbrielStore) -> None:
    """More namespaces than are read one by one; items that say the same are all found, each with its score."""
    puts = [PutOp(("many", f"u{number}"), "k", {"text": f"likes number {number}"}) for number in range(12)]
    store.batch([*puts, *(PutOp(("same",), key, {"text": "likes plums"}) for key in "abc")])
    assert len(store.search(("many",), limit=50)) == 12
    assert store.search(("many",), query="who likes number 7")[0].namespace == ("many", "u7")
    assert {one.key for one in store.search(("same",), query="plums") if one.score} == {"a", "b", "c"}
    assert store.list_namespaces(prefix=("many",), limit=3, offset=1) == [("many", f"u{n}") for n in (1, 10, 11)]
    assert store.list_namespaces(max_depth=1) == [("many",), ("same",)]


async def test_time_to_live(service: ServiceProcess, profile: str) -> None:
    """Reading begins the time anew unless it is told not to; what is over is gone, swept and never inherited."""
    config: Any = {"default_ttl": 60, "refresh_on_read": True}
    with UmbrielStore(lambda: service.client(profile=profile), ttl=config) as store:
        await store.aput(("n",), "k", {"v": 1})
        await store.aput(("n",), "for ever", {"v": 2}, ttl=None)
        async with await service.client(profile=profile) as memory:

            async def ends(key: str = "k", at: datetime | None = None) -> datetime | None:
                page = await memory.list(contact="n", at_least=(await memory.feed(after="new")).position)
                (found,) = [one for one in page.entries if key in one.metadata["item"]["path"]]
                if at is not None:
                    await memory.expire(found.id, at=at)
                return found.expires_at

            soon = datetime.now(UTC) + timedelta(minutes=5)
            assert await ends(at=soon) is not None
            assert await ends("for ever") is None
            assert await store.aget(("n",), "k", refresh_ttl=False) is not None
            await store.asearch(("n",), refresh_ttl=False)
            assert await ends() == soon
            await store.asearch(("n",))
            renewed = await ends()
            assert renewed is not None
            assert renewed > soon + timedelta(minutes=50)
            await ends(at=soon)
            await store.aput(("n",), "k", {"v": 1})
            assert (await ends() or soon) > soon + timedelta(minutes=50)
            await ends(at=datetime.now(UTC))
        assert await store.aget(("n",), "k") is None
        assert [one.key for one in await store.asearch(("n",))] == ["for ever"]
        assert await store.asweep_ttl() == 1
        assert store.sweep_ttl() == 0
        await store.aput(("n",), "k", {"v": 1}, ttl=None)
        item = await store.aget(("n",), "k")
        assert item is not None
        assert item.created_at == item.updated_at


def test_what_is_refused_leaves_nothing(store: UmbrielStore) -> None:
    """A value that is too large or no JSON, a name that is none: nothing of the batch is written."""
    fine = PutOp(("n",), "k", {"v": 1})
    for put, why in (({"v": "x" * 40_000}, "too large"), ({"v": object()}, "no JSON")):
        with pytest.raises(InvalidInputError, match=why):
            store.batch([fine, PutOp(("n",), "other", put)])
    for ttl in (0, -1, float("nan"), 1e12):
        with pytest.raises(InvalidInputError, match="ttl"):
            store.batch([fine, PutOp(("n",), "other", {}, ttl=ttl)])
    with pytest.raises(InvalidNamespaceError):
        store.batch([fine, PutOp(("a.b",), "k", {})])
    with pytest.raises(InvalidNamespaceError):
        store.put((), "k", {})
    assert store.search(()) == []
    assert store.batch([]) == []


async def test_a_persons_item_and_anothers_namespace(
    store: UmbrielStore, service: ServiceProcess, profile: str
) -> None:
    """An agent does not silently lose to a person's item; a grant for one namespace reaches that one."""
    with UmbrielStore(lambda: service.client(profile=profile, principal="local")) as persons:
        await persons.aput(("m", "mara"), "k", {"v": "hers"})
        await persons.aput(("m", "jo"), "k", {"v": "his"})
    with pytest.raises(RefusedError, match="cannot be replaced"):
        await store.aput(("m", "mara"), "k", {"v": "mine"})
    name = f"one-{next(_names)}"
    grant = GrantSpec(profile=profile, access="write", contacts=["m.mara"])
    async with await service.client(profile=profile, principal="local") as person:
        secret = (await person.principal_add(name, grants=[grant])).secret
    url = json.loads((service.data / "endpoint.json").read_text())["url"]
    with UmbrielStore(lambda: Umbriel.connect(url, principal=name, password=secret, profile=profile)) as limited:
        await limited.aput(("m", "mara"), "own", {"v": "new"})
        assert {one.key for one in await limited.asearch(("m", "mara"), query="new")} == {"k", "own"}
        with pytest.raises(RefusedError):
            await limited.aput(("m", "jo"), "k", {"v": "taken over"})
        with pytest.raises(RefusedError):
            await limited.asearch(())


class State(TypedDict):
    """What goes through the graph."""

    said: str
    known: list[str]


def remember(state: State, runtime: Runtime[None]) -> dict[str, Any]:
    """Say what is known, then keep what was said."""
    assert runtime.store is not None
    known = runtime.store.search(("mara",), query=state["said"])
    runtime.store.put(("mara",), state["said"], {"text": state["said"]})
    return {"known": [one.value["text"] for one in known]}


async def aremember(state: State, runtime: Runtime[None]) -> dict[str, Any]:
    """As `remember`, in an event loop, two things at once."""
    assert runtime.store is not None
    known, _ = await asyncio.gather(
        runtime.store.asearch(("mara",), query=state["said"]),
        runtime.store.aput(("mara",), state["said"], {"text": state["said"]}),
    )
    return {"known": [one.value["text"] for one in known]}


async def test_a_graph_remembers_in_another_process(service: ServiceProcess, profile: str) -> None:
    """A compiled graph, run with one store and then with another, in threads and in an event loop."""
    answers = []
    for number, said in enumerate(("I live in Porto.", "I have a dog.", "Where do I live?")):
        node: Any = aremember if number == 2 else remember
        graph = StateGraph(State).add_node("n", node).add_edge(START, "n").add_edge("n", END)
        with UmbrielStore(lambda: service.client(profile=profile)) as store:
            compiled = graph.compile(store=store)
            given_: Any = {"said": said, "known": []}
            if number == 2:
                answers.append(await compiled.ainvoke(given_))
            else:
                answers.append(await asyncio.to_thread(compiled.invoke, given_))
    known = list(map(itemgetter("known"), answers))
    assert [len(one) for one in known] == [0, 1, 2]
    assert known[2][0] == "I live in Porto."


def test_a_closed_store_says_so(store: UmbrielStore) -> None:
    """Closing twice does nothing."""
    store.put(("n",), "k", {"v": 1})
    assert isinstance(store.search(("n",))[0], SearchItem)
    store.close()
    store.close()
    with pytest.raises(InvalidInputError, match="closed"):
        store.get(("n",), "k")
