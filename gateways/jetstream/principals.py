"""The principals of a data directory: one small private file, secrets in it as bcrypt hashes only."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import bcrypt
import msgspec

from domain.errors import DamagedError, InvalidInputError, NotFoundError
from domain.grants import Principal
from gateways.jetstream.secret_files import Secrets
from gateways.jetstream.tokens import Tokens
from gateways.jetstream.users import EMBEDDED, check_principals

__all__ = ["Principals", "Stored", "check_nkey", "hash_of"]

_FILE = "principals.json"
_PASSWORD_BYTES = 24
#: The secrets are random, 192 bits each: no cost makes guessing them harder, and every connection pays it.
_ROUNDS = 6
_NKEY = re.compile(r"U[A-Z2-7]{55}\Z")
_USER_PREFIX = 20 << 3


class Stored(msgspec.Struct, frozen=True, omit_defaults=True):
    """A principal with what proves it: a bcrypt hash, a public nkey, or neither (a password file, embedded)."""

    principal: Principal
    hash: str = ""
    nkey: str = ""


class _File(msgspec.Struct, frozen=True):
    version: int
    principals: list[Stored]


class Principals:
    """Who may speak, as last written; every change is on disk before it holds."""

    def __init__(self, files: Secrets) -> None:
        self._files = files
        #: what they speak over HTTP with
        self.tokens = Tokens(files)
        raw = files.read(_FILE)
        try:
            found = msgspec.json.decode(raw, type=_File).principals if raw else []
        except msgspec.MsgspecError as error:
            raise DamagedError(
                "the file of principals is damaged; restore it from a backup", expected=_FILE, found=str(error)
            ) from error
        known = {one.principal.name: one for one in found}
        # What the embedded ones may do follows from this version, not from the file.
        self._stored = {**known, **{one.name: Stored(one) for one in EMBEDDED}}

    def get(self, name: str) -> Principal | None:
        """Return a principal that may speak now, or None."""
        stored = self._stored.get(name)
        return None if stored is None or stored.principal.revoked else stored.principal

    def of_token(self, token: str) -> Principal | None:
        """Return whose a bearer token is, if that may speak now, or None."""
        name = self.tokens.principal(token, datetime.now(UTC))
        return None if name is None else self.get(name)

    def all(self) -> list[Stored]:
        """Return every principal in order of names, the revoked ones too."""
        return [self._stored[name] for name in sorted(self._stored)]

    def active(self) -> list[Principal]:
        """Return those that may speak now: the embedded ones, then the others by name."""
        others = [one.principal for one in self.all() if one.principal not in EMBEDDED]
        return [*EMBEDDED, *(one for one in others if not one.revoked)]

    def granted(self, contact: str) -> tuple[str, ...]:
        """Return the principals whose grants name a contact, by name."""
        return tuple(
            one.principal.name for one in self.all() if any(contact in grant.contacts for grant in one.principal.grants)
        )

    def hashes(self) -> Mapping[str, str]:
        """Return the bcrypt hashes by name."""
        return {name: one.hash for name, one in self._stored.items() if one.hash}

    def nkeys(self) -> Mapping[str, str]:
        """Return the public nkeys by name."""
        return {name: one.nkey for name, one in self._stored.items() if one.nkey}

    def add(self, principal: Principal, *, nkey: str = "") -> tuple[Stored, str]:
        """Add a principal and return it with its new password (empty with an nkey).

        A name once used stays taken, so that what it did stays its own.
        """
        if principal.name in self._stored:
            raise InvalidInputError("the name is taken", expected="a name of its own", found=principal.name)
        check_principals([principal.name])
        return self._renew(principal, nkey)

    def rotate(self, name: str, *, nkey: str = "") -> tuple[Stored, str]:
        """Replace what proves a principal; returns it with its new password (empty with an nkey).

        Its tokens go with the old one: who rotates because something leaked does not know what else did.
        """
        stored = self.speaking(name)
        if stored.principal in EMBEDDED:
            if nkey:
                raise InvalidInputError("this principal has a password file", expected="no nkey", found=nkey)
            self.tokens.drop(name)
            return stored, self._files.renew_password(name)
        if stored.nkey and not nkey:
            raise InvalidInputError("this principal signs with an nkey", expected="its new nkey", found="none")
        self.tokens.drop(name)
        return self._renew(stored.principal, nkey)

    def revoke(self, name: str) -> Stored:
        """Take everything from a principal for good; revoking twice does nothing."""
        stored = self._known(name)
        if stored.principal in EMBEDDED:
            raise InvalidInputError(
                "the principals of this data directory itself cannot be revoked",
                expected="another principal, or a rotation",
                found=name,
            )
        gone = Stored(msgspec.structs.replace(stored.principal, revoked=True))
        self._put(gone)
        self.tokens.drop(name)
        return gone

    def _renew(self, principal: Principal, nkey: str) -> tuple[Stored, str]:
        if nkey:
            self._check_free(check_nkey(nkey), principal.name)
            stored, password = Stored(principal, nkey=nkey), ""
        else:
            password = secrets.token_urlsafe(_PASSWORD_BYTES)
            stored = Stored(principal, hash=hash_of(password))
        self._put(stored)
        return stored, password

    def _check_free(self, nkey: str, name: str) -> None:
        if any(key == nkey and other != name for other, key in self.nkeys().items()):
            raise InvalidInputError("another principal has this nkey", expected="a key of its own", found=nkey)

    def _known(self, name: str) -> Stored:
        stored = self._stored.get(name)
        if stored is None:
            raise NotFoundError("no such principal", expected="a name from the list of principals", found=name[:80])
        return stored

    def speaking(self, name: str) -> Stored:
        """Return a principal that may speak, or raise NotFoundError or InvalidInputError."""
        stored = self._known(name)
        if stored.principal.revoked:
            raise InvalidInputError("the principal is revoked", expected="one that may speak", found=name)
        return stored

    def _put(self, stored: Stored) -> None:
        changed = {**self._stored, stored.principal.name: stored}
        kept: Sequence[Stored] = [one for one in changed.values() if one.principal not in EMBEDDED]
        self._files.write(_FILE, msgspec.json.encode(_File(1, list(kept))))
        self._stored = changed


def hash_of(password: str) -> str:
    """Return a password as NATS configurations hold it."""
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(_ROUNDS, prefix=b"2a")).decode("ascii")


def check_nkey(nkey: str) -> str:
    """Return a public user nkey, or raise InvalidInputError: a wrong one would keep the whole server from starting."""
    raw = base64.b32decode(nkey) if _NKEY.match(nkey) else b""
    sound = raw[:1] == bytes([_USER_PREFIX]) and binascii.crc_hqx(raw[:-2], 0) == int.from_bytes(raw[-2:], "little")
    if not sound:
        raise InvalidInputError("not a public user nkey", expected="U and 55 more characters", found=repr(nkey[:60]))
    return nkey
