"""Proofs of an export checked: by who imports it, and by who has only the file. Asks nobody.

What holds shows that each line is what the key's owner made of the sealed event, that none is missing between two
others, and that the events were in the log when it was sealed. That a line's words are what the ciphertext says is the
key owner's word, except in an encrypted export: there the leaf is computed from the line itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from domain.errors import DamagedError, InvalidInputError
from domain.events import SealMade
from domain.exporting import LineProof, end_statement, line_statement, seal_statement
from domain.merkle import root_of_parts
from domain.sealing import seal_hash, seal_problem
from gateways.jetstream.seal_keys import check_signature
from gateways.jetstream.wire import Entry
from gateways.service.export_proving import leaf_of_entry, terms_of
from umbriel.exports import ExportedEvent, HeaderData
from umbriel.imports import ImportLine, ImportSeal

__all__ = ["FileProofs"]

_LEAF = 32


class FileProofs:
    """The proofs of one file, by its header."""

    def __init__(self, header: HeaderData) -> None:
        """Take the header at its word; whose key it names is the caller's to judge."""
        self._log = header.log
        self._terms = terms_of(header)
        self._public = header.public_key
        try:
            self._key = bytes.fromhex(header.public_key)
        except ValueError as error:
            raise InvalidInputError(
                "line 1: public_key is no key", expected="64 hexadecimal digits", found=repr(header.public_key[:80])
            ) from error

    def check_lines(self, lines: Sequence[ImportLine], previous: int) -> int:
        """Return the position of the last line; raises DamagedError naming the first that is not what was exported."""
        for one in lines:
            previous = self._check_line(one, previous)
        return previous

    def _check_line(self, line: ImportLine, previous: int) -> int:
        event = _decoded(line)
        raw, proof = bytes(line.event), LineProof.read(event.proof)
        ending = b',"proof":"' + event.proof.encode() + b'"}'
        if proof is None or not raw.endswith(ending):
            raise _damaged(line.line, "it has no proof", "a proof at its end", event.proof[:40] or "none")
        position = self._position(line, event)
        said = line_statement(self._terms, position, proof.previous, proof.leaf, raw[: -len(ending)] + b"}")
        if not check_signature(self._key, proof.signature, said):
            raise _damaged(
                line.line, "it is not what was exported", f"what {self._public} signed", "a line that was changed"
            )
        if proof.previous != previous:
            raise _damaged(
                line.line,
                "lines before it are missing, doubled or in another order",
                f"the line of position {proof.previous} before it" if proof.previous else "the first line",
                f"that of {previous}" if previous else "none",
            )
        self._check_leaf(line.line, event, position, proof.leaf)
        return position

    def _position(self, line: ImportLine, event: ExportedEvent) -> int:
        log, _, sequence = event.umbrielposition.rpartition(":")
        if log != self._log or not sequence.isdecimal():
            raise _damaged(line.line, "its position is of another log", self._log, event.umbrielposition[:80])
        return int(sequence)

    def _check_leaf(self, number: int, event: ExportedEvent, position: int, leaf: bytes) -> None:
        """What is there as it was stored says itself what its leaf is."""
        if not event.data_base64 or event.umbrielcontent:
            return
        entry = Entry(
            originator_id=event.umbrieloriginator,
            position=position,
            version=event.umbrielversion,
            topic=event.type,
            schema=event.umbrielschema,
            event_id=event.id,
            recorded_at=event.time,
            key_id=event.umbrielkeyid,
            body=event.data_base64,
        )
        if leaf_of_entry(entry) != leaf:
            raise _damaged(number, "its ciphertext is not what was sealed", leaf.hex(), "another leaf")

    def check_seal(self, one: ImportSeal) -> str:
        """Return the hash of a seal over lines; raises DamagedError where they were not in the log that it sealed."""
        seal = msgspec.convert(msgspec.to_builtins(one.data.seal), SealMade)
        if problem := seal_problem(seal, check_signature, self._believed(one, seal)):
            raise _damaged(one.line, problem, "a seal by a key that the file's key believes", "another")
        if len(one.leaves) != _LEAF * len(one.positions):
            raise _damaged(one.line, "not a leaf for each line", str(len(one.positions)), str(len(one.leaves)))
        count = seal.last - seal.first + 1
        leaves = {
            position - seal.first: one.leaves[at * _LEAF : (at + 1) * _LEAF]
            for at, position in enumerate(one.positions)
        }
        root = root_of_parts(leaves, count, one.data.parts) if leaves else None
        if root is None or root.hex() != seal.root:
            raise _damaged(
                one.line,
                "the lines before it are not what was sealed",
                seal.root,
                root.hex() if root is not None else "no root",
            )
        return seal_hash(seal)

    def _believed(self, one: ImportSeal, seal: SealMade) -> frozenset[str]:
        if not one.data.vouched:
            return frozenset({self._public})
        try:
            signature = bytes.fromhex(one.data.vouched)
        except ValueError:
            signature = b""
        vouched = check_signature(self._key, signature, seal_statement(seal_hash(seal)))
        return frozenset({seal.public_key}) if vouched else frozenset()

    def check_end(self, line: int, last: int, proof: str) -> None:
        """Raise DamagedError where lines after the one at ``last`` are missing; ``line`` is the trailer's number."""
        try:
            signature = bytes.fromhex(proof)
        except ValueError:
            signature = b""
        if not check_signature(self._key, signature, end_statement(self._terms, last)):
            raise _damaged(line, "lines before it are missing", "the last line of the export", f"that of {last}")


def _decoded(line: ImportLine) -> ExportedEvent:
    try:
        return msgspec.json.decode(line.event, type=ExportedEvent, strict=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(line.line, "it is no line of an export", "an event as its schema says", str(error)) from error


def _damaged(line: int, what: str, expected: str, found: str) -> DamagedError:
    return DamagedError(f"line {line}: {what}", expected=expected, found=found)
