"""Parts of the command line that need no service."""

from __future__ import annotations

import pytest

from domain import errors as domain
from gateways.cli import app, errors, output
from gateways.cli.ingest import by_profile
from gateways.importers import Conversation, Imported
from gateways.importers.imported import taken_stock
from umbriel import Message


def said(hint: str, session: str) -> Conversation:
    """Return a conversation of one message."""
    return Conversation(profile_hint=hint, session=session, messages=[Message(role="user", content="x")])


def taken(conversations: list[Conversation]) -> Imported:
    """Return conversations as a file that holds them is read."""
    return taken_stock("test", lambda: iter(conversations))


def test_each_conversation_goes_to_its_own_profile() -> None:
    """Without --profile the file's own names are the profiles."""
    found = by_profile(taken([said("a", "session_1"), said("b", "session_1"), said("", "s")]), None)
    assert {profile: [one.session for one in group] for profile, group in found.items()} == {
        "a": ["session_1"],
        "b": ["session_1"],
        "default": ["s"],
    }


def test_sessions_of_several_names_stay_apart_in_one_profile() -> None:
    """Into one given profile, equal session names of two conversations do not become one session."""
    found = by_profile(taken([said("a", "session_1"), said("b", "session_1")]), "all")
    assert [one.session for one in found["all"]] == ["a/session_1", "b/session_1"]
    assert [one.session for one in by_profile(taken([said("a", "session_1")]), "all")["all"]] == ["session_1"]


@pytest.mark.parametrize("name", [name for name in domain.__all__ if name.endswith("Error")])
def test_every_error_has_an_exit_code_and_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each code of the error tree has its own way out, and no message can break the line."""
    error = getattr(domain, name)("a\nb\x1b[31m", expected="c", found="d")
    errors.report(error)
    shown = capsys.readouterr().err
    assert shown.startswith("umbriel: a b\\u001b[31m (expected c, found d)")
    assert shown.count("\n") == 1
    assert errors.exit_code(error) == (1 if name == "UmbrielError" else errors.EXIT_CODES[error.code])


def test_text_cannot_steer_a_terminal() -> None:
    """Escape sequences and direction overrides are shown; every script and line break is kept."""
    assert output.visible("a\x1b[31m\u202eb\n日本é😀") == "a\\u001b[31m\\u202eb\n日本é😀"


@pytest.mark.parametrize("arguments", [["recal"], ["recall"], ["recall", "x", "--limit", "many"]])
def test_usage_errors_are_one_line_and_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt command, a missing argument or a bad option ends before anything is connected."""
    with pytest.raises(SystemExit) as ended:
        app.run(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
