"""Who somebody is, and who belongs to them."""

from __future__ import annotations

import re

from gateways.extraction.offline import nouns, values, words
from gateways.extraction.offline.grammar import Voice, key_part
from gateways.extraction.offline.statements import Rule, Statement, rule

__all__ = ["BIRTHDAYS", "GREETED", "PEOPLE"]

_OWNED = rf"(?P<rel>{words.alternatives(' '.join(nouns.RELATIONS | nouns.PETS))})"
_RELATION = rf"(?P<mod>(?:older|younger|little|big|eldest|youngest|oldest|twin|elder|new|baby|late|ex)[ -])?{_OWNED}"
_NUMBER = r"(?:an?|one|two|three|four|five|six|seven|eight|\d{1,2})"
_YOUNGEST, _OLDEST = 5, 110
_PRONOUNS = r"(?:(?:she|he|they|xe|ze|it|her|him|them|hers|his|theirs)(?:\s*/\s*|\s+and\s+)?){1,3}"


def _identity(text: str, attribute: str, *asks: str) -> Statement:
    return Statement(text=text, fact_type="identity", attribute=attribute, asks=asks)


def _name(match: re.Match[str], voice: Voice) -> Statement | None:
    found = values.name(match["name"], voice)
    if not found:
        return None
    return _identity(
        f"{voice.whose} name is {found}",
        "name",
        f"What is {voice.noun} called?",
        f"name of {voice.noun}",
        f"Who is {found}?",
    )


def _greeted(match: re.Match[str], voice: Voice) -> Statement | None:
    known = nouns.NATIONALITIES | nouns.FAITHS | nouns.DIETS | nouns.STATUSES.keys()
    return None if voice.lower or match["name"].lower() in known else _name(match, voice)


def _age(match: re.Match[str], voice: Voice) -> Statement | None:
    if not _YOUNGEST <= int(match["age"]) <= _OLDEST:
        return None
    return _identity(
        f"{voice.noun} is {match['age']} years old",
        "age",
        f"How old is {voice.noun}?",
        f"age of {voice.noun}",
        f"{voice.whose} age in years",
    )


def _birthday(match: re.Match[str], voice: Voice) -> Statement:
    return _identity(
        f"{voice.whose} birthday is {match['day'].strip()}",
        "birthday",
        f"When is {voice.whose} birthday?",
        f"{voice.noun} date of birth",
        f"When was {voice.noun} born?",
    )


def _trade(match: re.Match[str], voice: Voice) -> Statement | None:
    phrase = re.split(r"\s+(?:who|that|at|for|in|from|with|by|and|based|on|of)\b|,", match["trade"], maxsplit=1)[
        0
    ].strip()
    if not values.is_trade(phrase):
        return None
    text = f"{voice.noun} is {match['article']} {phrase}"
    return _identity(
        text, "job", f"What does {voice.noun} do for a living?", f"{voice.whose} job", f"{voice.whose} profession"
    )


def _trait(match: re.Match[str], voice: Voice) -> Statement | None:
    trait, no_longer = match["trait"].strip(), bool(match["not"] or match["anymore"])
    folded = trait.lower()
    if values.is_one_of(trait, nouns.DIETS):
        attribute = "diet"
    elif values.is_one_of(trait, nouns.FAITHS):
        attribute = "religion"
    elif values.is_one_of(trait, nouns.NATIONALITIES):
        attribute = "nationality"
    else:
        attribute = nouns.STATUSES.get(folded, "")
    if not attribute:
        return None
    says = "is no longer" if no_longer else "is"
    return _identity(
        f"{voice.noun} {says} {match['article'] or ''}{trait}",
        attribute,
        f"What is {voice.whose} {attribute.replace('_', ' ')}?",
        f"Is {voice.noun} {trait}?",
        f"{voice.noun} {attribute.replace('_', ' ')}",
    )


def _allergy(match: re.Match[str], voice: Voice) -> Statement | None:
    some = re.match(r"(?:most|all|some|many) ", match["thing"], re.IGNORECASE)
    bare = match["thing"][some.end() :] if some is not None else match["thing"]
    found = (some[0] if some is not None else "") + values.thing(bare)
    if not values.thing(bare):
        return None
    says = "is not allergic to" if match["not"] else "is allergic to"
    return _identity(
        f"{voice.noun} {says} {found}",
        f"allergy_{key_part(found)}",
        f"What is {voice.noun} allergic to?",
        f"{voice.whose} allergies",
        f"Can {voice.noun} have {found}?",
        f"food and health of {voice.noun}",
    )


def _condition(match: re.Match[str], voice: Voice) -> Statement | None:
    if not values.is_one_of(match["thing"], nouns.CONDITIONS):
        return None
    return _identity(
        f"{voice.noun} has {match['thing']}",
        f"condition_{key_part(match['thing'])}",
        f"Does {voice.noun} have {match['thing']}?",
        f"{voice.whose} health",
        f"{voice.whose} medical conditions",
    )


def _pronouns(match: re.Match[str], voice: Voice) -> Statement:
    return _identity(
        f"{voice.whose} pronouns are {match['pronouns'].strip()}",
        "pronouns",
        f"What are {voice.whose} pronouns?",
        f"pronouns of {voice.noun}",
        f"How does {voice.noun} want to be referred to?",
    )


def _language(match: re.Match[str], voice: Voice) -> Statement | None:
    spoken = [part for part in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", match["languages"]) if part]
    if not spoken or any(not values.is_one_of(part, frozenset(words.LANGUAGES.split())) for part in spoken):
        return None
    verb = "learns" if match["verb"].lower().startswith(("learn", "am learn")) else "speaks"
    return _identity(
        f"{voice.noun} {verb} {match['languages']}",
        f"{verb}_{key_part(match['languages'])}",
        f"Which languages does {voice.noun} speak?",
        f"Does {voice.noun} speak {spoken[0]}?",
        f"{voice.whose} languages",
    )


def _detail(match: re.Match[str], voice: Voice) -> Statement | None:
    value = match["value"].strip(" ,")
    if (
        not value
        or len(value.split()) > values.LONGEST_NAME + 1
        or value.split()[0].lower() in words.POINTING | {"not", "the", "a", "an", "being"}
    ):
        return None
    what = match["what"]
    handle = what.lower().endswith(("handle", "username")) and len(value.split()) == 1
    if not handle and not re.search(r"[@\d]", value) and not values.name(value, voice):
        return None
    return _identity(
        f"{voice.whose} {what} is {value}",
        key_part(what),
        f"What is {voice.whose} {what}?",
        f"{what} of {voice.noun}",
        f"{voice.whose} contact details and particulars",
    )


def _related(voice: Voice, relation: str, who: str) -> Statement:
    single = relation.lower().replace(" ", "_") in nouns.SINGLE_RELATIONS
    pet = relation.lower().replace(" ", "_") in nouns.PETS
    attribute = (
        f"pet_{key_part(who)}" if pet else key_part(relation) if single else f"{key_part(relation)}_{key_part(who)}"
    )
    return Statement(
        text=f"{voice.whose} {relation} is called {who}",
        fact_type="relationship",
        attribute=attribute,
        asks=(
            f"What is {voice.whose} {relation} called?",
            f"Who is {who}?",
            f"{voice.whose} {relation}",
            f"{voice.whose} {'pets' if pet else 'family and friends'}",
        ),
    )


def _called(match: re.Match[str], voice: Voice) -> Statement | None:
    who = values.name(match["name"], voice)
    modifier = (match["mod"] or "") if "mod" in match.re.groupindex else ""
    if not who or who.lower().split()[0] in nouns.NATIONALITIES | nouns.FAITHS:
        return None
    return _related(voice, f"{modifier}{match['rel']}".lower(), who)


def _married(match: re.Match[str], voice: Voice) -> Statement | None:
    who = values.name(match["name"], voice)
    if not who:
        return None
    return Statement(
        text=f"{voice.noun} is married to {who}",
        fact_type="relationship",
        attribute="spouse",
        asks=(f"Who is {voice.noun} married to?", f"{voice.whose} husband or wife", f"Who is {who}?"),
    )


def _relative(match: re.Match[str], voice: Voice) -> str:
    """Return ``brother`` or ``brother Tom``, empty when what follows the relation is no name."""
    who = values.name(match["who"], voice) if match["who"] else ""
    return f"{match['rel'].lower()} {who}".strip() if who or not match["who"] else ""


def _relative_trade(match: re.Match[str], voice: Voice) -> Statement | None:
    relation, phrase = _relative(match, voice), match["trade"].strip()
    if not relation or not values.is_trade(phrase):
        return None
    return Statement(
        text=f"{voice.whose} {relation} is {match['article']} {phrase}",
        fact_type="relationship",
        attribute=f"{key_part(relation)}_job",
        asks=(
            f"What does {voice.whose} {relation} do?",
            f"{voice.whose} {relation} job",
            f"Who in the family of {voice.noun} is a {phrase}?",
        ),
    )


def _relative_home(match: re.Match[str], voice: Voice) -> Statement | None:
    relation, where = _relative(match, voice), values.place(match["place"], voice)
    if not where or not relation:
        return None
    return Statement(
        text=f"{voice.whose} {relation} lives in {where}",
        fact_type="relationship",
        attribute=f"{key_part(relation)}_home",
        asks=(f"Where does {voice.whose} {relation} live?", f"{voice.whose} {relation} home", f"Who lives in {where}?"),
    )


def _relative_age(match: re.Match[str], voice: Voice) -> Statement | None:
    relation = _relative(match, voice)
    if not relation:
        return None
    return Statement(
        text=f"{voice.whose} {relation} is {match['age']} years old",
        fact_type="relationship",
        attribute=f"{key_part(relation)}_age",
        asks=(
            f"How old is {voice.whose} {relation}?",
            f"{voice.whose} {relation} age",
            f"age of the {relation} of {voice.noun}",
        ),
    )


PEOPLE: tuple[Rule, ...] = (
    rule(r"my (?:full |first |real )?name(?: is|'s) (?P<name>.+)", _name),
    rule(r"(?:I am called|I go by|people call me|everyone calls me|(?:please )?call me) (?P<name>.+)", _name),
    rule(r"I am (?P<age>\d{1,3})(?: years?[ -]old(?:,.*)?| years of age| y/?o)?", _age),
    rule(r"I (?:have )?turned (?P<age>\d{1,3})(?: years old)?", _age),
    rule(r"I am (?P<article>an?) (?P<trade>.+)", _trade),
    rule(r"I am (?P<not>no longer )?(?P<article>an? )?(?P<trait>[\w -]+?)(?P<anymore> any ?more)?(?:, so .+)?", _trait),
    rule(r"I am (?P<not>not )?(?:severely |badly |deathly |highly |mildly )?allergic to (?P<thing>.+)", _allergy),
    rule(r"I have an? (?:severe |bad |mild )?(?P<thing>\w+) (?P<not>(?!))?allergy", _allergy),
    rule(
        r"I (?:have(?: been| got)?|suffer from|was|have been|got)(?: diagnosed with)? (?P<thing>[\w' -]+)", _condition
    ),
    rule(rf"my pronouns are (?P<pronouns>{_PRONOUNS})", _pronouns),
    rule(rf"I (?:use|go by) (?P<pronouns>{_PRONOUNS})(?: pronouns)?", _pronouns),
    rule(
        r"I (?P<verb>speak|am learning|learn|am fluent in|have been learning)(?: fluent)? (?P<languages>[\w ,]+)",
        _language,
    ),
    rule(
        r"my (?P<what>(?:work |personal )?(?:email|e-mail)(?: address)?|phone(?: number)?|github (?:handle|username)"
        r"|time ?zone|native language|mother tongue|first language|blood type|shoe size|star sign|zodiac"
        r" sign|maiden name"
        r"|last name|surname|middle name|nickname|username|locker number|employee (?:id|number)) is (?P<value>\S.*)",
        _detail,
    ),
    rule(rf"my {_RELATION}(?:'s name is| is (?:called|named)|, (?:who is )?(?:called|named)) (?P<name>.+)", _called),
    rule(rf"my {_RELATION} is (?P<name>\S+)", _called),
    rule(
        rf"(?:I|we) (?:have|have got|got|adopted|own|have adopted|have a|have an) {_NUMBER} (?:[a-z]+"
        rf" ){{0,2}}?{_OWNED}s?,? "
        r"(?:called|named|whose name is) (?P<name>.+)",
        _called,
    ),
    rule(rf"(?P<name>\S+(?: \S+)?) is my {_RELATION}", _called),
    rule(r"I am married to (?P<name>.+)", _married),
    rule(rf"my {_OWNED}(?P<who> \S+)? is (?P<article>an?) (?P<trade>.+)", _relative_trade),
    rule(rf"my {_OWNED}(?P<who> \S+)? (?:lives|is living) in (?P<place>.+)", _relative_home),
    rule(rf"my {_OWNED}(?P<who> \S+)? (?:is|turned|just turned) (?P<age>\d{{1,3}})(?: years?[ -]old)?", _relative_age),
)

#: Days of every year: read with the dates that were resolved for this one taken out.
BIRTHDAYS: tuple[Rule, ...] = (
    rule(
        r"my birthday is (?:on )?(?P<day>(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)? \w+(?:,? \d{4})?"
        r"|\w+ (?:the )?\d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?)",
        _birthday,
    ),
    rule(r"I was born on (?P<day>(?:the )?(?:\d{1,2}\S* (?:of )?\w+|\w+ \d{1,2}\S*)(?:,? \d{4})?)", _birthday),
)

#: How people give their name after a greeting; elsewhere, who somebody "is" may be anything.
GREETED: tuple[Rule, ...] = (rule(r"(?:I am|this is|my name(?:'s| is)) (?P<name>\S+(?: \S+)?)", _greeted),)
