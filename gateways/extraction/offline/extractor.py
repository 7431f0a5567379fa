"""The extractor that needs no model: statement patterns of English, precision first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from domain.text import fold_content, fold_key
from domain.transcript import Candidate, Found, KnownKey, Line, Window
from gateways.extraction.offline import words
from gateways.extraction.offline.grammar import (
    Voice,
    dated_last,
    head,
    key_part,
    stated_span,
    with_dates,
    without_brackets,
    without_dates,
)
from gateways.extraction.offline.happenings import HAPPENINGS
from gateways.extraction.offline.people import BIRTHDAYS, GREETED, PEOPLE
from gateways.extraction.offline.requests import DECISIONS, REMEMBERED, REQUESTS, STANDING, plain_statement
from gateways.extraction.offline.sentences import clauses, cleaned, sentences
from gateways.extraction.offline.statements import Statement, first_of
from gateways.extraction.offline.tastes import TASTES
from gateways.extraction.offline.work_place import WORK_PLACE

__all__ = ["OfflineExtractor"]

_FACTS = (*WORK_PLACE, *PEOPLE, *TASTES)
_OPENINGS = re.compile(r"(?:I|we|my|our)\b", re.IGNORECASE)
_IRONY = re.compile(
    r"\bI (?:just|so) love\b|\bI (?:\w+ )?love (?:it when|when|how|being|getting|waiting|having)\b", re.IGNORECASE
)
_NOW = re.compile(
    r"(?:,? (?:by the way|btw|now|too|as well|these days|at the moment|right now|currently|again|already|nowadays))+\Z"
)
_GREETING = re.compile(r"(?:hi|hello|hey|good (?:morning|evening|afternoon)|nice to meet you)\b", re.IGNORECASE)
_LONGEST_NAME = 60


class OfflineExtractor:
    """Finds what people say of themselves in so many words; it knows no paraphrase, and is silent where it is not sure.

    English only. Equal windows give equal items. It never raises, whatever the text.
    """

    @property
    def name(self) -> str:
        """What is recorded with its items; changes whenever it finds something else in the same text."""
        return "offline-2"

    async def extract(self, window: Window, known: Sequence[KnownKey], *, profile: str) -> Found:
        """Return what people said in the window's own lines; the last of several equal statements stands for all."""
        del profile
        return await asyncio.to_thread(_read, window, known)


def _read(window: Window, known: Sequence[KnownKey]) -> Found:
    topics = {fold_key(topic.key): topic for topic in known}
    among_people = _among_people(window.lines)
    found: dict[tuple[str, str], Candidate] = {}
    for line in window.lines:
        for one in _items(line, topics, among_people=among_people):
            same = (one.key, fold_content(one.text))
            before = found.pop(same, None)
            lines = {*one.lines, *(before.lines if before is not None else ())}
            found[same] = msgspec.structs.replace(one, lines=tuple(sorted(lines)))
    return Found(items=tuple(found.values()))


def _among_people(lines: Sequence[Line]) -> bool:
    """Whether people speak with each other: the other side has a name, or there is none and several users have."""
    others = [line.name for line in lines if line.role == "assistant"]
    return any(others) if others else len({line.name for line in lines if line.role == "user" and line.name}) > 1


def _items(line: Line, topics: Mapping[str, KnownKey], *, among_people: bool) -> Iterator[Candidate]:
    if line.context or not (line.role == "user" or (line.role == "assistant" and line.name)):
        return
    text = cleaned(line.text)
    voice = _voice(line, text, among_people=among_people)
    for sentence in sentences(text):
        for statement, clause in _statements(sentence, voice):
            yield _candidate(statement, clause, line, voice, topics)


def _voice(line: Line, text: str, *, among_people: bool) -> Voice:
    name = " ".join(line.name.encode("utf-8", "ignore").decode().split())
    lower = not any(char.isupper() for char in re.sub(r"\bI\b", "", text))
    if not name or len(name) > _LONGEST_NAME or name.lower() == "user" or not key_part(name) or not name.isprintable():
        return Voice(noun="The user", key="user", lower=lower, among_people=among_people)
    return Voice(noun=name, key=key_part(name), lower=lower, among_people=among_people)


def _statements(sentence: str, voice: Voice) -> Iterator[tuple[Statement, str]]:
    unsure = words.UNSURE.search(sentence) is not None
    last, before, when, standing = "", False, "", ""
    for part, carried in clauses(sentence):
        if carried and not before:
            continue
        if "[" in part and not without_dates(part):
            when = part
            continue
        if STANDING.fullmatch(part):
            standing = f"{part}, "
            continue
        clause = head(dated_last(f"{_carry(last, part)} {part}" if carried else part))
        clause, when = (f"{clause} {when}", "") if when and "[" not in clause else (clause, "")
        clause, standing = f"{standing}{clause}", ""
        found = list(_of_clause(clause, sentence, voice, unsure=unsure))
        yield from ((statement, clause) for statement in found)
        last, before = clause, bool(found)


def _carry(before: str, part: str) -> str:
    if re.match(r"an?\b", part) and before.startswith("I have"):
        return "I have"
    to_be = re.match(
        r"(?:an?|allergic|vegan|vegetarian|single|married|divorced|retired|living|working|studying)\b", part
    )
    return "I am" if to_be and before.startswith("I am") else "I"


def _of_clause(clause: str, sentence: str, voice: Voice, *, unsure: bool) -> Iterator[Statement]:
    if not words.UNSURE_REQUEST.search(sentence) and (asked := first_of(REQUESTS, clause, voice)):
        yield from asked
        return
    if unsure or _IRONY.search(sentence):
        return
    note = REMEMBERED.match(clause)
    if note is not None:
        inner = head(note["what"])
        stated = list(_stated(inner, voice))
        plain = None if stated or voice.among_people else plain_statement(with_dates(note["what"]), voice)
        yield from (stated if plain is None else [plain])
    elif _GREETING.match(sentence) and (named := first_of(GREETED, clause, voice)):
        yield from named
    else:
        yield from _stated(clause, voice)


def _stated(clause: str, voice: Voice) -> Iterator[Statement]:
    if not _OPENINGS.match(clause) and " is my " not in clause:
        return
    yield from (
        first_of(BIRTHDAYS, without_brackets(clause), voice)
        or first_of(_FACTS, _NOW.sub("", without_dates(clause)), voice)
        or first_of(DECISIONS, clause, voice)
    )
    if "[" in clause:
        yield from first_of(HAPPENINGS, clause, voice)


def _candidate(
    statement: Statement, clause: str, line: Line, voice: Voice, topics: Mapping[str, KnownKey]
) -> Candidate:
    first, last = stated_span(clause, line.at.tzinfo if line.at else None)
    event, fact = statement.kind == "event", statement.kind == "fact"
    text = with_dates(statement.text)
    return Candidate(
        text=f"{text[0].upper()}{text[1:]}".rstrip(" .,;") + ".",
        lines=(line.index,),
        kind=statement.kind,
        fact_type=statement.fact_type,
        key="" if event else _key(statement.attribute, voice, topics),
        queries=tuple(dict.fromkeys(with_dates(ask).replace("The user", "the user") for ask in statement.asks))[:5],
        occurred_at=first if event else None,
        valid_from=first if fact else None,
        valid_to=last if fact else None,
        verdict="passed",
    )


def _key(attribute: str, voice: Voice, topics: Mapping[str, KnownKey]) -> str:
    """Return the topic key, as it is in use already; ``home!Oslo`` is that of the home only while Oslo is the home."""
    topic, _, former = attribute.partition("!")
    key = fold_key(f"{voice.key}_{topic}")
    used = topics.get(key)
    if former and (used is None or fold_content(former) not in fold_content(used.text)):
        key = fold_key(f"{voice.key}_former_{topic}_{key_part(former)}")
        used = topics.get(key)
    return used.key if used is not None else key
