"""Items of a store as memories and back: exact values, names that never meet, and what they are found by."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.settings import Limits
from domain.text import fold_content, fold_key
from gateways.service.validate import check_remember
from tests.unit.test_agent_items import JSON
from umbriel import InvalidInputError, Memory
from umbriel._store_filters import below, matches, path_matches
from umbriel._store_items import FACT_TYPE, Packed, contact_of, contacts_below, key_of, leaves, marked, pack, unpack
from umbriel.types import RememberRequest

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LABELS = st.lists(st.text(st.characters(exclude_characters=".\0"), min_size=1), min_size=1, max_size=4)
KEYS = st.text(st.characters())


def kept(packed: Packed) -> Memory:
    """What comes back of a packed item; it is one that the service takes."""
    request = RememberRequest(
        content=packed.content,
        key=packed.key,
        contact=packed.contact,
        fact_type=FACT_TYPE,
        metadata=packed.metadata,
    )
    check_remember(request, Limits())
    return Memory(
        id="a@1",
        text=packed.content,
        kind="fact",
        fact_type=FACT_TYPE,
        status="live",
        confidence=0.9,
        source="explicit",
        recorded_at=NOW,
        position="S.x:1",
        key=packed.key,
        contact=packed.contact,
        metadata=packed.metadata,
    )


@given(
    LABELS, KEYS, st.dictionaries(st.text(st.characters()), JSON, max_size=4), st.sampled_from([None, ["words"], []])
)
def test_an_item_comes_back_exactly(
    labels: list[str], key: str, value: dict[str, Any], texts: list[str] | None
) -> None:
    """Any namespace, key and JSON, wherever its value lies, marked or not."""
    for repeated in (value, {"large": "ab" * 3_000, **value}):
        packed = pack(labels, key, repeated, texts=texts, ttl=1.5, since=NOW)
        for one in (packed, marked(packed)):
            stored = unpack(kept(one))
            assert stored is not None
            assert (stored.namespace, stored.key, stored.value) == (tuple(labels), key, repeated)
            assert (stored.ttl, stored.created_at, stored.indexed) == (1.5, NOW, texts is not None)
            assert one.says(kept(one))
        assert fold_content(marked(packed).content) != fold_content(packed.content)


@given(LABELS, LABELS)
def test_namespaces_do_not_meet(one: list[str], other: list[str]) -> None:
    """Two are one contact only where they are one namespace."""
    assert (contact_of(one) == contact_of(other)) is (one == other)


@pytest.mark.parametrize("path", ["*", "#x", " ", "a\nb", "\ud800", "x" * 257])
def test_a_path_that_no_contact_can_be_called_is_hashed(path: str) -> None:
    """And is found below its beginning all the same."""
    contact = contact_of([path])
    assert contact.startswith("#")
    assert len(contact) < 256
    assert contacts_below([path], [contact, contact_of([path, "more"]), "other"])[0] == contact
    assert contact_of([path, "more"]) in contacts_below([path], [contact_of([path, "more"])])


def test_prefixes_are_label_by_label() -> None:
    """``users`` does not begin ``users2``, nor does a sign stand for another."""
    known = ["users", "users.mara", "users2", "usersXmara", "u%", "u_.x", "ux.x"]
    assert contacts_below(["users"], known) == ["users", "users.mara"]
    assert contacts_below(["u%"], known) == ["u%"]
    assert contacts_below(["u_"], known) == ["u_.x"]


@pytest.mark.parametrize("one, other", [("a-b", "a_b"), ("K", "k"), ("a b", "a  b"), ("", " "), ("é", "e\u0301")])
def test_keys_are_not_folded(one: str, other: str) -> None:
    """Keys that are one to a memory are two to a store."""
    assert fold_key(key_of(one)) != fold_key(key_of(other))


@pytest.mark.parametrize(
    "value, found",
    [
        ({"text": "likes tea"}, ["likes tea"]),
        ({"name": "Mara", "age": 30}, ["name: Mara", "age: 30"]),
        ({"a": {"b": [True, None, "x"]}}, ["a.b: true", "a.b: x"]),
        ({}, []),
    ],
)
def test_a_value_is_found_by_its_leaves(value: dict[str, Any], found: list[str]) -> None:
    """One is itself; several have their names."""
    assert leaves(value) == found


@pytest.mark.parametrize(
    "labels, key, value, why",
    [
        (["n"], "k", {"v": "x" * 40_000}, "value is too large"),
        (["n"], "k", {"v": object()}, "no JSON"),
        (["n" * 3_000], "k" * 2_000, {}, "too long"),
    ],
)
def test_what_cannot_be_kept_is_refused(labels: list[str], key: str, value: dict[str, Any], why: str) -> None:
    """With what was expected and found."""
    with pytest.raises(InvalidInputError, match=why) as error:
        pack(labels, key, value, texts=[], ttl=None, since=None)
    assert error.value.expected
    assert error.value.found


def test_large_items_are_marked_within_the_limit() -> None:
    """The largest value that is taken can still be told from one that is equal to it when folded."""
    size = next(n for n in range(32_700, 0, -1) if _fits({"v": "x" * n}))
    assert size > 32_600
    assert unpack(kept(marked(pack(["n"], "k", {"v": "x" * size}, texts=None, ttl=None, since=NOW))))


def _fits(value: dict[str, Any]) -> bool:
    try:
        pack(["n"], "k", value, texts=None, ttl=None, since=NOW)
    except InvalidInputError:
        return False
    return True


def test_other_memories_are_no_items() -> None:
    """Whatever their metadata, and those of another kind of item."""
    memory = kept(pack(["n"], "k", {}, texts=[], ttl=None, since=None))
    assert unpack(memory) is not None
    others: list[dict[str, Any]] = [
        {"fact_type": ""},
        {"metadata": {}},
        {"metadata": {"item": 1}},
        {"metadata": {"item": {"x": 1}}},
    ]
    assert [unpack(msgspec.structs.replace(memory, **changes)) for changes in others] == [None] * 4


@pytest.mark.parametrize(
    "wanted, fits",
    [
        ({"n": 3}, True),
        ({"n": {"$gt": 2, "$lte": 3}}, True),
        ({"n": {"$gt": 3}}, False),
        ({"none": {"$gt": 0}}, False),
        ({"word": {"$lt": 9}}, False),
        ({"none": None}, True),
        ({"n": {"$ne": 4}, "word": {"$eq": "x"}}, True),
        ({"deep": {"a": 1}}, True),
        ({"deep": {"a": {"$gte": 2}}}, False),
        ({"list": [1, {"$ne": 3}]}, True),
        ({"list": [1]}, False),
        (None, True),
    ],
)
def test_filters(wanted: dict[str, Any] | None, *, fits: bool) -> None:
    """Equality, comparison of numbers, and both inside of what is nested."""
    assert matches({"n": 3, "word": "x", "deep": {"a": 1, "b": 2}, "list": [1, 2]}, wanted) is fits


def test_an_unknown_operator_is_an_error() -> None:
    """It is never taken for a field."""
    with pytest.raises(ValueError, match=r"\$near"):
        matches({"n": 1}, {"n": {"$near": 1}})


def test_paths() -> None:
    """Beginnings and ends, a star for one label."""
    space = ("a", "b", "c")
    assert below(space, ("a", "b"))
    assert not below(("a",), space)
    assert path_matches(space, "suffix", ("*", "c"))
    assert path_matches(space, "prefix", ("a", "*"))
    assert not path_matches(space, "suffix", ("a", "b"))
    assert not path_matches(("c",), "suffix", ("b", "c"))
    with pytest.raises(ValueError, match="match type"):
        path_matches(space, "middle", ("b",))
