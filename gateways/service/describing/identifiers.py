"""Identifiers in a text, in whatever form they are written: e-mail, phone, card, IBAN, UUID, URL, handle, number.

Two are the same only when their normal forms are equal as a whole: nothing is compared by a prefix or a part. A
phone number with its country is the same as one without when the national part is, and a masked card only names
cards with that ending.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec
import phonenumbers
from email_validator import EmailNotValidError, validate_email

__all__ = ["Form", "Identifier", "find_identifiers", "may_hold", "same"]

Form = Literal["uuid", "email", "url", "iban", "card", "card ending", "phone", "handle", "number"]

_FEWEST_DIGITS = 5
_FEWEST_NATIONAL = 7
_IBAN_LENGTHS = range(15, 35)
_CARD_LENGTHS = range(13, 20)
_ENDING = 4
_TOP_LEVEL = (
    "com|org|net|edu|gov|io|dev|app|info|biz|co|me|ai|eu|uk|us|de|at|ch|fr|es|it|pt"
    "|nl|be|pl|se|no|dk|fi|ie|jp|br|example|test"
)

_UUID = re.compile(
    r"(?<![\w-])(?:urn:uuid:)?\{?([0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})\}?(?![\w-])",
    re.IGNORECASE,
)
_AT = r"(?:@|\s*[\[({]\s*at\s*[\])}]\s*)"
_DOT = r"(?:\.|\s*[\[({]\s*dot\s*[\])}]\s*)"
_EMAIL = re.compile(
    rf"(?<![\w.+%-])(?:mailto:)?([\w+%-]+(?:{_DOT}[\w+%-]+)*){_AT}([\w-]+(?:{_DOT}[\w-]+)+)(?![\w@])", re.IGNORECASE
)
_URL = re.compile(
    rf"(?<![\w@.-])(?:https?://[^\s<>\"]+|(?:[\w-]+\.)+(?:{_TOP_LEVEL})(?![\w-])(?!\.\w)(?::\d+)?(?:[/?#][^\s<>\"]*)?)",
    re.IGNORECASE,
)
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{1,4})+(?!\w)", re.IGNORECASE)
_MASKED = re.compile(
    r"(?<!\w)(?:(?:card|visa|mastercard|amex|maestro)\b\D{0,24}?\b(?:ending|ends|end)(?:\s+(?:in|with|on))?\s+"
    r"|[*x•\u2022]{2,}[ -]*(?:[*x•\u2022]{2,}[ -]*)*|…\s?|\.{3}\s?)(\d{4})(?!\w)",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(?<![\w.,:#])(?:tel:)?(?:\+|\(\+\))?\(?\d(?:[\d()/\u00a0 .-]*\d)?(?![\w])")
_CODE = re.compile(r"(?<![\w-])[A-Z]{1,6}-?\d[\d-]*\d[A-Z]?(?![\w-])", re.IGNORECASE)
_HANDLE = re.compile(r"(?<![\w@.])@(\w(?:[\w.-]*\w)?)")
_DATE = re.compile(
    r"(?<!\d)(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|(?:19|20)\d\d\s?-\s?(?:19|20)\d\d)(?!\d)"
)
_DECIMAL = re.compile(r"\d+\.\d+|\d{1,3}(?:\.\d{3})+")
_SEPARATED = re.compile(r"[.@/?#+]")
_TRAILING = ".,;:!?)]}>'\"”’"


class Identifier(msgspec.Struct, frozen=True):
    """What stands at ``start``..``end`` of a text, as its form and its normal form.

    ``national`` is a phone number without country and trunk zero, empty where that is not known.
    """

    form: Form
    value: str
    start: int
    end: int
    national: str = ""


_Finder = Callable[[str], Iterator[Identifier]]


def find_identifiers(text: str) -> list[Identifier]:
    """Return the identifiers of a text in order; none lies within another."""
    # One character stays one character: places in the text must not move.
    text = "".join(_one(char) for char in text)
    found: list[Identifier] = []
    for finder in _FINDERS:
        for one in finder(text):
            if all(one.end <= other.start or one.start >= other.end for other in found):
                found.append(one)
    return sorted(found, key=lambda one: one.start)


def may_hold(text: str, wanted: Identifier) -> bool:
    """Whether it is worth looking for an identifier in a text; quick, and no only where it is certain."""
    if wanted.form in {"phone", "number", "card", "iban", "card ending", "uuid"}:
        return any(char.isdigit() for char in text) or wanted.form == "uuid"
    first = _SEPARATED.split(wanted.value)[0]
    return first in unicodedata.normalize("NFKC", text).casefold()


def same(one: Identifier, other: Identifier) -> bool:
    """Whether two are the same; ``one`` is what is looked for, which alone may be only a card's ending."""
    if one.form == "card ending":
        return other.value == one.value if other.form == one.form else _ends(other, one.value)
    numeric = {"card", "phone", "number", "iban"}
    if one.form in numeric and other.form in numeric:
        return one.value == other.value or _same_phone(one, other) or _same_phone(other, one)
    return one.form == other.form and one.value == other.value


def _ends(card: Identifier, ending: str) -> bool:
    return card.form == "card" and card.value.endswith(ending)


def _same_phone(full: Identifier, bare: Identifier) -> bool:
    """Whether a number without its country is this one with it."""
    if full.form != "phone" or bare.form == "phone" or len(full.national) < _FEWEST_NATIONAL:
        return False
    return bare.value in {full.national, "0" + full.national}


def _one(char: str) -> str:
    plain = unicodedata.normalize("NFKC", char)
    return plain if len(plain) == 1 else char


def _uuids(text: str) -> Iterator[Identifier]:
    for match in _UUID.finditer(text):
        if match[1].count("-") in {0, 4}:
            yield Identifier("uuid", match[1].replace("-", "").lower(), match.start(), match.end())


def _emails(text: str) -> Iterator[Identifier]:
    for match in _EMAIL.finditer(text):
        plain = re.sub(r"\s*[\[({]\s*dot\s*[\])}]\s*", ".", f"{match[1]}@{match[2]}", flags=re.IGNORECASE)
        try:
            plain = validate_email(plain, check_deliverability=False, test_environment=True).normalized
        except EmailNotValidError:
            # Addresses of reserved and inner domains are written down as well.
            plain = unicodedata.normalize("NFC", plain)
        yield Identifier("email", plain.casefold(), match.start(), match.end())


def _urls(text: str) -> Iterator[Identifier]:
    for match in _URL.finditer(text):
        written = match.group().rstrip(_TRAILING)
        rest = re.sub(r"^https?://", "", written, flags=re.IGNORECASE)
        host, mark, tail = re.match(r"([^/?#]*)([/?#]?)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]
        place = (mark + tail).replace("/#", "#").replace("/?", "?").rstrip("/")
        value = host.casefold().removeprefix("www.") + place
        yield Identifier("url", value, match.start(), match.start() + len(written))


def _ibans(text: str) -> Iterator[Identifier]:
    for match in _IBAN.finditer(text):
        written = match.group()
        # Words after it may look like its last group.
        for end in [one.end() for one in re.finditer(r"[A-Z0-9]+", written, re.IGNORECASE)][::-1]:
            value = re.sub(r"[ -]", "", written[:end]).upper()
            if len(value) in _IBAN_LENGTHS and _is_iban(value):
                yield Identifier("iban", value, match.start(), match.start() + end)
                break


def _is_iban(value: str) -> bool:
    return int("".join(str(int(char, 36)) for char in value[4:] + value[:4])) % 97 == 1


def _endings(text: str) -> Iterator[Identifier]:
    for match in _MASKED.finditer(text):
        yield Identifier("card ending", match[1], match.start(1), match.end(1))


def _numbers(text: str) -> Iterator[Identifier]:
    for match in _DIGITS.finditer(text):
        written = match.group()
        digits = "".join(char for char in written if char.isdigit())
        if len(digits) < _FEWEST_DIGITS or _DATE.search(written) or _DECIMAL.fullmatch(written):
            continue
        start, end = match.start(), match.end()
        if len(digits) in _CARD_LENGTHS and "+" not in written and _is_card(digits):
            yield Identifier("card", digits, start, end)
        elif (number := _phone(written, digits)) is not None:
            value, national = number
            yield Identifier("phone", value, start, end, national)
        else:
            yield Identifier("number", digits, start, end)


def _is_card(digits: str) -> bool:
    """Whether the check digit is right (ISO/IEC 7812-1, Luhn)."""
    doubled = (int(one) * (2 if at % 2 else 1) for at, one in enumerate(reversed(digits)))
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0  # noqa: PLR2004 -- the digits' sum


def _phone(written: str, digits: str) -> tuple[str, str] | None:
    """Return country code and national number, and the national number alone; None without a country."""
    if "+" in written:
        full = "+" + digits
    elif digits.startswith("00") and len(digits) > _FEWEST_NATIONAL + 2:
        full = "+" + digits[2:]
    else:
        return None
    try:
        parsed = phonenumbers.parse(full, None)
    except phonenumbers.NumberParseException:
        return full[1:], ""
    national = phonenumbers.national_significant_number(parsed)
    return f"{parsed.country_code}{national}", national


def _codes(text: str) -> Iterator[Identifier]:
    for match in _CODE.finditer(text):
        if sum(char.isdigit() for char in match.group()) >= _FEWEST_DIGITS:
            value = match.group().replace("-", "").upper()
            yield Identifier("number", value, match.start(), match.end())


def _handles(text: str) -> Iterator[Identifier]:
    for match in _HANDLE.finditer(text):
        yield Identifier("handle", match[1].casefold(), match.start(), match.end())


_FINDERS: tuple[_Finder, ...] = (_uuids, _emails, _urls, _ibans, _endings, _codes, _numbers, _handles)
