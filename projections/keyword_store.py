"""The Whoosh index on disk: immutable segments, and when they are merged.

Whoosh writes a table of contents for each commit and would remove older files at once; here they stay until the
manifest names the new ones, so that a crash in between leaves the commit before it whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from whoosh.codec.base import Segment
from whoosh.codec.whoosh3 import W3Codec
from whoosh.fields import ID, STORED, TEXT, Schema
from whoosh.filedb.filestore import FileStorage
from whoosh.index import TOC, FileIndex
from whoosh.reading import SegmentReader
from whoosh.writing import OPTIMIZE, SegmentWriter

from projections.analysis import Terms
from projections.postings import Codes, Document, KeywordSegment, KeywordSnapshot

__all__ = ["KeywordStore"]

_NAME = "MAIN"
_FAN = 8
_DEAD_SHARE = 0.25
_FEW = 16

# Texts come as lists of terms, cut by our own rules, so that the analyzers of the fields are never asked.
_SCHEMA = Schema(document=STORED(), text=TEXT(phrase=False), rest=ID())


class _Codec(W3Codec):
    """Whoosh's codec without the lengths of blocks: only its own searcher asks for them, and writing takes longer."""

    length_stats = False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]


class _Writer(SegmentWriter):
    """Whoosh's writer, except that it leaves the files of earlier commits alone."""

    def __init__(self, storage: FileStorage) -> None:
        index = FileIndex(storage, _SCHEMA, _NAME)
        super().__init__(index, _lk=False, codec=_Codec())  # type: ignore[no-untyped-call]

    def _commit_toc(self, segments: list[Segment]) -> None:
        TOC(self.schema, segments, self.generation).write(self.storage, self.indexname)


class KeywordStore:
    """Reads and writes the files; decides nothing about content."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._storage = FileStorage(str(directory))
        self.codes = Codes({}, {})
        self._segments: dict[str, KeywordSegment] = {}

    def clean(self, named: frozenset[str]) -> None:
        """Remove files of the index that no commit names."""
        for path in self._directory.iterdir():
            if path.is_dir() and path.name.startswith(_NAME):
                shutil.rmtree(path, ignore_errors=True)
            elif path.name not in named and path.name.startswith((f"{_NAME}_", f"_{_NAME}_")):
                path.unlink(missing_ok=True)

    def create(self) -> None:
        """Write an empty index."""
        FileIndex.create(self._storage, _SCHEMA, _NAME)

    def files(self) -> list[Path]:
        """Return the files that the last table of contents needs, itself included."""
        toc = self._toc()
        prefixes = tuple(f"{segment.segment_id()}." for segment in toc.segments)
        names = [path for path in self._directory.iterdir() if prefixes and path.name.startswith(prefixes)]
        return [self._directory / TOC._filename(_NAME, toc.generation), *sorted(names)]  # noqa: SLF001

    def write(
        self,
        remove: Sequence[tuple[int, int]],
        add: Sequence[tuple[Document, Terms]],
        *,
        merge_all: bool = False,
    ) -> None:
        """Write one commit; documents to remove are named by the order of their segment and their number in it."""
        writer: SegmentWriter = _Writer(self._storage)
        try:
            for order, number in remove:
                writer.segments[order].delete_document(number)
            for document, terms in add:
                writer.add_document(text=terms.text, rest=terms.rest, document=msgspec.msgpack.encode(document))
            writer.commit(mergetype=OPTIMIZE if merge_all else _merge)
        finally:
            if not writer.is_closed:
                writer.cancel()

    def snapshot(self) -> KeywordSnapshot:
        """Open what the last table of contents names; segments that are open already are used again."""
        segments = self._toc().segments
        opened = {segment.segment_id(): self._segment(segment) for segment in segments}
        self._segments = opened
        masks = []
        for segment in segments:
            deleted = list(segment.deleted_docs())
            mask = np.ones(segment.doc_count_all(), dtype=np.bool_) if deleted else None
            if mask is not None:
                mask[deleted] = False
            masks.append(mask)
        return KeywordSnapshot(list(opened.values()), masks, self.codes)

    def close(self) -> None:
        """Let go of the segments; files are closed with the last snapshot that uses them."""
        self._segments = {}

    def _toc(self) -> TOC:
        toc: TOC = TOC.read(self._storage, _NAME, schema=_SCHEMA)
        return toc

    def _segment(self, segment: Segment) -> KeywordSegment:
        if (found := self._segments.get(segment.segment_id())) is not None:
            return found
        reader = SegmentReader(self._storage, _SCHEMA, segment)
        return KeywordSegment(reader, list(_documents(reader)), self.codes)


def _documents(reader: SegmentReader) -> Iterator[Document]:
    decoder = msgspec.msgpack.Decoder(Document)
    for number in range(reader.doc_count_all()):
        yield decoder.decode(reader.stored_fields(number)["document"])


def _merge(writer: SegmentWriter, segments: list[Segment]) -> list[Segment]:
    """Merge like sizes once there are eight of them, and what has lost a quarter of its documents."""
    dropped = [segment for segment in segments if not _live(segment)]
    kept = [segment for segment in segments if _live(segment)]
    chosen = [segment for segment in kept if segment.doc_count_all() > _FEW and _dead_share(segment) > _DEAD_SHARE]
    size = writer.docnum + sum(map(_live, chosen))
    while size:
        same = [one for one in kept if one not in chosen and _tier(_live(one)) <= _tier(size)]
        if len(same) < _FAN - 1:
            break
        chosen.extend(same)
        size += sum(map(_live, same))
    for segment in chosen:
        reader = SegmentReader(writer.storage, writer.schema, segment)
        writer.add_reader(reader)
        reader.close()
    return [segment for segment in segments if segment not in chosen and segment not in dropped]


def _live(segment: Segment) -> int:
    return int(segment.doc_count_all() - segment.deleted_count())


def _dead_share(segment: Segment) -> float:
    return float(segment.deleted_count() / segment.doc_count_all())


def _tier(size: int) -> int:
    tier = 0
    while size >= _FAN:
        size //= _FAN
        tier += 1
    return tier
