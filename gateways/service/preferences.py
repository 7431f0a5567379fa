"""A profile's settings at run time: read, changed through events, and applied at the next request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from domain.ids import check_profile
from domain.profile import Profile
from domain.settings import ProfileSettings, flat, with_changes
from gateways.service.aggregates import change, ensure_profile, load
from gateways.service.context import Caller, Core
from projections.ledger import AsOf, Ledger
from projections.recall import RecallSettings
from umbriel.admin import SettingsReply, SettingsRequest

__all__ = ["recall_settings", "settings", "shown_since", "shown_then"]


async def settings(core: Core, caller: Caller, profile: str, request: SettingsRequest) -> SettingsReply:
    """Return the settings of a profile, after changing some; a change counts for every request after the reply."""
    check_profile(profile)
    if request.changes:
        with_changes(ProfileSettings(), request.changes)  # before anything is written
        await ensure_profile(core, caller, profile)
    aggregate_id = await core.events.subject_id(profile, Profile.CATEGORY, "profile")
    if not request.changes:
        found = await load(core, Profile, aggregate_id) if await core.known_profile(profile) else Profile(aggregate_id)
        return _reply(core, found, core.reader.passed)

    def decide(aggregate: Profile) -> Profile:
        aggregate.change_settings(request.changes, caller.context(), expected=request.expected)
        return aggregate

    changed, position = await change(core, Profile, aggregate_id, decide)
    if position:
        # Made again, the same change writes nothing: who was told that it takes long may ask once more.
        await core.reader.wait_for(position, core.settings.wait_seconds)
    return _reply(core, changed, position or core.reader.passed)


def _reply(core: Core, profile: Profile, position: int) -> SettingsReply:
    return SettingsReply(
        settings=flat(profile.settings), version=profile.settings_version, position=core.positions.show(position)
    )


def recall_settings(settings: ProfileSettings) -> RecallSettings:
    """Return what recall weighs its channels with, by a profile's settings."""
    base = RecallSettings.classic() if settings.recall.fusion == "classic" else RecallSettings()
    return msgspec.structs.replace(base, message_share=settings.recall.message_share)


def shown_since(settings: ProfileSettings, now: datetime) -> datetime | None:
    """Return the time before which what was recorded is shown no more, None where all of it is."""
    return now - timedelta(days=settings.retention.days) if settings.retention.days else None


def shown_then(ledger: Ledger, as_of: AsOf) -> datetime | None:
    """Return the time before which nothing was shown at a point of the past, or nothing is shown any more today."""
    then = shown_since(ledger.settings(as_of=as_of), as_of.clock)
    now = shown_since(ledger.settings(), datetime.now(UTC))
    return max((one for one in (then, now) if one is not None), default=None)
