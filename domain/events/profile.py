"""Events of a profile: its creation, settings, which contacts are one person, and what was imported into it."""

from __future__ import annotations

import msgspec

from domain.events.base import Event
from domain.settings import ProfileSettings

__all__ = [
    "ContactsLinked",
    "ContactsUnlinked",
    "ImportStarted",
    "ImportVerified",
    "ProfileCreated",
    "ProfileImported",
    "SettingsChanged",
]


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


class ImportVerified(msgspec.Struct, frozen=True):
    """What of a file was verified before anything of it was written, and by which key (Ed25519, hex).

    ``pinned``: who imported named the key; else it is the file's own word. ``last_seal`` is the hash of the last of
    the ``seals`` that its ``lines`` lie under in the log that they come from.
    """

    public_key: str
    pinned: bool
    lines: int
    seals: int
    last_seal: str


class ImportStarted(Event, frozen=True):
    """An export is being imported: until `ProfileImported` nobody thinks about what the profile holds.

    ``run`` is the SHA-256 of the file's lines (hex), ``source`` the profile and ``log`` the log that it was made of;
    ``verified`` what its proofs show, None where it has none.
    """

    TOPIC = "profile.import_started"
    run: str
    source: str = ""
    log: str = ""
    verified: ImportVerified | None = None


class ProfileImported(Event, frozen=True):
    """An import is over; whoever caused this event imported it. ``counts`` are outcomes of lines, by name.

    ``abandoned``: it was given up half-way, and what had come stays.
    """

    TOPIC = "profile.imported"
    run: str
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    abandoned: bool = False
