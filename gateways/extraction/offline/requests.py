"""What somebody asks for: standing instructions, tasks, things to remember; and what they decided."""

from __future__ import annotations

import re

from gateways.extraction.offline import values, words
from gateways.extraction.offline.grammar import Voice, key_part, they, without_dates
from gateways.extraction.offline.statements import Rule, Statement, rule

__all__ = ["DECISIONS", "REMEMBERED", "REQUESTS", "STANDING", "plain_statement"]

_DONE_BY_AN_ASSISTANT = """
    use reply respond answer write speak call address give show include add avoid ask start begin end format
    keep explain provide check run commit cite translate send mention suggest make put confirm tell refer
    recommend schedule book return output list summarize summarise assume consider treat skip leave talk follow
    test prefer sign quote link create delete push deploy default stick round convert propose share store save
    log read review verify double-check sort greet capitalise capitalize indent wrap print offer notify warn open
    order charge buy pick search offer rely reveal repeat
"""
_VERB = rf"(?P<verb>{words.alternatives(_DONE_BY_AN_ASSISTANT)})"
_LEAD = (
    r"(?:(?:please|pls|kindly|and|also|just|you (?:must|should|can)|I (?:want|need|ask) you to|make sure"
    r" (?:to|you|that you)"
    r"|be sure to),? )*"
)
_STANDING = (
    r"(?:from now on|going forward|from here on(?: out)?|in (?:the )?future|in all (?:future )?(?:replies"
    r"|answers|conversations)"
    r"|for (?:all )?future (?:reference|replies|answers|chats|conversations|messages)|by default|in every"
    r" (?:reply|answer|response))"
)
#: Words that anybody asks or notes anything in.
_LONGEST = 40
_FOREVER = words.listed("""
    mind give forget say stop know believe lose regret doubt underestimate let
""")
_FORMS = """
    bullet_points bullets plain_text markdown json yaml full_sentences short_sentences one_sentence
    simple_english plain_english uk_english british_english american_english us_english lowercase lower_case
    prose rhymes tables
"""
_TO_YOU = {"you": "it", "your": "its", "yourself": "itself", "yours": "its"}
_SECOND = re.compile(r"\b(?:yourself|yours|your|you)\b", re.IGNORECASE)
_SMALL = words.listed("""
    the a an in with for to of and my me any at on all as it its it's please
""")
_GOOD_WISHES = re.compile(
    r"(?:smile|laugh|breathe|have fun|take care|rest|enjoy|subscribe|like|relax|live|love|be|believe|dream"
    r"|hydrate|check out"
    r"|do (?:it|that|this)|it|that|this|never|you|your)\b",
    re.IGNORECASE,
)
_FINITE = re.compile(
    r"\b(?:is|are|am|was|were|has|have|had|will|can|can't|cannot|must|needs?|does|doesn't|do|don't|isn't|aren't|won't|\w+s"
    r"|\w+'s|\w+'m|\w+'re|\w+'ve)\b",
    re.IGNORECASE,
)
_SUBJECT_OF_NOTE = re.compile(r"(?:I|we|my|our|the|all|every|[A-Z][\w'.-]*)\b")
_UNCLEAR = re.compile(r"\b(?:it|this|these|those|you|your|he|she|they|him|her|them|there|here)\b", re.IGNORECASE)


def _asked(voice: Voice, wish: str, attribute: str, *asks: str) -> Statement:
    return Statement(
        text=f"{voice.noun} wants {wish}",
        kind="instruction",
        fact_type="instruction",
        attribute=attribute,
        asks=asks
        or (
            f"What did {voice.noun} ask to always or never do?",
            f"instructions of {voice.noun}",
            f"How does {voice.noun} want things done?",
        ),
    )


def _standing(match: re.Match[str], voice: Voice) -> Statement | None:
    rest, verb = match["rest"].strip(), match["verb"].lower()
    how = (match["how"] or "").lower()
    if voice.among_people or (how == "never" and verb in _FOREVER) or not rest or len(rest.split()) > _LONGEST:
        return None
    if rest.split()[0].lower() in {"that", "this", "those", "these", "him", "her"} or rest.split()[0].lower() == "it":
        return None
    never = how in {"never", "don't", "do not", "don't ever", "do not ever"}
    if (language := _language(f"{verb} {rest}")) and not never:
        return _reply_in(voice, language)
    told = they(_SECOND.sub(lambda m: _TO_YOU[m[0].lower()], rest))
    significant = [part for part in key_part(without_dates(rest)).split("_") if part and part not in _SMALL]
    return _asked(
        voice,
        f"the assistant to {'never' if never else 'always'} {verb} {told}",
        f"instruction_{'_'.join((verb, *significant[:3]))}",
        f"How should the assistant {verb} for {voice.noun}?",
        f"standing instructions of {voice.noun}",
        f"{verb} {rest}"[:120],
    )


def _language(text: str) -> str:
    match = re.match(
        rf"(?:reply|respond|answer|write|speak|talk|communicate)(?: back)?(?: to)?(?: me)? (?:only )?in "
        rf"((?:\w+ )?(?:{words.alternatives(words.LANGUAGES)})|{words.alternatives(_FORMS)})(?: only|"
        rf" please| from now on)*\Z",
        text,
        re.IGNORECASE,
    )
    return match[1] if match is not None else ""


def _reply_in(voice: Voice, language: str) -> Statement:
    form = values.is_one_of(language, frozenset(_FORMS.split()))
    return _asked(
        voice,
        f"replies in {language}",
        f"instruction_reply_{'form' if form else 'language'}",
        f"In which language or form should {voice.noun} be answered?",
        f"reply language of {voice.noun}",
        f"standing instructions of {voice.noun}",
    )


def _in_language(match: re.Match[str], voice: Voice) -> Statement | None:
    language = _language(match["what"].strip())
    return _reply_in(voice, language) if language and not voice.among_people else None


def _call_me(match: re.Match[str], voice: Voice) -> Statement | None:
    found = values.name(match["name"], voice)
    if not found or found.split()[0].lower().endswith("day"):
        return None
    return _asked(
        voice,
        f"to be called {found}",
        "called",
        f"What should {voice.noun} be called?",
        f"name of {voice.noun}",
        f"Who is {found}?",
    )


def _style(match: re.Match[str], voice: Voice) -> Statement | None:
    if voice.among_people:
        return None
    return _asked(
        voice,
        f"the assistant to always be {match['rest'].strip()}",
        "instruction_be",
        f"How should the assistant answer {voice.noun}?",
        f"standing instructions of {voice.noun}",
        f"style of answers for {voice.noun}",
    )


def _task(voice: Voice, text: str, what: str) -> Statement:
    return Statement(
        text=text,
        kind="task",
        fact_type="task",
        attribute=f"task_{key_part(without_dates(what))[:60]}",
        asks=(f"What does {voice.noun} have to do?", f"tasks and reminders of {voice.noun}", what[:120]),
    )


def _reminder(match: re.Match[str], voice: Voice) -> Statement | None:
    what = match["what"].strip(" ,")
    first = what.split()[0].lower() if what else ""
    if not what or first in words.POINTING | {"never", "not"} or len(what.split()) > _LONGEST or _unresolved(what):
        return None
    about, when = match["side"].lower(), match["when"] or ""
    told = they(f"{what} {when}".strip())
    return _task(voice, f"{voice.noun} wants to be reminded {about} {told}", what)


def _unresolved(what: str) -> bool:
    return re.search(r"\b(?:that|this|it)\Z", what, re.IGNORECASE) is not None


def _due(match: re.Match[str], voice: Voice) -> Statement | None:
    what = match["what"].strip(" ,")
    if re.search(r"\[\d{4}", what) is None or _UNCLEAR.search(without_dates(what)) or len(what.split()) > _LONGEST:
        return None
    return _task(voice, f"{voice.noun} needs to {they(what)}", what)


def _todo(match: re.Match[str], voice: Voice) -> Statement | None:
    what = match["what"].strip(" ,.\"'")
    if voice.among_people or not 1 < len(what.split()) <= _LONGEST or _GOOD_WISHES.match(what) or _unresolved(what):
        return None
    if _SECOND.search(what):
        return None
    return _task(voice, f"{voice.noun} needs to {they(what[0].lower() + what[1:])}", what)


_OF_THIS_TALK = re.compile(
    r"\b(?:that case|above|below|the following|in this|for now|I (?:\w+ed|did|was|just|already|have \w+ed"
    r"|am (?:not )?\w+ing))\b",
    re.IGNORECASE,
)


def plain_statement(text: str, voice: Voice) -> Statement | None:
    """Return what somebody wants remembered, as it was said, with them as ``they``; None when it cannot stand alone."""
    what = text.strip(" ,:")
    own = re.match(r"(?:I|we)\b", what)
    if _OF_THIS_TALK.search(what):
        return None
    if not 2 < len(what.split()) <= _LONGEST or not _SUBJECT_OF_NOTE.match(what):  # noqa: PLR2004 - subject, verb and more
        return None
    if own is None and (_UNCLEAR.search(what) or not _FINITE.search(what)):
        return None
    said = f"{voice.noun} wants it remembered that {they(what)}" if own else _told(what, voice)
    significant = [part for part in key_part(without_dates(what)).split("_") if part not in _SMALL]
    return Statement(
        text=said,
        fact_type="note",
        attribute=f"note_{'_'.join(significant[:4])}",
        asks=(f"What did {voice.noun} ask to remember?", f"notes of {voice.noun}", what[:120]),
    )


def _told(what: str, voice: Voice) -> str:
    if re.match(r"(?:my|our)\b", what, re.IGNORECASE):
        return f"{voice.whose} {they(what.split(maxsplit=1)[1])}"
    return they(what)


_ASIDE = re.compile(
    r"\s+[-–—]\s|\s*\(|,\s(?=even|so|which|but|as|and)|\s(?:even though|although|because|since)\b", re.IGNORECASE
)
_NO_CHOICE = re.compile(
    r"the (?:first|second|third|last|latter|former|other|flow)\b|(?:option|plan) \w\b|(?:\S+ )?\[|so\b|.*\btogether\b",
    re.IGNORECASE,
)
_LONGEST_CHOICE = 16


def _decided(match: re.Match[str], voice: Voice) -> Statement | None:
    what = _ASIDE.split(match["what"], maxsplit=1)[0].strip(" ,")
    bare = without_dates(what)
    verb = " ".join(match["verb"].lower().split()).removeprefix("have ")
    if not _is_choice(bare, verb) or _NO_CHOICE.match(what):
        return None
    ours = match["who"].lower() == "we"
    verb = {"am going with": "is going with", "chosen": "chose"}.get(verb, verb)
    about = re.search(r"\bfor (?:the |our |my )?([\w -]+)\Z", bare)
    topic = f"for_{key_part(about[1])}" if about else "_".join(key_part(bare).split("_")[:5])
    return Statement(
        text=f"{voice.noun}{' said they' if ours else ''} {verb} {they(what)}",
        fact_type="decision",
        attribute=f"decision_{topic}",
        asks=(
            f"What did {voice.noun} decide?",
            f"decisions of {voice.noun}",
            f"What did {voice.noun} choose{' for ' + about[1] if about else ''}?",
            f"decision: {what}"[:120],
        ),
    )


def _is_choice(what: str, verb: str) -> bool:
    tokens = what.split()
    if not tokens or len(tokens) > _LONGEST_CHOICE or _UNCLEAR.search(what) or tokens[0].lower() in words.POINTING:
        return False
    return not verb.endswith("going with") or not (what[0].islower() or re.search(r" to [A-Z]", what))


#: Alone before a comma, it belongs to what follows.
STANDING = re.compile(_STANDING, re.IGNORECASE)

REQUESTS: tuple[Rule, ...] = (
    rule(
        rf"{_LEAD}(?:{_STANDING},? )?{_LEAD}call me (?P<name>[^,]+?)(?:,? (?:please|from now on|instead|not .+))?",
        _call_me,
    ),
    rule(rf"{_LEAD}(?P<how>always|never|don't ever|do not ever) {_VERB} (?P<rest>.+)", _standing),
    rule(
        rf"{_LEAD}{_STANDING},? {_LEAD}(?P<how>always |never |don't |do not )?{_VERB} (?P<rest>.+)".replace(
            "(?P<how>always |never |don't |do not )?", "(?:(?P<how>always|never|don't ever|don't|do not) )?"
        ),
        _standing,
    ),
    rule(rf"{_LEAD}(?:(?P<how>don't|do not) )?{_VERB} (?P<rest>.+?),? {_STANDING}", _standing),
    rule(
        rf"(?:{_LEAD}{_STANDING},? )?{_LEAD}(?P<what>(?:reply|respond|answer|write|speak|talk|communicate) .+)",
        _in_language,
    ),
    rule(
        rf"{_LEAD}(?:always|{_STANDING},?) be (?P<rest>(?:more )?(?:brief|concise|honest|direct|blunt"
        rf"|polite|formal|informal|terse"
        r"|critical|short|specific|precise|detailed)(?: .+)?)",
        _style,
    ),
    rule(r"(?:please |can you |also )*remind me (?P<when>.{0,60}?\]|)\s*(?P<side>to|about) (?P<what>.+)", _reminder),
    rule(r"(?:please )?don't let me forget (?P<side>to|about) (?P<what>.+)(?P<when>(?<=.))", _reminder),
    rule(r"(?:to-?do|task|action item)\s*[:–-]\s*(?P<what>.+)", _todo),
    rule(r"(?:please )?(?:don't|do not) forget to (?P<what>.+)", _todo),
    rule(r"(?:please )?add (?P<what>.+) to my (?:to-?do|task)s?(?: list)?", _todo),
    rule(r"(?:please )?set (?:me )?a reminder (?P<when>)(?P<side>to|about) (?P<what>.+)", _reminder),
    rule(r"(?:please )?remember to (?P<what>.+)", _due),
    rule(r"I (?:still )?(?:need to|have to|must|have got to) (?P<what>.+)", _due),
)

#: What stands after it is a statement of its own.
REMEMBERED = re.compile(
    r"(?:please |pls |can you |also |and )*(?:(?:remember|note|keep in mind|bear in mind|don't forget|do"
    r" not forget)(?::| that|,)"
    r"|remember(?= (?:I|I'm|I am|my|we|our)\b)|for the record,?|make a note that|note to self:?)\s+(?P<what>.+)\Z",
    re.IGNORECASE,
)

DECISIONS: tuple[Rule, ...] = (
    rule(
        r"(?P<who>I|we) (?P<verb>(?:have )?decided (?:to|on|against|not to)|(?:have )?settled on|(?:have"
        r" )?agreed (?:to|on)"
        r"|(?:have )?opted for|(?:are|am) going with) (?P<what>.+)",
        _decided,
    ),
    rule(r"(?P<who>I|we) (?:have )?(?P<verb>chosen|chose) (?P<what>.+ (?:for|as|over) .+)", _decided),
)
