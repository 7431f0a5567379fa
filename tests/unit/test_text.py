"""How names and statements are folded, and what text is refused."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInputError
from domain.text import check_name, check_text, fold_content, fold_key, skeleton

_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
_SCRIPTS = [
    "東京に住んでいる",
    "大阪に住んでいる",
    "서울에 살아요",
    "부산에 살아요",
    "Живёт в Москве",
    "Живёт в Минске",
    "يسكن في القاهرة",
    "يسكن في بيروت",
    "कानपुर में रहता है",
    "café",
    "cafe",
    "Ana is CEO",
    "Bea is CTO",
    "merged PR 260",
    "merged PR 480",
]


@pytest.mark.parametrize("fold", [fold_key, fold_content])
def test_every_script_is_kept(fold: object) -> None:
    """No two statements of any script fold into one, and none folds into nothing."""
    assert callable(fold)
    folded = [fold(text) for text in _SCRIPTS]
    assert len(set(folded)) == len(_SCRIPTS)
    assert all(folded)


@pytest.mark.parametrize(
    "one, other",
    [
        ("Favourite Player", "favourite_player"),
        ("favourite-player", "favourite  player"),
        ("_a_", "a"),
        ("ＡＢＣ", "abc"),
        ("STRASSE", "straße"),
        ("cafe\u0301", "CAFÉ"),
        ("ﾊﾞｽ", "バス"),
        ("a\u00a0b\tc", "a_b-c"),
    ],
)
def test_keys_that_are_one_name(one: str, other: str) -> None:
    """Compatibility forms, case, and runs of space, - and _ make no difference to a key."""
    assert fold_key(one) == fold_key(other)


@pytest.mark.parametrize(
    "one, other",
    [("C#", "C"), ("C++", "C"), ("a.b", "a_b"), ("3.5", "3 5"), ("v1", "v2"), ("-", "+"), ("がく", "かく")],
)
def test_keys_that_are_two_names(one: str, other: str) -> None:
    """Everything else tells two keys apart."""
    assert fold_key(one) != fold_key(other)


@pytest.mark.parametrize("key", ["-", "_", "---", "- _", "?"])
def test_a_key_of_gaps_is_still_a_name(key: str) -> None:
    """A key that is nothing but gaps does not become the empty key."""
    assert fold_key(key)


@pytest.mark.parametrize(
    "one, other",
    [
        ("It’s “fine”", 'it\'s "fine"'),
        ("it´s", "it's"),
        ("it`s", "it's"),
        ("5″ wide", '5" wide'),
        ("«quoted»", '"quoted"'),
        ("Ana lives in Rome.", "ana lives in  Rome"),
        ("Really?!", "really"),
        ("so …", "so"),
        ("東京に住んでいる。", "東京に住んでいる"),
        ("  a\n\tb\u3000c ", "a b c"),
        ("ＦＵＬＬ", "full"),
        ("cafe\u0301", "café"),
    ],
)
def test_contents_that_are_equal(one: str, other: str) -> None:
    """Quote forms, case, white space and the marks that end a sentence make no difference."""
    assert fold_content(one) == fold_content(other)


@pytest.mark.parametrize(
    "one, other",
    [
        ("C#", "C"),
        ("C++", "C"),
        ("-5", "5"),
        ("3.5", "3 5"),
        ("3.5", "35"),
        ("a, b", "a b"),
        ("not a", "a"),
        ("?", "!"),
        ("I love it", "I hate it"),
        ("a-b", "a b"),
        ("a_b", "a b"),
        (".5", "5"),
        ("(a)", "a"),
        ("$5", "5"),
        ("5%", "5"),
    ],
)
def test_contents_that_differ(one: str, other: str) -> None:
    """A sign, a point or a letter inside a statement is part of what it says."""
    assert fold_content(one) != fold_content(other)


@given(_TEXT)
def test_folding_twice_is_folding_once(text: str) -> None:
    """What is folded already stays as it is, so that it does not matter who folds."""
    assert fold_content(fold_content(text)) == fold_content(text)
    assert fold_key(fold_key(text)) == fold_key(text)


@given(_TEXT)
def test_equal_contents_have_equal_skeletons(text: str) -> None:
    """A skeleton never tells apart what equality does not."""
    assert skeleton(fold_content(text)) == skeleton(text)


@pytest.mark.parametrize(
    "disguise",
    [
        "The PASSWORD is bad",
        "the password is bad!",
        "the pаsswоrd is bаd",  # Cyrillic а and о
        "ТНЕ password is ВАD",  # Cyrillic capitals
        "the pass\u200bword is\u2060 bad",
        "the password is bad.\u200b",
        "\ufeffthe password is bad\u00ad",
        "the pass\u3164word is bad",
        "t h e p a s s w o r d i s b a d",
        "thepasswordisbad",
        "thé pàsswörd ïs bäd",
        "the pa\u0336ssword is bad\ufe0f",
        "ｔｈｅ password is bad",
        "the \u202epassword\u202c is bad",
        "the password is bad .",
    ],
)
def test_a_disguise_is_seen_through(disguise: str) -> None:
    """Look-alikes, zero-width and blank characters, accents, spacing and case do not hide a statement."""
    assert skeleton(disguise) == skeleton("The password is bad.")


@pytest.mark.parametrize(
    "one, other",
    [
        ("C#", "C"),
        ("3.5", "35"),
        ("-5", "5"),
        ("5 mg", "5 µg"),
        ("がく", "かく"),
        ("कु", "के"),
        ("กิน", "กีน"),
        ("a, b", "ab"),
        *list(itertools.pairwise(text for text in _SCRIPTS if text != "café")),
    ],
)
def test_a_skeleton_keeps_what_is_said(one: str, other: str) -> None:
    """Signs, units, vowels and voicing of other scripts are no disguise."""
    assert skeleton(one) != skeleton(other)


@pytest.mark.parametrize(
    "value, found",
    [
        ("", "white space"),
        (" \n\t\u3000", "white space"),
        ("a\0b", "U+0000"),
        ("a\ud800", "U+D800 at 1"),
        ("\udfff", "U+DFFF at 0"),
        ("é" * 6, "12 bytes"),
        (None, "NoneType"),
        (b"bytes", "bytes"),
        (7, "int"),
    ],
)
def test_refused_text(value: object, found: str) -> None:
    """Blank, NUL, lone surrogates, too many bytes and other types are refused, naming field and finding."""
    with pytest.raises(InvalidInputError) as caught:
        check_text(value, field="content", max_bytes=10)  # type: ignore[arg-type]  # from outside: anything
    assert "content" in caught.value.message
    assert found in caught.value.found


@pytest.mark.parametrize("value", ["a", "é" * 5, "x" * 10, "a\nb", "\U0001f600", " a ", "\u200b"])
def test_accepted_text(value: str) -> None:
    """Any script, line breaks and exactly the limit are accepted, and returned unchanged."""
    assert check_text(value, field="content", max_bytes=10) == value


def test_blank_text_where_it_is_allowed() -> None:
    """A field that may be blank accepts nothing and white space."""
    assert (
        check_text("", field="x", max_bytes=1, blank=True) + check_text(" ", field="x", max_bytes=1, blank=True) == " "
    )


@pytest.mark.parametrize("value", ["名前", "a/../b", "%_*>.", "x" * 8, "\U0001f600" * 8, "a b"])
def test_accepted_names(value: str) -> None:
    """A name is free text up to its number of characters, whatever their bytes."""
    assert check_name(value, field="contact", max_chars=8) == value


@pytest.mark.parametrize("value", ["", "  ", "a\nb", "a\x7f", "a\x85", "\x1b[0m", "x" * 9, "\ud800", "a\0"])
def test_refused_names(value: str) -> None:
    """Blank, control characters, lone surrogates and one character too many are refused."""
    with pytest.raises(InvalidInputError, match="contact"):
        check_name(value, field="contact", max_chars=8)
