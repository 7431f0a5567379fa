"""Text rules: what is accepted, and how keys and contents are folded before they are compared.

Keys fold aggressively (they are names), contents barely (they are statements: "C#" is not "C"),
and a second, look-alike folding exists only to recognise a rejected statement in disguise.
"""

from __future__ import annotations

import re
import unicodedata

from domain.errors import InvalidInputError

__all__ = ["check_name", "check_text", "clauses_of", "fold_content", "fold_key", "skeleton", "words_of"]

_KEY_GAPS = re.compile(r"[\s_-]+")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\w+(?:['.+#-]\w+)*[+#]*")
_CLAUSE_END = re.compile(r"[,;:.!?。、，；！？]+(?=\s|$)|\b(?:and|but|or|while|whereas)\b", re.IGNORECASE)
_QUOTES = str.maketrans({**dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‘’‚‛′`´", "'")})
_SENTENCE_END = ".!?。！？…"
# Latin look-alikes of the most common Cyrillic, Armenian and Greek letters (a subset of Unicode TR39); the
# second line holds letters that look alike as capitals, for case is folded before.
_CONFUSABLES = str.maketrans(
    "аеорсухіјѕԁһӏոαεονρτυκιγ" + "вкмнтβζχ",
    "aeopcyxijsdhlnaeovptukiy" + "bkmhtbzx",
)
# Marks that only decorate a letter, and blank letters. Marks of other scripts are letters' equals: Hindi and
# Thai vowels, the voicing of kana.
_DECORATION = re.compile(
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\U000e0100-\U000e01ef]"
)
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def check_text(value: str, *, field: str, max_bytes: int, blank: bool = False) -> str:
    """Return ``value`` when it can be stored, or raise InvalidInputError naming ``field``.

    Refused: anything but str, empty or blank (unless ``blank``), NUL, lone surrogates, and more
    than ``max_bytes`` of UTF-8.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{field} must be text", expected="a string", found=type(value).__name__)
    if not blank and not value.strip():
        raise InvalidInputError(f"{field} is empty", expected="text", found="nothing but white space")
    if "\0" in value:
        raise InvalidInputError(f"{field} holds a NUL character", expected="text without NUL", found="U+0000")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{field} holds a lone surrogate",
            expected="valid Unicode",
            found=f"U+{ord(value[error.start]):04X} at {error.start}",
        ) from None
    if size > max_bytes:
        raise InvalidInputError(f"{field} is too long", expected=f"at most {max_bytes} bytes", found=f"{size} bytes")
    return value


def check_name(value: str, *, field: str, max_chars: int) -> str:
    """Return a session, contact or key name when it is valid, or raise InvalidInputError."""
    check_text(value, field=field, max_bytes=max_chars * 4)
    if len(value) > max_chars:
        raise InvalidInputError(
            f"{field} is too long", expected=f"at most {max_chars} characters", found=f"{len(value)} characters"
        )
    for index, char in enumerate(value):
        if unicodedata.category(char) == "Cc":
            raise InvalidInputError(
                f"{field} holds a control character",
                expected="no control characters",
                found=f"U+{ord(char):04X} at {index}",
            )
    return value


def fold_key(key: str) -> str:
    """Fold a look-up name: NFKC, case, and runs of space, ``-`` and ``_`` become one ``_``.

    Every script is kept: only compatibility forms and case are folded.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", key).casefold())
    return _KEY_GAPS.sub("_", folded.strip()).strip("_") or folded.strip()


def fold_content(text: str) -> str:
    """Fold a statement for equality: NFKC, case, quote forms, trailing sentence marks, white space."""
    # Before NFKC too, which takes some quotes apart: an acute accent becomes a space and a mark.
    quoted = unicodedata.normalize("NFKC", text.translate(_QUOTES))
    folded = unicodedata.normalize("NFKC", quoted.casefold()).translate(_QUOTES)
    folded = _SPACES.sub(" ", folded).strip()
    return folded.rstrip(_SENTENCE_END + " ") or folded


def skeleton(text: str) -> str:
    """Fold look-alike and invisible characters too; used only to recognise rejected statements."""
    # Invisible ones go first: behind one, a full stop would not be the end of the sentence.
    visible = "".join(ch for ch in text if unicodedata.category(ch) != "Cf" and ch not in _BLANK_LETTERS)
    plain = _DECORATION.sub("", unicodedata.normalize("NFD", fold_content(_DECORATION.sub("", visible))))
    return _SPACES.sub("", plain.translate(_CONFUSABLES))


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as they are compared: folded, without marks around them."""
    return frozenset(_WORD.findall(fold_content(text)))


def clauses_of(text: str) -> list[str]:
    """Return the parts of a text between its marks and conjunctions (English ones), in order."""
    return [part for clause in _CLAUSE_END.split(text) if (part := clause.strip())]
