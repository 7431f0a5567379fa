"""Bearer tokens: who speaks over HTTP. Each belongs to a principal, is shown once and kept as a hash.

A token is 256 random bits, so one round of SHA-256 keeps it as well as a slow hash would, and costs every request
microseconds. Its id is no secret: it finds the hash, and the comparison with that takes the same time for any guess.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from domain.errors import DamagedError, InvalidInputError, NotFoundError
from gateways.jetstream.secret_files import Secrets

__all__ = ["Token", "Tokens"]

_FILE = "tokens.json"
_ID_BYTES = 6
_SECRET_BYTES = 32
_MARK = "umb"
#: Tokens of one principal; more is a client that makes one for every call.
_MOST = 100
#: Compared with where there is no such token, so that a wrong id takes as long as a wrong secret.
_NO_HASH = hashlib.sha256(b"").hexdigest()


class Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a token: the SHA-256 of its secret part, and what it is for."""

    id: str
    principal: str
    hash: str
    made_at: datetime
    label: str = ""
    expires_at: datetime | None = None

    def expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and now >= self.expires_at


class _File(msgspec.Struct, frozen=True):
    version: int
    tokens: list[Token]


class Tokens:
    """The tokens of one data directory, as last written; every change is on disk before it holds."""

    def __init__(self, files: Secrets) -> None:
        self._files = files
        raw = files.read(_FILE)
        try:
            found = msgspec.json.decode(raw, type=_File).tokens if raw else []
        except msgspec.MsgspecError as error:
            raise DamagedError(
                "the file of tokens is damaged; restore it from a backup", expected=_FILE, found=str(error)
            ) from error
        self._tokens = {one.id: one for one in found}

    def add(
        self, principal: str, *, now: datetime, label: str = "", expires_at: datetime | None = None
    ) -> tuple[Token, str]:
        """Make a token for a principal and return it with its text, which nothing can show again."""
        kept = {one.id: one for one in self._tokens.values() if not one.expired(now)}
        if sum(one.principal == principal for one in kept.values()) >= _MOST:
            raise InvalidInputError(
                "the principal has too many tokens; revoke some", expected=f"at most {_MOST}", found=str(_MOST)
            )
        name, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        token = Token(name, principal, _hash(secret), now, label, expires_at)
        self._put({**kept, name: token})
        return token, f"{_MARK}_{name}_{secret}"

    def of(self, principal: str) -> Sequence[Token]:
        """Return the tokens of a principal, oldest first."""
        return sorted((one for one in self._tokens.values() if one.principal == principal), key=lambda one: one.made_at)

    def revoke(self, id: str) -> Token:
        """Take a token away; who uses it is refused from here on."""
        token = self._tokens.get(id)
        if token is None:
            raise NotFoundError("no such token", expected="an id from the list of principals", found=repr(id[:80]))
        self._drop(lambda one: one.id == id)
        return token

    def drop(self, principal: str) -> None:
        """Take every token of a principal away."""
        self._drop(lambda one: one.principal == principal)

    def principal(self, text: str, now: datetime) -> str | None:
        """Return the name of the principal that a token speaks for, None for one that is none."""
        mark, _, rest = text.partition("_")
        name, _, secret = rest.partition("_")
        token = self._tokens.get(name) if mark == _MARK else None
        same = hmac.compare_digest(_hash(secret), token.hash if token else _NO_HASH)
        return token.principal if token is not None and same and not token.expired(now) else None

    def _drop(self, gone: Callable[[Token], bool]) -> None:
        kept = {one.id: one for one in self._tokens.values() if not gone(one)}
        if len(kept) < len(self._tokens):
            self._put(kept)

    def _put(self, tokens: dict[str, Token]) -> None:
        self._files.write(_FILE, msgspec.json.encode(_File(1, list(tokens.values()))))
        self._tokens = tokens


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
