"""Merkle trees: the published vectors of RFC 6962, and paths that lead from every leaf to the root."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.merkle import (
    MerkleRoot,
    audit_path,
    leaf_hash,
    node_hash,
    other_parts,
    root_of,
    root_of_parts,
    root_of_path,
)

# The inputs and roots of the test vectors that Certificate Transparency publishes.
INPUTS = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
LEAVES = [leaf_hash(bytes.fromhex(one)) for one in INPUTS]


@pytest.mark.parametrize("count", range(9))
def test_roots_are_those_of_the_standard(count: int) -> None:
    """The root over the first n inputs is the published one, whether leaves come at once or one by one."""
    assert root_of(LEAVES[:count]).hex() == ROOTS[count]
    tree = MerkleRoot()
    for leaf in LEAVES[:count]:
        tree.add(leaf)
    assert (tree.count, tree.root().hex()) == (count, ROOTS[count])


@given(count=st.integers(1, 70), data=st.data())
def test_a_path_leads_from_its_leaf_to_the_root_and_from_no_other(count: int, data: st.DataObject) -> None:
    """The path of a leaf gives the root; with another leaf, place, number or hash in it, it does not."""
    leaves = [leaf_hash(str(number).encode()) for number in range(count)]
    index = data.draw(st.integers(0, count - 1))
    path, root = audit_path(leaves, index), root_of(leaves)
    assert root_of_path(leaves[index], index, count, path) == root
    assert root_of_path(leaf_hash(b"x"), index, count, path) != root
    assert root_of_path(leaves[index], index, count, [*path, leaves[0]]) != root
    for other in {0, index // 2, count - 1} - {index}:
        assert root_of_path(leaves[index], other, count, path) != root
    if path:
        changed = data.draw(st.integers(0, len(path) - 1))
        wrong = [bytes(32) if number == changed else one for number, one in enumerate(path)]
        assert root_of_path(leaves[index], index, count, wrong) != root


def test_what_cannot_be_a_path_leads_nowhere() -> None:
    """An index outside the tree, or too short a path, gives no root; a node is never taken for a leaf."""
    assert root_of_path(LEAVES[0], 1, 1, []) is None
    assert root_of_path(LEAVES[0], -1, 2, [LEAVES[1]]) is None
    assert root_of_path(LEAVES[0], 0, 2, []) is None
    assert leaf_hash(LEAVES[0] + LEAVES[1]) != node_hash(LEAVES[0], LEAVES[1])


@given(st.integers(1, 60), st.data())
def test_some_leaves_and_the_other_parts_make_the_root(count: int, data: st.DataObject) -> None:
    """With another leaf, without a part or with one too many they make none or another."""
    leaves = [leaf_hash(str(one).encode()) for one in range(count)]
    some = data.draw(st.lists(st.integers(0, count - 1), unique=True, min_size=1).map(sorted))
    parts, known = other_parts(leaves, some), {one: leaves[one] for one in some}
    assert root_of_parts(known, count, parts) == root_of(leaves)
    assert len(parts) <= count - len(some)
    assert root_of_parts(known | {some[0]: leaf_hash(b"x")}, count, parts) != root_of(leaves)
    assert root_of_parts(known, count, [*parts, leaves[0]]) is None
    assert not parts or root_of_parts(known, count, parts[:-1]) is None
