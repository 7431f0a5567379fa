"""Where somebody lives, comes from, works and studies."""

from __future__ import annotations

import re

from gateways.extraction.offline import values, words
from gateways.extraction.offline.grammar import Voice, key_part
from gateways.extraction.offline.statements import Rule, Statement, rule

__all__ = ["WORK_PLACE"]

_NO_PLACE_OF_WORK = words.listed("""
    home night nights night_shift the_moment weekends times day myself free hours fun a_living least first last
""")
_LONGEST_ROLE = 5
_INDUSTRIES = words.listed("""
    finance healthcare tech it marketing sales education insurance logistics construction hospitality retail
    banking publishing advertising agriculture law journalism hr real_estate human_resources software biotech
    cybersecurity film fashion politics academia public_health social_work mental_health customer_service
    consulting manufacturing
""")
_STUDY_NOT = words.listed("""
    for hard this that it them the my a an at in abroad every all late together with how what
""")


def _home(match: re.Match[str], voice: Voice) -> Statement | None:
    where = values.place(match["place"], voice)
    if not where:
        return None
    return _lives(voice, f"in {where}" if not where.lower().startswith(("near ", "outside ")) else where, where)


def _lives(voice: Voice, phrase: str, where: str) -> Statement:
    return Statement(
        text=f"{voice.noun} lives {phrase}",
        fact_type="identity",
        attribute="home",
        asks=(
            f"Where does {voice.noun} live?",
            f"Who lives in {where}?",
            f"{voice.whose} home town",
            f"city and country of {voice.noun}",
        ),
    )


def _left_home(match: re.Match[str], voice: Voice) -> Statement | None:
    where = values.place(match["place"], voice)
    if not where:
        return None
    return Statement(
        text=f"{voice.noun} no longer lives in {where}",
        fact_type="identity",
        attribute=f"home!{where}",
        asks=(
            f"Where did {voice.noun} live before?",
            f"Does {voice.noun} live in {where}?",
            f"{voice.whose} former home",
        ),
    )


def _lived(match: re.Match[str], voice: Voice) -> Statement | None:
    where = values.place(match["place"], voice)
    if not where:
        return None
    return Statement(
        text=f"{voice.noun} used to live in {where}",
        fact_type="identity",
        attribute=f"lived_in_{key_part(where)}",
        asks=(
            f"Where did {voice.noun} live before?",
            f"Has {voice.noun} lived in {where}?",
            f"{voice.whose} former home",
        ),
    )


def _origin(match: re.Match[str], voice: Voice) -> Statement | None:
    where = values.place(match["place"], voice)
    if not where:
        return None
    raised = match.re.pattern.startswith("I grew")
    text = f"{voice.noun} grew up in {where}" if raised else f"{voice.noun} is from {where}"
    return Statement(
        text=text,
        fact_type="identity",
        attribute="grew_up" if raised else "origin",
        asks=(f"Where is {voice.noun} from?", f"Where did {voice.noun} grow up?", f"{voice.whose} home country"),
    )


def _employer(match: re.Match[str], voice: Voice) -> list[Statement]:
    groups = match.groupdict()
    found = []
    where = _workplace(groups.get("where") or "", voice)
    if where:
        found.append(_works_at(voice, groups.get("side") or "at", where))
    role = groups.get("role") or _role_after(groups.get("where") or "", where)
    if role and (job := _job(role, voice)):
        found.append(job)
    return found


def _new_employer(match: re.Match[str], voice: Voice) -> list[Statement]:
    return _employer(match, voice) if re.search(r"\b(?:job|position|role|working)\b", match[0]) else []


def _workplace(text: str, voice: Voice) -> str:
    if not text or values.is_one_of(text, _NO_PLACE_OF_WORK) or text.split(maxsplit=1)[0].lower() in _NO_PLACE_OF_WORK:
        return ""
    return values.organisation(re.split(r"\s+as (?:an?|the)\b", text, maxsplit=1)[0], voice)


def _works_at(voice: Voice, side: str, where: str) -> Statement:
    return Statement(
        text=f"{voice.noun} works {'for' if side.lower() == 'for' else 'at'} {where}",
        fact_type="identity",
        attribute="employer",
        asks=(
            f"Where does {voice.noun} work?",
            f"Who works at {where}?",
            f"{voice.whose} employer",
            f"company of {voice.noun}",
        ),
    )


def _role_after(text: str, where: str) -> str:
    after = re.search(r"\bas (an? .+)", text) if where else None
    return after[1] if after is not None else ""


def _job(role: str, voice: Voice) -> Statement | None:
    match = re.match(r"(?P<article>an?|the) (?P<trade>[^,]+)", role)
    phrase = (
        re.split(r"\s+(?:who|that|at|for|in|from|with|by|and|since|on)\b", match["trade"], maxsplit=1)[0]
        if match
        else ""
    )
    if (
        match is None
        or not phrase
        or len(phrase.split()) > _LONGEST_ROLE
        or phrase.split()[-1].lower() in words.POINTING | {"bit", "team"}
    ):
        return None
    text = f"{voice.noun} is {match['article']} {phrase}"
    return Statement(
        text=text,
        fact_type="identity",
        attribute="job",
        asks=(f"What does {voice.noun} do for a living?", f"{voice.whose} job", f"{voice.whose} profession"),
    )


def _left_work(match: re.Match[str], voice: Voice) -> Statement | None:
    where = _workplace(match["where"], voice)
    if not where:
        return None
    return Statement(
        text=f"{voice.noun} no longer works at {where}",
        fact_type="identity",
        attribute=f"employer!{where}",
        asks=(
            f"Where did {voice.noun} work before?",
            f"Does {voice.noun} work at {where}?",
            f"{voice.whose} former employer",
        ),
    )


def _industry(match: re.Match[str], voice: Voice) -> Statement | None:
    field = match["field"].strip()
    if not values.is_one_of(field, _INDUSTRIES):
        return None
    return Statement(
        text=f"{voice.noun} works in {field}",
        fact_type="identity",
        attribute="industry",
        asks=(
            f"What field does {voice.noun} work in?",
            f"{voice.whose} industry",
            f"Does {voice.noun} work in {field}?",
        ),
    )


def _remote(match: re.Match[str], voice: Voice) -> Statement:
    return Statement(
        text=f"{voice.noun} works {match['how']}",
        fact_type="identity",
        attribute="work_mode",
        asks=(f"Does {voice.noun} work from home?", f"{voice.whose} office", f"Where does {voice.noun} work from?"),
    )


def _studies(match: re.Match[str], voice: Voice) -> list[Statement]:
    found = []
    groups = match.groupdict()
    subject = re.split(r"\s+(?:at|in|with|and|for|because|since|as|to)\b|,", groups.get("subject") or "", maxsplit=1)[
        0
    ].strip()
    tokens = subject.lower().split()
    if (
        tokens
        and len(tokens) < _LONGEST_ROLE
        and tokens[0] not in _STUDY_NOT | words.POINTING
        and all(t.replace("-", "").isalpha() for t in tokens)
    ):
        found.append(
            Statement(
                text=f"{voice.noun} studies {subject}",
                fact_type="identity",
                attribute="studies",
                asks=(f"What does {voice.noun} study?", f"{voice.whose} subject or degree", f"Who studies {subject}?"),
            )
        )
    at = groups.get("where") or (m[1] if (m := re.search(r"\bat (.+)", groups.get("subject") or "")) else "")
    school = values.organisation(at, voice) if at else ""
    if school and school.split()[0].lower() not in {"a", "an"} and (found or "subject" not in groups):
        found.append(
            Statement(
                text=f"{voice.noun} studies at {school}",
                fact_type="identity",
                attribute="school",
                asks=(
                    f"Where does {voice.noun} study?",
                    f"{voice.whose} university or school",
                    f"Who studies at {school}?",
                ),
            )
        )
    return found


def _workplace_city(match: re.Match[str], voice: Voice) -> Statement | None:
    where = values.place(match["place"], voice)
    if not where or voice.lower:
        return None
    return Statement(
        text=f"{voice.noun} works in {where}",
        fact_type="identity",
        attribute="work_place",
        asks=(f"Where does {voice.noun} work?", f"city where {voice.noun} works", f"{voice.whose} office"),
    )


def _trade_at(match: re.Match[str], voice: Voice) -> list[Statement]:
    if not values.is_trade(match["role"]):
        return []
    where = _workplace(match["where"], voice)
    job = _job(re.sub(r"^I am ", "", match[0])[: match.end("role") - 5], voice)
    school = match["role"].lower().split()[-1] in {"student", "undergraduate", "postgraduate"}
    found = [job] if job is not None else []
    if where and not school:
        found.append(_works_at(voice, match["side"], where))
    elif where:
        found.append(
            Statement(
                text=f"{voice.noun} studies at {where}",
                fact_type="identity",
                attribute="school",
                asks=(
                    f"Where does {voice.noun} study?",
                    f"{voice.whose} university or school",
                    f"Who studies at {where}?",
                ),
            )
        )
    return found


def _proper_employer(match: re.Match[str], voice: Voice) -> Statement | None:
    where = "" if voice.lower else values.organisation(match["where"], voice)
    return _works_at(voice, "at", where) if where and " at " in match[0] else None


WORK_PLACE: tuple[Rule, ...] = (
    rule(
        r"(?:I|we) live (?:(?:alone|with (?:my|our) [\w ]+?) )?(?:in )?(?P<place>(?:(?<=in )|(?=near |outside )).+)",
        _home,
    ),
    rule(r"(?:I am|I have been|we are|we have been) living in (?P<place>.+)", _home),
    rule(r"(?:I am|we are) (?:based|settled) in (?P<place>.+)", _home),
    rule(r"I reside in (?P<place>.+)", _home),
    rule(r"my home is in (?P<place>.+)", _home),
    rule(r"(?:I|we)(?: have)? (?:moved|relocated)(?: back| over| house)?(?: from .+?)? to (?P<place>.+)", _home),
    rule(r"I no longer live in (?P<place>.+)", _left_home),
    rule(r"I don't live in (?P<place>.+?) any ?more", _left_home),
    rule(r"(?:I|we) used to live in (?P<place>.+)", _lived),
    rule(r"I am (?:originally )?from (?P<place>.+)", _origin),
    rule(r"I come from (?P<place>.+)", _origin),
    rule(r"my (?:home ?town|home country) is (?P<place>.+)", _origin),
    rule(r"I grew up in (?P<place>.+)", _origin),
    rule(
        r"I (?:work|am working|have been working) as (?P<role>an? .+?)(?: (?P<side>at|for) (?P<where>.+))?", _employer
    ),
    rule(r"I (?:work|am working|have been working) (?P<side>at|for) (?P<where>.+)", _employer),
    rule(r"I am employed (?P<side>at|by) (?P<where>.+)", _employer),
    rule(
        r"I(?: have)? (?:started|got|landed|accepted|took)(?: working)?(?: an?| my)?(?: new)?(?: job|"
        r" position| role)? (?:at|with) "
        r"(?P<where>.+)",
        _new_employer,
    ),
    rule(r"I(?: have)? started at (?P<where>[A-Z].+? as an? .+)", _employer),
    rule(r"I(?: have)? joined (?P<where>[A-Z].+? as an? .+)", _employer),
    rule(r"I am an? (?P<role>[\w -]+?) (?P<side>at|for) (?P<where>.+)", _trade_at),
    rule(r"my (?:new )?(?:job|employer|company) is (?:at )?(?P<where>.+)", _proper_employer),
    rule(r"I no longer work (?:at|for) (?P<where>.+)", _left_work),
    rule(r"I don't work (?:at|for) (?P<where>.+?) any ?more", _left_work),
    rule(r"I(?: have)? (?:quit|left|lost|resigned from) my (?:job|position) (?:at|with) (?P<where>.+)", _left_work),
    rule(r"I (?:got|was) (?:laid off|fired|let go) (?:from|by) (?P<where>.+)", _left_work),
    rule(r"I work in (?:the )?(?P<field>[\w ]+?)(?: industry| sector)?", _industry),
    rule(r"I work (?P<how>from home|remotely|part-time|full-time)", _remote),
    rule(r"I work in (?P<place>.+)", _workplace_city),
    rule(r"I (?:study|am studying|am majoring in|major in) (?P<subject>.+)", _studies),
    rule(r"I am doing (?:a|my) (?:PhD|doctorate|master's|masters|bachelor's|degree|MBA) in (?P<subject>.+)", _studies),
    rule(r"I (?:study|am a student|am studying) at (?P<where>.+)", _studies),
)
