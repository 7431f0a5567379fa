"""The extractor that needs no model: whose lines it reads, what it writes down, and that it never raises."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.transcript import Candidate, Found, KnownKey, Line, Window
from gateways.extraction.dates import resolve_dates
from gateways.extraction.offline import OfflineExtractor

NOW = datetime(2026, 4, 15, 12, tzinfo=UTC)


def line(index: int, text: str, *, role: str = "user", name: str = "", context: bool = False) -> Line:
    """A line said at noon on Wednesday, 15 April 2026."""
    said = resolve_dates(text, NOW)
    return Line(index=index, message=f"m{index}", role=role, text=said, name=name, at=NOW, context=context)


def read(*lines: Line, known: Sequence[KnownKey] = ()) -> Found:
    """What is found in a window of these lines."""
    window = Window(session="s", lines=lines, source="turn", now=NOW)
    return asyncio.run(OfflineExtractor().extract(window, known, profile="p"))


def found(*texts: str, name: str = "", known: Sequence[KnownKey] = ()) -> list[Candidate]:
    """The items of a window in which a person says this."""
    return list(read(*(line(n, text, name=name) for n, text in enumerate(texts)), known=known).items)


def keyed(*texts: str) -> dict[str, str]:
    """What is found, by key."""
    return {item.key: item.text for item in found(*texts)}


@pytest.mark.parametrize(
    "said,key,text",
    [
        ("My name is Ana.", "user_name", "The user's name is Ana."),
        ("I live in Lisbon.", "user_home", "The user lives in Lisbon."),
        ("I've been living in Lisbon", "user_home", "The user lives in Lisbon."),
        ("i live in lisbon now", "user_home", "The user lives in lisbon."),
        ("Well, actually I'm based in Lisbon these days.", "user_home", "The user lives in Lisbon."),
        ("I work at Acme.", "user_employer", "The user works at Acme."),
        ("I love hiking!", "user_likes_hiking", "The user loves hiking."),
        ("I can't stand hiking", "user_likes_hiking", "The user can't stand hiking."),
        ("My favorite color is teal.", "user_favourite_color", "The user's favourite color is teal."),
        ("My dog is called Rex.", "user_pet_rex", "The user's dog is called Rex."),
        ("We decided to use Postgres for the ledger.", "user_decision_for_ledger",
         "The user said they decided to use Postgres for the ledger."),
        ("Always answer in French.", "user_instruction_reply_language", "The user wants replies in French."),
        ("Remind me to call my mother by Friday.", "user_task_call_my_mother",
         "The user wants to be reminded to call their mother by 2026-04-17."),
    ],
)  # fmt: skip
def test_a_statement_has_its_text_and_topic(said: str, key: str, text: str) -> None:
    """A plain statement becomes one sentence in the third person under a stable key."""
    items = found(said)
    assert [(item.key, item.text) for item in items] == [(key, text)]
    assert items[0].verdict == "passed"
    assert 3 <= len(items[0].queries) <= 5
    assert items[0].lines == (0,)


@pytest.mark.parametrize(
    "said",
    [
        "Do I live in Lisbon?",
        "If I lived in Lisbon, I would work at Acme.",
        "I wish I lived in Lisbon.",
        "He said: I live in Lisbon.",
        'Translate this sentence: "I live in Lisbon."',
        "Write a poem about a man:\nI live in Lisbon.",
        "```\nI live in Lisbon.\n```",
        "> I live in Lisbon.",
        "I live in fear.",
        "I moved to Postgres.",
        "I work at night.",
        "I love it.",
        "I love how you explain that.",
        "I like to think about this.",
        "I feel like pizza.",
        "I'd like to live in Rome.",
        "I just love Mondays.",
        "I love Mondays. /s",
        "I'm a mess.",
        "I'm a bad cook.",
        "Remember when we met?",
        "Always a pleasure.",
        "Never mind.",
    ],
)
def test_silence_beats_a_wrong_fact(said: str) -> None:
    """Questions, guesses, wishes, quotations, code, irony and idioms say nothing that is kept."""
    assert found(said) == []


def test_a_compound_sentence_is_several_facts() -> None:
    """Each part has a key of its own, so that a change of one leaves the other."""
    assert keyed("I live in Lisbon and work at Acme.") == {
        "user_home": "The user lives in Lisbon.",
        "user_employer": "The user works at Acme.",
    }
    assert set(keyed("I'm 34 and vegan")) == {"user_age", "user_diet"}


def test_only_own_lines_of_people_are_read() -> None:
    """Context, the assistant, tools and the system state nothing; a named assistant is a person."""
    said = "I live in Lisbon."
    others = [line(0, said, context=True), line(1, said, role="assistant"), line(2, said, role="tool")]
    assert read(*others, line(3, said, role="system")).items == ()
    named = read(line(4, said, role="assistant", name="Caroline")).items
    assert [(item.key, item.text, item.lines) for item in named] == [
        ("caroline_home", "Caroline lives in Lisbon.", (4,))
    ]


def test_people_give_each_other_no_standing_instructions() -> None:
    """Between two people 'always' and 'never' are advice."""
    lines = [line(0, "Hi!", role="assistant", name="Mel"), line(1, "Always check your answers.", name="Ana")]
    assert read(*lines).items == ()


def test_what_one_user_tells_another_is_no_instruction() -> None:
    """Several users by name and nobody else are a chat among people; with an assistant in it, that one is told."""
    told = [line(0, "Always answer in French.", name="Ana"), line(1, "I live in Lisbon.", name="Mel")]
    assert [item.text for item in read(*told).items] == ["Mel lives in Lisbon."]
    assert len(read(*told, line(2, "D'accord.", role="assistant")).items) == 2
    assert len(read(told[0]).items) == 1


def test_forty_repetitions_are_one_statement() -> None:
    """The same fact in other words has the same text and key, and cites every line that said it."""
    said = ["I live in Lisbon.", "I'm living in Lisbon now", "I am based in Lisbon, by the way!", "We moved to Lisbon."]
    items = found(*said * 10)
    assert [(item.text, item.key) for item in items] == [("The user lives in Lisbon.", "user_home")]
    assert items[0].lines == tuple(range(40))


def test_the_last_word_comes_last() -> None:
    """A, B, A ends with A: whoever writes in order lets A supersede B."""
    items = found("I live in Lisbon.", "I live in Oslo.", "I live in Lisbon.")
    assert [item.text for item in items] == ["The user lives in Oslo.", "The user lives in Lisbon."]


def test_a_known_key_is_used_as_it_is_spelt() -> None:
    """A key in use that folds equal is used again."""
    assert found("I live in Lisbon.", known=[KnownKey("User Home", "x")])[0].key == "User Home"


def test_no_longer_replaces_only_what_it_is_about() -> None:
    """Leaving an employer changes the current one only when it is that one."""
    said = "I no longer work at Acme."
    assert found(said)[0].key == "user_former_employer_acme"
    assert found(said, known=[KnownKey("user_employer", "The user works at Acme.")])[0].key == "user_employer"
    assert found(said, known=[KnownKey("user_employer", "The user works at Initech.")])[0].key != "user_employer"


def test_dates_are_taken_from_the_text() -> None:
    """A change is valid from its date, an event happened on it; a day is midnight where it was said."""
    fact, event = found("I moved to Berlin last month.")
    assert (fact.text, fact.valid_from) == ("The user lives in Berlin.", datetime(2026, 3, 1, tzinfo=UTC))
    assert (event.kind, event.text, event.key) == ("event", "The user moved to Berlin in 2026-03.", "")
    assert event.occurred_at == datetime(2026, 3, 1, tzinfo=UTC)
    assert found("I went to the dentist yesterday.")[0].text == "The user went to the dentist on 2026-04-14."


@pytest.mark.parametrize("name", ["李娜", "Jürgen", "عمر", "Ольга", "O'Brien"])
def test_names_of_every_script_stay(name: str) -> None:
    """A name is kept as it was written."""
    assert found(f"My name is {name}.")[0].text == f"The user's name is {name}."


@given(st.lists(st.text(st.characters(), max_size=200), max_size=4), st.sampled_from(["user", "assistant"]), st.text())
def test_random_text_never_raises(texts: list[str], role: str, name: str) -> None:
    """Whatever the text, items cite lines that were given and can be stored."""
    lines = tuple(
        Line(index=7 + n, message=f"m{n}", role=role, text=text, name=name, at=None) for n, text in enumerate(texts)
    )
    check(read(*lines), lines)


_PIECES = [
    "I ", "we ", "I'm ", "my ", "live in ", "work at ", "love ", "always ", "remember that ", "remind me to ",
    "decided to ", "went to ", "Lisbon", "Acme", "a ", "dog ", "called ", "and ", ", ", ". ", "? ", "never ", "use ",
    "yesterday [2026-04-14]", "[0000-99-99]", "[2026-02-31 to 2026-02-32]", "\ud800", "😀", "\u202e", ": ", "is ",
    "by ", "'", '"', "\n", "from now on ", "Hi ",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=14).map("".join))
def test_scrambled_statements_never_raise(text: str) -> None:
    """The words of the patterns in any order do no harm."""
    lines = (Line(index=3, message="m", role="user", text=text, at=NOW),)
    check(read(*lines), lines)


def check(result: Found, lines: Sequence[Line]) -> None:
    """Every item cites given lines and holds storable text."""
    given_lines = {one.index for one in lines}
    for item in result.items:
        assert item.lines
        assert given_lines.issuperset(item.lines)
        item.text.encode()
        item.key.encode()
        assert item.text.endswith(".")
        assert item.kind == "event" or item.key
