"""What describes a memory: identifiers in any form, words accounted for, compounds taken apart."""

from __future__ import annotations

import pytest

from gateways.service.describing.compound import take_apart
from gateways.service.describing.identifiers import find_identifiers, same
from gateways.service.describing.matching import describe, fit


def one(text: str, other: str) -> bool:
    """Whether two texts hold the same identifier."""
    return any(same(found, held) for found in find_identifiers(text) for held in find_identifiers(other))


@pytest.mark.parametrize(
    "asked,held",
    [
        ("ana@x.org", "write to <Ana@X.ORG>."),
        ("mailto:ana@x.org", "ana (at) x (dot) org"),
        ("+14155550100", "call +1 (415) 555-0100 now"),
        ("tel:+44 20 7946 0018", "020 7946 0018"),
        ("00351912345678", "+351 912 345 678"),
        ("4242-4242-4242-4242", "card 4242 4242 4242 4242"),
        ("card ending in 4242", "card 4242 4242 4242 4242"),
        ("card ending in 4242", "Visa ****4242"),
        ("DE89370400440532013000", "DE89 3704 0044 0532 0130 00 at the bank"),
        ("account 12345678", "12-345-678"),
        ("KX20394", "the number is kx-20394"),
        ("SSN 078051120", "078-05-1120"),
        ("550E8400E29B41D4A716446655440000", "{550e8400-e29b-41d4-a716-446655440000}"),
        ("@Ana_Dev", "she is @ana_dev there"),
        ("https://example.org/a/", "see www.example.org/a, please"),
    ],
)
def test_an_identifier_is_the_same_in_any_form(asked: str, held: str) -> None:
    """With or without separators, case, quoting, scheme and country."""
    assert one(asked, held)


@pytest.mark.parametrize(
    "asked,held",
    [
        ("ana@x.org", "diana@x.org"),
        ("ana@x.org", "ana@x.org.uk"),
        ("mia@post.example", "mia+news@post.example"),
        ("+1 415 555 0100", "+1 415 555 01001"),
        ("+1 415 555 0100", "0100"),
        ("+1 415 555 0100", "+44 415 555 0100"),
        ("card ending in 4242", "card 5555 5555 5555 4444"),
        ("4242 4242 4242 4242", "Visa ****4242"),
        ("@ana", "@ana2"),
        ("example.org/a", "example.org/ab"),
        ("example.org/a?v=2", "example.org/a?v=1"),
        ("12345678", "on 1234-56-78 it rained 5678 times"),
        ("550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001"),
    ],
)
def test_a_sibling_is_another_identifier(asked: str, held: str) -> None:
    """Nothing is compared by a prefix, a suffix or a part."""
    assert find_identifiers(asked)
    assert not one(asked, held)


@pytest.mark.parametrize(
    "text", ["on 2026-05-05 at 10:00", "70,000 or 3.5", "from 2019 - 2021", "5 May", "Dr.Hale e.g."]
)
def test_dates_and_amounts_are_no_identifiers(text: str) -> None:
    """A year, a price and an abbreviation name nobody."""
    assert find_identifiers(text) == []


@pytest.mark.parametrize(
    "description,text",
    [
        ("Mara's employer", "Mara works at Siemens"),
        ("where does Ana live?", "Ana lives in Porto"),
        ("the name of my partner", "My spouse is called Robin"),
        ("is Ana vegan?", "Ana is vegan"),
        ("don't forget to lock the shed", "Lock the shed"),
        ("Theo's birthday", "Theo was born on 12 May 1990"),
        ("the meeting on 5 May", "The meeting is on 2026-05-05"),
        ("Ana has no car", "Ana doesn't have a car"),
        ("東京", "田中さんは東京に住んでいます"),
        ("Chloe\u0301 plays", "Chloé plays the piano"),
    ],
)
def test_a_description_fits_what_it_means(description: str, text: str) -> None:
    """Stems, words for one thing, questions, and what is asked to be done with it."""
    found = fit(describe(description), text)
    assert found is not None
    assert found.certain


@pytest.mark.parametrize(
    "description,text",
    [
        ("Ana lives in Rome", "Anabel lives in Rome"),
        ("Ana writes C", "Ana writes C#"),
        ("the budget is 150 euros", "The budget is 1500 euros"),
        ("the set point is 5", "The set point is -5"),
        ("version 3.5", "Version 3.50 is broken"),
        ("ticket ABC-12", "Ticket ABC-123 is open"),
        ("Ana likes tea", "Ana does not like tea"),
        ("Wes does not eat eggs", "Wes eats eggs"),
        ("Ana is a doctor", "Ana's sister is a doctor"),
        ("is Ana vegan?", "Ana's sister is vegan"),
        ("Ana's email", "Bea wrote an email to Ana"),
        ("Rosa's birthday", "Rosa's brother's birthday is 9 June"),
        ("Bea likes Ana", "Ana likes Bea"),
        ("where does Ana live?", "Bea lives with Ana"),
        ("Project Atlas starts in May", "Project Atlas Two starts in May"),
        ("Ana works at Acme", "Ana formerly worked at Acme"),
        ("my dog", "Ana's dog is called Rex"),
    ],
)
def test_a_description_does_not_fit_a_sibling(description: str, text: str) -> None:
    """Another person, number, polarity, owner or time is another memory."""
    assert fit(describe(description), text) is None


@pytest.mark.parametrize(
    "description,text,left",
    [
        ("works at Acme", "Ana lives in Lisbon and works at Acme", "Ana lives in Lisbon"),
        ("Ana lives in Lisbon", "Ana lives in Lisbon and works at Acme", "Ana works at Acme"),
        ("Pia is a nurse", "Pia is a nurse. She lives in Graz.", "Pia lives in Graz."),
        ("Eva studied law", "Eva studied law; she now runs a bakery", "Eva now runs a bakery"),
        ("Hugo drinks tea", "Hugo drinks tea, mate and coffee", "Hugo drinks mate and coffee"),
        ("Finn is from Cork", "Finn is from Cork but lives in Derry", "Finn lives in Derry"),
        ("I have two kids", "I am married to Jo and I have two kids", "I am married to Jo"),
        ("Ana's dog", "Ana has a cat, has a dog and hates olives", "Ana has a cat and hates olives"),
    ],
)
def test_a_compound_is_left_with_the_rest(description: str, text: str, left: str) -> None:
    """The subject is carried over to what stays."""
    found = fit(describe(description), text)
    assert found is not None
    assert found.compound is not None
    assert found.compound.without(found.places) == left


@pytest.mark.parametrize(
    "description,text",
    [
        ("Ivo lives in Split", "Ivo and Petra live in Split"),
        ("Uma works at Marks", "Uma works at Marks and Spencer"),
        ("Vik likes bread", "Vik likes bread and butter"),
        ("Tom teaches maths", "Tom teaches maths and physics at the college"),
        ("Ana smokes", "Ana smokes and drinks"),
    ],
)
def test_what_cannot_be_taken_apart_is_said_to_be_so(description: str, text: str) -> None:
    """Only a part is meant, and no certain cut leaves the rest."""
    assert take_apart(text) is None
    found = fit(describe(description), text)
    assert found is not None
    assert not found.certain


@pytest.mark.parametrize(
    "description,purges",
    [
        ("ana@x.org", True),
        ("Ana's e-mail address is ana@x.org", True),
        ("please forget my phone number +1 415 555 0100", True),
        ("the invoice of 4 May to ana@x.org", False),
        ("Ana's email", False),
    ],
)
def test_an_identifier_alone_purges(description: str, *, purges: bool) -> None:
    """Beside whose it is and of which sort, nothing may be said; else the whole text must fit."""
    assert describe(description).purges is purges
