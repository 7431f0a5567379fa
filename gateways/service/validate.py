"""What a request must look like; every surface comes through here, so all refuse the same input the same way."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from domain.errors import InvalidInputError
from domain.settings import Limits
from domain.text import check_name, check_text
from umbriel.types import (
    ChangeRequest,
    CorrectRequest,
    ExpireRequest,
    ForgetRequest,
    GetRequest,
    IngestRequest,
    ListRequest,
    Message,
    RecallRequest,
    RememberRequest,
)

__all__ = [
    "check_between",
    "check_change",
    "check_correct",
    "check_expire",
    "check_forget",
    "check_get",
    "check_ingest",
    "check_limit",
    "check_list",
    "check_recall",
    "check_remember",
    "check_time",
]

#: years whose neighbours a calendar still has, in every zone
_FIRST_YEAR, _LAST_YEAR = 2, 9_998
_ROLES = ("user", "assistant", "system", "tool")


def check_ingest(request: IngestRequest, limits: Limits) -> IngestRequest:
    """Return the request as it is to be recorded, or raise InvalidInputError; nothing is written before."""
    count = len(request.messages)
    if not 1 <= count <= limits.messages_per_ingest:
        raise InvalidInputError(
            "wrong number of messages", expected=f"1 to {limits.messages_per_ingest}", found=str(count)
        )
    _optional_name(request.session, "session", limits.session_chars)
    _optional_name(request.contact, "contact", limits.contact_chars)
    _optional_name(request.channel, "channel", limits.name_chars)
    _one_contact(request.contact)
    for index, message in enumerate(request.messages):
        _check_message(index, message, limits)
    return request


def _check_message(index: int, message: Message, limits: Limits) -> None:
    where = f"messages[{index}]"
    if message.role not in _ROLES:
        raise InvalidInputError(f"{where}.role is unknown", expected=", ".join(_ROLES), found=repr(message.role[:40]))
    check_text(message.content, field=f"{where}.content", max_bytes=limits.message_bytes)
    _optional_name(message.name, f"{where}.name", limits.name_chars)
    _optional_name(message.id, f"{where}.id", limits.name_chars)
    _optional_name(message.turn_id, f"{where}.turn_id", limits.name_chars)
    if not 0 <= message.occurrence <= limits.occurrences:
        raise InvalidInputError(
            f"{where}.occurrence is out of range", expected=f"0 to {limits.occurrences}", found=str(message.occurrence)
        )
    check_time(message.at, f"{where}.at")
    if message.attachment:
        _check_attachment(message.attachment, f"{where}.attachment", limits.attachment_bytes)


def _check_attachment(attachment: str, field: str, most: int) -> None:
    check_text(attachment, field=field, max_bytes=most, blank=True)
    if (size := len(msgspec.json.encode(attachment))) > most:
        raise InvalidInputError(f"{field} is too long", expected=f"at most {most} bytes of JSON", found=f"{size} bytes")


def check_remember(request: RememberRequest, limits: Limits) -> RememberRequest:
    """Return the request with its times in UTC, or raise InvalidInputError."""
    check_text(request.content, field="content", max_bytes=limits.memory_bytes)
    _optional_name(request.key, "key", limits.key_chars)
    _optional_name(request.contact, "contact", limits.contact_chars)
    _optional_name(request.session, "session", limits.session_chars)
    _optional_name(request.fact_type, "fact_type", limits.name_chars)
    _optional_name(request.request_id, "request_id", limits.name_chars)
    _one_contact(request.contact)
    if request.contact and request.scope == "agent":
        raise InvalidInputError(
            "a memory has one scope", expected="contact or scope=agent", found="contact and scope=agent"
        )
    if (depth := _depth(request.metadata)) > limits.metadata_depth:
        raise InvalidInputError(
            "metadata is nested too deeply", expected=f"at most {limits.metadata_depth} levels", found=f"{depth} levels"
        )
    size = len(msgspec.json.encode(request.metadata))
    if size > limits.metadata_bytes:
        raise InvalidInputError(
            "metadata is too large", expected=f"at most {limits.metadata_bytes} bytes of JSON", found=f"{size} bytes"
        )
    times = {
        field: check_time(getattr(request, field), field)
        for field in ("occurred_at", "valid_from", "valid_to", "expires_at")
    }
    checked = msgspec.structs.replace(request, **times)
    _check_period(checked.valid_from, checked.valid_to)
    if checked.expires_at and checked.expires_at <= datetime.now(UTC):
        raise InvalidInputError(
            "expires_at is in the past", expected="a time to come", found=checked.expires_at.isoformat()
        )
    return checked


def _check_period(start: datetime | None, end: datetime | None) -> None:
    if start and end and end < start:
        raise InvalidInputError(
            "valid_to is before valid_from", expected=f"a time from {start.isoformat()}", found=end.isoformat()
        )


def _depth(value: object) -> int:
    """Return how many containers lie in one another, without recursion."""
    level, inside = 0, [value]
    while inside := [one for one in inside if isinstance(one, dict | list)]:
        level += 1
        inside = [one for box in inside for one in (box.values() if isinstance(box, dict) else box)]
    return level


def check_recall(request: RecallRequest, limits: Limits) -> RecallRequest:
    """Return the request with its time in UTC, or raise InvalidInputError."""
    check_text(request.query, field="query", max_bytes=limits.query_bytes)
    _optional_name(request.contact, "contact", limits.contact_chars)
    if request.limit is not None:
        check_limit(request.limit, limits.recall_limit)
    if request.token_budget is not None and request.token_budget < 1:
        raise InvalidInputError("token_budget is too small", expected="at least 1", found=str(request.token_budget))
    unknown = set(request.kinds) - {"fact", "event", "instruction", "task", "message"}
    if unknown:
        raise InvalidInputError(
            "unknown kind", expected="fact, event, instruction, task or message", found=", ".join(sorted(unknown))
        )
    since, until = check_between(request.since, request.until)
    check_time(request.reference_date, "reference_date")
    return msgspec.structs.replace(request, since=since, until=until)


def check_between(since: datetime | None, until: datetime | None) -> tuple[datetime | None, datetime | None]:
    """Return the two ends of a stretch of time in UTC, either of them open, or raise InvalidInputError."""
    since, until = check_time(since, "since"), check_time(until, "until")
    if since and until and until <= since:
        raise InvalidInputError(
            "until is not after since", expected=f"a time after {since.isoformat()}", found=until.isoformat()
        )
    return since, until


def check_get(request: GetRequest, limits: Limits) -> GetRequest:
    """Return the request, or raise InvalidInputError."""
    if bool(request.id) == bool(request.key):
        raise InvalidInputError("get needs an id or a key", expected="one of the two", found="both or neither")
    _optional_name(request.key, "key", limits.key_chars)
    _optional_name(request.contact, "contact", limits.contact_chars)
    return request


def check_list(request: ListRequest, limits: Limits) -> ListRequest:
    """Return the request, or raise InvalidInputError."""
    _optional_name(request.session, "session", limits.session_chars)
    _optional_name(request.contact, "contact", limits.contact_chars)
    check_limit(request.limit, limits.list_limit)
    if len(request.text.encode("utf-8", "surrogatepass")) > limits.query_bytes:
        raise InvalidInputError("the text is too long", expected=f"at most {limits.query_bytes} bytes", found="more")
    statuses = ("live", "superseded", "retracted", "rejected", "expired", "forgotten", "all")
    if request.status not in statuses:
        raise InvalidInputError("unknown status", expected=", ".join(statuses), found=repr(request.status[:40]))
    return request


def check_forget(request: ForgetRequest, limits: Limits) -> ForgetRequest:
    """Return the request, or raise InvalidInputError."""
    _one_memory("forget", request, limits)
    return request


def check_change(verb: str, request: ChangeRequest, limits: Limits) -> ChangeRequest:
    """Return the request, or raise InvalidInputError."""
    _one_memory(verb, request, limits)
    return request


def check_correct(request: CorrectRequest, limits: Limits) -> CorrectRequest:
    """Return the request with its times in UTC, or raise InvalidInputError."""
    _one_memory("correct", request, limits)
    check_text(request.content, field="content", max_bytes=limits.memory_bytes)
    times = {field: check_time(getattr(request, field), field) for field in ("valid_from", "valid_to")}
    checked = msgspec.structs.replace(request, **times)
    _check_period(checked.valid_from, checked.valid_to)
    return checked


def check_expire(request: ExpireRequest, limits: Limits) -> ExpireRequest:
    """Return the request with its time in UTC, or raise InvalidInputError."""
    _one_memory("expire", request, limits)
    if (request.at is None) is not request.never:
        raise InvalidInputError(
            "expire needs a time or never", expected="one of the two", found="both" if request.never else "neither"
        )
    return msgspec.structs.replace(request, at=check_time(request.at, "at"))


def _one_memory(
    verb: str, request: ForgetRequest | ChangeRequest | CorrectRequest | ExpireRequest, limits: Limits
) -> None:
    if bool(request.id) == bool(request.key):
        raise InvalidInputError(f"{verb} needs an id or a key", expected="one of the two", found="both or neither")
    _optional_name(request.key, "key", limits.key_chars)
    _optional_name(request.contact, "contact", limits.contact_chars)
    _optional_name(request.request_id, "request_id", limits.name_chars)
    _optional_name(request.expected, "expected", limits.name_chars)
    _one_contact(request.contact)


def check_limit(limit: int, most: int) -> int:
    """Return ``limit`` when it is between 1 and ``most``."""
    if not 1 <= limit <= most:
        raise InvalidInputError("limit is out of range", expected=f"1 to {most}", found=str(limit))
    return limit


def _optional_name(value: str, field: str, max_chars: int) -> None:
    if value:
        check_name(value, field=field, max_chars=max_chars)


def _one_contact(contact: str) -> None:
    if contact == "*":
        raise InvalidInputError("a write is about one contact", expected="a contact's name", found="'*', which is all")


def check_time(moment: datetime | None, field: str) -> datetime | None:
    """Return a time in UTC, or raise InvalidInputError for one without a zone or at the ends of the calendar."""
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise InvalidInputError(
            f"{field} has no time zone", expected="RFC 3339 with Z or an offset", found=moment.isoformat()
        )
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise InvalidInputError(
            f"{field} is out of range", expected=f"a year from {_FIRST_YEAR} to {_LAST_YEAR}", found=str(moment.year)
        )
    return moment.astimezone(UTC)
