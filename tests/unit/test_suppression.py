"""Which instructions ask to stay quiet about something, and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.suppression import Suppression, suppression_of


@pytest.mark.parametrize(
    "text, subject, scope",
    [
        ("Stay quiet about the surprise party in front of Mara", "the surprise party", "Mara"),
        ("Do not mention money to Ana", "money", "Ana"),
        ("Never bring up his divorce", "his divorce", ""),
        ("Please don't tell Jon about the layoffs!", "the layoffs", "Jon"),
        ("Keep the acquisition confidential from the press.", "the acquisition", "the press"),
        ("Do not discuss pricing in the public channel", "pricing", "the public channel"),
        ("The assistant is never to mention the ex-husband when talking with Lena.", "the ex-husband", "Lena"),
        ("Avoid mentioning Acme Corp at work", "Acme Corp", "work"),
    ],
)
def test_what_not_to_speak_of_and_where(text: str, subject: str, scope: str) -> None:
    """The subject and the scope are the instruction's own words."""
    assert suppression_of(text) == Suppression(subject, scope)


@pytest.mark.parametrize(
    "text", ["Answer in German", "Keep the answer short", "Do not forget to call Ana", "Mention the price", ""]
)
def test_other_instructions_are_none(text: str) -> None:
    """What asks for something else silences nothing."""
    assert suppression_of(text) is None


@given(st.text(max_size=300))
def test_no_text_is_too_strange(text: str) -> None:
    """Whatever is written, a suppression has a subject."""
    found = suppression_of(text)
    assert found is None or found.subject
