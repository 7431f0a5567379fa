"""What a model is asked to answer with: lenient, for one odd field must not cost the others."""

from __future__ import annotations

from typing import Annotated

import msgspec

__all__ = ["Placed", "Placements", "Statement", "Statements", "Verdict", "Verdicts"]

_Id = Annotated[str | int, msgspec.Meta(description="The number of the statement, as it was given.")]
_When = Annotated[str | None, msgspec.Meta(description="An ISO 8601 date or time, or null when none is said.")]


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement that the transcript makes."""

    text: Annotated[str, msgspec.Meta(description="One sentence that can be understood alone.")] = ""
    lines: Annotated[
        list[int] | None, msgspec.Meta(description="The indexes of the lines that state it, at least one.")
    ] = None
    type: Annotated[
        str | None,
        msgspec.Meta(description="preference, identity, relationship, decision, event, instruction or task."),
    ] = None


class Statements(msgspec.Struct, frozen=True):
    """Everything found; empty when nothing is stated."""

    items: list[Statement] | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks of one statement came to."""

    id: _Id = ""
    verdict: Annotated[str, msgspec.Meta(description="passed, corrected, dropped or repeated.")] = ""
    text: Annotated[str | None, msgspec.Meta(description="The corrected statement, else null.")] = None
    checks: Annotated[list[str] | None, msgspec.Meta(description="The names of the checks it did not meet.")] = None
    repeats: Annotated[
        str | int | None, msgspec.Meta(description="If repeated, the number of the statement that says it all.")
    ] = None


class Verdicts(msgspec.Struct, frozen=True):
    """One verdict for each statement given."""

    items: list[Verdict] | None = None


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """Where one statement belongs; a statement of several facts has one of these for each, with its text."""

    id: _Id = ""
    text: Annotated[str | None, msgspec.Meta(description="Only for one fact of several: its own sentence.")] = None
    kind: Annotated[str | None, msgspec.Meta(description="fact, event, instruction or task.")] = None
    type: Annotated[str | None, msgspec.Meta(description="preference, identity, relationship, decision …")] = None
    key: Annotated[str | None, msgspec.Meta(description="The topic, for facts and instructions; else null.")] = None
    queries: Annotated[list[str] | None, msgspec.Meta(description="3 to 5 questions it answers.")] = None
    occurred_at: _When = None
    valid_from: _When = None
    valid_to: _When = None
    expires_at: _When = None


class Placements(msgspec.Struct, frozen=True):
    """Where each of the statements given belongs."""

    items: list[Placed] | None = None
