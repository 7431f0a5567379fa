"""The NATS users of a server and what each may do.

A responder cannot see who sent a request, so the principal is in the subject and the server ties every
user to its own. Whoever answers requests has no rights on the log: a request whose reply subject is an
event subject must change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from domain.errors import InvalidInputError
from domain.grants import ALL, Grant, Principal
from domain.ids import check_profile
from gateways.jetstream.streams import (
    EVENTS_PREFIX,
    KEYS_PREFIX,
    LEASES_PREFIX,
    LOG_STREAM,
    SCHEDULES_PREFIX,
    TURNS_PREFIX,
)

__all__ = [
    "ANSWER",
    "EMBEDDED",
    "SERVICE",
    "Principal",
    "User",
    "api_subject",
    "check_principals",
    "users_config",
    "users_for",
]

#: the user that reads and writes the log
SERVICE = "service"
#: the user that answers requests
ANSWER = "answer"
_RESERVED = frozenset({SERVICE, ANSWER})


#: The two callers of embedded mode: the command line, and everything a program does. Both administer profiles;
#: principals are administered by persons only.
EMBEDDED = (
    Principal("local", "person", (Grant(ALL, "admin"),)),
    Principal("local-agent", "agent", (Grant(ALL, "admin"),)),
)


class User(msgspec.Struct, frozen=True):
    """A NATS user's permissions: subjects allowed and denied."""

    name: str
    publish: Sequence[str]
    subscribe: Sequence[str]
    deny_publish: Sequence[str] = ()


def api_subject(principal: str) -> str:
    """Return the subject filter of a principal's requests."""
    return f"umbriel.api.{principal}.>"


def users_for(principals: Sequence[Principal], *, stream: str = LOG_STREAM) -> list[User]:
    """Return the users of a server; raises InvalidInputError for a principal's name that cannot be one."""
    names = check_principals([principal.name for principal in principals])
    return [_service(stream), _answer(names), *(_caller(name) for name in names)]


def check_principals(names: Sequence[str]) -> list[str]:
    """Return the names when each can be a principal's of its own, or raise InvalidInputError."""
    names = [check_profile(name) for name in names]
    wrong = _RESERVED.intersection(names) or {name for name in names if names.count(name) > 1}
    if wrong:
        raise InvalidInputError(
            "a principal's name is taken", expected="a name of its own", found=", ".join(sorted(wrong))
        )
    return names


def _inbox(name: str) -> str:
    return f"_INBOX_{name}.>"


def _service(stream: str) -> User:
    # Whatever could shorten, change or replace the log is denied; of the keys, single messages are deleted.
    return User(
        SERVICE,
        publish=(
            f"{EVENTS_PREFIX}.>",
            f"{KEYS_PREFIX}.>",
            f"{SCHEDULES_PREFIX}.>",
            f"{TURNS_PREFIX}.>",
            f"{LEASES_PREFIX}.>",
            "$JS.API.>",
            "$JS.ACK.>",
            "$JS.FC.>",
            "$JS.SNAPSHOT.ACK.>",
        ),
        subscribe=(_inbox(SERVICE),),
        deny_publish=(
            "$JS.API.STREAM.DELETE.>",
            "$JS.API.STREAM.UPDATE.>",
            "$JS.API.STREAM.PURGE.>",
            "$JS.API.STREAM.RESTORE.>",
            f"$JS.API.STREAM.MSG.DELETE.{stream}",
        ),
    )


def _answer(names: Sequence[str]) -> User:
    return User(
        ANSWER,
        publish=(*(_inbox(name) for name in names), _inbox(ANSWER)),
        subscribe=("umbriel.api.>", _inbox(ANSWER)),
    )


def _caller(name: str) -> User:
    return User(name, publish=(api_subject(name),), subscribe=(_inbox(name),))


def users_config(users: Sequence[User], passwords: Mapping[str, str], nkeys: Mapping[str, str] | None = None) -> str:
    """Return the ``authorization`` block of a NATS configuration; a password may be a bcrypt hash.

    Users with an nkey are known by it: a connection that proves it has that user's permissions, and no others.
    """
    keys = nkeys or {}
    blocks = "\n".join(_block(user, _proof(user.name, passwords, keys)) for user in users)
    return f"authorization {{\n  timeout: 5\n  users: [\n{blocks}\n  ]\n}}\n"


def _proof(name: str, passwords: Mapping[str, str], nkeys: Mapping[str, str]) -> str:
    if name in nkeys:
        return f"nkey: {json.dumps(nkeys[name])}"
    return f"user: {json.dumps(name)}, password: {json.dumps(passwords[name])}"


def _block(user: User, proof: str) -> str:
    publish = f"allow: {json.dumps(list(user.publish))}"
    if user.deny_publish:
        publish += f", deny: {json.dumps(list(user.deny_publish))}"
    return (
        f"    {{ {proof}, permissions: {{\n"
        f"      publish: {{ {publish} }}\n"
        f"      subscribe: {{ allow: {json.dumps(list(user.subscribe))} }}\n"
        "    } }"
    )
