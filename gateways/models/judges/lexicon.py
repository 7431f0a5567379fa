"""What the heuristic judge knows about English words; everything is a Porter stem or a folded word."""

from __future__ import annotations

from whoosh.lang.porter2 import stem

__all__ = [
    "ADVERBS",
    "AFTER_CHANGE",
    "ALIKE",
    "AUXILIARIES",
    "BE_OR_HAVE",
    "CHANGE_PHRASES",
    "CHANGE_VERBS",
    "DETERMINERS",
    "DISLIKES",
    "ENDING_VERBS",
    "IDENTIFIED",
    "LIKES",
    "LINKED",
    "MANY",
    "MONTHS",
    "MOVES",
    "NOT",
    "NOUNS_IN_ING",
    "NUMBER_WORDS",
    "OPPOSITES",
    "PARTICIPLES",
    "PAST",
    "PREPOSITIONS",
    "QUALITIES",
    "SEASONS",
    "SELF",
    "SINGLE",
    "STATES",
    "STAYS",
    "STOP",
    "UNSURE",
    "VERBS",
    "WEEKDAYS",
    "known",
]


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _groups(*groups: str) -> dict[str, str]:
    """Map each stem of a group to the stem of the group's first word."""
    return {stem(word): stem(group.split()[0]) for group in groups for word in group.split()}


SELF = _words("i me my mine myself user we us our ours")
DETERMINERS = _words("the a an my our your his her its their this that these those 's some any no")
AUXILIARIES = _words(
    "am is are was were be been being have has had do does did will would can could should must might get got gets"
)
NOT = _words("not never no cannot without")
ADVERBS = _words(
    "now just still also already always usually often really currently recently finally soon then since too very "
    "please only longer anymore actually normally never not"
)
PREPOSITIONS = _words("at for in on to as with from by of into onto about under over near behind next off after than")
STOP = (
    DETERMINERS
    | AUXILIARIES
    | SELF
    | PREPOSITIONS
    | ADVERBS
    | _words("and or but so if it he she they them him who which when where than more any last long from each")
)

#: Words for one thing, canonical first.
ALIKE = _groups(
    "live reside base settle home dwell",
    "work employ job",
    "love adore",
    "name call",
    "answer reply respond",
    "production prod",
    "favourite favorite",
    "start begin",
    "colour color",
    "partner spouse",
    "buy purchase",
    "big large",
    "car automobile",
    "doctor physician",
    "email mail",
    "phone telephone mobile",
    "allergy allergic",
)

BE_OR_HAVE = _words("am is are was were be been being have has had get got gets")
#: Irregular participles.
NOUNS_IN_ING = _words("spring morning evening wedding meeting building nothing something king ring")
PARTICIPLES = _words(
    "written rewritten kept gone built born sold made given taken taught known called put set run sent told left quit "
    "bought brought thrown chosen driven drawn grown held led lost met paid read sat seen spoken spent stood won broken"
)

LIKES = _stems("like love adore enjoy prefer want support fancy fine happy keen")
DISLIKES = _stems("hate dislike detest loathe despise")
#: A second stem is what the first denies.
OPPOSITES = {
    stem(one): stem(other)
    for one, other in (
        ("disabled", "enabled"),
        ("off", "on"),
        ("closed", "open"),
        ("never", "always"),
        ("forbidden", "allowed"),
        ("unavailable", "available"),
        ("optional", "required"),
        ("inactive", "active"),
        ("offline", "online"),
        ("unmarried", "married"),
        ("failed", "passed"),
        ("awake", "asleep"),
        ("cold", "hot"),
        ("short", "long"),
        ("evening", "morning"),
    )
}

#: Verbs that say a new state, some with the attribute that they change.
CHANGE_VERBS = _stems(
    "moved relocated switched changed reassigned transferred migrated replaced swapped promoted renamed pushed "
    "postponed delayed slipped rebooked rescheduled handed took traded upgraded converted rewritten rewrote became "
    "becomes turned shifted raised lowered increased decreased extended updated adopted inherited succeeded"
)
CHANGE_PHRASES = (
    "instead",
    "these days",
    "nowadays",
    "from now on",
    "used to",
    "gone back to",
    "back to",
    "as of",
    "now",
    "has been living",
    "have been living",
    "has left",
    "have left",
    "last day",
)
#: A move from where somebody lives, works or something runs.
MOVES = _stems("move relocate transfer migrate reassign")
STAYS = _stems("live work run be host keep assign")
#: What follows such a word is the former state.
AFTER_CHANGE = _words("from off replaced left quit stop stopped swapped instead longer")
ENDING_VERBS = _stems(
    "stopped stop quit left leave sold cancelled canceled ended dropped removed deprecated retired divorced abandoned "
    "resigned discontinued deleted returned lost expired dissolved closed finished shut"
)
MONTHS = _words("january february march april may june july august september october november december")
WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday today tomorrow noon midnight")
SEASONS = _words("spring summer autumn winter fall week month year")
NUMBER_WORDS = {
    word: str(value)
    for word, value in (
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("eleven", 11),
        ("twelve", 12),
    )
}
#: A number after one of these names the thing rather than measuring it.
IDENTIFIED = _words(
    "pr issue ticket order invoice room case bug task chapter season episode flight sprint incident migration release "
    "lesson level phase volume step question story commit page seat gate apartment floor bus exhibit batch"
)

#: Relations of which a subject has one at a time: in any case, or with these prepositions ("works at", not "works on").
SINGLE = _stems("name drive weigh marry married engage engaged date dating earn cost")
LINKED = {
    stem(verb): frozenset(links.split())
    for verb, links in {
        "live": "in at on near",
        "work": "at for in as",
        "run": "on at",
        "listen": "on at",
        "sit": "at next by in near",
        "hosted": "on in at",
        "keep": "in at under",
        "kept": "in at under",
        "stored": "in at on",
        "write": "in with",
        "written": "in with",
        "start": "at on",
        "end": "at on",
        "expire": "in on",
        "due": "in on",
        "belong": "to",
        "report": "to",
        "assigned": "to",
        "answer": "in with",
    }.items()
}
#: What is thought, hoped or possible is not so yet.
UNSURE = _words(
    "want wants wanted wanting plan plans planning might may could would should hope hopes hoping think thinks "
    "thinking consider considers considering wish wishes try tries trying if maybe perhaps probably dream dreams almost"
)
#: Qualities, of which anything has several.
QUALITIES = _stems(
    "tall short small big large good bad great nice kind funny bright dark happy sad slow fast quick new old young "
    "busy tired quiet loud clean dirty cheap expensive easy hard simple useful popular important strong weak rich poor "
    "smart clever friendly shy calm angry worried afraid interested allergic fond proud sick ill cosy warm "
    "cold hot heavy light wide narrow safe reliable stable buggy broken famous"
)
#: What a person may have several of.
MANY = _stems(
    "friend brother sister son daughter child cousin colleague aunt uncle hobby allergy pet neighbour niece nephew "
    "skill language task goal interest"
)
#: States that exclude each other, by group.
STATES = {
    stem(word): group
    for group, words in {
        "diet": "vegan vegetarian pescatarian omnivore meat",
        "bond": "single married engaged divorced widowed dating separated",
        "occupation": "nurse teacher engineer student doctor lawyer chef pilot manager director designer retired "
        "unemployed accountant developer analyst writer plumber driver",
        "mode": "dark light",
        "frequency": "daily weekly monthly yearly hourly",
    }.items()
    for word in words.split()
}
VERBS = (
    SINGLE
    | frozenset(LINKED)
    | LIKES
    | DISLIKES
    | CHANGE_VERBS
    | ENDING_VERBS
    | frozenset(ALIKE)
    | _stems(
        "speak know play visit read buy merge close review finish write need book watch learn study eat drink meet fix "
        "collect travel attend think plan smoke teach go grow born see stay pay run chair intern reside become set "
        "require allow enable disable block lead manage handle contain seat serve carry wear cook ride swim train "
        "join hire migrate reassign give gave broke break trade marry win lose feel believe hope say said tell told "
        "turn put made make keep follow bring send sent deliver lasted chose choose open cancel gone went ran ship"
    )
) - _stems("home mail email phone base car doctor allergy allergic job favourite favorite colour color partner may due")
PAST = _words(
    "was were had went ran came saw met bought wrote took gave left sold quit got made said told thought stayed spent "
    "won lost flew drove rode spoke knew grew began"
)


def known(word: str) -> str:
    """Return a folded word's stem, the same for words that mean the same."""
    found: str = stem(NUMBER_WORDS.get(word, word))
    return ALIKE.get(found, found)
