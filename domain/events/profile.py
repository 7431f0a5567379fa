"""Events of a profile: its creation, settings, and which contacts are one person."""

from __future__ import annotations

from domain.events.base import Event
from domain.settings import ProfileSettings

__all__ = ["ContactsLinked", "ContactsUnlinked", "ProfileCreated", "SettingsChanged"]


class ProfileCreated(Event, frozen=True):
    """A profile came into being with its first write."""

    TOPIC = "profile.created"
    name: str
    encrypted: bool = True


class SettingsChanged(Event, frozen=True):
    """The profile's settings are these from now on, all of them; ``version`` counts changes from 1."""

    TOPIC = "profile.settings_changed"
    version: int
    settings: ProfileSettings


class ContactsLinked(Event, frozen=True):
    """Two contacts are one person; ``first`` sorts before ``second``."""

    TOPIC = "profile.contacts_linked"
    first: str
    second: str


class ContactsUnlinked(Event, frozen=True):
    """The link between two contacts was taken back."""

    TOPIC = "profile.contacts_unlinked"
    first: str
    second: str
