"""The NATS users of a server and what each may do.

A responder cannot see who sent a request, so the principal is in the subject and the server ties every
user to its own. Whoever answers requests has no rights on the log: a request whose reply subject is an
event subject must change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

import msgspec

from domain.errors import InvalidInputError
from domain.ids import check_profile
from gateways.jetstream.streams import EVENTS_PREFIX, KEYS_PREFIX, LOG_STREAM

__all__ = ["ANSWER", "EMBEDDED", "SERVICE", "Principal", "User", "api_subject", "users_config", "users_for"]

#: the user that reads and writes the log
SERVICE = "service"
#: the user that answers requests
ANSWER = "answer"
_RESERVED = frozenset({SERVICE, ANSWER})


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller: a person or an agent."""

    name: str
    type: Literal["person", "agent"]


#: The two callers of embedded mode: the command line, and everything a program does.
EMBEDDED = (Principal("local", "person"), Principal("local-agent", "agent"))


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
    names = [check_profile(principal.name) for principal in principals]
    wrong = _RESERVED.intersection(names) or {name for name in names if names.count(name) > 1}
    if wrong:
        raise InvalidInputError(
            "a principal's name is taken", expected="a name of its own", found=", ".join(sorted(wrong))
        )
    return [_service(stream), _answer(names), *(_caller(name) for name in names)]


def _inbox(name: str) -> str:
    return f"_INBOX_{name}.>"


def _service(stream: str) -> User:
    # Whatever could shorten, change or replace the log is denied; of the keys, single messages are deleted.
    return User(
        SERVICE,
        publish=(f"{EVENTS_PREFIX}.>", f"{KEYS_PREFIX}.>", "$JS.API.>", "$JS.ACK.>", "$JS.FC.>"),
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


def users_config(users: Sequence[User], passwords: dict[str, str]) -> str:
    """Return the ``authorization`` block of a NATS configuration."""
    blocks = "\n".join(_block(user, passwords[user.name]) for user in users)
    return f"authorization {{\n  timeout: 5\n  users: [\n{blocks}\n  ]\n}}\n"


def _block(user: User, password: str) -> str:
    publish = f"allow: {json.dumps(list(user.publish))}"
    if user.deny_publish:
        publish += f", deny: {json.dumps(list(user.deny_publish))}"
    return (
        f"    {{ user: {json.dumps(user.name)}, password: {json.dumps(password)}, permissions: {{\n"
        f"      publish: {{ {publish} }}\n"
        f"      subscribe: {{ allow: {json.dumps(list(user.subscribe))} }}\n"
        "    } }"
    )
