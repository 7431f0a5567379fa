"""Suppressions reach whoever asks about their subject, and nobody whom they are not about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.test_recall import Profile


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Profile]:
    """A profile with a secret."""
    opened = Profile(tmp_path)
    opened.state("The surprise party for Mara is on Friday")
    opened.state("Invoices go out on Mondays")
    yield opened
    opened.close()


def told(profile: Profile, text: str, **options: object) -> list[str]:
    """What not to speak of, by an answer."""
    return [item.id for item in profile.ask(text, **options).suppressions]  # type: ignore[arg-type]


def test_a_question_about_the_subject_brings_it_whatever_the_limits(profile: Profile) -> None:
    """Kinds, limit and least relevance are about results; what not to say comes all the same."""
    quiet = profile.state("Do not mention the surprise party to Mara", kind="instruction")
    profile.feed()
    assert told(profile, "when is the surprise party?") == [quiet]
    assert told(profile, "surprise party", limit=1, kinds=frozenset({"task"}), min_score=0.99) == [quiet]
    assert told(profile, "when do invoices go out?", limit=1) == []


def test_a_result_about_the_subject_brings_it(profile: Profile) -> None:
    """The question need not name it: what was found does."""
    quiet = profile.state("Stay quiet about the surprise party", kind="instruction")
    profile.feed()
    assert told(profile, "what happens on Friday?", kinds=frozenset({"fact"})) == [quiet]


def test_it_holds_for_whom_it_is_about(profile: Profile) -> None:
    """A suppression towards one contact is not for another one; towards a place it is for everybody to judge."""
    profile.state("likes tea", scope="mara")
    profile.state("likes coffee", scope="jon")
    towards = profile.state("Do not mention the surprise party to Mara", kind="instruction")
    anywhere = profile.state("Do not discuss the surprise party in the public channel", kind="instruction")
    profile.feed()
    assert told(profile, "surprise party", contact="mara") == [anywhere, towards]
    assert told(profile, "surprise party", contact="jon") == [anywhere]


def test_one_contacts_suppression_stays_with_the_contact(profile: Profile) -> None:
    """What one contact asked not to be spoken of is nobody else's to read."""
    quiet = profile.state("Never bring up the surprise party", kind="instruction", scope="mara")
    profile.state("likes coffee", scope="jon")
    profile.feed()
    assert told(profile, "surprise party", contact="mara") == [quiet]
    assert told(profile, "surprise party", contact="jon") == []
    assert told(profile, "surprise party") == []


def test_a_forgotten_one_is_silent(profile: Profile) -> None:
    """Forgotten, it suppresses nothing any more."""
    quiet = profile.state("Never bring up the surprise party", kind="instruction")
    profile.feed()
    assert told(profile, "surprise party") == [quiet]
    profile.log.forget(quiet)
    profile.feed()
    assert told(profile, "surprise party") == []
