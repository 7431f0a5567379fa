"""The profile aggregate: a name that came into being with its first write, and how it is set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.errors import ConflictError
from domain.events import ProfileCreated, SettingsChanged
from domain.kernel import Aggregate, Context
from domain.kinds import profile_scope
from domain.settings import ProfileSettings, with_changes

__all__ = ["Profile"]


class Profile(Aggregate):
    """One isolated store of memories."""

    CATEGORY = "profile"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self.name = ""
        self.settings = ProfileSettings()
        self.settings_version = 0

    def create(self, name: str, context: Context) -> bool:
        """Create the profile; False when it exists."""
        if self.name:
            return False
        self.emit(ProfileCreated(name=name), context, key_scope=profile_scope())
        return True

    def change_settings(self, changes: Mapping[str, Any], context: Context, *, expected: int | None = None) -> bool:
        """Change some settings by name; False when they are so already, whatever version was expected.

        Raises InvalidInputError for an unknown name or a value it cannot have, ConflictError when ``expected`` is
        not the present version.
        """
        settings = with_changes(self.settings, changes)
        if settings == self.settings:
            return False
        if expected is not None and expected != self.settings_version:
            raise ConflictError(
                "the settings were changed by somebody else",
                expected=f"version {expected}",
                found=f"version {self.settings_version}",
            )
        event = SettingsChanged(version=self.settings_version + 1, settings=settings)
        self.emit(event, context, key_scope=profile_scope())
        return True

    def on_created(self, event: ProfileCreated) -> None:
        """Take the name."""
        self.name = event.name

    def on_settings_changed(self, event: SettingsChanged) -> None:
        """Take the settings."""
        self.settings, self.settings_version = event.settings, event.version
