"""Subjects of the log: one for each aggregate, and back."""

from __future__ import annotations

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInputError
from gateways.jetstream.streams import filter_for, originator_for, subject_for, uuid_of
from gateways.jetstream.users import EMBEDDED, User, users_config, users_for

_NAMES = st.from_regex(r"\A[A-Za-z0-9_-]{1,64}\Z")


@given(_NAMES, _NAMES)
def test_subject_and_back(profile: str, keyed: str) -> None:
    """An aggregate id becomes a subject with the profile's partition, and is read back from it."""
    originator = f"{profile}.memory.{keyed}"
    subject = subject_for(originator)
    assert re.fullmatch(rf"umbriel\.events\.[0-6][0-9]\.{re.escape(originator)}", subject)
    assert originator_for(subject) == originator
    assert subject.startswith(filter_for(profile).removesuffix(">"))
    assert uuid_of(originator) is None or profile == "_"


def test_uuids_have_subjects_too() -> None:
    """The library's own aggregates are named by UUID; they belong to no profile and come back as UUIDs."""
    one = uuid.uuid4()
    subject = subject_for(one)
    assert subject.endswith(f"._.uuid.{one.hex}")
    assert uuid_of(originator_for(subject)) == one


@pytest.mark.parametrize("wrong", ["", "a", "a.memory", "a.memory.b.c", "a*.memory.b", "a..b", "a.>.b", "a.memory.b\n"])
def test_what_is_no_aggregate_id(wrong: str) -> None:
    """An id that would mean something else in a subject is refused before it gets there."""
    with pytest.raises(InvalidInputError):
        subject_for(wrong)


def test_the_filter_of_all() -> None:
    """Without a profile every event is asked for."""
    assert filter_for(None) == "umbriel.events.>"


def test_rights_are_what_the_contract_says() -> None:
    """Only the service touches the log; whoever answers reaches inboxes; a principal reaches its own subjects."""
    users = {user.name: user for user in users_for(EMBEDDED)}
    assert set(users) == {"service", "answer", "local", "local-agent"}
    assert users["answer"].publish == ("_INBOX_local.>", "_INBOX_local-agent.>", "_INBOX_answer.>")
    assert users["local"] == User("local", ("umbriel.api.local.>",), ("_INBOX_local.>",))
    assert "$JS.API.STREAM.PURGE.>" in users["service"].deny_publish
    assert {user.name for user in users.values() for subject in user.publish if "$KV" in subject} == {"service"}
    text = users_config(list(users.values()), dict.fromkeys(users, 'quo"te'))
    assert '"quo\\"te"' in text
    assert "allow_responses" not in text
