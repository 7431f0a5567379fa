"""Retry: what failed or stopped is tried again; what succeeds now is one more event, so a rebuild agrees."""

from __future__ import annotations

from domain.errors import NotFoundError
from domain.ids import check_profile
from gateways.service.context import Core
from umbriel.admin import RetryReply

__all__ = ["retry"]

_REASONS = 20


async def retry(core: Core, profile: str) -> RetryReply:
    """Let stopped views go on, then embed and read again what could not be; returns when all is done."""
    check_profile(profile)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    restarted = await core.profiles.retry(profile)
    async with core.profiles.use(profile) as opened:
        done = await core.worker.retry(opened)
        core.worker.wake(profile)
        read, why = await core.thinking.retry(opened) if core.thinking is not None else (0, ())
        position = await core.events.log.last_position()
        await core.reader.wait_until(lambda: core.reader.passed >= position, core.settings.wait_seconds)
        return RetryReply(
            tried=done.tried,
            computed=done.computed,
            position=core.positions.show(position),
            read=read,
            reasons=tuple(dict.fromkeys((*done.reasons, *why)))[:_REASONS],
            restarted=tuple(restarted),
            stopped=dict(opened.views.stopped),
        )
