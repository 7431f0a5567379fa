"""What a grant allows: accesses, contacts, profiles, and what is never read as more than it says."""

from __future__ import annotations

import pytest

from domain.errors import InvalidInputError, RefusedError
from domain.grants import Access, Grant, Principal, Reach, check_grant, reach

ACCESSES: tuple[Access, ...] = ("read", "write", "admin")


def holding(*grants: Grant, revoked: bool = False) -> Principal:
    """A principal with these grants."""
    return Principal("ann", "agent", grants, revoked)


@pytest.mark.parametrize("held", ACCESSES)
@pytest.mark.parametrize("wanted", ACCESSES)
def test_admin_holds_write_holds_read(held: Access, wanted: Access) -> None:
    """An access gives itself and the lesser ones, in its own profile and for every contact."""
    found = reach(holding(Grant("p", held)), "p")
    if ACCESSES.index(held) >= ACCESSES.index(wanted):
        found.check_access(wanted)
        found.check_everyone(wanted)
    else:
        with pytest.raises(RefusedError):
            found.check_access(wanted)


@pytest.mark.parametrize("profile", ["q", "pp", "P", "p ", "*", "", "_"])
def test_a_profile_is_its_name(profile: str) -> None:
    """A grant for one profile is none for another, however alike or general its name is."""
    found = reach(holding(Grant("p", "admin")), profile)
    for access in ACCESSES:
        with pytest.raises(RefusedError):
            found.check_access(access)


def test_every_profile() -> None:
    """``*`` is every profile, also one that comes into being later."""
    reach(holding(Grant("*", "write")), "not-yet").check_everyone("write")


@pytest.mark.parametrize("contact", ["bob", "ann1", "an", "Ann", "ann ", "*", "a%", "_nn", "ａｎｎ", "ann\u200b"])
def test_a_contact_is_as_written(contact: str) -> None:
    """No prefix, pattern, case, width or invisible character makes one contact another."""
    found = reach(holding(Grant("p", "write", ("ann",))), "p")
    found.check_named("read", "ann")
    found.check_named("write", "ann")
    for access in ("read", "write"):
        with pytest.raises(RefusedError):
            found.check_named(access, contact)
    assert not found.sees(contact)
    assert not found.hears(contact)
    assert not found.may_write(contact)


def test_some_contacts_read_what_is_agent_wide_and_write_their_own() -> None:
    """Agent-wide memories are read, not written; sessions without a contact are neither."""
    found = reach(holding(Grant("p", "write", ("ann",))), "p")
    assert found.limited
    assert (found.sees(None), found.sees("")) == (True, True)
    assert (found.hears(None), found.hears("")) == (False, False)
    assert (found.may_write(None), found.may_write("")) == (False, False)
    assert (found.sees("ann"), found.hears("ann"), found.may_write("ann")) == (True, True, True)
    for access in ACCESSES:
        with pytest.raises(RefusedError):
            found.check_everyone(access)


def test_grants_add_up_each_in_its_own_access() -> None:
    """Reading one contact and writing another does not make writing the first."""
    found = reach(holding(Grant("p", "read", ("ann", "bob")), Grant("p", "write", ("bob",)), Grant("q", "admin")), "p")
    assert found.reads == frozenset({"ann", "bob"})
    assert found.writes == frozenset({"bob"})
    assert not found.admin
    with pytest.raises(RefusedError):
        found.check_write("ann")


def test_nothing_is_the_default() -> None:
    """Without a grant, and once revoked, nothing is allowed."""
    for found in (Reach(), reach(holding(), "p"), reach(holding(Grant("*", "admin"), revoked=True), "p")):
        for access in ACCESSES:
            with pytest.raises(RefusedError):
                found.check_access(access)
        assert not found.hears("ann")
        assert not found.may_write(None)


def test_a_refusal_names_no_other_contact() -> None:
    """Whose something is, is not told to who may not touch it; what is expected is."""
    found = reach(holding(Grant("p", "read"), Grant("p", "write", ("ann",))), "p")
    with pytest.raises(RefusedError) as caught:
        found.check_write("bob")
    assert "bob" not in str(caught.value)
    assert caught.value.expected
    assert caught.value.found


@pytest.mark.parametrize(
    "profile, access, contacts",
    [
        ("a.b", "read", ["*"]),
        ("", "read", ["*"]),
        ("_", "read", ["*"]),
        (">", "read", ["*"]),
        ("p", "own", ["*"]),
        ("p", "read", []),
        ("p", "read", [""]),
        ("p", "read", ["*", "ann"]),
        ("p", "read", ["a\nb"]),
        ("p", "admin", ["ann"]),
    ],
)
def test_what_is_no_grant(profile: str, access: str, contacts: list[str]) -> None:
    """A grant that could be read in two ways is refused when it is made."""
    with pytest.raises(InvalidInputError):
        check_grant(profile, access, contacts)


def test_a_grant_is_kept_as_given() -> None:
    """Contacts stay in order and are named once."""
    assert check_grant("*", "write", ["b", "a", "b"]) == Grant("*", "write", ("b", "a"))
