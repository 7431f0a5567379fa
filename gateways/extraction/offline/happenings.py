"""What happened or is going to happen on a day that is known."""

from __future__ import annotations

import re

import msgspec

from gateways.extraction.offline import nouns, words
from gateways.extraction.offline.grammar import Voice, date_side, they, with_dates, without_dates
from gateways.extraction.offline.statements import Rule, Statement, rule

__all__ = ["HAPPENINGS"]

_PAST = """
    went visited attended met moved started joined quit left bought sold adopted finished completed graduated
    passed failed won lost ran hiked climbed cooked baked painted wrote read watched saw heard took gave got had
    hosted organised organized celebrated married signed booked ordered received sent called flew drove
    travelled traveled returned arrived performed played presented launched released shipped published submitted
    applied interviewed hired planted built made created designed repaired fixed broke injured sprained donated
    volunteered participated competed scored tried tasted camped swam surfed skied sang danced recorded
    photographed enrolled registered signed_up picked_up dropped_off cleaned turned became spent taught spoke
    gave learned learnt discovered found opened closed cancelled canceled renewed paid deployed upgraded
    migrated switched saw retired proposed threw planned explored walked rode cycled biked biked took_up set_up
    caught fell crashed underwent
"""
_FUTURE = """
    going flying travelling traveling visiting meeting having seeing starting attending taking running hosting
    giving leaving moving getting performing speaking presenting launching opening joining participating
    competing volunteering playing graduating interviewing driving throwing organizing organising
"""
_WILL = """
    be go visit travel fly start attend meet have host give run see leave move perform speak present launch open
    join participate compete play graduate take
"""
_OCCASION = """
    appointment interview exam test meeting flight surgery operation wedding birthday_party party concert
    recital trip holiday vacation conference presentation deadline viva defence defense graduation gig race
    marathon tournament match game date check-up checkup scan class lesson performance show exhibition reunion
    retreat camp dinner move audition hearing call workshop competition event fundraiser reservation rehearsal
    ceremony
"""
_RELATIVES = words.alternatives(" ".join(nouns.RELATIONS | nouns.PETS))
_UNCLEAR = re.compile(
    r"\b(?:it|this|these|those|you|your|he|she|they|him|her|them|there|here|his|their|that|one|so|somewhere|what|how|something|thing"
    r"|things|stuff|some (?:news|bad news|great news|idea|pic|picture|photo|setback|accomplishment|moment)"
    r"|a lot|lots)\b",
    re.IGNORECASE,
)
_OTHERS_TIME = re.compile(r"\b(?:when|while|until|before|after) (?:I|we|my)\b|\band then\b|…")
_CLAUSE_END = re.compile(
    r"\s*(?:,\s*(?:which|so|because|where|but|and|it|what|a|an)\b|\s(?:–|—|-)\s|\s(?:because|so that|which|and it"
    r"|but|where|and was|and loved|and had a)\b|\().*\Z"
)
#: The date is of something else than what happened.
_NOT_THEN = frozenset({"by", "until", "till", "before", "since", "from", "starting"})
_VAGUE = re.compile(
    r"(?:had|got|took|is having) (?:an?|the|quite an?|such an?|some|great|good) (?:[\w-]+ ){0,4}?(?:time"
    r"|blast|day|night|experience|incident|week|weekend"
    r"|fun|scare|break|ride|news|idea|pic|picture|photo|setback|accomplishment|moment)\Z"
    r"|.* (?:a few more|some more|more|another|again|together with)\Z|(?:went|ran|got|moved) (?:back|out|in"
    r"|off|into)\Z",
    re.IGNORECASE,
)
_MOST_WORDS = 26


def _event(voice: Voice, verb: str, rest: str) -> Statement | None:
    cut = _after_date(_CLAUSE_END.sub("", rest))
    if "[" not in cut or date_side(cut) in _NOT_THEN:
        return None
    what = without_dates(cut)
    if (
        _UNCLEAR.search(what)
        or _VAGUE.match(f"{verb} {what}")
        or _OTHERS_TIME.search(cut)
        or len(cut.split()) > _MOST_WORDS
    ):
        return None
    if not what and verb.rsplit(maxsplit=1)[-1] not in {"graduated", "retired", "married"}:
        return None
    text = f"{voice.noun} {verb} {with_dates(they(cut.replace(' together', '')))}"
    return Statement(
        text=" ".join(text.split()),
        kind="event",
        fact_type="event",
        asks=(
            f"When was it that {voice.noun} {verb} {what}?"[:160],
            f"What did {voice.noun} do?",
            f"{voice.noun} {verb} {what}"[:160],
        ),
    )


def _after_date(text: str) -> str:
    """Return a clause without what follows a comma or dash after its date."""
    date, bracket, tail = text.partition("]")
    return date + bracket + re.split(r"\s*[,;(–—]|\s-", tail, maxsplit=1)[0]


def _past(match: re.Match[str], voice: Voice) -> Statement | None:
    if date_side(match["rest"]) == "for" or re.match(r"(?:I|we) have got\b", match[0], re.IGNORECASE):
        return None
    return _event(voice, match["verb"].lower(), match["rest"].strip())


def _planned(match: re.Match[str], voice: Voice) -> Statement | None:
    return _event(voice, f"is {match['verb'].lower()}", match["rest"].strip())


def _will(match: re.Match[str], voice: Voice) -> Statement | None:
    return _event(voice, f"will {match['verb'].lower()}", match["rest"].strip())


def _appointment(match: re.Match[str], voice: Voice) -> Statement | None:
    return _event(voice, "has", f"{match['what']} {match['rest']}".strip())


def _own_occasion(match: re.Match[str], voice: Voice) -> Statement | None:
    what, rest = match["what"].strip(), _CLAUSE_END.sub("", match["rest"])
    if "[" not in rest or _UNCLEAR.search(without_dates(f"{what} {rest}")) or len(rest.split()) > _MOST_WORDS:
        return None
    return Statement(
        text=f"{voice.whose} {what} {match['verb'].lower()} {with_dates(they(rest))}",
        kind="event",
        fact_type="event",
        asks=(f"When is {voice.whose} {what}?", f"{voice.whose} {what}", f"dates and appointments of {voice.noun}"),
    )


def _of_a_relative(match: re.Match[str], voice: Voice) -> Statement | None:
    found = _past(match, msgspec.structs.replace(voice, noun=f"{voice.whose} {match['who'].strip()}"))
    return found if found is None or date_side(match["rest"]) not in _NOT_THEN else None


HAPPENINGS: tuple[Rule, ...] = (
    rule(rf"(?:I|we)(?: have)? (?P<verb>{words.alternatives(_PAST)}) (?P<rest>.*\[\d{{4}}.*)", _past),
    rule(
        rf"(?:my|our) (?P<who>(?:\w+ )?(?:{_RELATIVES})) (?P<verb>{words.alternatives(_PAST)}) "
        r"(?P<rest>.*\[\d{4}.*)",
        _of_a_relative,
    ),
    rule(rf"(?:I|we) (?:am|are) (?P<verb>{words.alternatives(_FUTURE)}) (?P<rest>.*\[\d{{4}}.*)", _planned),
    rule(rf"(?:I|we) will (?P<verb>{words.alternatives(_WILL)}) (?P<rest>.*\[\d{{4}}.*)", _will),
    rule(
        rf"(?:I|we) have(?: got)? (?P<what>(?:an?|my|our) (?:[\w'-]+ ){{0,4}}?(?:{words.alternatives(_OCCASION)}))\b"
        r"(?P<rest>.*\[\d{4}.*)",
        _appointment,
    ),
    rule(
        rf"(?:my|our) (?P<what>(?:[\w'-]+ ){{0,4}}?(?:{words.alternatives(_OCCASION)})) (?P<verb>is|was|are"
        rf"|starts|begins)"
        r" (?P<rest>.*\[\d{4}.*)",
        _own_occasion,
    ),
)
