"""Ids are fixed for ever: literal vectors, computed here with hashlib alone."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInputError
from domain.ids import (
    PARTITIONS,
    base_message_id,
    check_profile,
    digest128,
    directory_name,
    keyed_id,
    memory_id,
    message_id,
    moment_text,
    originator_id,
    partition_of,
    split_memory_id,
    split_message_id,
)

_ID = "7t2qhvp4tajxrx7kx24ay6bbsu"
_NAMES = st.text("abcABCnN019_-", min_size=1, max_size=8)


def _framed(parts: tuple[str, ...]) -> bytes:
    return b"".join(len(p.encode()).to_bytes(8, "big") + p.encode() for p in parts)


def _base32(digest: bytes) -> str:
    return base64.b32encode(digest[:16]).decode().rstrip("=").lower()


@pytest.mark.parametrize(
    "session, role, content, expected",
    [
        ("s1", "user", "Hello", "tzogxqjikysbisu5rlbyycr4hm"),
        ("s1", "user", "", "kxrqe2wg4wu7h3nofjkzvgeyay"),
        ("会議", "assistant", "東京に住んでいます", "fup2epywoz33oupflnhrhplkre"),
        ("s1", "user", "line\nbreak\ttab \U0001f600", "ajm5blk4zjt5ekwcaxlbdre4je"),
    ],
)
def test_message_ids_are_the_recorded_vectors(session: str, role: str, content: str, expected: str) -> None:
    """The message id of a triple never changes, and is SHA-256 over length-prefixed parts."""
    assert message_id(session, role, content) == expected
    assert _base32(hashlib.sha256(_framed((session, role, content))).digest()) == expected


def test_digest_vectors() -> None:
    """Digests of no part, an empty part and two parts are the recorded ones."""
    assert digest128() == "4oymiquy7qobjgx36tejs35zeq"
    assert digest128("") == "v5kxb5nbqefxv54mv5f4octgb4"
    assert digest128("fact", "agent") == "74mc7kdts7ln6tweb6ocne2vc4"


def test_keyed_vector() -> None:
    """The id in a subject is HMAC-SHA-256 with the same framing, and depends on the secret."""
    assert keyed_id(b"k" * 32, "memory", "x") == "qqw2rx32fkydt7cyichc4plkji"
    mac = hmac.digest(b"k" * 32, _framed(("memory", "x")), "sha256")
    assert keyed_id(b"k" * 32, "memory", "x") == _base32(mac)
    assert keyed_id(b"l" * 32, "memory", "x") != "qqw2rx32fkydt7cyichc4plkji"


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=5), max_size=4).map(tuple))
def test_digest_is_sha256_of_framed_parts(parts: tuple[str, ...]) -> None:
    """Any parts give what hashlib gives, as 26 characters."""
    assert digest128(*parts) == _base32(hashlib.sha256(_framed(parts)).digest())
    assert len(digest128(*parts)) == 26


@pytest.mark.parametrize(
    "one, other",
    [(("ab", "c"), ("a", "bc")), (("a",), ("a", "")), (("", "a"), ("a", "")), (("é",), ("e\u0301",))],
)
def test_parts_do_not_run_together(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """Length prefixes keep ("ab", "c") from ("a", "bc"), and exact text is hashed, not a normal form."""
    assert digest128(*one) != digest128(*other)


def test_later_occurrences_carry_their_number() -> None:
    """The first occurrence is the bare digest; the third appends .3, and both are read back."""
    base = base_message_id("s", "user", "yes")
    assert (message_id("s", "user", "yes"), message_id("s", "user", "yes", 3)) == (base, f"{base}.3")
    assert (split_message_id(base), split_message_id(f"{base}.3")) == ((base, 1), (base, 3))


@given(st.integers(1, 10**9 - 1))
def test_ids_are_read_back_as_written(number: int) -> None:
    """Splitting undoes building, for memories and messages of any version or occurrence."""
    assert split_memory_id(memory_id(_ID, number)) == (_ID, number)
    assert split_message_id(message_id("s", "user", "x", number)) == (message_id("s", "user", "x"), number)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        _ID[:-1],
        _ID + "a",
        _ID.upper(),
        _ID[:-1] + "1",
        f"{_ID}.1",
        f"{_ID}.0",
        f"{_ID}.01",
        f"{_ID}.",
        f"{_ID}.x",
        f"{_ID}\n",
        f" {_ID}",
        f"{_ID}.2.3",
        f"{_ID}.٣",
        f"{_ID}@1",
        f"{_ID}.-2",
        f"{_ID}.1234567890",
    ],
)
def test_malformed_message_ids(wrong: str) -> None:
    """Each message has one spelling of its id; everything else is invalid input."""
    with pytest.raises(InvalidInputError, match="not a message id"):
        split_message_id(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        _ID,
        f"{_ID}@",
        f"{_ID}@0",
        f"{_ID}@01",
        f"{_ID}@-1",
        f"{_ID}@1\n",
        f"{_ID}@1@2",
        f"{_ID.upper()}@1",
        f"{_ID[:-1]}@1",
        f"{_ID}@²",
        f"{_ID}@1234567890",
        f"../{_ID}@1",
    ],
)
def test_malformed_memory_ids(wrong: str) -> None:
    """A memory id without a proper address and version is invalid input."""
    with pytest.raises(InvalidInputError, match="not a memory id"):
        split_memory_id(wrong)


@pytest.mark.parametrize("name", ["a", "A", "0", "CON", "con", "__", "-", "a" * 64, "Ana_2-b"])
def test_profile_names(name: str) -> None:
    """Letters, digits, _ and - up to 64 characters are a profile's name."""
    assert check_profile(name) == name


@pytest.mark.parametrize(
    "name", ["", "_", "a" * 65, "a.b", "a b", "a/b", "..", "ä", "a\n", "a*", "a>", "名", "a\0", None, 7, b"a"]
)
def test_refused_profile_names(name: object) -> None:
    """Nothing that a subject or a path would read differently is a profile's name."""
    with pytest.raises(InvalidInputError):
        check_profile(name)  # type: ignore[arg-type]  # what arrives from outside may be anything


@given(_NAMES, _NAMES)
def test_directories_do_not_collide(one: str, other: str) -> None:
    """Two profiles never share a directory, not even where the file system folds case."""
    assert (directory_name(one).casefold() == directory_name(other).casefold()) == (one == other)


@pytest.mark.parametrize("name", ["CON", "con", "Nul", "aux", "prn", "com1", "LPT9"])
def test_no_directory_is_a_device(name: str) -> None:
    """A device name is reserved with any extension, so what stands before the first dot is none."""
    assert directory_name(name).partition(".")[0] == "p"


def test_directory_vectors() -> None:
    """Directory names are the recorded ones: capitals are escaped, the rest is as written."""
    names = {"ana": "p.ana", "Ana": "p.+ana", "ANA": "p.+a+n+a", "a_b-9": "p.a_b-9"}
    assert {name: directory_name(name) for name in names} == names


@pytest.mark.parametrize("profile, partition", [("default", 55), ("ana", 36), ("Ana", 30), ("conv-26", 42)])
def test_partition_vectors(profile: str, partition: int) -> None:
    """A profile's partition never changes, or its subjects would."""
    assert partition_of(profile) == partition == hashlib.sha256(profile.encode()).digest()[0] % 64


@given(_NAMES)
def test_partitions_are_in_range(profile: str) -> None:
    """Every profile has a partition that two digits can write."""
    assert 0 <= partition_of(profile) < PARTITIONS == 64


def test_partitions_are_all_used() -> None:
    """A few thousand profiles spread over every partition."""
    assert {partition_of(f"profile-{n}") for n in range(2_000)} == set(range(PARTITIONS))


def test_originator_id() -> None:
    """An aggregate id names profile, category and keyed id."""
    assert originator_id("ana", "memory", "abc") == "ana.memory.abc"


def test_one_instant_is_one_text() -> None:
    """A time enters an id as UTC with microseconds, whatever zone it came in."""
    tokyo = datetime(2026, 1, 1, 21, 0, tzinfo=timezone(timedelta(hours=9)))
    assert moment_text(tokyo) == moment_text(datetime(2026, 1, 1, 12, tzinfo=UTC)) == "2026-01-01T12:00:00.000000+00:00"
    assert not moment_text(None)


def test_a_time_without_a_zone_enters_no_id() -> None:
    """Local time is never taken for UTC."""
    with pytest.raises(InvalidInputError, match="no zone"):
        moment_text(datetime(2026, 1, 1))  # noqa: DTZ001 -- the fault under test
