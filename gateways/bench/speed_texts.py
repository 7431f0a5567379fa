"""Texts to measure speed with: short statements and questions about them, the same for the same seed.

No two statements are equal. Words recur as they do among notes about people: a few often, most of them seldom.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec

__all__ = ["Note", "notes", "questions"]

_VOCABULARY = {
    "first": """Ana Bogdan Chen Dara Elif Farid Greta Hana Ivo Jun Kofi Lena Mara Nils Olga Pavel Quinn Rosa Sven Tara
        Umar Vera Wim Xenia Yusuf Zoe Amir Bela Carla Dmitri Esra Finn""",
    "last": """Adler Brandt Castro Dimov Eriksen Farkas Gomes Hoxha Ito Jansen Kowal Lind Moreau Novak Okafor Petrov
        Quiroga Rossi Sato Tanaka Ueda Vidal Weber Yilmaz Zhang""",
    "place": """Lisbon Porto Bergen Graz Ghent Turin Leipzig Nantes Tartu Galway Utrecht Malmö Brno Split Varna Kraków
        Sibiu Aarhus Cork Lyon Bologna Seville Basel Oulu Kaunas Maribor Patras Valletta Bilbao Trieste""",
    "thing": """violin kayak telescope sourdough bicycle greenhouse espresso chess piano camera bread pottery garden
        motorcycle beehive typewriter sailboat accordion quilt aquarium tent drone guitar loom bonsai canoe microscope
        harp skateboard fountain lantern terrarium""",
    "topic": """invoices deployments vaccinations taxes rehearsals exams contracts repairs translations interviews
        surveys budgets permits payroll inventories audits harvests migrations backups auditions""",
    "food": "peanuts shellfish gluten lactose strawberries mushrooms coriander almonds sesame celery mustard soy",
    "month": "January February March April May June July August September October November December",
    "way": "mornings evenings weekends Tuesdays remotely alone outdoors daily",
}
_CHOICES = {name: tuple(words.split()) for name, words in _VOCABULARY.items()}

#: What is stated, what is asked about it, and the key it may be stated under.
_KINDS = (
    ("{who} moved to {place} in {month} {year} and lives near the {thing} shop", "Where does {who} live?", "home"),
    (
        "{who} bought a {thing} in {place} for {number} euros",
        "How much did {who} pay for the {thing}?",
        "{thing} price",
    ),
    ("{who} is learning the {thing} ({way}) since {month} {year}", "What is {who} learning?", "lessons"),
    ("{who} is allergic to {food}, noticed in {place} in {year}", "What can {who} not eat?", "allergy {food}"),
    ("{who} handles the {topic} of the office in {place}, extension {number}", "Who handles {topic} in {place}?", ""),
    ("The {topic} for {who} are due on {day} {month} {year}", "When are the {topic} for {who} due?", "{topic} date"),
    ("{who} lent {other} the {thing} until {month}", "Who has the {thing} of {who}?", ""),
    ("{who} and {other} travel to {place} ({way}) in {month} {year}", "Where do {who} and {other} travel?", ""),
    (
        "{who} prefers meetings about {topic} ({way}), {day} minutes at most",
        "How does {who} like meetings?",
        "meetings",
    ),
    ("The {thing} of {who} broke in {place} and costs {number} euros to repair", "What broke in {place}?", ""),
)
_KEYED_SHARE = 0.3


class Note(msgspec.Struct, frozen=True):
    """A statement, the key it is stated under (often none; no two are equal), and a question about it."""

    text: str
    key: str
    question: str


def notes(count: int, *, seed: int = 7) -> list[Note]:
    """Return ``count`` notes with distinct texts; the first ones are the same whatever the count."""
    found: dict[str, Note] = {}
    for note in _stream(random.Random(seed)):  # noqa: S311 -- the same texts each time, nothing to guard
        found.setdefault(note.text.casefold(), note)
        if len(found) >= count:
            break
    return list(found.values())


def questions(of: list[Note], count: int, *, seed: int = 11) -> list[str]:
    """Return ``count`` questions about some of the notes, distinct as long as there are enough."""
    asked = list(dict.fromkeys(note.question for note in of))
    random.Random(seed).shuffle(asked)  # noqa: S311 -- as above
    return [asked[at % len(asked)] for at in range(count)]


def _stream(chance: random.Random) -> Iterator[Note]:
    number = 0
    while True:
        number += 1
        statement, question, topic = chance.choice(_KINDS)
        words = _words(chance)
        keyed = topic and chance.random() < _KEYED_SHARE
        key = f"{words['who']} {topic.format(**words)} {number}" if keyed else ""
        yield Note(statement.format(**words), key, question.format(**words))


def _words(chance: random.Random) -> dict[str, str]:
    words = {name: chance.choice(choices) for name, choices in _CHOICES.items()}
    return {
        **words,
        "who": f"{words['first']} {words['last']}",
        "other": f"{chance.choice(_CHOICES['first'])} {chance.choice(_CHOICES['last'])}",
        "year": str(chance.randint(2009, 2026)),
        "day": str(chance.randint(1, 28)),
        "number": str(chance.randint(100, 4999)),
    }
