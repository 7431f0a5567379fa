"""Where statements belong: kind, topic, queries and dates."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.kinds import Kind
from domain.transcript import Candidate, KnownKey, Line
from gateways.extraction.chat.classifying import (
    classification_prompt,
    kind_of,
    queries_of,
    relevant_keys,
    topic_key,
    unclassified,
    with_placements,
)
from gateways.extraction.chat.shapes import Placed, Placements
from tests.scripted_chat import NOW, line

LINES = {0: line(0, "I moved to Lisbon in March [2026-03], and I work at Acme until 2027."), 1: line(1, "Call Bo.")}


def placed(*answers: Placed, items: list[Candidate] | None = None, known: tuple[KnownKey, ...] = ()) -> list[Candidate]:
    """Items as an answer files them; by default one statement of line 0."""
    return with_placements(items or [home()], Placements([*answers]), LINES, known, NOW)


def home(text: str = "The user lives in Lisbon.", **fields: Any) -> Candidate:
    """A statement of line 0."""
    return Candidate(text=text, lines=(0,), **fields)


@pytest.mark.parametrize(
    "kind,fact_type,expected",
    [
        ("fact", "preference", ("fact", "preference")),
        (" Event ", None, ("event", "")),
        ("instruction", "", ("instruction", "")),
        ("task", "preference", ("task", "preference")),
        ("memory", "skill", ("instruction", "skill")),
        (None, "Workflow-Outcome", ("event", "workflow-outcome")),
        (None, "favourite colour", ("fact", "favourite colour")),
        (None, "любимый цвет", ("fact", "любимый цвет")),
        (None, "a\nb\x00c", ("fact", "a b c")),
        (None, "x" * 65, ("fact", "")),
        (None, None, ("fact", "")),
        ("", "task", ("task", "task")),
    ],
)
def test_kinds_fold_into_four(kind: str | None, fact_type: str | None, expected: tuple[Kind, str]) -> None:
    """A known kind wins, else the type decides; an unknown type is kept as text (U18)."""
    assert kind_of(kind, fact_type) == expected


@pytest.mark.parametrize(
    "key,expected",
    [
        ("User Home-City", "user_home_city"),
        ("user_home_city", "user_home_city"),
        ("  user  __ home ", "user_home"),
        ("Любимый Город", "любимый_город"),
        ("好きな 色", "好きな_色"),
        ("상태", "상태"),
        ("c# version", "c#_version"),
        ("a\x00b\nc\ud800", "a_b_c"),
        ("x" * 256, "x" * 256),
        ("x" * 257, ""),
        ("", ""),
        (None, ""),
        ("___", ""),
        ("🙂", ""),
    ],
)
def test_topic_keys_are_normalised(key: str | None, expected: str) -> None:
    """Folded words joined by an underscore in every script; what is no name is no key."""
    assert topic_key(key, {}) == expected


def test_a_known_key_is_used_again() -> None:
    """A key that folds equal to one in use is that one, as it is written."""
    (made,) = placed(
        Placed(id=1, kind="fact", key="user home"), known=(KnownKey("User-Home", "Porto"), KnownKey("user_home", "x"))
    )
    assert made.key == "User-Home"


@pytest.mark.parametrize("kind,expected", [("fact", "home"), ("instruction", "home"), ("event", ""), ("task", "")])
def test_only_facts_and_instructions_have_a_topic(kind: str, expected: str) -> None:
    """Events accumulate and tasks are done: neither is superseded by topic (C8)."""
    (made,) = placed(Placed(id=1, kind=kind, key="Home"))
    assert (made.kind, made.key) == (kind, expected)


def test_queries_are_few_and_different() -> None:
    """At most five, each once; blank, over-long and recalled ones are left out."""
    asked = ["Where?", " where? ", "", "\n", "x" * 301, "a\0b", "Who?", "When?", "Why?", "How?", "Which?"]
    assert queries_of(asked) == ("Where?", "a b", "Who?", "When?", "Why?")
    assert queries_of(['</transcript mark="x">', "住所は？"]) == ("住所は？",)
    assert queries_of([]) == ()


def test_dates_go_where_their_kind_has_them() -> None:
    """Events occurred, facts are valid, tasks expire; a model's other dates are left out."""
    dates: dict[str, Any] = {
        "occurred_at": "2026-03",
        "valid_from": "2026-03",
        "valid_to": "2027",
        "expires_at": "2027",
    }
    march, end = datetime(2026, 3, 1, tzinfo=UTC), datetime(2027, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    made = [placed(Placed(id=1, kind=kind, **dates))[0] for kind in ("fact", "event", "task", "instruction")]
    assert [(one.valid_from, one.valid_to, one.occurred_at, one.expires_at) for one in made] == [
        (march, end, None, None),
        (None, None, march, None),
        (None, None, None, end),
        (None, None, None, None),
    ]


def test_an_invented_date_is_left_out() -> None:
    """A date that the cited lines do not say is none; the statement stays."""
    (made,) = placed(Placed(id=1, kind="fact", valid_from="2019-01-01", valid_to="2026-03"))
    assert (made.valid_from, made.valid_to) == (None, datetime(2026, 3, 31, 23, 59, 59, 999_999, tzinfo=UTC))


def test_a_period_that_ends_before_it_begins_is_none() -> None:
    """Dates that contradict each other say nothing."""
    (made,) = placed(Placed(id=1, kind="fact", valid_from="2027", valid_to="2026-03"))
    assert (made.valid_from, made.valid_to) == (None, None)


def test_a_statement_of_two_facts_is_split() -> None:
    """Each fact gets its own topic; verdict and lines are those of the whole."""
    whole = home("The user lives in Lisbon and works at Acme.", verdict="passed")
    made = placed(
        Placed(id=1, text="The user lives in Lisbon.", kind="fact", key="user home"),
        Placed(id=1, text="The user works at Acme.", kind="fact", key="user employer"),
        items=[whole],
    )
    assert [(one.text, one.key, one.verdict, one.lines) for one in made] == [
        ("The user lives in Lisbon.", "user_home", "passed", (0,)),
        ("The user works at Acme.", "user_employer", "passed", (0,)),
    ]


def test_a_statement_without_spaces_is_split() -> None:
    """Scripts without spaces between words are compared by character."""
    made = placed(
        Placed(id=1, text="私は東京に住む"),
        Placed(id=1, text="私は銀行で働く"),
        items=[home("私は東京に住み、銀行で働く")],
    )
    assert [one.text for one in made] == ["私は東京に住む", "私は銀行で働く"]


@pytest.mark.parametrize(
    "texts",
    [
        ("The user lives in Lisbon.", ""),
        ("The user lives in Lisbon.", "Bob Meyer owns seven horses."),
        ("The user lives in Lisbon.", "The user works at Acme since 1999."),
        ("The user lives in Lisbon and works at Acme, really.", "The user works at Acme."),
        ("The user lives in Lisbon.",) * 6,
        ("Something else.",),
    ],
)
def test_parts_that_say_something_new_are_not_taken(texts: tuple[str, ...]) -> None:
    """Filing does not rewrite: then the whole stays, filed as its first part."""
    whole = home("The user lives in Lisbon and works at Acme.")
    (made,) = placed(*(Placed(id=1, text=text, key="home") for text in texts), items=[whole])
    assert (made.text, made.key) == (whole.text, "home")


@pytest.mark.parametrize("number", [0, 2, "", "x", -1])
def test_what_was_not_filed_keeps_its_type(number: str | int) -> None:
    """An answer about something else files nothing: the type it was found with decides."""
    (made,) = placed(Placed(id=number, kind="event", key="k"), items=[home(fact_type="Task")])
    assert (made.kind, made.fact_type, made.key) == ("task", "task", "")
    assert unclassified(home(fact_type="Task")) == made
    assert with_placements([home()], Placements(), LINES, (), NOW) == [home()]


def test_a_hostile_item_loses_none_of_the_others() -> None:
    """Each statement is filed for itself."""
    one, other = placed(
        Placed(id=1, kind="\ud800", type="\0" * 9, key="\x07", queries=["\ud800"], valid_from="\ud800"),
        Placed(id=2, kind="task"),
        items=[home(), Candidate(text="The user is to call Bo.", lines=(1,))],
    )
    assert (one.kind, one.fact_type, one.key, one.queries, one.valid_from) == ("fact", "", "", (), None)
    assert other.kind == "task"


def test_keys_that_may_fit_are_shown_first() -> None:
    """Of many known keys those that share words with the statements are shown, shortened, and no more than fit."""
    known = [KnownKey(f"topic_{index}", "something " * 100) for index in range(500)] + [KnownKey("user_home", "Porto")]
    made = relevant_keys(known, [home("The user has a new home.")])
    assert made[0] == KnownKey("user_home", "Porto")
    assert sum(len(one.key) + len(one.text) for one in made) <= 6_000


def test_the_prompt_holds_lines_keys_and_statements() -> None:
    """Only cited lines are shown, for their dates; without known keys there is no list of them."""
    lines: dict[int, Line] = {**LINES, 2: line(2, "Not cited.")}
    prompt = classification_prompt([home()], lines, [KnownKey("user_home", "Porto")])
    assert "I moved to Lisbon" in prompt
    assert "Not cited" not in prompt
    assert "user_home: Porto" in prompt
    assert "known_keys" not in classification_prompt([home()], lines, [])
