"""Settings of a profile: changed by name, checked, versioned, and read from older events."""

from __future__ import annotations

from typing import Any

import pytest

from domain.errors import ConflictError, InvalidInputError
from domain.events import SettingsChanged, decode_event
from domain.profile import Profile
from domain.settings import AccessSettings, ProfileSettings, RecallPreferences, flat, with_changes
from gateways.service.preferences import recall_settings
from projections.recall import RecallSettings
from tests.unit.given import context

_ID = "p.profile.x"


def test_a_change_records_every_setting_and_counts() -> None:
    """The event holds all settings with their version, under the profile's key, and a replay has them."""
    profile = Profile(_ID)
    assert profile.change_settings({"recall.fusion": "classic"}, context())
    assert profile.change_settings({"recall.fill": 3, "access.counted": False}, context(), expected=1)
    first, second = profile.collect_events()
    assert first.data == SettingsChanged(
        version=1, settings=ProfileSettings(recall=RecallPreferences(fusion="classic"))
    )
    settings = ProfileSettings(recall=RecallPreferences(fusion="classic", fill=3), access=AccessSettings(counted=False))
    assert second.data == SettingsChanged(version=2, settings=settings)
    assert second.key_scope == "profile"
    replayed = Profile.replay(_ID, [first, second])
    assert (replayed.settings, replayed.settings_version) == (settings, 2)


def test_a_change_against_another_version_is_a_conflict() -> None:
    """Who read an older version changes nothing; a change that was made already is no conflict, so a retry is safe."""
    profile = Profile(_ID)
    profile.change_settings({"recall.fill": 1}, context(), expected=0)
    with pytest.raises(ConflictError) as raised:
        profile.change_settings({"recall.fill": 2}, context(), expected=0)
    assert (raised.value.expected, raised.value.found) == ("version 0", "version 1")
    assert not profile.change_settings({"recall.fill": 1}, context(), expected=0)
    assert profile.settings_version == 1


@pytest.mark.parametrize(
    "changes, named",
    [
        ({"recall.speed": 1}, "recall.speed"),
        ({"recall": {"fusion": "classic"}}, "unknown setting"),
        ({"recall.fusion": "best"}, "recall.fusion"),
        ({"recall.fusion": 1}, "recall.fusion"),
        ({"recall.message_share": 1.5}, "recall.message_share"),
        ({"recall.message_share": -0.1}, "recall.message_share"),
        ({"recall.fill": 1.5}, "recall.fill"),
        ({"recall.fill": 101}, "recall.fill"),
        ({"access.counted": "no"}, "access.counted"),
        ({"access.counted": None}, "access.counted"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    """Unknown names and values out of range or of another type are refused with the name in the message."""
    with pytest.raises(InvalidInputError) as raised:
        with_changes(ProfileSettings(), changes)
    assert named in str(raised.value)


def test_every_setting_can_be_set_to_what_it_is() -> None:
    """Names and values as they are shown are names and values that can be set."""
    settings = ProfileSettings()
    assert with_changes(settings, flat(settings)) == settings


def test_an_event_of_before_reads_as_defaults() -> None:
    """An event that lacks later settings has their defaults; one that has later ones is read without them."""
    older = decode_event("profile.settings_changed", 1, b'{"version":1,"settings":{"recall":{"fusion":"classic"}}}')
    assert older == SettingsChanged(version=1, settings=ProfileSettings(recall=RecallPreferences(fusion="classic")))
    newer = decode_event("profile.settings_changed", 1, b'{"version":1,"settings":{"recall":{"x":1},"y":{}}}')
    assert newer == SettingsChanged(version=1, settings=ProfileSettings())


def test_settings_act_on_recall() -> None:
    """Fusion and the share of messages are recall's own."""
    assert recall_settings(ProfileSettings()) == RecallSettings()
    chosen = recall_settings(ProfileSettings(recall=RecallPreferences(fusion="classic", message_share=0.5)))
    assert (chosen.fusion, chosen.message_share) == ("reciprocal_rank", 0.5)
