"""Bodies written by released code stay readable, and mean what they meant."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from domain.envelope import encode_body
from domain.events import TOPICS, SettingsChanged
from tests.golden.examples import EXAMPLES
from tests.golden.record import FILE, Line, read, reopen

_LINES = read()
_IDS = [f"{number}-{line.topic}" for number, line in enumerate(_LINES, start=1)]


def test_every_topic_is_recorded() -> None:
    """Each topic has a recorded body; run ``python -m tests.golden.record`` after adding one."""
    assert {line.topic for line in _LINES} == set(TOPICS)
    assert len(_LINES) == len(EXAMPLES)


@pytest.mark.parametrize("number", range(len(_LINES)), ids=_IDS)
def test_a_recorded_body_means_what_it_meant(number: int) -> None:
    """The recorded bytes decode to the event they were written for, with actor, cause and correlation."""
    assert reopen(_LINES[number]) == EXAMPLES[number]


@pytest.mark.parametrize("number", range(len(_LINES)), ids=_IDS)
def test_a_body_of_today_is_the_recorded_one(number: int) -> None:
    """The newest schema writes the recorded bytes; who changes them raises the schema and keeps the old file."""
    line, example = _LINES[number], EXAMPLES[number]
    if isinstance(example.data, SettingsChanged):
        # Settings gain sections and fields; what was recorded is written as it was.
        before, now = (msgspec.json.decode(body)["data"]["settings"] for body in (line.body, encode_body(example)))
        assert {name: {field: now[name][field] for field in fields} for name, fields in before.items()} == before
    elif line.schema == example.data.SCHEMA:
        assert encode_body(example) == line.body


def test_what_is_recorded_was_not_recorded_again() -> None:
    """The first lines are the bytes that were released, not what later code wrote in their place."""
    released = b"".join(FILE.read_bytes().splitlines(keepends=True)[:30])
    assert hashlib.sha256(released).hexdigest() == "e9b6650f1f3a76067fc26836c1e4382aca6e86991db3d7fd2b26542b5179005f"


def test_lines_hold_nothing_else() -> None:
    """A line is the clear fields of the envelope and the body."""
    assert all(1 <= line.schema <= TOPICS[line.topic].SCHEMA for line in _LINES)
    assert all(isinstance(line, Line) and line.body for line in _LINES)
