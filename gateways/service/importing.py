"""Imports: lines of an export become events of a profile, with their ids, times and authors.

Each page is one atomic append decided by what the log holds, so an import may be cut off anywhere and done again: what
is here already is a duplicate. From the first line written to the end nobody thinks about the profile (`held`): what
was thought about it comes in the file. No model is called.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from domain.errors import ConflictError, InvalidInputError
from domain.events import ImportStarted, ImportVerified, ProfileCreated
from domain.ids import check_profile
from domain.importing import ImportRun
from gateways.service.aggregates import change, ensure_profile
from gateways.service.context import Caller, Core
from gateways.service.export_checking import FileProofs
from gateways.service.import_joining import Joined, join
from gateways.service.import_placing import Placed, place
from gateways.service.import_reading import Incoming, read_lines
from gateways.service.profiles import OpenProfile
from umbriel.imports import ImportOutcome, ImportProofs, ImportReply, ImportRequest

__all__ = ["held", "import_lines"]

_LINES = 500
_ATTEMPTS = 8
_PAUSE = 0.05
_RUN_CHARS = 64
_HEX = frozenset("0123456789abcdef")


def held(core: Core) -> Callable[[str], Awaitable[bool]]:
    """Return what tells whether a profile is being imported into, so that nobody is to think about it."""

    async def importing(profile: str) -> bool:
        async with core.profiles.use(profile) as opened:
            return await core.in_thread(opened.views.ledger.importing) is not None

    return importing


async def import_lines(core: Core, caller: Caller, profile: str, request: ImportRequest) -> ImportReply:
    """Check lines, write them, or end an import; see `ImportRequest`.

    Raises InvalidInputError naming a line that does not fit, before any of the request is written, and ConflictError
    while another file is being imported.
    """
    check_profile(profile)
    _check_run(request)
    seal = await core.in_thread(lambda: _verify(request))
    lines = await read_lines(core, caller, request.lines)
    if request.mode == "check":
        return msgspec.structs.replace(_reply(core, [], 0, checked=len(lines)), seal=seal)
    async with core.profiles.use(profile) as opened:
        core.check_running(opened)
        await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
        if request.mode == "write":
            return await _write(core, caller, opened, request, lines)
        return await _end(core, caller, opened, request)


def _check_run(request: ImportRequest) -> None:
    if len(request.lines) > _LINES:
        raise InvalidInputError("too many lines", expected=f"at most {_LINES}", found=str(len(request.lines)))
    named = len(request.run) == _RUN_CHARS and set(request.run) <= _HEX
    if not named and (request.run or request.mode != "abandon"):
        raise InvalidInputError("run is no SHA-256", expected="64 hexadecimal digits", found=repr(request.run[:80]))


def _verify(request: ImportRequest) -> str:
    """Raise DamagedError where a line or seal is not what was exported; returns the hash of a seal that is."""
    if request.proofs is None or request.mode not in {"check", "write"}:
        return ""
    proofs, file = request.proofs, FileProofs(request.proofs.header)
    last = file.check_lines(request.lines, proofs.previous)
    if proofs.end is not None:
        file.check_end(proofs.end[0], last, proofs.end[1])
    return "" if proofs.seal is None else file.check_seal(proofs.seal)


def _verified(proofs: ImportProofs | None) -> ImportVerified | None:
    if proofs is None:
        return None
    return ImportVerified(proofs.header.public_key, proofs.pinned, proofs.lines, proofs.seals, proofs.last_seal)


async def _write(
    core: Core, caller: Caller, profile: OpenProfile, request: ImportRequest, lines: Sequence[Incoming]
) -> ImportReply:
    for attempt in range(_ATTEMPTS):
        began = await _under_way(core, profile, request.run)
        before = began or await core.events.log.last_position() + 1
        joined = await join(core, await place(core, profile, lines, before))
        if not joined.fresh:
            return _reply(core, joined.placed, core.reader.passed)
        if not began:
            await _begin(core, caller, profile, request, joined)
        try:
            position = await _append(core, joined)
        except ConflictError:
            # Somebody wrote here meanwhile, or bulk heads came from a replica that lags behind.
            if attempt == _ATTEMPTS - 1:
                raise
            await asyncio.sleep(_PAUSE * attempt)
            continue
        # The next page asks the ledger about this one; and who sends faster than the views take waits here.
        await core.reader.wait_for(position, core.settings.wait_seconds)
        return _reply(core, joined.placed, position)
    raise AssertionError("unreachable")


async def _under_way(core: Core, profile: OpenProfile, run: str) -> int:
    """Return where this import began, 0 where it has not; raises ConflictError while another one is under way."""
    found = await core.in_thread(core.profiles.current(profile).views.ledger.importing)
    if found is not None and found[0] != run:
        raise ConflictError(
            f"another import into {profile.name} is not finished: import its file again, or abandon it",
            expected=run,
            found=found[0],
        )
    return 0 if found is None else found[1]


async def _begin(core: Core, caller: Caller, profile: OpenProfile, request: ImportRequest, joined: Joined) -> None:
    if not any(isinstance(one.data, ProfileCreated) for one in joined.fresh):
        await ensure_profile(core, caller, profile.name)
    event = ImportStarted(run=request.run, source=request.source, log=request.log, verified=_verified(request.proofs))
    subject = profile.subject(ImportRun.CATEGORY, "import", request.run)
    _, position = await change(core, ImportRun, subject, lambda run: run.start(event, caller.context()))
    await core.reader.wait_for(position, core.settings.wait_seconds)


async def _append(core: Core, joined: Joined) -> int:
    appends = [await core.events.encode(one, expected=joined.heads.get(one.originator_id, 0)) for one in joined.fresh]
    return (await core.events.log.append(appends))[-1]


async def _end(core: Core, caller: Caller, profile: OpenProfile, request: ImportRequest) -> ImportReply:
    abandoned, run = request.mode == "abandon", request.run
    if abandoned and not run:
        found = await core.in_thread(core.profiles.current(profile).views.ledger.importing)
        run = found[0] if found else ""
    position = 0
    if run:
        subject = profile.subject(ImportRun.CATEGORY, "import", run)
        _, position = await change(
            core,
            ImportRun,
            subject,
            lambda one: one.end(run, request.counts, caller.context(), abandoned=abandoned),
        )
    position = position or await core.events.log.last_position()
    await core.reader.wait_for(position, core.settings.wait_seconds)
    return _reply(core, [], position)


def _reply(core: Core, placed: Sequence[Placed], position: int, *, checked: int = 0) -> ImportReply:
    outcomes = [
        ImportOutcome(
            line=one.line.line, id=one.line.id, type=one.line.topic, outcome=one.outcome or "skipped", reason=one.reason
        )
        for one in placed
    ]
    counts: Counter[str] = Counter(one.outcome for one in outcomes)
    if checked:
        counts["checked"] = checked
    return ImportReply(
        counts=dict(counts),
        outcomes=[one for one in outcomes if one.outcome not in {"imported", "duplicate"}],
        position=core.positions.show(position),
    )
