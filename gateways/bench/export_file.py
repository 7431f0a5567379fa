"""The file of an export, made up: sessions of messages with vectors, what was read in them, and memories."""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from domain.addresses import address_of
from domain.ids import message_id
from domain.text import fold_content
from umbriel.exports import FORMAT, HEADER, TRAILER, data_schema

__all__ = ["write_export"]

_START = datetime(2026, 1, 1, tzinfo=UTC)
_MESSAGES = 40
_WORDS = ("harbour", "ferry", "invoice", "garden", "violin", "train", "window", "market", "letter", "bridge")


def write_export(path: Path, events: int, *, model: str, dimension: int) -> int:
    """Write an export of ``events`` events and return its bytes; equal arguments write equal events."""
    digest, types, size = hashlib.sha256(), Counter[str](), 0
    with path.open("wb") as stream:
        header = {"format": FORMAT, "profile": "bench", "log": "UMBRIEL.bench", "encrypted": False, "vectors": True}
        lines = chain(
            [_line(HEADER, {**header, "until": f"UMBRIEL.bench:{events}"})], _events(events, model, dimension)
        )
        for line in lines:
            raw = msgspec.json.encode(line) + b"\n"
            types[line["type"]] += 1
            digest.update(raw)
            size += stream.write(raw)
        del types[HEADER]
        trailer = {"events": events, "types": dict(types), "position": f"UMBRIEL.bench:{events}"}
        size += stream.write(msgspec.json.encode(_line(TRAILER, {**trailer, "sha256": digest.hexdigest()})) + b"\n")
    return size


def _line(topic: str, data: Any, **more: Any) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": uuid.UUID(int=0).hex,
        "source": "umbriel/bench",
        "type": topic,
        "time": _START,
        "dataschema": data_schema(topic, FORMAT),
        "datacontenttype": "application/json",
        "data": data,
        **more,
    }


def _events(events: int, model: str, dimension: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(7)
    made = chain.from_iterable(_session(number, rng, model, dimension) for number in count())
    first = ("profile.created", 1, 1, "bench", {"name": "bench"}, "")
    for number, (topic, schema, version, subject, data, previous) in enumerate(
        islice(chain([first], made), events), start=1
    ):
        yield _line(
            topic,
            data,
            id=uuid.uuid5(uuid.NAMESPACE_OID, f"{topic} {subject} {version}").hex,
            time=_START + timedelta(seconds=number),
            dataschema=data_schema(topic, schema),
            subject=subject,
            umbrielposition=f"UMBRIEL.bench:{number}",
            umbrielversion=version,
            umbrielschema=schema,
            umbrielactor="bench",
            umbrielactortype="agent",
            umbrielprevious=previous,
        )


_Made = tuple[str, int, int, str, dict[str, Any], str]


def _session(number: int, rng: np.random.Generator, model: str, dimension: int) -> Iterator[_Made]:
    session, ids = f"session {number}", []
    for turn in range(_MESSAGES):
        content = f"{number}-{turn}: " + " ".join(rng.choice(_WORDS, 12))
        one = message_id(session, "user", content)
        ids.append(one)
        data = {"message": one, "session": session, "role": "user", "content": content}
        yield "message.recorded", 1, 1, one, data, ""
        yield "embedding.computed", 1, 1, one, _vector(rng, f"e{number}-{turn}", model, dimension), ""
    read = {"extraction": f"x{number}", "session": session, "messages": ids, "source": "turn", "pipeline": "bench"}
    yield "extraction.completed", 1, 1, f"x{number}", {**read, "model": "bench"}, ""
    for fact in range(_MESSAGES // 4):
        yield from _memory(f"fact {number}-{fact}: " + " ".join(rng.choice(_WORDS, 8)), rng, model, dimension)


def _memory(text: str, rng: np.random.Generator, model: str, dimension: int) -> Iterator[_Made]:
    address = address_of("fact", contact=None, key="", content=text, occurred_at=None)
    memory = f"{address}@1"
    data = {
        "memory": memory,
        "address": address,
        "version": 1,
        "kind": "fact",
        "text": text,
        "folded": fold_content(text),
        "source": "explicit",
        "confidence": 0.9,
    }
    yield "memory.remembered", 1, 1, memory, data, ""
    yield "embedding.computed", 1, 1, memory, _vector(rng, address, model, dimension), ""
    before = uuid.uuid5(uuid.NAMESPACE_OID, f"memory.remembered {memory} 1").hex
    yield "memory.judged", 2, 2, memory, {"memory": memory, "model": "bench"}, before


def _vector(rng: np.random.Generator, name: str, model: str, dimension: int) -> dict[str, Any]:
    vector = rng.standard_normal(dimension).astype("<f4")
    vector /= np.linalg.norm(vector)
    vectors = base64.b64encode(vector.tobytes()).decode()
    return {"embedding": name, "model": model, "dimension": dimension, "chunks": 1, "vectors": vectors}
