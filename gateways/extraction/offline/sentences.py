"""From a message to clauses, without a language library: what is quoted, pasted or asked does not come through."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateways.extraction.offline import words

__all__ = ["clauses", "cleaned", "sentences"]

#: Longer sentences are pasted prose or lists; nobody states a fact about themselves in so many words.
_LONGEST = 360
_FENCED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*(?:>|\||#include\b|\$ |\w+\(\)).*$", re.MULTILINE)
_LONG_QUOTE = re.compile(r"“[^”\n]{12,}(?:”|\Z)|«[^»\n]{12,}(?:»|\Z)|(?<!\w)'[^'\n]{12,}'(?!\w)")
_QUOTE = re.compile(r"\"([^\"\n]*)(\"|\n|\Z)")
_LONGEST_ABBREVIATION = 10
_LONGEST_TITLE = 40
_LINK = re.compile(r"\bhttps?://\S+", re.IGNORECASE)
_SMILE = re.compile(r"(?<!\S)[:;=8xX][-^']?[)(DPpoO/\\|*]+(?!\w)|<3+|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d]+")
_PHOTO = re.compile(r"\[shared a photo:[^\[\]]*\]")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
#: A line of somebody's transcript; what people put before a colon themselves is none.
_SPEAKER = re.compile(
    r"(?!(?i:note|todo|to-do|task|update|ps|p\.s|fyi|edit|correction|reminder|decision|also|remember|btw|well|so|hi|hello"
    r"|hey|thanks|yes|no|ok|okay|please|action|news|and|but|important|facts?)\b)(?:[A-Z][\w.-]*(?:"
    r" [A-Z][\w.-]*)?|user|human|assistant"
    r"|system|bot|ai|me|him|her|them|us):\s"
)
_ABBREVIATED = re.compile(
    r"\b(?:dr|mr|mrs|ms|prof|st|sr|jr|vs|etc|e\.g|i\.e|no|inc|ltd|co|approx|[ap]\.m|u\.s|u\.k|[A-Z])\.\Z", re.IGNORECASE
)
_END = re.compile(r"[.!?…。！？]+[\"')\]]*(?=\s|\Z)|\n+")
_SUBJECT = (
    r"(?:I|i|im|ive|we|my|our|it|it['’]s|that['’]s|this|these|those|he|she|they|you|there|please|remind|remember"
    r"|from\s+now|always|never|note|here)\b(?:['’]\w+)?"
)
_CARRIED = (
    r"(?:(?:live|work|study|working|living|studying)\s+(?:in|at|for|as)\b"
    r"|(?:own|drive|speak|love|hate|prefer|enjoy|have|like)\s+\w"
    r"|(?:an?|allergic)\s+\w|(?:vegan|vegetarian|single|married|divorced|retired)\b)"
)
_SPLIT = re.compile(
    rf"\s*(?:[,;:–—…]+|\s-|\.\.+)\s*(?:(?:and|but|so|plus|also|though|yet|because|since)\s+)?(?=\S)(?={_SUBJECT}\s)"
    rf"|\s+(?:and|but|so|plus|because|since|although|though|while|then)\s+(?={_SUBJECT}\s)"
    rf"|(?P<carry>,?\s+(?:and|but)\s+(?={_CARRIED}))",
    re.IGNORECASE,
)


def cleaned(text: str) -> str:
    """Return what its author says in a message: no code, quotations, links, smileys, nor text to be worked on."""
    sound = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    bare = _FENCED.sub(" … ", sound.replace("’", "'").replace("\r", "\n"))
    bare = _LINK.sub(" … ", _without_quotes(_QUOTED_LINE.sub(" ", _PHOTO.sub(" ", bare))))
    work = words.WORK_ON.search(bare)
    if work is not None:
        bare = bare[: max((m.end() for m in _END.finditer(bare, 0, work.start())), default=0)]
    return "" if words.NOT_MEANT.search(bare) else _SMILE.sub(" ", bare)


def _without_quotes(text: str) -> str:
    """Return a text without what it quotes; a short quotation is a name or a title, and stays."""
    return _LONG_QUOTE.sub(" … ", _QUOTE.sub(_quoted, text))


def _quoted(match: re.Match[str]) -> str:
    title = match[2] == '"' and len(match[1]) <= _LONGEST_TITLE and re.search(r"\b(?:I|i|we|my)\b", match[1]) is None
    return match[0] if title else " … "


def sentences(text: str) -> Iterator[str]:
    """Yield the statements of a cleaned message, without their end marks: no question, guess, joke or report."""
    start = 0
    for match in _END.finditer(text):
        if match[0].startswith(".") and _ABBREVIATED.search(
            text[max(start, match.start() - _LONGEST_ABBREVIATION) : match.start() + 1]
        ):
            continue
        yield from _stated(text[start : match.start()], match[0])
        start = match.end()
    yield from _stated(text[start:], "")


def _stated(sentence: str, end: str) -> Iterator[str]:
    plain = " ".join(_ITEM.sub("", sentence).split())
    if (
        plain
        and not _SPEAKER.match(plain)
        and len(plain) <= _LONGEST
        and "?" not in end
        and "？" not in end
        and "\ufffd" not in plain
    ):
        yield plain


def clauses(sentence: str) -> Iterator[tuple[str, bool]]:
    """Yield each clause and whether it goes on with the subject of the one before (``I live here and work there``)."""
    start, carried = 0, False
    for match in _SPLIT.finditer(sentence):
        yield sentence[start : match.start()].strip(" ,;:-–—"), carried
        start, carried = match.end(), match["carry"] is not None
    yield sentence[start:].strip(" ,;:-–—"), carried
