"""The extraction benchmark: how items are matched with labels, and what a report counts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from domain.errors import InvalidInputError
from gateways.bench import conversations, locomo
from gateways.bench.extraction import Expected, ExtractionReport, Labelled, measure_extraction, read_labelled
from gateways.extraction.offline import OfflineExtractor

HOME = Expected(kind="fact", fact_type="identity", contains=("lisbon",), key="user_home")


def measured(*lines: Labelled) -> ExtractionReport:
    """The report on these lines."""
    return asyncio.run(measure_extraction(OfflineExtractor(), lines, "here"))


def test_right_wrong_and_missed() -> None:
    """An item is right when kind, type, key and words agree; others are wrong, and labels without an item missed."""
    (part,) = measured(
        Labelled(author="a", text="I live in Lisbon.", expected=(HOME,)),
        Labelled(author="a", text="I live in Oslo.", expected=(HOME,)),
        Labelled(author="a", text="Nice weather."),
    ).parts
    total = part.scores[-1]
    assert (total.expected, total.found, total.right) == (2, 2, 1)
    assert (total.precision, total.recall) == (50.0, 50.0)
    assert part.wrong == ["'I live in Oslo.': The user lives in Oslo."]
    assert part.missed == ["'I live in Oslo.': identity, lisbon"]
    assert (part.lines, part.silent, part.items, part.items_per_100) == (3, 1, 2, 66.7)


def test_an_optional_item_counts_for_nothing() -> None:
    """What is true but not asked for is neither right nor wrong, found or not."""
    optional = Expected(kind="fact", fact_type="identity", contains=("lisbon",), optional=True)
    (part,) = measured(
        Labelled(author="a", text="I live in Lisbon.", expected=(optional,)),
        Labelled(author="a", text="Hello!", expected=(optional,)),
    ).parts
    total = part.scores[-1]
    assert (total.expected, total.found, total.right, total.precision) == (0, 0, 0, None)
    assert (part.wrong, part.missed) == ([], [])


def test_held_out_lines_are_reported_apart() -> None:
    """Two parts, each with its own lines."""
    report = measured(Labelled(author="a", text="Hi"), Labelled(author="b", text="Hi", held_out=True))
    assert [(part.name, part.lines) for part in report.parts] == [("developed against", 1), ("held out", 1)]


def test_the_set_that_ships_is_sound() -> None:
    """At least two hundred lines, half of them silent, and precision above nine in ten on those developed against."""
    lines = read_labelled(None)
    silent = [line for line in lines if all(one.optional for one in line.expected)]
    assert len(lines) >= 200
    assert 2 * len(silent) >= len(lines)
    report = measured(*lines)
    precision = report.parts[0].scores[-1].precision
    assert precision is not None
    assert precision > 90


def test_a_line_that_is_no_label_is_named(tmp_path: Path) -> None:
    """The file and the number of the line are in the error."""
    path = tmp_path / "set.jsonl"
    path.write_text('{"author": "a", "text": "Hi"}\n{"text": 3}\n')
    with pytest.raises(InvalidInputError, match=r"set\.jsonl, line 2"):
        read_labelled(path)


def test_conversations_show_what_was_found(tmp_path: Path) -> None:
    """Each session is a window; items of the sample come with the line that they rest on."""
    turns = [
        {"speaker": "Ana", "dia_id": "D1:1", "text": "I love stargazing."},
        {"speaker": "Bo", "dia_id": "D1:2", "text": "I went to Oslo yesterday."},
    ]
    talk = {"speaker_a": "Ana", "speaker_b": "Bo", "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns}
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"sample_id": "one", "conversation": talk, "qa": []}]))
    samples = locomo.read_samples(path)
    report = asyncio.run(conversations.measure_yield(OfflineExtractor(), samples, sample=10))
    assert (report.conversations, report.lines, report.items, report.items_per_100) == (1, 2, 2, 100.0)
    assert [item.text for item in report.sample] == ["Ana loves stargazing.", "Bo went to Oslo on 2023-05-07."]
    assert report.sample[1].line == "Bo: I went to Oslo yesterday [2023-05-07]."
