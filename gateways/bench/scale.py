"""Growth, measured on the views themselves: a log of synthetic memories is replayed as a rebuild does it.

Writing a million memories through the public path takes hours, and says what ``umbriel bench speed`` says already.
Each size has a process of its own, so that memory is its own.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np
from whoosh.fields import ID, STORED, TEXT, Schema
from whoosh.filedb.filestore import FileStorage

from domain.envelope import Envelope
from domain.errors import DamagedError
from gateways.bench.scale_log import EmbedsTexts, envelopes, remembered, scale_indexing
from gateways.bench.scale_report import ProfilesReport, ScaleSize
from gateways.bench.speed_report import figure
from gateways.bench.speed_texts import Note, notes, questions
from projections.analysis import index_terms
from projections.generations import VIEWS, ViewSet
from projections.recall import RecallQuery, recall

__all__ = ["measure_profiles", "measure_scale"]

_BATCH = 2_000
_WARM = 20
_COMPARED = 10
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SCHEMA = Schema(document=STORED(), text=TEXT(phrase=False), rest=ID())

Advance = Callable[[int], None]


def measure_scale(count: int, log: EmbedsTexts, model: EmbedsTexts, queries: int, advance: Advance) -> ScaleSize:
    """Build, open and ask one profile. ``log`` makes the vectors, ``model`` is the one whose query is the limit."""
    with tempfile.TemporaryDirectory(prefix="umbriel-scale-") as directory:
        own, root = notes(count), Path(directory, "profile")
        rebuilt = _replay(root, own, log, advance)
        whoosh = _whoosh_alone(Path(directory, "whoosh"), own)
        before = _memory()
        started = time.process_time()
        views = _opened(root, log)
        opened = time.process_time() - started
        asked = questions(own, queries + _WARM)
        recalls, embeddings = _ask(views, asked, log, model)
        after = _memory()
        found = ScaleSize(
            memories=count,
            recall=figure(recalls),
            embedding=figure(embeddings),
            rebuilt_per_second=count / rebuilt,
            whoosh_per_second=count / whoosh,
            text_bytes=sum(len(note.text.encode()) for note in own),
            vector_bytes=4 * log.dimension * count,
            disk_bytes=sum(path.stat().st_size for path in root.rglob("*") if path.is_file()),
            resident_bytes=max(0, after[0] - before[0]),
            mapped_bytes=max(0, after[1] - before[1]),
            open_seconds=opened,
            recall_at_10=_against_exact(views, own, asked[:50], log),
        )
        views.close()
        return found


def measure_profiles(count: int, memories: int, log: EmbedsTexts, advance: Advance) -> ProfilesReport:
    """Make ``count`` profiles, then open each, ask it once and close it again."""
    with tempfile.TemporaryDirectory(prefix="umbriel-scale-") as directory:
        own = notes(memories)
        events = list(envelopes(own, log))
        for number in range(count):
            _replay_into(Path(directory, f"p{number}"), [events], log)
            advance(1)
        asked, seconds = questions(own, count), []
        before = _descriptors()
        for number, text in enumerate(asked):
            started = time.perf_counter()
            views = _opened(Path(directory, f"p{number}"), log)
            recall(views, RecallQuery(text=text, limit=10), embed_query=log.embed_query, now=datetime.now(UTC))
            seconds.append(time.perf_counter() - started)
            views.close()
        return ProfilesReport(
            profiles=count,
            memories=memories,
            cold_recall=figure(seconds),
            descriptors_left=max(0, _descriptors() - before),
        )


def _opened(root: Path, log: EmbedsTexts) -> ViewSet:
    return ViewSet(root, dict.fromkeys(VIEWS, "g000001"), scale_indexing(log))


def _replay(root: Path, own: Sequence[Note], log: EmbedsTexts, advance: Advance) -> float:
    def batches() -> Iterator[Sequence[Envelope]]:
        log_of = envelopes(own, log)
        while batch := list(islice(log_of, _BATCH)):
            yield batch
            advance(len(batch) // 2)

    return _replay_into(root, batches(), log)


def _replay_into(root: Path, batches: Iterable[Sequence[Envelope]], log: EmbedsTexts) -> float:
    """Return the seconds of processor that applying took, without the making of the log."""
    views, seconds = _opened(root, log), 0.0
    for batch in batches:
        started = time.process_time()
        views.apply(batch)
        seconds += time.process_time() - started
    stopped = dict(views.stopped)
    views.close()
    if stopped:
        raise DamagedError("a view stopped", expected="three views at work", found=str(stopped))
    return seconds


def _whoosh_alone(directory: Path, own: Sequence[Note]) -> float:
    directory.mkdir()
    storage = FileStorage(str(directory))
    started = time.process_time()
    writer = storage.create_index(_SCHEMA).writer()
    for note in own:
        terms = index_terms(note.text)
        writer.add_document(text=terms.text, rest=terms.rest, document=note.text)
    writer.commit()
    return time.process_time() - started


def _ask(views: ViewSet, asked: Sequence[str], log: EmbedsTexts, model: EmbedsTexts) -> tuple[list[float], list[float]]:
    recalls, embeddings = [], []

    def embed(text: str) -> bytes:
        # The model's time counts; where the log has other vectors, theirs are asked for.
        found = model.embed_query(text)
        return found if log is model else log.embed_query(text)

    for text in asked:
        started = time.process_time()
        model.embed_query(text)
        embeddings.append(time.process_time() - started)
        started = time.process_time()
        recall(views, RecallQuery(text=text, limit=10), embed_query=embed, now=datetime.now(UTC))
        recalls.append(time.process_time() - started)
    return recalls[_WARM:], embeddings[_WARM:]


def _against_exact(views: ViewSet, own: Sequence[Note], asked: Sequence[str], log: EmbedsTexts) -> float:
    """Return the part of the ten nearest, by a plain product of float32, that the vector view names."""
    queries = np.stack([np.frombuffer(log.embed_query(text), dtype="<f4") for text in asked])
    best: list[list[tuple[float, int]]] = [[] for _ in asked]
    for start in range(0, len(own), _BATCH):
        texts = [note.text for note in own[start : start + _BATCH]]
        rows = np.stack([np.frombuffer(one.vectors[: 4 * log.dimension], dtype="<f4") for one in log.embed(texts)])
        for at, scores in enumerate(queries @ rows.T):
            top = np.argsort(-scores)[:_COMPARED]
            found = [*best[at], *((float(scores[number]), start + int(number)) for number in top)]
            best[at] = sorted(found, reverse=True)[:_COMPARED]
    hits = 0
    for query, wanted in zip(queries, best, strict=True):
        ids = {hit.id for hit in views.vectors.search(query.tobytes(), _COMPARED)}
        hits += len(ids & {remembered(own[number]).memory for _, number in wanted})
    return hits / sum(map(len, best))


def _memory() -> tuple[int, int]:
    """Return the bytes of this process that are its own, and those that are pages of files; zeros where not told."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0, 0
    shared = int(pages[2]) * _PAGE
    return int(pages[1]) * _PAGE - shared, shared


def _descriptors() -> int:
    """Return how many files this process has open, 0 where the system does not tell."""
    try:
        return len(list(Path("/proc/self/fd").iterdir()))
    except OSError:
        return 0
