"""What somebody likes, dislikes and has."""

from __future__ import annotations

import re

from gateways.extraction.offline import nouns, values, words
from gateways.extraction.offline.grammar import Voice, key_part, third
from gateways.extraction.offline.statements import Rule, Statement, rule

__all__ = ["TASTES"]

_NUMBER = r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2})"
_LONGEST = 6
_ACTIVITIES = {
    "read": "reading", "cook": "cooking", "hike": "hiking", "travel": "travelling", "dance": "dancing",
    "sing": "singing", "paint": "painting", "swim": "swimming", "run": "running", "bake": "baking", "draw": "drawing",
    "ski": "skiing", "surf": "surfing", "climb": "climbing", "knit": "knitting", "camp": "camping", "fish": "fishing",
    "sew": "sewing", "code": "coding", "garden": "gardening", "cycle": "cycling", "write": "writing",
    "snowboard": "snowboarding", "sail": "sailing", "jog": "jogging",
}  # fmt: skip
_BOOSTS = re.compile(r"^(?:some|good|nice|great|really good|fresh)\s+", re.IGNORECASE)
_THINGS_OF_TASTE = """
    food dish drink colour color movie film book author band song album singer musician season animal sport team
    game genre cuisine restaurant dessert fruit vegetable flower city country holiday show series podcast hobby
    language subject number editor snack tea coffee beer wine pizza ice_cream actor artist composer painter poet
    writer class day month programming_language tool instrument cheese breakfast meal board_game video_game
    football_team place ice_cream_flavor ice_cream_flavour character superhero type_of_music kind_of_music music
    color_scheme framework
"""
_LIKING = (
    r"(?P<verb>love|like|adore|enjoy|hate|dislike|loathe|detest|can't stand|cannot stand|don't like|do not like|"
    r"don't enjoy|no longer like|am into|am fond of|am not fond of|am not into|am obsessed with|"
    r"am (?:an? )?(?:big |huge |massive )?fan of|am not an? (?:big |huge )?fan of|prefer)"
)


def _likes(match: re.Match[str], voice: Voice) -> Statement | None:
    asked = match["thing"].replace(" together", "")
    what = _activity(asked) or values.thing(asked)
    if not what or (what.split()[0].lower() in {"working", "talking", "chatting"} and voice.among_people):
        return None
    folded = key_part(_BOOSTS.sub("", re.sub(r"^the ", "", what)))
    return Statement(
        text=f"{voice.noun} {_says(match['verb'])} {what}",
        fact_type="preference",
        attribute=f"likes_{folded}",
        asks=(
            f"Does {voice.noun} like {what}?",
            f"What does {voice.noun} like?",
            f"{voice.whose} tastes and hobbies",
            f"{voice.noun} {what}",
        ),
    )


def _activity(text: str) -> str:
    """Return ``reading`` for ``to read``, with what belongs to it."""
    match = re.match(r"to (\w+)(?:(?:,\s.+)|\s+(.+))?\Z", text)
    if match is None or match[1].lower() not in _ACTIVITIES:
        return ""
    return values.thing(f"{_ACTIVITIES[match[1].lower()]} {match[2] or ''}".strip())


def _says(verb: str) -> str:
    folded = " ".join(verb.lower().split())
    if folded.startswith("am "):
        return "is " + folded.removeprefix("am ")
    if folded in {"can't stand", "cannot stand"}:
        return "can't stand"
    if folded.startswith(("don't ", "do not ")):
        return "doesn't " + folded.split()[-1]
    return "no longer likes" if folded.startswith("no longer") else third(folded)


def _prefers(match: re.Match[str], voice: Voice) -> Statement | None:
    first, second = values.thing(match["first"]), values.thing(match["second"])
    if not first or not second:
        return None
    pair = "_".join(sorted((key_part(first), key_part(second))))
    return Statement(
        text=f"{voice.noun} prefers {first} {match['over']} {second}",
        fact_type="preference",
        attribute=f"prefers_{pair}",
        asks=(
            f"Does {voice.noun} prefer {first} or {second}?",
            f"What does {voice.noun} prefer?",
            f"{voice.whose} preference {first} {second}",
        ),
    )


def _favourite(match: re.Match[str], voice: Voice) -> Statement | None:
    value = re.split(
        r"\s+(?:because|since|for its|for the|right now|at the moment)\b|,\s|\s+[-–—]\s|\s*\(", match["value"]
    )[0]
    what, value = match["what"].lower(), value.strip(" ,")
    first = value.split()[0].lower() if value else ""
    if (
        not value
        or len(value.split()) > _LONGEST
        or first in words.POINTING | {"not", "when", "probably", "definitely"}
    ):
        return None
    if re.search(r"\b(?:I|you|we|he|she|they|it|is|are|was|but|because|when)\b", value):
        return None
    return Statement(
        text=f"{voice.whose} favourite {what} is {value}",
        fact_type="preference",
        attribute=f"favourite_{key_part(what)}",
        asks=(
            f"What is {voice.whose} favourite {what}?",
            f"favorite {what} of {voice.noun}",
            f"Does {voice.noun} like {value}?",
        ),
    )


def _eats(match: re.Match[str], voice: Voice) -> Statement | None:
    what = values.thing(match["thing"])
    if not what or len(what.split()) > _LONGEST // 2 or what.split()[0] == "much":
        return None
    verb = match["verb"].lower()
    return Statement(
        text=f"{voice.noun} doesn't {verb} {what}",
        fact_type="preference",
        attribute=f"{third(verb)}_{key_part(what)}",
        asks=(f"Does {voice.noun} {verb} {what}?", f"What does {voice.noun} not {verb}?", f"{voice.whose} diet"),
    )


def _abstains(match: re.Match[str], voice: Voice) -> Statement:
    verb = match["verb"].lower()
    return Statement(
        text=f"{voice.noun} doesn't {verb}",
        fact_type="preference",
        attribute=f"{third(verb)}",
        asks=(f"Does {voice.noun} {verb}?", f"{voice.whose} habits", f"{voice.noun} {verb}"),
    )


def _has(match: re.Match[str], voice: Voice) -> Statement | None:
    noun = values.singular(match["noun"].lower())
    if not values.is_one_of(noun, nouns.OWNED):
        return None
    what = f"{match['number']} {match['kind'] or ''}{match['noun']}"
    return Statement(
        text=f"{voice.noun} has {what}",
        fact_type="relationship" if noun not in _VEHICLES else "identity",
        attribute=f"has_{key_part(noun)}",
        asks=(
            f"Does {voice.noun} have a {noun}?",
            f"How many {noun}s does {voice.noun} have?",
            f"{voice.whose} {noun}",
        ),
    )


_VEHICLES = words.listed("""
    car motorbike motorcycle bicycle bike e-bike van boat sailboat motorhome caravan truck piano guitar violin
    house cottage farm greenhouse vineyard allotment
""")


def _drives(match: re.Match[str], voice: Voice) -> Statement | None:
    what = match["thing"].strip()
    if len(what.split()) > _LONGEST or re.search(r"\b(?:to|hard|bargain|that|who|is|it)\b", what):
        return None
    return Statement(
        text=f"{voice.noun} drives {match['article']} {what}",
        fact_type="identity",
        attribute="car",
        asks=(f"What car does {voice.noun} drive?", f"{voice.whose} car", f"Who drives {match['article']} {what}?"),
    )


def _plays(match: re.Match[str], voice: Voice) -> Statement | None:
    what = match["thing"].lower()
    if not values.is_one_of(what, nouns.INSTRUMENTS):
        return None
    return Statement(
        text=f"{voice.noun} plays {match['the'] or ''}{what}",
        fact_type="preference",
        attribute=f"plays_{key_part(what)}",
        asks=(
            f"Does {voice.noun} play {match['the'] or ''}{what}?",
            f"What does {voice.noun} play?",
            f"{voice.whose} hobbies",
        ),
    )


TASTES: tuple[Rule, ...] = (
    rule(r"I (?:would )?(?P<verb>prefer) (?P<first>.+?) (?P<over>over|to|rather than) (?P<second>.+)", _prefers),
    rule(rf"(?:I|we) {_LIKING} (?P<thing>.+)", _likes),
    rule(
        rf"my (?:all-time |absolute )?(?:favourite|favorite) (?P<what>{words.alternatives(_THINGS_OF_TASTE)})"
        r"(?: of all time| ever)? (?:is|has always been) (?P<value>.+)",
        _favourite,
    ),
    rule(r"I (?:don't|do not|never) (?P<verb>eat|drink) (?P<thing>.+?)(?: any ?more)?", _eats),
    rule(r"I (?:don't|do not) (?P<verb>drink|smoke|drive|cook|swim|dance)(?: any ?more)?", _abstains),
    rule(
        rf"(?:I|we) (?:have|have got|own) (?P<number>{_NUMBER}) (?P<kind>(?:[a-z]+[ -]){{0,2}}?)(?P<noun>[a-z-]+)"
        r"(?: at home|,? (?:who|which|named|called) .+|, .+)?",
        _has,
    ),
    rule(r"I drive (?P<article>an?) (?P<thing>.+)", _drives),
    rule(r"I play (?P<the>the )?(?P<thing>[a-z ]+?)(?: every \w+| for fun| in a band| regularly)?", _plays),
)
