"""Lines of an export, read strictly: every line that fits becomes an event, one that does not is a clear error."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from domain.envelope import Actor, Envelope, profile_of
from domain.errors import DamagedError, InvalidInputError, MismatchError
from domain.events import TOPICS, Event, MemoryRemembered, MemoryRestored, MessageRecorded, decode_event
from domain.ids import check_profile, memory_id, message_id
from domain.settings import Limits
from domain.text import check_name, check_text
from gateways.jetstream.codec import open as open_entry
from gateways.jetstream.wire import Entry
from gateways.service.context import Caller, Core
from umbriel.exports import ExportedEvent, data_schema
from umbriel.imports import ImportLine

__all__ = ["Incoming", "read_lines"]

_ID_CHARS = 64
_NAMES = {"session": "session_chars", "contact": "contact_chars", "scope": "contact_chars", "channel": "name_chars"}
_MESSAGE = {"name": "name_chars", "caller_id": "name_chars", "turn_id": "name_chars"}
_ROLES = frozenset({"user", "assistant", "system", "tool"})


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """One line as an event; the envelope's originator is still the other log's, empty where the line is clear.

    ``envelope`` is None where the content was erased before it was exported.
    """

    line: int
    id: str
    topic: str
    subject: str
    previous: str
    redacted: bool = False
    envelope: Envelope | None = None


async def read_lines(core: Core, caller: Caller, lines: Sequence[ImportLine]) -> list[Incoming]:
    """Return the events of lines; raises InvalidInputError naming the first line that does not fit."""
    return [await _read(core, caller, one) for one in lines]


async def _read(core: Core, caller: Caller, line: ImportLine) -> Incoming:
    try:
        event = msgspec.json.decode(line.event, type=ExportedEvent, strict=True)
        _check_clear(event)
        envelope = await _envelope(core, caller, event)
        if envelope is not None:
            _check(envelope.data, core.settings.limits)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(
            f"line {line.line} is no line of an export", expected="an event as its schema says", found=str(error)
        ) from error
    except (DamagedError, InvalidInputError) as error:
        raise InvalidInputError(
            f"line {line.line}: {error.message}", expected=error.expected, found=error.found
        ) from error
    return Incoming(
        line=line.line,
        id=event.id,
        topic=event.type,
        subject=event.subject,
        previous=event.umbrielprevious,
        redacted=event.umbrielcontent == "redacted",
        envelope=envelope,
    )


def _check_clear(event: ExportedEvent) -> None:
    known = TOPICS.get(event.type)
    if known is None or event.umbrielschema > known.SCHEMA:
        raise InvalidInputError(
            "an event was written by a newer Umbriel",
            expected=f"{event.type} up to schema {known.SCHEMA}" if known else "a known type",
            found=f"{event.type} schema {event.umbrielschema}",
        )
    if event.dataschema != (wanted := data_schema(event.type, event.umbrielschema)):
        raise InvalidInputError("dataschema does not fit the type", expected=wanted, found=event.dataschema)
    if event.time.tzinfo is None:
        raise InvalidInputError("time has no zone", expected="a time with an offset", found=event.time.isoformat())
    if event.umbrielversion < 1 or event.umbrielschema < 1:
        raise InvalidInputError("versions count from 1", expected="at least 1", found=str(event.umbrielversion))
    for name in ("id", "umbrielprevious"):
        value = getattr(event, name)
        if len(value) > _ID_CHARS or not value.isascii() or (value and not value.isprintable()):
            raise InvalidInputError(f"{name} is no event id", expected="up to 64 letters", found=repr(value[:80]))
    if not event.id:
        raise InvalidInputError("an event without an id", expected="its id", found="nothing")


async def _envelope(core: Core, caller: Caller, event: ExportedEvent) -> Envelope | None:
    if event.umbrielcontent == "erased":
        return None
    if event.data_base64:
        return await _opened(core, caller, event)
    if isinstance(event.data, msgspec.UnsetType) or not event.umbrielactortype:
        raise InvalidInputError("an event without data", expected="data and umbrielactortype", found="neither or one")
    return Envelope(
        originator_id="",
        originator_version=event.umbrielversion,
        event_id=event.id,
        recorded_at=event.time,
        actor=Actor(event.umbrielactor, event.umbrielactortype),
        data=_data(event, bytes(event.data)),
        cause=event.umbrielcause,
        correlation=event.umbrielcorrelation,
    )


def _data(event: ExportedEvent, raw: bytes) -> Event:
    cls = TOPICS[event.type]
    if event.umbrielschema == cls.SCHEMA:
        fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        unknown = fields.keys() - set(cls.__struct_fields__)
        if unknown:
            raise InvalidInputError(
                "data has fields that its schema does not know",
                expected=", ".join(cls.__struct_fields__),
                found=", ".join(sorted(unknown)),
            )
    try:
        return decode_event(event.type, event.umbrielschema, raw)
    except (KeyError, TypeError, AttributeError) as error:  # an upcaster met what its schema never held
        raise InvalidInputError(
            "data does not fit its schema", expected=data_schema(event.type, event.umbrielschema), found=repr(error)
        ) from error


async def _opened(core: Core, caller: Caller, event: ExportedEvent) -> Envelope | None:
    """Open a body with the keys of this log; None where its key was destroyed, MismatchError where it has none."""
    profile = check_profile(profile_of(event.umbrieloriginator))
    caller.within(profile).check_everyone("admin")
    try:
        key = await core.events.keys.by_id(profile, event.umbrielkeyid) if event.umbrielkeyid else None
    except DamagedError as error:
        raise MismatchError(
            "this log does not have the keys of an encrypted export: import it where it was made, or export it clear",
            expected=f"the key {event.umbrielkeyid}",
            found="none",
        ) from error
    if key is None and event.umbrielkeyid:
        return None
    entry = Entry(
        originator_id=event.umbrieloriginator,
        position=0,
        version=event.umbrielversion,
        topic=event.type,
        schema=event.umbrielschema,
        event_id=event.id,
        recorded_at=event.time,
        key_id=event.umbrielkeyid,
        body=event.data_base64,
    )
    return open_entry(entry, key)


# -- what an event may hold ---------------------------------------------------------------------


def _check(event: Event, limits: Limits) -> None:
    """Refuse what no other way of writing would take."""
    _check_names(event, _NAMES, limits)
    match event:
        case MessageRecorded():
            _check_message(event, limits)
        case MemoryRemembered():
            _check_memory(event, limits)
        case MemoryRestored():
            _check_memory(event.content, limits)


def _check_names(event: Event, fields: dict[str, str], limits: Limits) -> None:
    for field, limit in fields.items():
        if value := getattr(event, field, ""):
            check_name(value, field=field, max_chars=getattr(limits, limit))


def _check_message(event: MessageRecorded, limits: Limits) -> None:
    if event.role not in _ROLES:
        raise InvalidInputError("role is unknown", expected=", ".join(sorted(_ROLES)), found=repr(event.role[:40]))
    _check_names(event, _MESSAGE, limits)
    if event.redacted:
        if event.content:
            raise InvalidInputError("a redacted message with words", expected="no content", found="some")
        return
    check_text(event.content, field="content", max_bytes=limits.message_bytes)
    wanted = message_id(event.session, event.role, event.content, event.occurrence)
    if event.message != wanted:
        raise InvalidInputError("a message's id is not that of its content", expected=wanted, found=event.message[:80])


def _check_memory(event: MemoryRemembered, limits: Limits) -> None:
    wanted = memory_id(event.address, event.version)
    if event.memory != wanted:
        raise InvalidInputError("a memory's id does not fit", expected=wanted, found=event.memory[:80])
    if event.redacted:
        if event.text or event.queries:
            raise InvalidInputError("a redacted memory with words", expected="no text", found="some")
        return
    check_text(event.text, field="text", max_bytes=limits.memory_bytes)
    if not 0 <= event.confidence <= 1:
        raise InvalidInputError("confidence is out of range", expected="0 to 1", found=str(event.confidence))
    size = len(msgspec.json.encode(event.metadata))
    if size > limits.metadata_bytes:
        raise InvalidInputError(
            "metadata is too large", expected=f"at most {limits.metadata_bytes} bytes of JSON", found=f"{size} bytes"
        )
