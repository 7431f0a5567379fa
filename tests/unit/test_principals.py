"""The file of principals: private, replaced as a whole, hashes only; and nkeys that are none."""

from __future__ import annotations

import stat
from pathlib import Path

import bcrypt
import nkeys
import pytest

from domain.errors import DamagedError, InvalidInputError, NotFoundError
from domain.grants import Grant, Principal
from gateways.cli.principals import grant_of
from gateways.jetstream.principals import Principals, check_nkey
from gateways.jetstream.secret_files import Secrets
from umbriel import GrantSpec
from umbriel import InvalidInputError as ClientInvalidInputError

ANN = Principal("ann", "agent", (Grant("p", "write", ("ann",)),))


@pytest.fixture
def files(tmp_path: Path) -> Secrets:
    """The secrets of a new data directory."""
    return Secrets(tmp_path / "secrets")


def public_nkey() -> str:
    """A new public user nkey."""
    pair = nkeys.from_seed(nkeys.encode_seed(b"\x07" * 32, nkeys.PREFIX_BYTE_USER))
    return bytes(pair.public_key).decode()


def test_a_secret_is_kept_as_a_hash_in_a_private_file(files: Secrets, tmp_path: Path) -> None:
    """The file is 0600, holds no password, and reading it again gives the same principals."""
    stored, secret = Principals(files).add(ANN)
    path = tmp_path / "secrets" / "principals.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret not in path.read_text()
    assert len(secret) >= 32
    assert bcrypt.checkpw(secret.encode(), stored.hash.encode())
    again = Principals(files)
    assert again.get("ann") == ANN
    assert [one.name for one in again.active()] == ["local", "local-agent", "ann"]


def test_a_rotated_secret_is_another_one(files: Secrets) -> None:
    """The old password is no longer the principal's; an embedded one's file is replaced."""
    principals = Principals(files)
    _, old = principals.add(ANN)
    stored, new = principals.rotate("ann")
    assert not bcrypt.checkpw(old.encode(), stored.hash.encode())
    assert bcrypt.checkpw(new.encode(), stored.hash.encode())
    before = files.password("local")
    assert principals.rotate("local")[1] == files.password("local") != before


def test_revoked_is_for_good(files: Secrets) -> None:
    """A revoked principal speaks no more, has no secret, and its name stays taken."""
    principals = Principals(files)
    principals.add(ANN)
    principals.revoke("ann")
    principals.revoke("ann")
    for one in (principals, Principals(files)):
        assert one.get("ann") is None
        assert "ann" not in one.hashes()
        with pytest.raises(InvalidInputError):
            one.add(ANN)
        with pytest.raises(InvalidInputError):
            one.rotate("ann")
    with pytest.raises(NotFoundError):
        principals.revoke("nobody")
    with pytest.raises(InvalidInputError):
        principals.revoke("local")


@pytest.mark.parametrize("name", ["local", "service", "answer", "_", "a.b", "a>", "*", "", "x" * 65])
def test_names_that_cannot_be_a_principals(files: Secrets, name: str) -> None:
    """A name that is taken, or that means more in a subject, is refused and nothing is written."""
    with pytest.raises(InvalidInputError):
        Principals(files).add(Principal(name, "person"))
    assert files.read("principals.json") is None


def test_nkeys(files: Secrets) -> None:
    """A public user nkey is taken once; a seed, another kind of key or a mistyped one is not."""
    principals, key = Principals(files), public_nkey()
    stored, secret = principals.add(ANN, nkey=key)
    assert (stored.nkey, stored.hash, secret) == (key, "", "")
    with pytest.raises(InvalidInputError, match="another principal"):
        principals.add(Principal("bob", "agent"), nkey=key)
    with pytest.raises(InvalidInputError, match="new nkey"):
        principals.rotate("ann")
    flipped = key[:-1] + ("A" if key[-1] != "A" else "B")
    for wrong in ("", "U", key.lower(), "A" + key[1:], flipped, "SU" + key[2:], key + '" }'):
        with pytest.raises(InvalidInputError):
            check_nkey(wrong)


def test_a_damaged_file_is_an_error(files: Secrets) -> None:
    """A file that cannot be read stops the service instead of letting everybody or nobody in."""
    files.write("principals.json", b'{"version": 1, "principals": [{"principal"')
    with pytest.raises(DamagedError):
        Principals(files)


@pytest.mark.parametrize(
    "text, spec",
    [
        ("p:read", GrantSpec(profile="p", access="read")),
        ("*:admin", GrantSpec(profile="*", access="admin")),
        ("p:write:ann,bob", GrantSpec(profile="p", access="write", contacts=["ann", "bob"])),
        ("p:write:telegram:42", GrantSpec(profile="p", access="write", contacts=["telegram:42"])),
        ("p:write:", GrantSpec(profile="p", access="write", contacts=[""])),
    ],
)
def test_a_grant_on_the_command_line(text: str, spec: GrantSpec) -> None:
    """PROFILE:ACCESS[:CONTACT,…]; an empty contact never becomes all of them."""
    assert grant_of(text) == spec


@pytest.mark.parametrize("text", ["", "p", "p:", "p:own", ":", "p::ann"])
def test_what_is_no_grant_on_the_command_line(text: str) -> None:
    """Anything else is refused with what was expected."""
    with pytest.raises(ClientInvalidInputError):
        grant_of(text)
