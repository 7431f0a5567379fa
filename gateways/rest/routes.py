"""Which verb answers under which method and path: the one table, in the order of the operations table.

A path names the profile, then the thing, then what is done with it. Names in braces are fields of the verb's request.
A verb without a line here answers ``POST`` under its own name, so that no verb is ever missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from gateways.service.service import VERBS

__all__ = ["PROFILE", "ROUTES", "Method", "Route", "fields_of", "routes"]

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

#: the path parameter that is no field of a request
PROFILE = "profile"
_BASE = f"/v1/profiles/{{{PROFILE}}}"


class Route(msgspec.Struct, frozen=True):
    """One way to a verb; with ``only`` a way to some of its fields: those of the path and these."""

    verb: str
    method: Method
    path: str
    only: tuple[str, ...] | None = None

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields that the path holds."""
        return fields_of(self.path)

    @property
    def name(self) -> str:
        """A name of this way alone, for the OpenAPI document."""
        return self.verb if ROUTES.get(self.verb, (self,))[0] == self else f"{self.verb}_{'_'.join(_words(self.path))}"


def fields_of(path: str) -> tuple[str, ...]:
    """Return the names in braces of a path, without the profile."""
    return tuple(part[1:-1] for part in path.split("/") if part.startswith("{") and part[1:-1] != PROFILE)


def _words(path: str) -> Sequence[str]:
    return [part.strip("{}") for part in path.split("/")[2:] if part.strip("{}") not in {"profiles", PROFILE}]


def _in(verb: str, method: Method, rest: str, *, only: tuple[str, ...] | None = None) -> Route:
    return Route(verb, method, f"{_BASE}/{rest}" if rest else _BASE, only)


def _changing(verb: str) -> tuple[Route, Route]:
    """A change of one memory: by its id, or by a key or a description in the body."""
    return _in(verb, "POST", f"memories/{{id}}/{verb}"), _in(verb, "POST", f"memories/{verb}")


_GIVEN = (
    (_in("ingest", "POST", "ingest"),),
    (_in("remember", "POST", "memories"),),
    (_in("recall", "POST", "recall"),),
    (_in("recall_conversation", "POST", "messages/recall"),),
    (_in("context", "POST", "sessions/{session}/context"),),
    (_in("summary", "GET", "sessions/{session}/summary"),),
    (_in("get", "GET", "memories/{id}", only=("as_of", "at_least")), _in("get", "GET", "memory")),
    (_in("list", "GET", "memories"),),
    (_in("history", "GET", "memories/{id}/history"),),
    (_in("why", "GET", "memories/{id}/why"),),
    *(_changing(verb) for verb in ("forget", "correct", "expire", "retract", "reject", "restore", "pin", "unpin")),
    (_in("copy", "POST", "memories/{id}/copy"),),
    (_in("list_sessions", "GET", "sessions"),),
    (_in("end_session", "POST", "sessions/{session}/end"),),
    (_in("delete_session", "DELETE", "sessions/{session}"),),
    (_in("messages", "GET", "sessions/{session}/messages"),),
    (_in("set_context", "PUT", "sessions/{session}/notes"),),
    (_in("get_context", "GET", "sessions/{session}/notes"),),
    (_in("set_task", "PUT", "sessions/{session}/task"),),
    (_in("get_task", "GET", "sessions/{session}/task"),),
    (_in("clear_task", "DELETE", "sessions/{session}/task"),),
    (_in("save_turn", "PUT", "sessions/{session}/turns/{turn_id}"),),
    (_in("resume_turn", "POST", "sessions/{session}/resume"),),
    (_in("reflect", "POST", "reflections"),),
    (_in("list_reflections", "GET", "reflections"),),
    (_in("reflect_day", "POST", "reflections/day"),),
    (_in("set_goal", "POST", "goals"),),
    (_in("list_goals", "GET", "goals"),),
    (_in("progress_goal", "POST", "goals/{goal}/progress"),),
    (_in("close_goal", "POST", "goals/{goal}/close"),),
    (_in("feed", "GET", "feed"),),
    (_in("status", "GET", "status"), Route("status", "GET", "/v1/status")),
    (_in("diff", "GET", "diff"),),
    (_in("audit", "GET", "audit"), Route("audit", "GET", "/v1/audit")),
    (_in("proof", "GET", "proofs/{id}"),),
    (Route("profiles", "GET", "/v1/profiles"),),
    (Route("verify", "POST", "/v1/verify"),),
    (Route("backup", "POST", "/v1/backup"),),
    (_in("rebuild", "POST", "rebuild"),),
    (_in("link_contact", "POST", "contacts/link"),),
    (_in("unlink_contact", "POST", "contacts/unlink"),),
    (_in("list_contacts", "GET", "contacts"),),
    (_in("settings", "PATCH", "settings"), _in("settings", "GET", "settings", only=())),
    (_in("retry", "POST", "retry"),),
    (_in("consolidate", "POST", "consolidate"),),
    (_in("erase", "POST", "erase"),),
    (_in("delete_profile", "DELETE", ""),),
    (Route("keys", "GET", "/v1/keys"),),
    (Route("rotate_keys", "POST", "/v1/keys/rotate"),),
    (Route("principal_add", "POST", "/v1/principals"),),
    (Route("principal_list", "GET", "/v1/principals"),),
    (Route("principal_revoke", "DELETE", "/v1/principals/{name}"),),
    (Route("principal_rotate", "POST", "/v1/principals/{name}/rotate"),),
    (Route("principal_token", "POST", "/v1/principals/{name}/tokens"),),
    (Route("inspect", "POST", "/v1/inspect"),),
    (Route("principal_token_revoke", "DELETE", "/v1/tokens/{id}"),),
)

ROUTES: dict[str, tuple[Route, ...]] = {ways[0].verb: ways for ways in _GIVEN}


def routes(verb: str) -> tuple[Route, ...]:
    """Return every way to a verb."""
    given = ROUTES.get(verb)
    if given is not None:
        return given
    own = verb.replace("_", "-")
    return (Route(verb, "POST", f"/v1/{own}") if VERBS[verb].needs.service == "only" else _in(verb, "POST", own),)
