"""Proofs checked without anybody: what holds, and that nothing in one can be changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from domain.errors import DamagedError, InvalidInputError
from domain.events import LostRange, SealMade
from domain.merkle import root_of
from domain.sealing import (
    Proof,
    Stored,
    chain_problem,
    check_proof,
    leaf_at,
    leaf_of,
    proof_of,
    seal_hash,
    seal_problem,
    statement_of,
    touches,
)
from gateways.cli.proof import check
from gateways.jetstream.seal_keys import SealKey, check_signature
from umbriel import UmbrielError as ClientError

KEY = SealKey(bytes(range(32)))


def message(position: int, body: bytes = b"\x00cipher") -> Stored:
    """A message as it is stored, with a header of ours and some of the server's."""
    headers = {"Umbriel-Event-Id": f"{position:032x}", "Umbriel-Key-Id": "k", "Nats-Time-Stamp": "now"}
    return Stored(position, f"umbriel.events.07.p.memory.m{position}", headers, body)


def sealed(first: int, leaves: list[bytes], before: SealMade | None = None, key: SealKey = KEY) -> SealMade:
    """A signed seal over leaves."""
    seal = SealMade(
        stream="UMBRIEL",
        number=1 if before is None else before.number + 1,
        first=first,
        last=first + len(leaves) - 1,
        root=root_of(leaves).hex(),
        previous="" if before is None else seal_hash(before),
        public_key=key.public,
        signature="",
    )
    return msgspec.structs.replace(seal, signature=key.sign(statement_of(seal)))


def proof(position: int = 13, first: int = 11, count: int = 5) -> Proof:
    """A proof of one of several messages."""
    messages = [message(first + number) for number in range(count)]
    leaves = [leaf_of(one) for one in messages]
    return proof_of(messages[position - first], leaves, sealed(first, leaves))


@pytest.mark.parametrize("position", range(11, 16))
def test_a_proof_holds_after_it_was_written_down(position: int) -> None:
    """Every message of a stretch has a proof that survives JSON, and holds no header but ours."""
    written = msgspec.json.encode(proof(position))
    read = msgspec.json.decode(written, type=Proof)
    check_proof(read, check_signature)
    assert set(read.headers) == {"Umbriel-Event-Id", "Umbriel-Key-Id"}


CHANGES: list[tuple[str, Any]] = [
    ("position", 12),
    ("subject", "umbriel.events.07.p.memory.m12"),
    ("headers", {"Umbriel-Event-Id": "f" * 32, "Umbriel-Key-Id": "k"}),
    ("headers", {"Umbriel-Event-Id": f"{13:032x}"}),
    ("body", b"\x00Cipher"),
    ("leaf", "00" * 32),
    ("path", []),
    ("path", ["00" * 32] * 3),
    ("path", ["no"] * 3),
    ("format", "umbriel-proof/2"),
]


@pytest.mark.parametrize("field, value", CHANGES)
def test_nothing_in_a_proof_can_be_changed(field: str, value: object) -> None:
    """Another position, subject, header, body, leaf, path or format is an error."""
    changed = msgspec.structs.replace(proof(), **{field: value})
    with pytest.raises((DamagedError, InvalidInputError)):
        check_proof(changed, check_signature)


@pytest.mark.parametrize("field", ["stream", "number", "first", "last", "root", "previous", "public_key", "signature"])
def test_nothing_in_its_seal_can_be_changed(field: str) -> None:
    """The signature is over all of the seal."""
    original = proof()
    value = getattr(original.seal, field)
    other = value + 1 if isinstance(value, int) else f"ab{value[2:]}" if value[:2] != "ab" else f"cd{value[2:]}"
    changed = msgspec.structs.replace(original.seal, **{field: other})
    with pytest.raises(DamagedError):
        check_proof(msgspec.structs.replace(original, seal=changed), check_signature)


def test_only_the_leaves_of_the_seal_make_a_proof() -> None:
    """Too few leaves, or a message of another stretch, are refused."""
    leaves = [leaf_of(message(position)) for position in (1, 2)]
    with pytest.raises(InvalidInputError):
        proof_of(message(1), leaves[:1], sealed(1, leaves))
    with pytest.raises(InvalidInputError):
        proof_of(message(3), leaves, sealed(1, leaves))


def test_a_chain_follows() -> None:
    """A seal names the hash of the one before and goes on where that ended; another order, or a copy, does not."""
    leaves = [leaf_of(message(position)) for position in range(1, 5)]
    first = sealed(1, leaves[:2])
    second = sealed(3, leaves[2:], first)
    assert (chain_problem(first, None), chain_problem(second, first)) == ("", "")
    for seal, before in ((second, None), (first, second), (first, first), (second, sealed(1, leaves[1:3]))):
        assert chain_problem(seal, before)
    assert seal_problem(second, check_signature, frozenset({KEY.public})) == ""
    assert "trusted" in seal_problem(second, check_signature, frozenset())
    assert "signature" in seal_problem(msgspec.structs.replace(second, signature="zz"), check_signature, frozenset())
    assert "nothing" in seal_problem(msgspec.structs.replace(second, last=2), check_signature, frozenset())


def test_a_loss_on_record_has_a_leaf_of_its_own() -> None:
    """Where a loss is on record the position alone is the leaf; elsewhere what is missing has none."""
    lost = (LostRange(4, 6),)
    assert leaf_at(5, None, lost) == leaf_at(5, message(5), lost) != leaf_at(4, None, lost)
    assert leaf_at(7, None, lost) is None
    assert leaf_at(7, message(7), lost) == leaf_of(message(7))
    assert [touches(lost, *one) for one in ((1, 3), (1, 4), (6, 9), (7, 9))] == [False, True, True, False]


def test_a_leaf_is_framed() -> None:
    """What moves from one field to the next is another leaf; what the server adds is no part of it."""
    one = Stored(1, "s", {"Umbriel-A": "bc"}, b"d")
    assert leaf_of(one) != leaf_of(Stored(1, "s", {"Umbriel-Ab": "c"}, b"d"))
    assert leaf_of(one) != leaf_of(Stored(1, "s", {"Umbriel-A": "b"}, b"cd"))
    assert leaf_of(one) == leaf_of(Stored(1, "s", {"Nats-Sequence": "1", "Umbriel-A": "bc"}, b"d"))


@pytest.mark.parametrize("trust, code", [([KEY.public.upper()], 0), (["ab" * 32], 1), ([], 1)])
def test_the_command_says_whether_the_key_is_believed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], trust: list[str], code: int
) -> None:
    """A proof that holds by an unknown key is no more than that: the exit code is 1, and no key is made for it."""
    file = tmp_path / "proof.json"
    file.write_bytes(msgspec.json.encode(proof()))
    with pytest.raises(typer.Exit) as ended:
        check(file, tmp_path / "data", trust, json=True)
    assert ended.value.exit_code == code
    said = msgspec.json.decode(capsys.readouterr().out)
    assert (said["valid"], said["trusted"], said["position"]) == (True, code == 0, 13)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[]"])
def test_what_is_no_proof_is_an_error(tmp_path: Path, content: bytes) -> None:
    """A file that holds something else, or is not there, is named."""
    file = tmp_path / "proof.json"
    file.write_bytes(content)
    with pytest.raises(ClientError, match=r"proof\.json"):
        check(file, tmp_path, [], json=True)
    with pytest.raises(ClientError, match=r"other\.json"):
        check(tmp_path / "other.json", tmp_path, [], json=True)
