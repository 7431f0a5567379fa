"""What the heuristic judge replaces, and above all what it leaves alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.ports import Judge, Opinion, Statement
from gateways.models.judges import HeuristicJudge
from gateways.models.judges.features import NAMES, compare

THRESHOLD = 0.75


def statement(text: str, *, key: str = "", day: int | None = None) -> Statement:
    """Return a fact, said on a day of May where one is given."""
    at = None if day is None else datetime(2026, 5, day, tzinfo=UTC)
    return Statement(id="one", text=text, kind="fact", key=key, at=at)


async def opinion(new: str, old: str, *, cosine: float = 0.75) -> Opinion:
    """Return what the judge says about two texts."""
    return await HeuristicJudge().judge(statement(new), statement(old), cosine=cosine, profile="p")


def test_name_and_rule() -> None:
    """What it decides is put down to the heuristic, under a name of its own."""
    judge: Judge = HeuristicJudge()
    assert (judge.name, judge.rule) == ("heuristic-1", "heuristic")


@pytest.mark.parametrize(
    "new, old",
    [
        ("The user's favourite player is Salah", "The user's favourite player is Messi"),
        ("Jay moved from Porto to Lisbon", "Jay lives in Porto"),
        ("Bea was reassigned to the platform team", "Bea is on the search team"),
        ("Ticket AB-7 was reassigned to Bea", "Ticket AB-7 is assigned to Ana"),
        ("I switched from Vim to Emacs", "I use Vim"),
        ("Ana no longer works at Acme", "Ana works at Acme"),
        ("I don't drink coffee anymore", "I drink coffee"),
        ("My rent is 800 euros", "My rent is 750 euros"),
        ("The deploy window changed to Tuesday", "The deploy window is Monday"),
        ("The CEO of Acme is Bea", "The CEO of Acme is Ana"),
        ("I live in Oslo", "I live in Bergen"),
        ("We moved the retro to Wednesday", "The retro is on Tuesday"),
        ("The frontend was rewritten in Svelte", "The frontend is written in React"),
        ("Emeka has been living in Kano since May", "Emeka lives in Enugu"),
    ],
)
async def test_another_value_replaces(new: str, old: str) -> None:
    """One subject, one attribute, another value: the older statement is replaced, and contradicted."""
    found = await opinion(new, old)
    assert found.replaces >= THRESHOLD
    assert found.contradicts >= THRESHOLD


@pytest.mark.parametrize(
    "new, old",
    [
        ("I hate olives", "I love olives"),
        ("I love olives", "I hate olives"),
        ("I do not like horror films", "I like horror films"),
        ("Never use emoji", "Always use emoji"),
        ("The feature flag is disabled", "The feature flag is enabled"),
    ],
)
async def test_the_opposite_replaces(new: str, old: str) -> None:
    """The same object with the opposite sign: the older statement is replaced, and contradicted."""
    found = await opinion(new, old, cosine=0.8)
    assert found.replaces >= THRESHOLD
    assert found.contradicts >= THRESHOLD


@pytest.mark.parametrize(
    "new, old",
    [
        ("Jay is living in Porto", "Jay lives in Porto"),
        ("Jay lives in Porto with his sister", "Jay lives in Porto"),
        ("The tech lead is Lena", "Lena is the tech lead"),
        ("Do not forget to water the plants", "Remember to water the plants"),
        ("I am allergic to peanuts", "I have a peanut allergy"),
    ],
)
async def test_the_same_again_replaces_without_contradiction(new: str, old: str) -> None:
    """Said again, or with more detail: one live memory is enough, and nothing is contradicted."""
    found = await opinion(new, old, cosine=0.9)
    assert found.replaces >= THRESHOLD
    assert found.contradicts < 0.5


@pytest.mark.parametrize(
    "new, old",
    [
        ("I like coffee", "I like tea"),
        ("Mina has a cat", "Mina has a dog"),
        ("My brother is Bram", "My brother is Wout"),
        ("PR 480 was merged", "PR 260 was merged"),
        ("I merged PR 480", "I merged PR 260"),
        ("I closed issue #88", "I closed issue #31"),
        ("Bea is CTO", "Ana is CEO"),
        ("Bea is the CEO of Acme", "Ana is the CEO of Acme"),
        ("Bea lives in Oslo", "Ana lives in Bergen"),
        ("I work in Oslo", "I live in Bergen"),
        ("My favourite band is Wilco", "My favourite player is Messi"),
        ("The staging database is MySQL", "The production database is PostgreSQL"),
        ("In 2021 Jay lived in Madrid", "In 2018 Jay lived in Berlin"),
        ("Ana worked at Orca from 2010 to 2014", "Ana worked at Orca from 2018 to 2019"),
        ("Do not forget to call the dentist", "I like my dentist"),
        ("I am learning the violin", "I live in Bergen"),
        ("Jay is thinking of moving to Ghent", "Jay lives in Lille"),
        ("Ana might leave Acme", "Ana works at Acme"),
        ("Does Jay live in Porto?", "Jay lives in Porto"),
        ("Jay's brother lives in Porto", "Jay lives in Porto"),
        ("Ana is good at maths", "Ana is good at drawing"),
        ("Ana Silva is tall", "Ana Silva is funny"),
        ("We deployed the search service", "We deployed the mail service"),
        ("Ana works on the parser", "Ana works on the lexer"),
        ("Ana moved her desk", "Ana works in Leeds"),
        ("My car is red", "My car is a Fiat"),
        ("Our house has a garden", "Our house has a cellar"),
        ("The test cluster has 3 nodes", "The live cluster has 8 nodes"),
        ("Exam 2 is on 9 June", "Exam 1 is on 2 June"),
        ("Ana moved to Oslo", "Bea lives in Bergen"),
        ("ジェイはリスボンに住んでいる", "ジェイはポルトに住んでいる"),
        ("🙂", "I live in Bergen"),
    ],
)
async def test_what_can_both_hold_stays(new: str, old: str) -> None:
    """Other subjects, attributes, things or times, and what it cannot read: both stay, however like they are."""
    for cosine in (0.6, 0.8, 0.99):
        found = await opinion(new, old, cosine=cosine)
        assert found.replaces < THRESHOLD


async def test_what_was_said_before_replaces_nothing() -> None:
    """A statement that is older by its date does not replace a younger one."""
    old, new = statement("I live in Oslo", day=2), statement("I live in Bergen", day=9)
    judge = HeuristicJudge()
    assert (await judge.judge(new, old, cosine=0.8, profile="p")).replaces >= THRESHOLD
    assert (await judge.judge(old, new, cosine=0.8, profile="p")).replaces < 0.5


async def test_one_key_ties_statements() -> None:
    """Two values under one topic key replace each other where the sentences alone do not show it."""
    judge = HeuristicJudge()
    new = statement("User prefers answers in Spanish", key="answer_language")
    old = statement("User prefers answers in English", key="Answer language")
    assert (await judge.judge(new, old, cosine=0.85, profile="p")).replaces >= THRESHOLD


@pytest.mark.parametrize(
    "text", ["", " ", "'s", "#", "not", "is", "the", "may", "1", "\u200b", "x" * 30_000, "of", "my"]
)
async def test_any_text_has_probabilities(text: str) -> None:
    """No text breaks it, and probabilities stay within their bounds."""
    for new, old in ((text, "I live in Oslo"), ("I live in Oslo", text), (text, text)):
        found = await opinion(new, old, cosine=-1.0)
        assert 0 <= found.replaces <= 1
        assert 0 <= found.contradicts <= 1


@given(st.text(max_size=80), st.text(max_size=80), st.floats(-1, 1))
def test_any_features_are_numbers(new: str, old: str, cosine: float) -> None:
    """Whatever two texts are, there is a number for each feature."""
    found = compare(statement(new), statement(old), cosine=cosine)
    assert len(found.values) == len(NAMES)
    assert all(-1 <= value <= 1 for value in found.values)
