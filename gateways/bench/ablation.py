"""What each channel is worth: every question again with one left out, with one alone, and under other settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec

from domain.settings import ProfileSettings, with_changes
from gateways.bench.metrics import mean, score
from gateways.bench.run import Answer, Asking
from gateways.bench.samples import Question
from umbriel import InvalidInputError, Umbriel

__all__ = ["FULL", "Ablated", "Ablation", "Row", "Way", "ablate", "ablation_rows", "parse_settings", "ways"]

Kind = Literal["full", "without", "alone", "settings"]

FULL = "all channels"
_METRICS = ("R@10", "MRR")
#: Questions asked to learn which channels there are: one that a question has nothing for may not be planned for it.
_LOOKED_AT = 5


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way of asking: some channels only (empty: all of them), or with settings that are changed for it."""

    name: str
    kind: Kind
    channels: tuple[str, ...] = ()
    settings: dict[str, Any] = {}


class Ablated(msgspec.Struct, frozen=True):
    """What one way of asking found for the questions of a sample."""

    way: Way
    answers: tuple[Answer, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One way of asking over all questions: scores in per cent, their difference from all channels, milliseconds.

    Scores are those of turns, or of sessions where the set knows no turns.
    """

    name: str
    kind: Kind
    questions: int
    scores: dict[str, float]
    change: dict[str, float]
    mean_ms: float


class Ablation(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be measured beside the answers themselves: each channel's worth, and other settings."""

    channels: bool = False
    settings: tuple[dict[str, Any], ...] = ()


def parse_settings(text: str) -> dict[str, Any]:
    """Return the settings that ``KEY=VALUE[,KEY=VALUE …]`` names; together they are one row of the table.

    Raises InvalidInputError for what is none, for a name that no profile has, and for a value that it cannot have.
    """
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, sign, value = part.strip().partition("=")
        if not sign or not name:
            raise InvalidInputError("not a setting", expected="KEY=VALUE[,KEY=VALUE …]", found=ascii(text)[:60])
        try:
            found[name] = msgspec.json.decode(value)
        except msgspec.MsgspecError:
            found[name] = value
    with_changes(ProfileSettings(), found)  # before anything is loaded
    return found


def ways(channels: Sequence[str], ablation: Ablation) -> list[Way]:
    """Return the ways of asking: all channels, without each, each alone, and under each of the settings."""
    found = [Way(name=FULL, kind="full")]
    if ablation.channels and len(channels) > 1:
        for channel in channels:
            others = tuple(one for one in channels if one != channel)
            found.append(Way(name=f"without {channel}", kind="without", channels=others))
        found += [Way(name=f"{channel} alone", kind="alone", channels=(channel,)) for channel in channels]
    for settings in ablation.settings:
        name = ", ".join(f"{key}={value}" for key, value in settings.items())
        found.append(Way(name=name, kind="settings", settings=settings))
    return found


async def ablate(
    asking: Asking, questions: Sequence[Question], ablation: Ablation, asked: Callable[[str], None]
) -> list[Ablated]:
    """Ask the questions in every way, all channels first; settings are put back when their way is through.

    ``asked`` is called with the name of the way after each question.
    """
    found: list[Ablated] = []
    for way in ways(await _channels(asking.client, questions), ablation):
        async with _changed(asking.client, way.settings):
            answers = []
            for question in questions:
                answers.append(await asking.ask(question, way.channels))
                asked(way.name)
        found.append(Ablated(way, tuple(answers)))
    return found


async def _channels(client: Umbriel, questions: Sequence[Question]) -> list[str]:
    """Return the channels that the service names when it explains its answers."""
    named: dict[str, None] = {}
    for question in questions[:_LOOKED_AT]:
        named.update(dict.fromkeys((await client.recall(question.text, limit=1, explain=True)).channels))
    return list(named)


@asynccontextmanager
async def _changed(client: Umbriel, settings: Mapping[str, Any]) -> AsyncIterator[None]:
    """Change settings of the profile and put back what they were."""
    if not settings:
        yield
        return
    before = (await client.settings()).settings
    await client.settings(settings)
    try:
        yield
    finally:
        await client.settings({name: before[name] for name in settings})


def ablation_rows(ablated: Iterable[Ablated]) -> list[Row]:
    """Return a row for each way of asking, over the questions of all samples, in the order they were asked."""
    together: dict[tuple[str, Kind], list[Answer]] = {}
    for one in ablated:
        together.setdefault((one.way.name, one.way.kind), []).extend(one.answers)
    rows = [_row(name, kind, answers) for (name, kind), answers in together.items() if answers]
    full = next((row.scores for row in rows if row.kind == "full"), {})
    return [msgspec.structs.replace(row, change=_change(row.scores, full)) for row in rows]


def _row(name: str, kind: Kind, answers: Sequence[Answer]) -> Row:
    scores = mean([_scores(one) for one in answers])
    return Row(
        name=name,
        kind=kind,
        questions=len(answers),
        scores={metric: round(100 * scores[metric], 2) for metric in _METRICS},
        change={},
        mean_ms=round(1000 * sum(one.seconds for one in answers) / len(answers), 2),
    )


def _scores(one: Answer) -> dict[str, float]:
    evidence = one.question.evidence
    return score(one.turns, evidence) if evidence else score(one.sessions, one.evidence_sessions)


def _change(scores: Mapping[str, float], full: Mapping[str, float]) -> dict[str, float]:
    return {metric: round(value - full[metric], 2) for metric, value in scores.items() if metric in full}
