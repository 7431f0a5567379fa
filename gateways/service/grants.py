"""The one place where grants are enforced: what each verb needs is declared with it and checked before it runs.

A verb that touches items by id gets the caller's `Reach` and treats what is out of reach as not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
import structlog

from domain.errors import InvalidInputError, RefusedError
from domain.grants import ALL, Access, Reach
from domain.ids import check_profile
from gateways.service.context import Caller
from gateways.service.status import SERVICE

__all__ = ["Needs", "Refusals", "check_contacts", "check_verb", "contact_named"]

_log = structlog.get_logger(__name__)


def contact_named(request: Any) -> Sequence[str]:
    """Return the contact that a request names; empty means agent-wide."""
    return [request.contact] if request.contact else []


class Needs(msgspec.Struct, frozen=True):
    """What a verb asks of a grant; the default is the most, so that a verb that declares nothing is closed.

    ``contacts`` returns the contacts a request names; without it the verb needs a grant for all contacts.
    With ``service`` a verb is ``only`` or ``also`` about the service as a whole; that much everybody who is known
    may ask. With ``person`` no agent may, and about the service only a person who administers every profile.
    """

    access: Access = "admin"
    contacts: Callable[[Any], Sequence[str]] | None = None
    writes_unnamed: bool = False
    service: Literal["no", "also", "only"] = "no"
    person: bool = False


def check_verb(needs: Needs, caller: Caller, profile: str) -> Caller:
    """Return the caller with what it may touch in this profile, or raise RefusedError.

    Nothing is looked up: whether the profile exists makes no difference to the answer.
    """
    if needs.service == "only" and profile != SERVICE:
        raise InvalidInputError("this is about no profile", expected=SERVICE, found=profile[:80])
    if needs.service != "no" and profile == SERVICE:
        everywhere = caller.within(ALL)
        if needs.person and not (everywhere.admin and caller.type == "person"):
            raise RefusedError(
                "the service is administered by persons",
                expected="a person with a grant *:admin",
                found=f"{caller.type} {caller.principal}",
            )
        return msgspec.structs.replace(caller, reach=everywhere)
    check_profile(profile)
    if needs.person and caller.type != "person":
        raise RefusedError("no agent may do this", expected="a person", found=f"{caller.type} {caller.principal}")
    here = caller.within(profile)
    if needs.contacts is None:
        here.check_everyone(needs.access)
    else:
        here.check_access(needs.access)
    return msgspec.structs.replace(caller, reach=here)


def check_contacts(needs: Needs, here: Reach, request: msgspec.Struct) -> None:
    """Raise RefusedError when a request names a contact, or writes for none, beyond the caller's reach."""
    named = needs.contacts(request) if needs.contacts is not None else ()
    for contact in named:
        here.check_named(needs.access, contact)
    if needs.writes_unnamed and not named:
        here.check_write(None)


class Refusals:
    """Counts what was refused, and logs who wanted what where; never what was in it.

    Input that can never be accepted is counted apart: it is a mistake of a caller who may ask.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.invalid: Counter[tuple[str, str]] = Counter()

    def note(self, principal: str, verb: str, profile: str, reason: str) -> None:
        """Record one refusal."""
        self.counts[principal, verb] += 1
        _log.warning("request_refused", principal=principal, verb=verb, profile=profile, reason=reason)

    def note_invalid(self, principal: str, verb: str, reason: str) -> None:
        """Record one request that could not be accepted as it was."""
        self.invalid[principal, verb] += 1
        _log.info("input_refused", principal=principal, verb=verb, reason=reason)

    @property
    def total(self) -> int:
        """How many there were since the start."""
        return self.counts.total()
