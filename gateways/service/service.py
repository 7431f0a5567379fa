"""The service: one method a verb, the same for every transport."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from domain.errors import InvalidInputError, RefusedError, UnavailableError
from domain.grants import Principal
from gateways.service import changes, closing, composing, contacts, conversing, inspector, memories, reads
from gateways.service.administration import Administration, granted
from gateways.service.answering import recall_answered
from gateways.service.auditing import audit
from gateways.service.context import Caller, Core
from gateways.service.copying import copy
from gateways.service.decoding import decoded
from gateways.service.describing import Answered, ById, or_described
from gateways.service.diffing import diff
from gateways.service.erasing import ERASING
from gateways.service.exporting import export
from gateways.service.feed import feed
from gateways.service.feed_places import FeedPlaces
from gateways.service.grants import Needs, Refusals, check_contacts, check_verb, contact_named
from gateways.service.importing import import_lines
from gateways.service.ingest import ingest
from gateways.service.key_rotation import KeyRotation
from gateways.service.preferences import settings
from gateways.service.proving import prove
from gateways.service.rebuild import rebuild
from gateways.service.records import SystemRecords
from gateways.service.retry import retry
from gateways.service.served import HandedOut
from gateways.service.session_list import SESSIONS
from gateways.service.status import profiles, status
from gateways.service.summary import summarise_session
from gateways.service.tombstones import check_not_erased
from gateways.service.transcripts import MESSAGES
from gateways.service.working import WORKING, WorkingVerb
from umbriel import admin as upkeep
from umbriel import contexts, conversations, copies, diffs, exports, imports, inspecting, sessions, tokens
from umbriel import grants as admin
from umbriel import types as wire
from umbriel.auditing import AuditReply, AuditRequest
from umbriel.backups import BackupReply, BackupRequest
from umbriel.erasure import ProfilesRequest
from umbriel.keys import KeysReply, KeysRequest, RotateKeysReply, RotateKeysRequest
from umbriel.proofs import ProofReply, ProofRequest
from umbriel.reflecting import ReflectDayReply, ReflectDayRequest
from umbriel.upkeep import ConsolidateReply, ConsolidateRequest
from umbriel.verifying import VerifyReply, VerifyRequest

__all__ = ["VERBS", "Service", "Verb"]


class Verb(msgspec.Struct, frozen=True):
    """A verb of the operations table: what it takes, what it answers, who does it, and what that needs of a grant."""

    name: str
    request: type[msgspec.Struct]
    reply: type[msgspec.Struct]
    run: Callable[[Service, Caller, str, Any], Awaitable[msgspec.Struct]]
    needs: Needs = Needs()


class Service:
    """Carries out requests of authenticated callers."""

    def __init__(self, core: Core, administration: Administration, rotation: KeyRotation) -> None:
        self.core = core
        self.administration = administration
        self.rotation = rotation
        self.refusals = Refusals()
        self.handed_out = HandedOut(core.events)
        self.records = SystemRecords(core.events)
        administration.changed = self.records.changed
        self.answered = Answered()
        self.inspector = inspector.Inspector(administration)
        self.feed_places = FeedPlaces(core.settings.feeds_per_principal)

    async def call(self, verb: str, principal: Principal, profile: str, body: bytes) -> msgspec.Struct:
        """Decode a request strictly, carry it out as far as the principal's grants reach, and return the reply.

        Raises UmbrielError; input that does not fit the request's type is an InvalidInputError.
        """
        try:
            return await self._call(verb, principal, profile, body)
        except RefusedError as error:
            self.refusals.note(principal.name, verb, profile, error.message)
            self.records.refused(principal.name, verb, profile, error.message)
            raise
        except InvalidInputError as error:
            self.refusals.note_invalid(principal.name, verb if verb in VERBS else "", error.message)
            raise

    async def _call(self, verb: str, principal: Principal, profile: str, body: bytes) -> msgspec.Struct:
        operation = VERBS.get(verb)
        if operation is None:
            raise InvalidInputError("unknown verb", expected=", ".join(VERBS), found=repr(verb[:40]))
        caller = Caller(principal.name, principal.type, grants=principal.grants)
        caller = check_verb(operation.needs, caller, profile)
        request = decoded(verb, body, operation.request)
        check_contacts(operation.needs, caller.reach, request)
        if verb not in _ALWAYS:
            self.core.events.log.check_sound()
        # What is ingested is answered message by message.
        if operation.needs.access == "write" and verb != "ingest":
            await check_not_erased(self.core, profile, request)
        return await operation.run(self, caller, profile, request)


async def _ingest(service: Service, caller: Caller, profile: str, request: wire.IngestRequest) -> msgspec.Struct:
    return await ingest(service.core, caller, profile, request)


async def _remember(service: Service, caller: Caller, profile: str, request: wire.RememberRequest) -> msgspec.Struct:
    reply = await memories.remember(service.core, caller, profile, request)
    if reply.outcome == "duplicate":
        service.handed_out.accesses.touch(profile, reply.memory.id, datetime.now(UTC))
    return reply


def _changing(verb: str, run: ById) -> Callable[[Service, Caller, str, Any], Awaitable[msgspec.Struct]]:
    async def changed(service: Service, caller: Caller, profile: str, request: Any) -> msgspec.Struct:
        return await or_described(service.core, service.answered, caller, profile, verb, request, run)

    return changed


async def _recall(service: Service, caller: Caller, profile: str, request: wire.RecallRequest) -> msgspec.Struct:
    return await recall_answered(service.core, service.handed_out, caller, profile, request)


async def _recall_conversation(
    service: Service, caller: Caller, profile: str, request: conversations.RecallConversationRequest
) -> msgspec.Struct:
    return await conversing.recall_conversation(service.core, service.handed_out, caller, profile, request)


async def _context(service: Service, caller: Caller, profile: str, request: contexts.ContextRequest) -> msgspec.Struct:
    return await composing.compose(service.core, service.handed_out, caller, profile, request)


async def _summary(
    service: Service, caller: Caller, profile: str, request: conversations.SummaryRequest
) -> msgspec.Struct:
    return await summarise_session(service.core, caller.reach, profile, request)


async def _get(service: Service, caller: Caller, profile: str, request: wire.GetRequest) -> msgspec.Struct:
    return await reads.get(service.core, service.handed_out.accesses, caller.reach, profile, request)


async def _list(service: Service, caller: Caller, profile: str, request: wire.ListRequest) -> msgspec.Struct:
    return await reads.list_memories(service.core, caller.reach, profile, request)


async def _history(service: Service, caller: Caller, profile: str, request: wire.IdRequest) -> msgspec.Struct:
    return await reads.history(service.core, caller.reach, profile, request)


async def _why(service: Service, caller: Caller, profile: str, request: wire.IdRequest) -> msgspec.Struct:
    return await reads.why(service.core, caller.reach, profile, request)


async def _diff(service: Service, caller: Caller, profile: str, request: diffs.DiffRequest) -> msgspec.Struct:
    return await diff(service.core, caller.reach, profile, request)


async def _feed(service: Service, caller: Caller, profile: str, request: wire.FeedRequest) -> msgspec.Struct:
    return await feed(service.core, caller.reach, profile, request)


async def _export(service: Service, caller: Caller, profile: str, request: exports.ExportRequest) -> msgspec.Struct:
    return await export(service.core, caller.reach, profile, request, caller.principal)


async def _import(service: Service, caller: Caller, profile: str, request: imports.ImportRequest) -> msgspec.Struct:
    return await import_lines(service.core, caller, profile, request)


async def _status(service: Service, caller: Caller, profile: str, __: wire.StatusRequest) -> msgspec.Struct:
    refused, invalid = service.refusals.total, service.refusals.invalid.total()
    reply = await status(service.core, caller, profile, refused=refused, invalid=invalid)
    return msgspec.structs.replace(
        reply, principal=caller.principal, principal_type=caller.type, grants=granted(caller.grants)
    )


async def _profiles(service: Service, caller: Caller, _: str, request: ProfilesRequest) -> msgspec.Struct:
    return await profiles(service.core, caller, deleted=request.deleted)


async def _rebuild(service: Service, _: Caller, profile: str, request: wire.RebuildRequest) -> msgspec.Struct:
    return await rebuild(service.core, profile, request)


async def _link(service: Service, caller: Caller, profile: str, request: upkeep.LinkRequest) -> msgspec.Struct:
    return await contacts.link_contact(service.core, caller, profile, request)


async def _unlink(service: Service, caller: Caller, profile: str, request: upkeep.UnlinkRequest) -> msgspec.Struct:
    return await contacts.unlink_contact(service.core, caller, profile, request)


async def _contacts(service: Service, _: Caller, profile: str, request: upkeep.ContactsRequest) -> msgspec.Struct:
    return await contacts.list_contacts(service.core, profile, request)


async def _settings(service: Service, caller: Caller, profile: str, request: upkeep.SettingsRequest) -> msgspec.Struct:
    return await settings(service.core, caller, profile, request)


async def _retry(service: Service, _: Caller, profile: str, __: upkeep.RetryRequest) -> msgspec.Struct:
    return await retry(service.core, profile)


async def _consolidate(service: Service, _: Caller, profile: str, request: ConsolidateRequest) -> msgspec.Struct:
    if service.core.consolidate is None:
        raise UnavailableError("this service does not consolidate", expected="one that does")
    return await service.core.consolidate(profile, request)


async def _reflect_day(service: Service, _: Caller, profile: str, request: ReflectDayRequest) -> msgspec.Struct:
    if service.core.reflect_day is None:
        raise UnavailableError("this service does not reflect", expected="one that does")
    return await service.core.reflect_day(profile, request)


async def _verify(service: Service, _: Caller, __: str, request: VerifyRequest) -> msgspec.Struct:
    if service.core.verifications is None:
        raise UnavailableError("this service does not verify its log", expected="one that does")
    return await service.core.verifications.verify(request)


async def _proof(service: Service, _: Caller, profile: str, request: ProofRequest) -> msgspec.Struct:
    return await prove(service.core, profile, request)


async def _audit(service: Service, caller: Caller, profile: str, request: AuditRequest) -> msgspec.Struct:
    # What was handed out or refused a moment ago is part of it.
    await service.handed_out.recalls.flush()
    await service.records.flush()
    return await audit(service.core, caller, profile, request)


async def _copy(service: Service, caller: Caller, profile: str, request: copies.CopyRequest) -> msgspec.Struct:
    return await copy(service.core, caller, profile, request)


async def _end_session(
    service: Service, caller: Caller, profile: str, request: sessions.EndSessionRequest
) -> msgspec.Struct:
    return await closing.end_session(service.core, caller, profile, request)


async def _delete_session(
    service: Service, caller: Caller, profile: str, request: sessions.DeleteSessionRequest
) -> msgspec.Struct:
    return await closing.delete_session(service.core, caller, profile, request)


def _on_core(one: WorkingVerb) -> Callable[[Service, Caller, str, Any], Awaitable[msgspec.Struct]]:
    async def run(service: Service, caller: Caller, profile: str, request: Any) -> msgspec.Struct:
        return await one.run(service.core, caller, profile, request)

    return run


async def _principal_add(
    service: Service, caller: Caller, _: str, request: admin.PrincipalAddRequest
) -> msgspec.Struct:
    return await service.administration.add(caller, request)


async def _backup(service: Service, _: Caller, __: str, request: BackupRequest) -> msgspec.Struct:
    if service.core.backups is None:
        raise UnavailableError("no backups are made here", expected="a running service", found="none")
    return await service.core.backups.ask(request)


async def _principal_list(service: Service, _: Caller, __: str, ___: admin.PrincipalListRequest) -> msgspec.Struct:
    return service.administration.list()


async def _principal_revoke(
    service: Service, caller: Caller, _: str, request: admin.PrincipalNameRequest
) -> msgspec.Struct:
    return await service.administration.revoke(caller, request)


async def _principal_rotate(
    service: Service, caller: Caller, _: str, request: admin.PrincipalRotateRequest
) -> msgspec.Struct:
    return await service.administration.rotate(caller, request)


async def _token(service: Service, caller: Caller, _: str, request: tokens.TokenRequest) -> msgspec.Struct:
    return await service.administration.token(caller, request)


async def _token_revoke(service: Service, caller: Caller, _: str, request: tokens.TokenRevokeRequest) -> msgspec.Struct:
    return await service.administration.revoke_token(caller, request)


#: What is answered even when the log was found damaged: it says so.
_ALWAYS = frozenset({"status", "profiles", "verify"})


async def _keys(service: Service, _: Caller, __: str, request: KeysRequest) -> msgspec.Struct:
    return await service.rotation.show(request)


async def _rotate_keys(service: Service, _: Caller, __: str, ___: RotateKeysRequest) -> msgspec.Struct:
    return await service.rotation.rotate()


_READ = Needs("read", contact_named)
_READ_ID = Needs("read", lambda _: ())
_WRITE = Needs("write", contact_named)
_WRITE_ID = Needs("write", lambda _: ())
_ADMIN = Needs(service="only", person=True)
#: A link lets what one contact said answer for another: it is for who may write for all of them.
_EVERYONE = Needs("write")

#: The operations table, as far as it is built.
VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("ingest", wire.IngestRequest, wire.IngestReply, _ingest, _WRITE),
        Verb(
            "remember",
            wire.RememberRequest,
            wire.RememberReply,
            _remember,
            Needs("write", contact_named, writes_unnamed=True),
        ),
        Verb("recall", wire.RecallRequest, wire.RecallReply, _recall, _READ),
        Verb(
            "recall_conversation",
            conversations.RecallConversationRequest,
            conversations.RecallConversationReply,
            _recall_conversation,
            Needs("read", conversing.contact_asked),
        ),
        Verb("context", contexts.ContextRequest, contexts.ContextReply, _context, _READ),
        Verb("summary", conversations.SummaryRequest, conversations.SummaryReply, _summary, _READ_ID),
        Verb("get", wire.GetRequest, wire.Memory, _get, _READ),
        Verb("list", wire.ListRequest, wire.ListReply, _list, _READ),
        Verb("diff", diffs.DiffRequest, diffs.DiffReply, _diff, _READ),
        Verb("history", wire.IdRequest, wire.HistoryReply, _history, _READ_ID),
        Verb("why", wire.IdRequest, wire.WhyReply, _why, _READ_ID),
        Verb("forget", wire.ForgetRequest, wire.TouchedReply, _changing("forget", memories.forget), _WRITE),
        Verb("correct", wire.CorrectRequest, wire.TouchedReply, _changing("correct", changes.correct), _WRITE),
        Verb("expire", wire.ExpireRequest, wire.TouchedReply, _changing("expire", changes.expire), _WRITE),
        *(
            Verb(one, wire.ChangeRequest, wire.TouchedReply, _changing(one, changes.ending(one)), _WRITE)
            for one in changes.CHANGES
        ),
        Verb("copy", copies.CopyRequest, wire.RememberReply, _copy, _READ_ID),
        Verb("end_session", sessions.EndSessionRequest, sessions.EndSessionReply, _end_session, _WRITE_ID),
        Verb("delete_session", sessions.DeleteSessionRequest, sessions.DeleteSessionReply, _delete_session, _WRITE_ID),
        *(Verb(one.name, one.request, one.reply, _on_core(one), one.needs) for one in (MESSAGES, SESSIONS, *WORKING)),
        Verb("feed", wire.FeedRequest, wire.FeedReply, _feed, _READ),
        # What a caller exports is what its feed shows.
        Verb("export", exports.ExportRequest, exports.ExportReply, _export, _READ),
        # Authors and trust come as the file says.
        Verb("import", imports.ImportRequest, imports.ImportReply, _import, Needs("admin", person=True)),
        Verb("status", wire.StatusRequest, wire.StatusReply, _status, Needs("read", service="also")),
        Verb("profiles", ProfilesRequest, wire.ProfilesReply, _profiles, Needs("read", service="only")),
        Verb("rebuild", wire.RebuildRequest, wire.RebuildReply, _rebuild, Needs("admin")),
        Verb("link_contact", upkeep.LinkRequest, upkeep.LinkReply, _link, _EVERYONE),
        Verb("unlink_contact", upkeep.UnlinkRequest, upkeep.LinkReply, _unlink, _EVERYONE),
        Verb("list_contacts", upkeep.ContactsRequest, upkeep.ContactsReply, _contacts, Needs("read")),
        Verb("settings", upkeep.SettingsRequest, upkeep.SettingsReply, _settings, Needs("admin")),
        Verb("retry", upkeep.RetryRequest, upkeep.RetryReply, _retry, Needs("admin")),
        Verb("consolidate", ConsolidateRequest, ConsolidateReply, _consolidate, Needs("admin")),
        *(Verb(one.name, one.request, one.reply, _on_core(one), one.needs) for one in ERASING),
        Verb("keys", KeysRequest, KeysReply, _keys, _ADMIN),
        Verb("rotate_keys", RotateKeysRequest, RotateKeysReply, _rotate_keys, _ADMIN),
        Verb("reflect_day", ReflectDayRequest, ReflectDayReply, _reflect_day, Needs("admin")),
        Verb("audit", AuditRequest, AuditReply, _audit, Needs("read", contact_named, service="also")),
        Verb("proof", ProofRequest, ProofReply, _proof, Needs("read")),
        Verb("verify", VerifyRequest, VerifyReply, _verify, _ADMIN),
        Verb("backup", BackupRequest, BackupReply, _backup, _ADMIN),
        Verb("principal_add", admin.PrincipalAddRequest, admin.PrincipalSecret, _principal_add, _ADMIN),
        Verb("principal_list", admin.PrincipalListRequest, admin.PrincipalsReply, _principal_list, _ADMIN),
        Verb("principal_revoke", admin.PrincipalNameRequest, admin.PrincipalSecret, _principal_revoke, _ADMIN),
        Verb("principal_rotate", admin.PrincipalRotateRequest, admin.PrincipalSecret, _principal_rotate, _ADMIN),
        Verb("principal_token", tokens.TokenRequest, tokens.PrincipalToken, _token, _ADMIN),
        Verb("inspect", inspecting.InspectRequest, inspecting.InspectReply, inspector.invite, _ADMIN),
        Verb("principal_token_revoke", tokens.TokenRevokeRequest, tokens.PrincipalToken, _token_revoke, _ADMIN),
    )
}
