"""The service: one method a verb, the same for every transport."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from domain.errors import InvalidInputError
from gateways.service import contacts, memories, reads
from gateways.service.access import Accesses
from gateways.service.context import Caller, Core
from gateways.service.feed import feed
from gateways.service.ingest import ingest
from gateways.service.preferences import settings
from gateways.service.rebuild import rebuild
from gateways.service.retry import retry
from gateways.service.status import profiles, status
from umbriel import admin
from umbriel import types as wire

__all__ = ["VERBS", "Service", "Verb"]


class Empty(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request without fields."""


class Verb(msgspec.Struct, frozen=True):
    """A verb of the operations table: what it takes, what it answers, who does it."""

    name: str
    request: type[msgspec.Struct]
    reply: type[msgspec.Struct]
    run: Callable[[Service, Caller, str, Any], Awaitable[msgspec.Struct]]


class Service:
    """Carries out requests of authenticated callers."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.accesses = Accesses(core.events)

    async def call(self, verb: str, caller: Caller, profile: str, body: bytes) -> msgspec.Struct:
        """Decode a request strictly, carry it out, and return the reply.

        Raises UmbrielError; input that does not fit the request's type is an InvalidInputError.
        """
        operation = VERBS.get(verb)
        if operation is None:
            raise InvalidInputError("unknown verb", expected=", ".join(VERBS), found=repr(verb[:40]))
        try:
            request = msgspec.json.decode(body or b"{}", type=operation.request, strict=True)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidInputError(
                f"the {verb} request does not fit", expected=_fields(operation), found=str(error)
            ) from error
        return await operation.run(self, caller, profile, request)


def _fields(operation: Verb) -> str:
    return "fields " + ", ".join(operation.request.__struct_fields__)


async def _ingest(service: Service, caller: Caller, profile: str, request: wire.IngestRequest) -> msgspec.Struct:
    return await ingest(service.core, caller, profile, request)


async def _remember(service: Service, caller: Caller, profile: str, request: wire.RememberRequest) -> msgspec.Struct:
    return await memories.remember(service.core, caller, profile, request)


async def _forget(service: Service, caller: Caller, profile: str, request: wire.ForgetRequest) -> msgspec.Struct:
    return await memories.forget(service.core, caller, profile, request)


async def _recall(service: Service, _: Caller, profile: str, request: wire.RecallRequest) -> msgspec.Struct:
    return await reads.recall(service.core, service.accesses, profile, request)


async def _get(service: Service, _: Caller, profile: str, request: wire.GetRequest) -> msgspec.Struct:
    return await reads.get(service.core, service.accesses, profile, request)


async def _list(service: Service, _: Caller, profile: str, request: wire.ListRequest) -> msgspec.Struct:
    return await reads.list_memories(service.core, profile, request)


async def _history(service: Service, _: Caller, profile: str, request: wire.IdRequest) -> msgspec.Struct:
    return await reads.history(service.core, profile, request)


async def _why(service: Service, _: Caller, profile: str, request: wire.IdRequest) -> msgspec.Struct:
    return await reads.why(service.core, profile, request)


async def _feed(service: Service, _: Caller, profile: str, request: wire.FeedRequest) -> msgspec.Struct:
    return await feed(service.core, profile, request)


async def _status(service: Service, _: Caller, profile: str, __: wire.StatusRequest) -> msgspec.Struct:
    return await status(service.core, profile)


async def _profiles(service: Service, _: Caller, __: str, ___: Empty) -> msgspec.Struct:
    return await profiles(service.core)


async def _rebuild(service: Service, _: Caller, profile: str, request: wire.RebuildRequest) -> msgspec.Struct:
    return await rebuild(service.core, profile, request)


async def _link(service: Service, caller: Caller, profile: str, request: admin.LinkRequest) -> msgspec.Struct:
    return await contacts.link_contact(service.core, caller, profile, request)


async def _unlink(service: Service, caller: Caller, profile: str, request: admin.UnlinkRequest) -> msgspec.Struct:
    return await contacts.unlink_contact(service.core, caller, profile, request)


async def _contacts(service: Service, _: Caller, profile: str, request: admin.ContactsRequest) -> msgspec.Struct:
    return await contacts.list_contacts(service.core, profile, request)


async def _settings(service: Service, caller: Caller, profile: str, request: admin.SettingsRequest) -> msgspec.Struct:
    return await settings(service.core, caller, profile, request)


async def _retry(service: Service, _: Caller, profile: str, __: admin.RetryRequest) -> msgspec.Struct:
    return await retry(service.core, profile)


async def _delete_profile(_: Service, __: Caller, ___: str, ____: Empty) -> msgspec.Struct:
    raise InvalidInputError("profiles cannot be deleted yet", expected="forget, for single memories")


#: The operations table, as far as it is built.
VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("ingest", wire.IngestRequest, wire.IngestReply, _ingest),
        Verb("remember", wire.RememberRequest, wire.RememberReply, _remember),
        Verb("recall", wire.RecallRequest, wire.RecallReply, _recall),
        Verb("get", wire.GetRequest, wire.Memory, _get),
        Verb("list", wire.ListRequest, wire.ListReply, _list),
        Verb("history", wire.IdRequest, wire.HistoryReply, _history),
        Verb("why", wire.IdRequest, wire.WhyReply, _why),
        Verb("forget", wire.ForgetRequest, wire.TouchedReply, _forget),
        Verb("feed", wire.FeedRequest, wire.FeedReply, _feed),
        Verb("status", wire.StatusRequest, wire.StatusReply, _status),
        Verb("profiles", Empty, wire.ProfilesReply, _profiles),
        Verb("link_contact", admin.LinkRequest, admin.LinkReply, _link),
        Verb("unlink_contact", admin.UnlinkRequest, admin.LinkReply, _unlink),
        Verb("list_contacts", admin.ContactsRequest, admin.ContactsReply, _contacts),
        Verb("settings", admin.SettingsRequest, admin.SettingsReply, _settings),
        Verb("retry", admin.RetryRequest, admin.RetryReply, _retry),
        Verb("delete_profile", Empty, Empty, _delete_profile),
        Verb("rebuild", wire.RebuildRequest, wire.RebuildReply, _rebuild),
    )
}
