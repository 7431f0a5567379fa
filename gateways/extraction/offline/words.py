"""Word lists: what makes a sentence no statement, what stands for something else, what may be left out."""

from __future__ import annotations

import re

__all__ = [
    "ADVERBS",
    "FILLER",
    "LANGUAGES",
    "NOT_ALONE",
    "NOT_A_PLACE",
    "NOT_MEANT",
    "NO_ORGANISATION",
    "POINTING",
    "UNSURE",
    "UNSURE_REQUEST",
    "WORK_ON",
    "alternatives",
    "listed",
]


def alternatives(words: str) -> str:
    """Return a pattern of any of these words, the longest first; ``_`` stands for a space."""
    return "|".join(re.escape(word.replace("_", " ")) for word in sorted(words.split(), key=len, reverse=True))


def listed(words: str) -> frozenset[str]:
    """Return the words of a list, with ``_`` for a space inside one."""
    return frozenset(words.split())


def _any(words: str) -> str:
    return rf"\b(?:{alternatives(words)})\b"


#: A whole message that its author takes back.
NOT_MEANT = re.compile(
    r"(?:^|\s)/s\b|\b(?:jk|just kidding|just joking|only joking|kidding|not really|yeah right|sarcasm|role-?play"
    r"|hypothetically)\b|🙄|🙃|😏",
    re.IGNORECASE,
)
_TEXT = """
    text sentence sentences paragraph passage email e-mail letter message essay poem story song bio tweet post
    reply dialogue dialog script scene review speech following below article summary abstract caption haiku
    lyrics chapter monologue conversation profile resume cv statement phrase
"""
#: Where a message asks for work on a text or for an invented one, what follows is that text.
WORK_ON = re.compile(
    rf"\b(?:translat\w*|proof-?read|rewrite|rephrase|paraphrase|correct|fix|edit|summari[sz]e|improve|polish|write|draft"
    rf"|compose|generate|check|shorten|simplify|classify|label|parse|extract|transcribe|grammar)\b[^.!?\n]{{0,60}}"
    rf"(?:\b(?:{alternatives(_TEXT)})\b|:)"
    rf"|\b(?:here(?:'s|\s+is)|see|this\s+is|use|take)\s+(?:my|the|a|an|this)\s+(?:\w+\s+){{0,2}}"
    rf"(?:{alternatives(_TEXT)}|example|prompt|sample|template|draft)\b"
    rf"|\btranslate\b|\b(?:for\s+example|example|e\.g\.|for\s+instance|sample|quote|lyrics|transcript|excerpt|subject"
    rf"|dear\s+\w+|persona|act\s+as|pretend|imagine|you\s+are\s+an?\b)",
    re.IGNORECASE,
)
_GUESS = """
    would wouldn't could couldn't might maybe perhaps probably possibly suppose supposing supposedly apparently
    wish hope hoping hopefully dream dreamed dreamt dreaming whether considering almost nearly thought guess
    assume wondering wonder should shouldn't i'd we'd lol lmao haha hahaha joke kinda_like sort_of_like
    nickname_for in_theory in_the_game in-game my_character in_my_novel in_my_story in_my_book in_my_head
    in_another_life next_life not_sure think_i think_we feel_like felt_like as_though what_if let's_say say_i
    imagining fictional protagonist the_narrator the_character pretended pretending seriously_though used_as_if
    ikr
"""
_REPORT = """
    said says saying told tells wrote writes asked asks replied replies claims claimed insists insisted believes
    thinks according_to quoted reads sings sang goes_like was_like be_like is_like
"""
#: A guess, a wish, a condition, a joke or somebody else's words: nothing in such a sentence is taken for a fact.
UNSURE = re.compile(
    rf"{_any(_GUESS + ' ' + _REPORT)}|\bif\b|\bunless\b|\b(?:I|we|it|that|you|he|she|they)\s+may\b", re.IGNORECASE
)
#: The same for what is asked of somebody: conditions are part of a standing instruction.
UNSURE_REQUEST = re.compile(rf"{_any(_REPORT)}|\b(?:maybe|perhaps|haha|lol|joke|i'd|we'd|wish)\b", re.IGNORECASE)
#: Between the subject and its verb, without which the statement is the same.
ADVERBS = listed("""
    really actually currently now still recently already absolutely truly totally definitely honestly personally
    mostly both do finally officially basically simply originally also just presently generally genuinely very
""")
FILLER = re.compile(
    r"(?:(?:oh|hi|hey|hello|well|yeah|yes|yep|yup|no|nope|ok|okay|so|and|but|also|btw|by the way|fyi"
    r"|actually|anyway|anyways"
    r"|honestly|personally|to be honest|tbh|thanks|thank you|sure|great|cool|wow|just so you know|for context"
    r"|for your information|for what it's worth|quick update|update|good morning|good evening|good"
    r" afternoon|as you know"
    r"|as I said|like I said|as I mentioned|besides|plus|then|right|sorry|um|uh|hmm|in fact|of course|in addition"
    r"|additionally|correction|one more thing|another thing|also note|turns out|as for me|about me|guess what|news"
    r"|big news|good news)\b(?:\s+(?:there|all|everyone|everybody|guys|team|again|so much|too|then))?[\s,!:;–—-]+)+",
    re.IGNORECASE,
)
#: Words that point at what only the conversation shows.
POINTING = listed("""
    it that this those these them him her you your yours one ones everything nothing something anything someone
    somebody anyone anybody everyone everybody nobody how what when where who why which here there such same
    both all each other others another he she they his hers their theirs its itself everywhere anywhere
    somewhere nowhere so too
""")
#: Capitalised or not, what people live, work or move in or to and is no place.
NOT_A_PLACE = listed("""
    postgres postgresql mysql mongodb redis linux ubuntu debian windows macos mac ios android python rust go golang
    kotlin typescript javascript react vue angular svelte django rails kubernetes docker aws gcp azure slack teams
    discord notion jira github gitlab git vim neovim emacs vscode firefox chrome safari spotify netflix gmail outlook
    excel sheets figma nats kafka rabbitmq sqlite terraform ansible fear denial hope hell heaven peace harmony constant
    darkness exile poverty luxury sin bed pajamas jeans monday tuesday wednesday thursday friday saturday sunday january
    february march april june july august september october november december plan step phase question chapter section
    part page general particular total private public love limbo pain mode silence squalor theory hr qa marketing
    accounting sales engineering management support earth
""")
#: People do work at companies that are named like a tool.
NO_ORGANISATION = listed("""
    fear hope hell heaven peace monday tuesday wednesday thursday friday saturday sunday january february march april
    june july august september october november december
""")
#: No place or organisation either, where nothing else belongs to the name.
NOT_ALONE = listed("""
    new next second third first back another and or but town class school college university java person the i it bank
    hospital company office inc one two team
""")
LANGUAGES = """
    english french german spanish italian portuguese dutch swedish norwegian danish finnish icelandic polish
    czech slovak hungarian romanian bulgarian greek turkish russian ukrainian serbian croatian slovenian bosnian
    albanian lithuanian latvian estonian irish welsh gaelic catalan basque galician hebrew arabic persian farsi
    urdu hindi bengali punjabi gujarati marathi tamil telugu kannada malayalam nepali sinhala thai lao khmer
    vietnamese indonesian malay tagalog filipino chinese mandarin cantonese japanese korean mongolian swahili
    amharic yoruba igbo hausa zulu xhosa afrikaans somali armenian georgian azerbaijani kazakh uzbek esperanto
    latin yiddish asl_sign_language
"""
