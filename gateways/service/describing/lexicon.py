"""The words that descriptions of memories are made of; everything is folded, and a stem where it says so."""

from __future__ import annotations

from whoosh.lang.porter2 import stem

from gateways.models.judges import lexicon as judged
from projections.stopwords import STOPWORDS

__all__ = [
    "AUXILIARIES",
    "FORMER",
    "LABELS",
    "NEGATIONS",
    "PERSONS",
    "REQUEST",
    "SAME",
    "SELF",
    "SILENT",
    "VERB_FORMS",
    "stem_of",
]

_FEWEST_STEMMED = 3


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: whoever the memory is about, when it is about who speaks
SELF = _words("i me my mine myself user we us our ours ourselves")
#: he, she and they are whoever was named before: they ask for nothing
PERSONS = _words("he she they it him her his hers their theirs its them who whom whose")
NEGATIONS = _words(
    "not no never none nobody nothing neither nor without cannot hardly stop stopped stops quit quits ceased nicht "
    "kein keine não nunca jamás jamais pas нет не"
)
#: what is over; a description without such a word is not about what was
FORMER = _words("former formerly previous previously ex")
#: asks for something to be done with a memory, and is no part of it
REQUEST = _words(
    "forget forgot delete remove erase retract correct please memory memories fact facts information info detail "
    "details everything anything all about concerning regarding regards mention mentions mentioned saying says said "
    "know knows told stored what where when who how which why whatever whose that "
    "onde dónde donde où wo quem quién qui wer"
)
#: say what sort of thing an identifier is, and nothing about whom
LABELS = _words(
    "email mail address phone telephone tel mobile cell cellphone number fax card credit debit iban bank account id "
    "uuid handle username user url link website web site page ssn social security reference ending ends in contact "
    "visa mastercard amex new old own customer"
)
AUXILIARIES = judged.AUXILIARIES
_FUNCTION = _words(
    "es está é ist est a an the o um uma da do das dos de del la el los las le les un une des du der dem ein eine"
)
#: function words: asked for by nobody
SILENT = (STOPWORDS | _FUNCTION | AUXILIARIES | PERSONS) - NEGATIONS - _words("on off")

_IRREGULAR = {
    form: base
    for base, forms in {
        "run": "ran",
        "drive": "drove driven",
        "buy": "bought",
        "teach": "taught",
        "speak": "spoke spoken",
        "write": "wrote written",
        "meet": "met",
        "go": "went gone",
        "have": "has had",
        "child": "children kids kid",
        "wife": "wives",
        "eat": "ate eaten",
        "drink": "drank drunk",
        "begin": "began begun",
        "sell": "sold",
        "ride": "rode ridden",
        "leave": "left",
        "know": "knew known",
        "win": "won",
        "lose": "lost",
        "study": "studied studies",
        "colour": "color colors colours",
        "favourite": "favorite",
        "stop": "quit quits stopped",
    }.items()
    for form in forms.split()
}


def stem_of(word: str) -> str:
    """Return what the forms of one word share; of a word in another script, the word."""
    word = _IRREGULAR.get(word, word)
    return str(stem(word)) if len(word) >= _FEWEST_STEMMED and word.isascii() and word.isalpha() else word


def _same(*lines: str) -> dict[str, frozenset[str]]:
    """``a b: c d`` lets a description's a or b be a memory's c or d; without a colon each may be any other."""
    table: dict[str, set[str]] = {}
    for line in lines:
        asked, _, found = line.partition(":")
        for one in asked.split():
            table.setdefault(stem_of(one), set()).update(map(stem_of, (found or asked).split()))
    return {one: frozenset(others) for one, others in table.items()}


#: What a description's stem may also be in a memory: words for one thing, and the sort of what the memory names.
SAME = _same(
    "live reside dwell",
    "home residence address: live reside dwell",
    "work employ job",
    "employer employment workplace profession occupation job: work employ job company",
    "like love enjoy adore",
    "preference prefer: like love enjoy adore prefer favourite",
    "dislike hate detest loathe",
    "email mail",
    "phone telephone mobile cellphone",
    "birthday birthdate born birth",
    "husband wife: married spouse",
    "spouse partner: husband wife married spouse partner",
    "married: husband wife spouse",
    "pet: dog cat rabbit hamster parrot horse fish tortoise budgie guinea puppy kitten",
    "child kid: child son daughter",
    "sibling: brother sister",
    "parent: mother father mum dad",
    "allergy allergic",
    "flat apartment",
    "bike bicycle",
    "car automobile",
    "name: call name",
    "call: name call",
    "price cost",
    "begin start",
    "end finish",
    "buy purchase",
    "film movie",
    "doctor physician",
    "boss manager",
    "salary wage: salary wage earn",
    "diet: vegan vegetarian pescatarian diet",
    "meeting appointment",
    "stop quit cease",
    # The commonest words of statements in other languages, each with what it says in English and back.
    "live vive habite mora wohnt abita woont bor",
    "work trabaja trabalha travaille arbeitet lavora werkt",
    "like gusta gosta aime mag liebt piace houdt",
    "call llama chama heißt heet appelle chiama",
    "name nombre nome nom naam",
    "birthday cumpleaños aniversário anniversaire geburtstag compleanno verjaardag",
    "phone teléfono telefone téléphone telefon telefonnummer telefono telefoon",
    "email correo courriel",
    "address dirección endereço adresse indirizzo adres",
    "dog perro cão chien hund cane hond",
    "cat gato katze gatto",
    "wife esposa mujer moglie",
    "husband marido esposo marito",
    "sister hermana irmã soeur schwester sorella zus",
    "brother hermano irmão frère bruder fratello broer",
    "car coche carro voiture macchina",
    "house casa maison haus huis",
)

_MORE_VERBS = _words(
    "admire advise avoid back backs bake be belong breed build buy call chair clean climb close closes coach "
    "collect commute cost dance design direct donate draw drive earn edit enjoy fear fish found garden grow "
    "has hate hates have help hike hold host include install invest keep knit lead lease lie like likes live "
    "lived lives love loves maintain manage mentor miss need open opens organise organize oversee owe owes own "
    "owns paint perform photograph play plays post posts prefer produce publish race raise rent repair "
    "represent ride run sail sell share sing ski sleep smoke speak sponsor stand studied study supervise teach "
    "train translate travel use uses visit volunteer walk want wear weigh work works"
)
_VERB_STEMS = (judged.VERBS | frozenset(map(stem_of, _MORE_VERBS))) - {stem_of("prod"), stem_of("name")}


_FOREIGN_VERBS = _words(
    "es está é ist est vive habite mora wohnt abita woont trabaja trabalha travaille arbeitet lavora werkt gosta aime "
    "mag liebt houdt llama chama heißt heet chiama tiene"
)


class _Verbs:
    """Whether a folded word may be a finite verb, and one that only a verb's form can be."""

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, str):
            return False
        return (
            word in _FOREIGN_VERBS
            or word in AUXILIARIES
            or word in judged.PAST
            or word in _IRREGULAR
            or stem_of(word) in _VERB_STEMS
        )


VERB_FORMS = _Verbs()
