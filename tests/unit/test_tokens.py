"""The estimate of tokens: which scripts and marks change it, and at which share."""

from __future__ import annotations

import pytest

from domain.tokens import estimated_tokens


@pytest.mark.parametrize(
    "text,tokens",
    [
        ("", 0),
        ("a", 1),
        ("a" * 35, 10),
        ("a" * 36, 11),
        ("記" * 15, 10),
        ("ひらがな" * 3, 8),
        ("カタカナ" * 3, 8),
        ("한국어" * 4, 8),
        ("ｶﾀｶﾅ" * 3, 8),
        ("привет" * 7, 12),
        ('{"a":1}' * 3, 7),
    ],
)
def test_scripts_and_json_have_their_own_rate(text: str, tokens: int) -> None:
    """Dense scripts count 1.5 characters a token, JSON 3.0, everything else 3.5; always rounded up."""
    assert estimated_tokens(text) == tokens


@pytest.mark.parametrize(
    "text,tokens",
    [
        ("記" * 30 + "a" * 70, 29),
        ("記" * 31 + "a" * 69, 67),
        ("{" * 8 + "a" * 92, 29),
        ("{" * 9 + "a" * 91, 34),
        ("記" * 31 + "{" * 69, 67),
    ],
)
def test_a_share_must_be_exceeded(text: str, tokens: int) -> None:
    """Exactly 30 % and exactly 8 % do not count yet; dense script goes before marks."""
    assert estimated_tokens(text) == tokens
