"""Retry: what failed or stopped is tried again; what succeeds now is one more event, so a rebuild agrees."""

from __future__ import annotations

from domain.errors import NotFoundError, UmbrielError
from domain.ids import check_profile
from gateways.service.context import Core
from umbriel.admin import RetryReply

__all__ = ["retry"]

_REASONS = 20


async def retry(core: Core, profile: str) -> RetryReply:
    """Let stopped views go on, then embed, read and forward again what could not be; returns when all is done."""
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
        stopped = dict(opened.views.stopped)
    forwarded, reasons = await _forward(core, profile, [*done.reasons, *why])
    return RetryReply(
        tried=done.tried,
        computed=done.computed,
        position=core.positions.show(position),
        read=read,
        reasons=tuple(dict.fromkeys(reasons))[:_REASONS],
        restarted=tuple(restarted),
        stopped=stopped,
        forwarded=forwarded,
    )


async def _forward(core: Core, profile: str, reasons: list[str]) -> tuple[int, list[str]]:
    """Return how much the managed memory took now, and the reasons with why it did not take the rest."""
    if core.forward_again is None:
        return 0, reasons
    try:
        return await core.forward_again(profile), reasons
    except UmbrielError as error:
        return 0, [*reasons, str(error)]
