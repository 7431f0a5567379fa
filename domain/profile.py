"""The profile aggregate: a name that came into being with its first write."""

from __future__ import annotations

from domain.events import ProfileCreated
from domain.kernel import Aggregate, Context
from domain.kinds import profile_scope

__all__ = ["Profile"]


class Profile(Aggregate):
    """One isolated store of memories."""

    CATEGORY = "profile"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self.name = ""

    def create(self, name: str, context: Context) -> bool:
        """Create the profile; False when it exists."""
        if self.name:
            return False
        self.emit(ProfileCreated(name=name), context, key_scope=profile_scope())
        return True

    def on_created(self, event: ProfileCreated) -> None:
        """Take the name."""
        self.name = event.name
