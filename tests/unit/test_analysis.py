from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.analysis import index_terms, query_terms
from projections.stopwords import STOPWORDS


def found(query: str, text: str) -> bool:
    """Whether a query has a term in common with a text, as the keyword view looks it up."""
    asked, indexed = query_terms(query), index_terms(text)
    return bool(set(asked.text) & set(indexed.text) or set(asked.rest) & set(indexed.rest))


@pytest.mark.parametrize(
    "query,text",
    [
        ("cafe", "Das Café am Markt"),
        ("CAFE\u0301", "café"),
        ("running", "She runs every morning"),
        ("Strasse", "Die Straße"),
        ("猫", "黒猫です"),
        ("東京", "私は東京タワーに住む"),
        ("ｶﾞｷﾞ", "がぎ ガギ"),
        ("서울", "나는 서울에 산다"),
        ("Привет", "привет, мир"),
        ("елка", "Ёлка"),
        ("مرحبا", "مَرْحَبًا بالعالم"),
        ("हिन्दी", "मुझे हिन्दी आती है"),
        ("ไทย", "ฉันรักภาษาไทย"),
        ("שלום", "שָׁלוֹם עולם"),
        ("🍕", "I love 🍕!"),
        ("c++", "written in C++."),
        ("C#", "C# developer"),
        ("PR-260", "merged pr-260 today"),
        ("260", "PR-260"),
        ("ana.b+x@mail.example.org", "Write to Ana.B+x@mail.example.org."),
        ("1000", "1,000 dollars"),
        ("3.5", "version 3.5, at last"),
        ("O'Brien", "Mr O’Brien came"),
        ("Caroline", "Caroline's dog"),
        ("well-known", "a known artist"),
        ("snake_case", "the snake case"),
        ("in May 2023", "[2023-05-08] Ana: hi"),
        ("who is who?", "Who is who"),
    ],
)
def test_found(query: str, text: str) -> None:
    """Scripts, accents, word forms, identifiers and dates are found as people write them."""
    assert found(query, text)


@pytest.mark.parametrize(
    "query,text", [("C#", "the C language"), ("C++", "C# only"), ("3.5", "3 or 5"), ("мой", "мои"), ("か", "が")]
)
def test_distinct(query: str, text: str) -> None:
    """What differs in a sign or a letter is not the same."""
    assert not found(query, text)


def test_function_words_only_stand_in() -> None:
    """Function words take part in a search only when the query has nothing else."""
    assert len(STOPWORDS) > 130
    assert query_terms("what is the budget?").text == ["budget"]
    assert query_terms("what is the budget?").rest == []
    assert query_terms("what is it?").rest == ["what", "is", "it"]


def test_pairs_stay_inside_runs() -> None:
    """Pairs of characters never join two runs."""
    assert index_terms("東京 大阪。猫").text == ["東京", "大阪", "猫"]


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    """Any text has terms or none, without an error, and every letter that is no function word is kept."""
    terms = index_terms(text)
    assert all(term and len(term) <= 64 for term in (*terms.text, *terms.rest))
    assert bool(terms.text or terms.rest) or not any(char.isalnum() for char in text)
    assert index_terms(text) == terms


def test_a_token_of_single_letters() -> None:
    """Where every part is one letter, the whole is the term."""
    assert index_terms("A-A").text == ["a-a"]
    assert query_terms("the x-y plot").text == ["x-y", "plot"]


def test_lone_surrogates() -> None:
    """A lone surrogate is left out, and nothing else with it."""
    assert index_terms("\ud800good").text == ["good"]
