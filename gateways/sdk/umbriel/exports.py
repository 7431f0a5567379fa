"""Wire types of exports: JSON Lines of CloudEvents 1.0, whose schema is `schema` (``export.schema.json``).

The first line is a header, the last a trailer; between them each line is one event of the log. Names that begin with
``umbriel`` are extension attributes. An older ``format`` stays readable; a newer one is refused.
"""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files
from typing import Literal

import msgspec

from umbriel._wire import Reply, Request
from umbriel.proofs import SealInfo

__all__ = [
    "FORMAT",
    "HEADER",
    "SEAL",
    "TRAILER",
    "UNPROVEN",
    "ExportReply",
    "ExportRequest",
    "ExportedEvent",
    "Header",
    "HeaderData",
    "SealData",
    "SealLine",
    "Trailer",
    "TrailerData",
    "data_schema",
    "schema",
]

#: The version of the file format: of the header, the trailer and the attributes, not of each event's data.
FORMAT = 2
#: The version of a file without proofs: readers of before know it.
UNPROVEN = 1
HEADER = "umbriel.export.header"
TRAILER = "umbriel.export.trailer"
SEAL = "umbriel.export.seal"


def data_schema(topic: str, version: int) -> str:
    """Return the URI that names the schema of an event's data; it is the ``$id`` of its part of the schema file."""
    return f"urn:umbriel:{topic}:{version}"


def schema() -> bytes:
    """Return the JSON Schema that every line of an export fits."""
    return files("umbriel").joinpath("export.schema.json").read_bytes()


class ExportRequest(Request, frozen=True):
    """A page of a profile's events after a position, up to ``until`` (empty: the log's end now).

    ``kinds`` are event categories, empty for all; ``since`` and ``before`` bound when events were recorded. With
    ``encrypted`` bodies come as they are stored, without ``vectors`` those of embeddings stay out. With ``proofs`` each
    line is bound to the one at ``previous`` (or where the export begins); a request with a ``stretch`` (ranges of
    positions of lines, first and last, under one seal) asks for that seal and gets no lines.
    """

    after: str = ""
    until: str = ""
    kinds: list[str] = []
    contact: str = ""
    since: datetime | None = None
    before: datetime | None = None
    encrypted: bool = False
    vectors: bool = True
    proofs: bool = False
    previous: str = ""
    stretch: list[tuple[int, int]] = []


class SealData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The seal over the lines since the seal before, and the ``parts`` (hashes) of its tree that are none of theirs.

    The leaves in the lines' proofs and the parts, from left to right, make the sealed root. ``vouched`` is the
    signature (hex) of the file's key where the seal was made with another one.
    """

    seal: SealInfo
    parts: list[bytes]
    vouched: str = ""


class ExportReply(Reply, frozen=True):
    """Lines as they are to be written, where to go on, and where the export ends (``done`` there).

    With proofs ``ends`` are the last positions of the seals over the lines since ``previous``, ``public_key`` is whose
    signatures the proofs are, and ``end`` one over that nothing follows.
    """

    lines: list[msgspec.Raw]
    position: str
    until: str
    done: bool
    ends: list[int] = []
    seal: SealData | None = None
    public_key: str = ""
    end: str = ""


class _CloudEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The attributes of CloudEvents 1.0 that every line has."""

    specversion: Literal["1.0"]
    id: str
    source: str
    type: str
    time: datetime
    dataschema: str


class ExportedEvent(_CloudEvent, frozen=True):
    """One event of the log.

    ``subject`` is the public id of what it is about: a message, a memory, a session; of an embedding the message or
    memory whose vectors it holds. ``umbrielposition`` is where it stands in the log it was exported from,
    ``umbrielversion`` its number in its aggregate, ``umbrielprevious`` the id of the readable event before it there,
    ``umbrielschema`` the schema version of its data. ``umbrielcontent`` is ``redacted`` where words in it were
    forgotten, ``erased`` where its key was destroyed, else absent. In an encrypted export ``data_base64`` is the body
    as stored, readable with the key ``umbrielkeyid`` and bound to ``umbrieloriginator``. ``proof``, in an export that
    has them, is base64 of the event's leaf in the log's tree (32 bytes), the position of the line before (8, big
    endian), and a signature (64) over both and the line without its proof; it stands last.
    """

    datacontenttype: Literal["application/json", "application/octet-stream"]
    umbrielposition: str
    umbrielversion: int
    umbrielschema: int
    subject: str = ""
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    data_base64: bytes = b""
    umbrielactor: str = ""
    umbrielactortype: Literal["", "person", "agent", "service"] = ""
    umbrielcause: str = ""
    umbrielcorrelation: str = ""
    umbrielprevious: str = ""
    umbrielcontent: Literal["", "redacted", "erased"] = ""
    umbrielkeyid: str = ""
    umbrieloriginator: str = ""
    proof: str = ""


class HeaderData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the file holds: of which profile and log (``<stream>.<incarnation>``), how far, and what was left out.

    The counts are not known yet: the trailer has them. ``public_key`` (Ed25519, hex) is whose word the proofs are,
    empty where there are none.
    """

    format: int
    profile: str
    log: str
    encrypted: bool
    vectors: bool
    until: str
    after: str = ""
    kinds: list[str] = []
    contact: str = ""
    since: datetime | None = None
    before: datetime | None = None
    principal: str = ""
    public_key: str = ""


class SealLine(_CloudEvent, frozen=True):
    """The line behind those that a seal covers."""

    datacontenttype: Literal["application/json"]
    data: SealData


class Header(_CloudEvent, frozen=True):
    """The first line."""

    datacontenttype: Literal["application/json"]
    data: HeaderData


class TrailerData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What went before it: how many events, of which types, up to where, and the SHA-256 of all the lines (hex).

    The hash is over the bytes of every line before the trailer, each with its line feed. ``proof`` is the signature
    (hex) that no line follows, in an export that has proofs.
    """

    events: int
    types: dict[str, int]
    position: str
    sha256: str
    proof: str = ""


class Trailer(_CloudEvent, frozen=True):
    """The last line: a file without it was cut off."""

    datacontenttype: Literal["application/json"]
    data: TrailerData
