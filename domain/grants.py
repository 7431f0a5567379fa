"""Principals and grants: who may do what in which profile, for which contacts.

A grant names a profile (or ``*``), contacts (or all of them) and an access; admin holds write, write holds read.
A grant for some contacts reads what belongs to them and what is agent-wide, and writes only what belongs to
them: agent-wide memories and sessions without a contact need a grant for all contacts. A contact is compared as
it is written, never folded and never as a pattern.

What no grant covers is refused before anything is looked up, so that a profile one may not read and one that does
not exist are answered alike. What lies in a readable profile but belongs to another contact is not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from domain.errors import InvalidInputError, RefusedError
from domain.ids import check_profile
from domain.text import check_name

__all__ = ["ALL", "Access", "Grant", "Principal", "Reach", "check_grant", "reach"]

Access = Literal["read", "write", "admin"]

#: Every profile, or every contact.
ALL = "*"
_RANK: dict[str, int] = {"read": 0, "write": 1, "admin": 2}
_CONTACT_CHARS = 256


class Grant(msgspec.Struct, frozen=True):
    """One access to one profile (``*`` for every one), for the contacts named (``("*",)`` for all)."""

    profile: str
    access: Access
    contacts: tuple[str, ...] = (ALL,)


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller: a person or an agent, and what was granted to it."""

    name: str
    type: Literal["person", "agent"]
    grants: tuple[Grant, ...] = ()
    revoked: bool = False


class Reach(msgspec.Struct, frozen=True):
    """What a principal may touch in one profile: contacts to read, to write, to administer; None is all of them.

    The empty default is nothing at all.
    """

    profile: str = ""
    reads: frozenset[str] | None = frozenset()
    writes: frozenset[str] | None = frozenset()
    admin: bool = False

    @property
    def limited(self) -> bool:
        """Whether some contact's items are out of sight."""
        return self.reads is not None

    def sees(self, contact: str | None) -> bool:
        """Whether a memory of a contact (None or empty: agent-wide) may be read."""
        return self.reads is None or (not contact or contact in self.reads)

    def hears(self, contact: str | None) -> bool:
        """Whether messages of a session of a contact (None or empty: without one) may be read."""
        return self.reads is None or bool(contact and contact in self.reads)

    def may_write(self, contact: str | None) -> bool:
        """Whether something of a contact (None or empty: agent-wide, or a session without one) may be written."""
        return self.writes is None or bool(contact and contact in self.writes)

    def check_access(self, access: Access) -> None:
        """Raise RefusedError unless some grant gives this access; existence of the profile is not looked at."""
        allowed = {
            "read": self.reads is None or bool(self.reads),
            "write": self.writes is None or bool(self.writes),
            "admin": self.admin,
        }
        if not allowed[access]:
            raise RefusedError(
                f"no grant to {access} in this profile",
                expected=f"a grant {self.profile}:{access}",
                found=self._held(),
            )

    def check_everyone(self, access: Access) -> None:
        """Raise RefusedError unless the access holds for every contact."""
        self.check_access(access)
        if (self.reads if access == "read" else self.writes) is not None:
            raise RefusedError(
                "this needs a grant for all contacts",
                expected=f"a grant {self.profile}:{access} without contacts",
                found=self._held(),
            )

    def check_named(self, access: Access, contact: str) -> None:
        """Raise RefusedError when a request names a contact (``*``: all) that the access does not cover."""
        covered = self.reads if access == "read" else self.writes
        if covered is not None and contact not in covered:
            raise RefusedError(
                "no grant for this contact", expected=f"a grant to {access} for it", found=repr(contact[:80])
            )

    def check_write(self, contact: str | None) -> None:
        """Raise RefusedError when something of this contact may be seen but not written."""
        if not self.may_write(contact):
            raise RefusedError(
                "no grant to write this",
                # Whose it is may be more than the caller knows.
                expected=f"a grant {self.profile}:write for its contact" if contact else "a grant for all contacts",
                found=self._held(),
            )

    def _held(self) -> str:
        if self.admin:
            return "admin"
        held = {"write": self.writes, "read": self.reads}
        shown = [
            access if contacts is None else f"{access} for {len(contacts)} contact(s)"
            for access, contacts in held.items()
            if contacts is None or contacts
        ]
        return " and ".join(shown) or "no grant"


def reach(principal: Principal, profile: str) -> Reach:
    """Return what all grants of a principal together allow in one profile; nothing for a revoked one."""
    grants = [] if principal.revoked else [one for one in principal.grants if one.profile in (ALL, profile)]
    return Reach(
        profile=profile,
        reads=_union(grants, "read"),
        writes=_union(grants, "write"),
        # Administration is of a whole profile; a grant for some contacts administers nothing.
        admin=any(one.access == "admin" and ALL in one.contacts for one in grants),
    )


def _union(grants: Iterable[Grant], access: Access) -> frozenset[str] | None:
    enough = [one for one in grants if _RANK[one.access] >= _RANK[access]]
    if any(ALL in one.contacts for one in enough):
        return None
    return frozenset(contact for one in enough for contact in one.contacts)


def check_grant(profile: str, access: str, contacts: Sequence[str]) -> Grant:
    """Return the grant these parts make, or raise InvalidInputError."""
    if profile != ALL:
        check_profile(profile)
    match access:
        case "read" | "write" | "admin":
            known: Access = access
        case _:
            raise InvalidInputError("unknown access", expected="read, write or admin", found=repr(access[:40]))
    if not contacts:
        raise InvalidInputError("a grant for no contact", expected="contacts, or * for all", found="none")
    for contact in contacts:
        check_name(contact, field="contact", max_chars=_CONTACT_CHARS)
    everyone = ALL in contacts
    if everyone and len(contacts) > 1:
        raise InvalidInputError("a grant for all contacts and for some", expected="* alone", found=", ".join(contacts))
    if known == "admin" and not everyone:
        raise InvalidInputError(
            "administration is of a whole profile", expected="admin without contacts", found=", ".join(contacts)
        )
    return Grant(profile, known, tuple(dict.fromkeys(contacts)))
