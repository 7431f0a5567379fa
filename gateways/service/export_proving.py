"""Proofs for an export: each line signed with its leaf and its predecessor, and what of a sealed tree no line has.

Nothing is kept from page to page: a line's proof follows from what was asked for and the line before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

import msgspec

from domain.errors import DamagedError, InvalidInputError, UnavailableError
from domain.events import SealMade
from domain.exporting import LineProof, end_statement, line_statement, seal_statement
from domain.merkle import other_parts, root_of
from domain.sealing import Stored, leaf_at, leaf_of, seal_hash
from gateways.jetstream.log import Log
from gateways.jetstream.seal_keys import SealKey
from gateways.jetstream.streams import subject_for
from gateways.jetstream.wire import Append, Entry, headers_of
from gateways.service.context import Core
from gateways.service.proving import covering_seal
from gateways.service.sealing import seal_in
from umbriel.exports import ExportReply, ExportRequest, HeaderData, SealData
from umbriel.proofs import SealInfo

__all__ = ["Signer", "leaf_of_entry", "seal_of", "signer_of", "terms_of"]

_PAGE = 500
#: positions of one range that are looked at; more than any seal covers
_MOST = 1_000_000


def terms_of(header: HeaderData) -> bytes:
    """Return what of a header every proof is bound to: of what the export is, and what was left out."""
    times = (None if at is None else at.astimezone(UTC).isoformat() for at in (header.since, header.before))
    kinds = sorted(header.kinds)
    asked = (header.encrypted, header.vectors, header.until, kinds, header.contact, *times, header.principal)
    return msgspec.json.encode((header.profile, header.log, *asked))


def leaf_of_entry(entry: Entry) -> bytes:
    """Return the leaf hash of an event as it was read."""
    names = (name for name in Append.__struct_fields__ if name != "expected")
    headers = headers_of(Append(**{name: getattr(entry, name) for name in names}))
    return leaf_of(Stored(entry.position, subject_for(entry.originator_id), headers, entry.body))


class Signer:
    """Signs the lines of one page, each with the one before it."""

    def __init__(self, core: Core, terms: bytes, previous: int) -> None:
        self._core = core
        self._terms = terms
        self._last = self._first = previous
        self._positions: list[int] = []

    def sign(self, entry: Entry, line: bytes) -> bytes:
        """Return a line with its proof."""
        leaf = leaf_of_entry(entry)
        statement = line_statement(self._terms, entry.position, self._last, leaf, line)
        proof = LineProof(leaf, self._last, bytes.fromhex(_key(self._core).sign(statement))).shown()
        self._last = entry.position
        self._positions.append(entry.position)
        return line[:-1] + b',"proof":"' + proof.encode() + b'"}'

    async def finish(self, reply: ExportReply) -> ExportReply:
        """Return the page with where the seals over its lines end, and at the end of all with that it is the end."""
        end = _key(self._core).sign(end_statement(self._terms, self._last)) if reply.done else ""
        first = self._first or next(iter(self._positions), 0)
        ends = await _ends(self._core.events.log, first, self._last) if first else []
        if self._positions and (not ends or ends[-1] < self._last):
            raise UnavailableError(
                "this is not sealed yet", expected="a seal behind it", found=f"position {self._last}"
            )
        return msgspec.structs.replace(reply, ends=ends, end=end, public_key=_key(self._core).public)


def _key(core: Core) -> SealKey:
    if core.seal_key is None:
        raise UnavailableError("nothing is sealed here", expected="a service that seals", found="--no-proofs")
    return core.seal_key


async def signer_of(core: Core, request: ExportRequest, header: HeaderData, until: int) -> Signer:
    """Return what signs a page of an export; what is not sealed yet is sealed now."""
    if not request.until and core.seal is not None and await covering_seal(core.events.log, until) is None:
        await core.seal()
    return Signer(core, terms_of(header), core.positions.read(request.previous, field="previous"))


async def _ends(log: Log, first: int, last: int) -> list[int]:
    """Return the last position of each seal over these positions."""
    ends: list[int] = []
    after = first
    while (not ends or ends[-1] < last) and (entries := await log.read_category(SealMade.category(), after, _PAGE)):
        seals = map(seal_in, entries)
        ends += [one.last for one in seals if one.last >= first and (not ends or one.first <= last)]
        after = entries[-1].position
    return ends


async def seal_of(core: Core, stretch: Sequence[tuple[int, int]]) -> SealData:
    """Return the seal over some ranges of positions, and the parts of its tree that are not theirs."""
    positions = [position for first, last in stretch for position in range(first, min(last, first + _MOST) + 1)]
    seal = await covering_seal(core.events.log, positions[0]) if positions else None
    if seal is None or positions != sorted(set(positions)) or positions[-1] > seal.last:
        raise InvalidInputError(
            "not a stretch under one seal", expected="ascending positions", found=repr(stretch)[:80]
        )
    leaves: list[bytes] = []
    async for place in core.events.log.stretch(seal.first, seal.last):
        leaf = leaf_at(place.position, place.message, core.events.lost)
        if leaf is None:
            break
        leaves.append(leaf)
    if len(leaves) != seal.last - seal.first + 1 or root_of(leaves).hex() != seal.root:
        raise DamagedError(
            "the log does not hold what was sealed; `umbriel verify` says where",
            expected=f"the root of seal {seal.number}",
            found="another",
        )
    key = _key(core)
    return SealData(
        seal=msgspec.convert(msgspec.to_builtins(seal), SealInfo),
        parts=other_parts(leaves, [position - seal.first for position in positions]),
        vouched="" if seal.public_key == key.public else key.sign(seal_statement(seal_hash(seal))),
    )
