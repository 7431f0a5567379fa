"""A long conversation in three languages to measure a context with, the same for the same seed."""

from __future__ import annotations

import random

from umbriel.types import Message

__all__ = ["conversation", "questions_about"]

_SAID = {
    "en": (
        "We moved the {thing} to {place} because the {other} was in the way, and it cost {number} euros.",
        "Can you remind me when the {thing} in {place} has to be paid? I believe it was the {number}th.",
        "The invoice number {number} for the {thing} came from {place}; the {other} is still missing.",
        "I talked to the people in {place} about the {thing}. They want the {other} by Friday at the latest.",
    ),
    "de": (
        "Wir haben {thing} nach {place} gebracht, weil {other} im Weg war; das hat {number} Euro gekostet.",
        "Kannst du mich daran erinnern, wann {thing} in {place} bezahlt werden muss? Ich glaube, am {number}.",
        "Die Rechnung Nummer {number} für {thing} kam aus {place}, {other} fehlt noch immer.",
        "Ich habe mit den Leuten in {place} über {thing} gesprochen, sie brauchen {other} bis spätestens Freitag.",
    ),
    "ja": (
        "{place}に{thing}を運びました。{other}が邪魔だったので、{number}ユーロかかりました。",
        "{place}の{thing}の支払いはいつでしたか？たしか{number}日だったと思います。",
        "{place}から{thing}の請求書番号{number}が届きましたが、{other}はまだ届いていません。",
        "{place}の人たちと{thing}について話しました。遅くとも金曜日までに{other}が必要だそうです。",
    ),
}
_WORDS = {
    "en": (
        ("lease", "printer", "archive", "greenhouse", "contract", "boiler", "piano", "server"),
        ("Porto", "Bergen", "Ghent", "Turin", "Cork"),
    ),
    "de": (
        ("den Mietvertrag", "die Heizung", "das Archiv", "den Drucker", "das Klavier", "die Anlage"),
        ("Leipzig", "Graz", "Basel", "Kiel", "Linz"),
    ),
    "ja": (
        ("契約書", "温室", "印刷機", "暖房", "書庫", "ピアノ"),
        ("札幌", "京都", "福岡", "長野", "仙台"),
    ),
}
_ASKED = {
    "en": "What about the {thing} in {place}?",
    "de": "Was ist mit {thing} in {place}?",
    "ja": "{place}の{thing}はどうなりましたか？",
}
_ROLES = ("user", "assistant")


def conversation(count: int, *, seed: int = 5) -> list[Message]:
    """Return ``count`` messages, user and assistant in turns, a few in each language before the next."""
    chance = random.Random(seed)  # noqa: S311 -- the same texts each time, nothing to guard
    found = []
    for number in range(count):
        language = tuple(_SAID)[number // 6 % len(_SAID)]
        parts = [chance.choice(_SAID[language]).format(**_words(chance, language)) for _ in range(chance.randint(1, 4))]
        text = ("" if language == "ja" else " ").join(parts)
        found.append(Message(role=_ROLES[number % 2], content=f"{number + 1}. {text}"))
    return found


def questions_about(count: int, *, seed: int = 6) -> list[str]:
    """Return ``count`` questions about such a conversation, in its languages in turns."""
    chance = random.Random(seed)  # noqa: S311 -- as above
    languages = tuple(_ASKED)
    asked = (languages[number % len(languages)] for number in range(count))
    return [
        f"{_ASKED[language].format(**_words(chance, language))} ({number})" for number, language in enumerate(asked)
    ]


def _words(chance: random.Random, language: str) -> dict[str, str]:
    things, places = _WORDS[language]
    return {
        "thing": chance.choice(things),
        "other": chance.choice(things),
        "place": chance.choice(places),
        "number": str(chance.randint(2, 980)),
    }
