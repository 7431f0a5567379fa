"""A bounded cache of arrays: what it makes, what it keeps, and what it lets go of."""

from __future__ import annotations

from projections.bounded import Bounded


def test_a_value_is_made_once_and_the_least_asked_for_leaves() -> None:
    """Values are made where they are missing; over the bound, what was asked for least lately goes first."""
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key * 10

    kept: Bounded[str, str] = Bounded(60, len)
    assert [kept.get(key, make) for key in "aba"] == ["a" * 10, "b" * 10, "a" * 10]
    kept.get("c", make)  # 26 numbers each: two fit, and b was asked for before a
    assert made == ["a", "b", "c"]
    kept.get("a", make)
    kept.get("b", make)
    assert made == ["a", "b", "c", "b"]


def test_what_is_larger_than_the_bound_is_kept_alone() -> None:
    """The last value stays whatever its size, so that asking twice makes it once."""
    made: list[int] = []

    def make(key: int) -> list[int]:
        made.append(key)
        return [0] * key

    kept: Bounded[int, list[int]] = Bounded(50, len)
    kept.get(10, make)
    kept.get(500, make)
    kept.get(500, make)
    kept.get(10, make)
    assert made == [10, 500, 10]
