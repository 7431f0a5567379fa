"""The AsyncAPI 3 document of the NATS API, made of the table of verbs, the wire types and the event classes.

It is put together here and not by the framework: that sees subjects and raw messages, and knows no reply.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec

from gateways.asyncapi.catalogue import EventKind, catalogue, event_schemas
from gateways.described import Schema, schemas_of
from gateways.rest.examples import EXAMPLES, Example
from gateways.rest.problems import STATUS
from gateways.service.grants import Needs
from gateways.service.service import VERBS, Verb
from umbriel.types import ErrorReply

__all__ = ["ERROR_HEADER", "EVENTS_PREFIX", "document"]

#: As the edges that speak NATS have them; an edge knows no other, so a test compares.
ERROR_HEADER = "Umbriel-Error"
EVENTS_PREFIX = "umbriel.events"
_NAME = "^[A-Za-z0-9_-]{1,64}$"
_ABOUT = """Memory for agents, kept as an event log. A verb is a request to `umbriel.api.{principal}.{profile}.{verb}`
with a JSON body; the reply comes to the request's reply subject, which must begin with `_INBOX_{principal}.`. A request
with another reply subject is neither carried out nor answered.

A reply with the header `Umbriel-Error` is an error, whatever the verb: its value is the error's code, its body an
`ErrorReply`. What is `retryable` may be sent again as it is; a write carries a `request_id`, so that it is done once.

Unknown fields of a request are refused, unknown fields of a reply are to be ignored. A message carries at most 1 MiB.

The channel `events` is the log itself. Only the service reads and writes there; everybody else sees events, decrypted
and as far as his grants reach, in the replies of `feed` and `export`."""
_FEED = """Ask again with `after` set to the reply's `position`, and nothing is missed or repeated. With `wait` the
reply comes with the first event, or empty when the time is over. `after="new"` answers the position of the log's
end."""
_ERROR = {
    "code": "not_found",
    "message": "no such memory",
    "expected": "the id of a memory in this profile",
    "found": "'mfrggzdfmztwq2lknnwg23tpoa@9'",
}
_PRINCIPAL: Schema = {"$ref": "#/components/parameters/principal"}
_PROFILE: Schema = {"$ref": "#/components/parameters/profile"}
_SECURITY = [{"$ref": "#/components/securitySchemes/password"}, {"$ref": "#/components/securitySchemes/nkey"}]


@cache
def document() -> Schema:
    """Return the document; it is made once and not to be changed."""
    kinds = catalogue()
    return {
        "asyncapi": "3.0.0",
        "id": "urn:umbriel:nats-api",
        "info": {
            "title": "Umbriel over NATS",
            "version": version("umbriel-server"),
            "description": _ABOUT,
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"nats": _server()},
        "channels": {
            **{name: _channel(verb) for name, verb in VERBS.items()},
            "replies": _replies(),
            "events": _events(kinds),
        },
        "operations": {
            **{name: _operation(verb) for name, verb in VERBS.items()},
            "recordEvents": _recording(kinds),
        },
        "components": {
            "schemas": _as_of_7({**_wire(), **event_schemas()}),
            "messages": {
                **{f"{name}-request": _request(verb) for name, verb in VERBS.items()},
                **{f"{name}-reply": _reply(verb) for name, verb in VERBS.items()},
                "error": _error(),
                **{_key(kind): _event(kind) for kind in kinds},
            },
            "parameters": _parameters(),
            "securitySchemes": {
                "password": {"type": "userPassword", "description": "The principal's name and password."},
                "nkey": {"type": "asymmetricEncryption", "description": "The principal's nkey, which signs a nonce."},
            },
        },
    }


def _wire() -> Schema:
    types = [one for verb in VERBS.values() for one in (verb.request, verb.reply)]
    found = schemas_of([*types, ErrorReply], "#/components/schemas/{name}")
    found["ErrorReply"]["properties"]["code"]["enum"] = sorted(STATUS)
    return found


def _server() -> Schema:
    return {
        "host": "{host}:{port}",
        "protocol": "nats",
        "description": "`endpoint.json` of the data directory has the address; beyond loopback it is TLS.",
        "variables": {
            "host": {"default": "127.0.0.1", "description": "Where the service, or the NATS server of one's own, is."},
            "port": {"default": "4222", "description": "A free port, unless `umbriel serve --port` names one."},
        },
        "security": _SECURITY,
    }


def _parameters() -> Schema:
    return {
        "principal": {"description": f"Who speaks, as connected: {_NAME}. The server lets nobody use another's name."},
        "profile": {"description": f"The profile that it is about: {_NAME}."},
        "profile_or_service": {"description": f"The profile that it is about: {_NAME}; `_` is the service as a whole."},
        "inbox": {"description": "What the client makes up for each request."},
        "partition": {"description": "00 to 63, by the profile's name."},
        "category": {"description": "The first part of the topic."},
        "aggregate": {"description": "A keyed hash of what the event is about; nothing readable."},
    }


def _channel(verb: Verb) -> Schema:
    only = verb.needs.service == "only"
    profile = {"$ref": "#/components/parameters/profile_or_service"} if verb.needs.service == "also" else _PROFILE
    return {
        "address": f"umbriel.api.{{principal}}.{'_' if only else '{profile}'}.{verb.name}",
        "title": verb.name,
        "summary": _example(verb).summary,
        "parameters": {"principal": _PRINCIPAL} if only else {"principal": _PRINCIPAL, "profile": profile},
        "messages": {"request": {"$ref": f"#/components/messages/{verb.name}-request"}},
        "servers": [{"$ref": "#/servers/nats"}],
    }


def _replies() -> Schema:
    messages = {name: {"$ref": f"#/components/messages/{name}-reply"} for name in VERBS}
    return {
        "address": "_INBOX_{principal}.{inbox}",
        "title": "replies",
        "summary": "The reply subject of a request; its NATS user hears no other's.",
        "parameters": {"principal": _PRINCIPAL, "inbox": {"$ref": "#/components/parameters/inbox"}},
        "messages": {**messages, "error": {"$ref": "#/components/messages/error"}},
        "servers": [{"$ref": "#/servers/nats"}],
    }


def _events(kinds: list[EventKind]) -> Schema:
    parts = {"partition": "partition", "profile": "profile", "category": "category", "id": "aggregate"}
    return {
        "address": f"{EVENTS_PREFIX}.{{partition}}.{{profile}}.{{category}}.{{id}}",
        "title": "events",
        "summary": "The log, one subject an aggregate; no client has rights here, `feed` shows it.",
        "parameters": {name: {"$ref": f"#/components/parameters/{of}"} for name, of in parts.items()},
        "messages": {_key(kind): {"$ref": f"#/components/messages/{_key(kind)}"} for kind in kinds},
        "servers": [{"$ref": "#/servers/nats"}],
    }


def _operation(verb: Verb) -> Schema:
    about = (VERBS[verb.name].request.__doc__ or "").strip()
    return {
        "action": "receive",
        "channel": {"$ref": f"#/channels/{verb.name}"},
        "title": verb.name,
        "summary": _example(verb).summary,
        "description": "\n\n".join(
            part for part in (about, _FEED if verb.name == "feed" else "", _needs(verb)) if part
        ),
        "security": _SECURITY,
        "messages": [{"$ref": f"#/channels/{verb.name}/messages/request"}],
        "reply": {
            "channel": {"$ref": "#/channels/replies"},
            "messages": [
                {"$ref": f"#/channels/replies/messages/{verb.name}"},
                {"$ref": "#/channels/replies/messages/error"},
            ],
        },
    }


def _needs(verb: Verb) -> str:
    needs: Needs = verb.needs
    who = "a person with " if needs.person else ""
    if needs.service == "only":
        return "Needs a person with `admin` on `*`." if needs.person else "Needs a principal that is known."
    whose = "" if needs.contacts is not None else " for all contacts"
    also = " About the service as a whole it needs a principal that is known." if needs.service == "also" else ""
    return f"Needs {who}a grant to {needs.access}{whose}.{also}"


def _key(kind: EventKind) -> str:
    """Return a topic as the name of a message: tools of AsyncAPI differ about dots in names."""
    return kind.topic.replace(".", "_")


def _recording(kinds: list[EventKind]) -> Schema:
    return {
        "action": "send",
        "channel": {"$ref": "#/channels/events"},
        "summary": "Record what happened",
        "messages": [{"$ref": f"#/channels/events/messages/{_key(kind)}"} for kind in kinds],
    }


def _request(verb: Verb) -> Schema:
    shown = _example(verb).request
    payload = msgspec.to_builtins(shown) if shown is not None else {}
    return {
        "name": f"{verb.name}.request",
        "title": verb.request.__name__,
        "payload": {"$ref": f"#/components/schemas/{verb.request.__name__}"},
        "examples": [{"name": verb.name, "payload": payload}],
    }


def _reply(verb: Verb) -> Schema:
    return {
        "name": f"{verb.name}.reply",
        "title": verb.reply.__name__,
        "payload": {"$ref": f"#/components/schemas/{verb.reply.__name__}"},
    }


def _error() -> Schema:
    return {
        "name": "error",
        "title": "ErrorReply",
        "headers": {
            "type": "object",
            "required": [ERROR_HEADER],
            "properties": {ERROR_HEADER: {"type": "string", "enum": sorted(STATUS)}},
        },
        "payload": {"$ref": "#/components/schemas/ErrorReply"},
        "examples": [{"name": "not_found", "headers": {ERROR_HEADER: "not_found"}, "payload": _ERROR}],
    }


def _event(kind: EventKind) -> Schema:
    stored = f"Encrypted under {kind.under}." if kind.encrypted else "In the clear."
    return {
        "name": kind.topic,
        "title": kind.title,
        "summary": f"Recorded {kind.recorded}.",
        "description": f"{kind.description}\n\nSchema {kind.schema}. {stored}",
        "tags": [{"name": kind.category}],
        "headers": _headers(kind),
        "payload": kind.body,
        "examples": [{"payload": data} for data in kind.examples],
        "x-umbriel": {"schema": kind.schema, "encrypted": kind.encrypted, "quiet": kind.quiet},
    }


def _headers(kind: EventKind) -> Schema:
    text = {"type": "string"}
    return {
        "type": "object",
        "description": "In the clear, whatever the body is.",
        "properties": {
            "Umbriel-Topic": {"const": kind.topic},
            "Umbriel-Schema": {"type": "string", "pattern": "^[0-9]+$"},
            "Umbriel-Version": {"type": "string", "pattern": "^[0-9]+$", "description": "Counts within the subject."},
            "Umbriel-Event-Id": text,
            "Umbriel-Recorded-At": {"type": "string", "format": "date-time"},
            "Umbriel-Key-Id": {**text, "description": "Absent or empty where the body is in the clear."},
        },
    }


def _example(verb: Verb) -> Example:
    return EXAMPLES.get(verb.name, Example(verb.name.replace("_", " ").capitalize()))


def _as_of_7(schema: Any) -> Any:
    """Return a schema in which tuples are said as draft 7, which AsyncAPI uses, says them."""
    match schema:
        case {"prefixItems": list() as items, **rest}:
            rest.pop("items", None)
            return {**_as_of_7(rest), "items": _as_of_7(items), "additionalItems": False}
        case dict():
            return {name: _as_of_7(value) for name, value in schema.items()}
        case list():
            return [_as_of_7(value) for value in schema]
    return schema
