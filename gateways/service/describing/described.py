"""A request that describes what it is about: checked, resolved at the newest position, and carried out by id."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from domain.errors import InvalidInputError, NotFoundError
from domain.indexing import contact_token
from domain.text import check_name, check_text
from gateways.service.context import Caller, Core
from gateways.service.describing.acting import ById, act
from gateways.service.describing.lexicon import SAME
from gateways.service.describing.matching import Description, describe
from gateways.service.describing.resolving import Target, by_identifier, by_key, by_text, holding
from gateways.service.profiles import OpenProfile
from projections.ledger import Stated, query_segments
from umbriel.changes import Touched, TouchedReply

__all__ = ["Answered", "or_described"]

#: statements that are all read; where there are more, full text and keys propose
_READ = 2_000
_PROPOSED = 300
_TEXT_SHOWN = 200
_ANSWERS_KEPT = 1_000

_Run = Callable[[Any, Caller, str, Any], Awaitable[msgspec.Struct]]


class Answered:
    """What was answered to described requests that were carried out: a repeated one would find nothing any more."""

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[str, ...], TouchedReply] = OrderedDict()

    def find(self, caller: Caller, profile: str, verb: str, request_id: str) -> TouchedReply | None:
        """Return what this caller's request was answered with, None the first time."""
        return self._answers.get((caller.principal, profile, verb, request_id)) if request_id else None

    def keep(self, caller: Caller, profile: str, verb: str, request_id: str, reply: TouchedReply) -> None:
        """Keep an answer, without texts, which may be forgotten by now."""
        if request_id:
            self._answers[caller.principal, profile, verb, request_id] = msgspec.structs.replace(reply, why=[])
            while len(self._answers) > _ANSWERS_KEPT:
                self._answers.popitem(last=False)

    def forget(self, profile: str) -> None:
        """Forget what was answered about a profile."""
        for asked in [one for one in self._answers if one[1] == profile]:
            del self._answers[asked]


class _Found(msgspec.Struct, frozen=True):
    targets: list[Target]
    messages: list[str]


async def or_described(
    core: Core, answered: Answered, caller: Caller, profile: str, verb: str, request: Any, run: ById
) -> TouchedReply:
    """Carry out a verb by ``run``: as it is where it names an id or a key, else on what the description means."""
    if not request.description:
        if request.all:
            raise InvalidInputError("all is about what a description fits", expected="a description", found="none")
        return await run(core, caller, profile, request)
    _check(core, caller, request)
    if not await core.known_profile(profile):
        raise NotFoundError("no such profile", expected="an existing profile", found=profile)
    if (known := answered.find(caller, profile, verb, request.request_id)) is not None:
        return known
    wanted = describe(request.description, request.contact)
    await core.reader.wait_for(await core.events.log.last_position(), core.settings.wait_seconds)
    async with core.profiles.use(profile) as opened:
        core.check_running(opened)
        found = await core.in_thread(lambda: _resolve(core, opened, verb, wanted, request))
    reply = await _carry_out(core, caller, profile, verb, wanted, found, request, run)
    if not request.preview:
        answered.keep(caller, profile, verb, request.request_id, reply)
    return reply


def _check(core: Core, caller: Caller, request: Any) -> None:
    limits = core.settings.limits
    if request.id or request.key:
        raise InvalidInputError("two ways to say what is meant", expected="id, key or description", found="several")
    if request.expected:
        raise InvalidInputError(
            "an expected version goes with an id or a key", expected="no expected", found=repr(request.expected[:80])
        )
    check_text(request.description, field="description", max_bytes=limits.query_bytes)
    if (content := getattr(request, "content", None)) is not None:
        check_text(content, field="content", max_bytes=limits.memory_bytes)
    if request.contact:
        check_name(request.contact, field="contact", max_chars=limits.contact_chars)
    if request.contact == "*":
        raise InvalidInputError("a write is about one contact", expected="a contact's name", found="'*', which is all")
    if request.request_id:
        check_name(request.request_id, field="request_id", max_chars=limits.name_chars)
    # Before anything is looked for, so that what is there and what is not are refused alike.
    caller.reach.check_write(request.contact or None)


def _resolve(core: Core, opened: OpenProfile, verb: str, wanted: Description, request: Any) -> _Found:
    """Return what is meant in the scope that is named, and nowhere else; blocks."""
    ledger = core.profiles.current(opened).views.ledger
    scope = request.contact or None
    stated = ledger.stated_in(scope, now=datetime.now(UTC))
    standing = _standing(verb, stated)
    if (keyed := by_key(wanted, standing)) is not None:
        return _Found([keyed], [])
    if not wanted.purges:
        # Where all are asked for, or nothing is live, no index is trusted to have found every one.
        indexed = verb != "restore" and not request.all
        proposed = _proposed(core, opened, wanted, standing, scope) if indexed else standing
        return _Found(by_text(wanted, proposed, several=request.all), [])
    purged = verb == "forget"
    targets = by_identifier(wanted, _newest_first_of(stated) if purged else standing)
    messages = holding(wanted, ledger.said_by(request.contact)) if purged else []
    _check_found(wanted, targets, messages, several=purged or verb == "retract" or request.all, request=request)
    return _Found(targets, messages)


def _standing(verb: str, stated: Sequence[Stated]) -> list[Stated]:
    """Return what a verb can be about: what is live; to restore, the newest version of what is not."""
    if verb != "restore":
        return [one for one in stated if one.live and (verb != "unpin" or one.pinned)]
    live = {one.address for one in stated if one.live}
    newest: dict[tuple[str, str], Stated] = {}
    for one in stated:
        if one.address not in live:
            newest.setdefault((one.address, one.text), one)
    return list(newest.values())


def _newest_first_of(stated: Sequence[Stated]) -> list[Stated]:
    return sorted(stated, key=lambda one: not one.live)


def _check_found(
    wanted: Description, targets: Sequence[Target], messages: Sequence[str], *, several: bool, request: Any
) -> None:
    if not targets and not (messages and getattr(request, "with_sources", False)):
        held = f", {len(messages)} message(s) do: forget with with_sources" if messages else ""
        forms = ", ".join(dict.fromkeys(one.identifier.form for one in wanted.identifiers if one.identifier))
        raise NotFoundError(
            f"no memory of this scope holds this {forms}{held}",
            expected="an identifier that is held, in any form",
            found=repr(wanted.text[:80]),
        )
    if len(targets) > 1 and not several:
        shown = "; ".join(f"{one.stated.id} {one.stated.text[:80]!r}" for one in targets[:10])
        raise InvalidInputError(
            "several memories hold this identifier", expected="one of these by its id, or all=true", found=shown
        )


def _proposed(
    core: Core, opened: OpenProfile, wanted: Description, stated: list[Stated], scope: str | None
) -> list[Stated]:
    """Return what is worth reading: whatever fits has a word of the description in its text or key."""
    views = core.profiles.current(opened).views
    if len(stated) <= _READ or "keywords" in views.off:
        return stated
    stems = [one.stem for one in wanted.whole.content]
    terms = " ".join([wanted.text, *(other for one in stems for other in SAME.get(one, ()))])
    hits = views.keywords.search(terms, _PROPOSED, scopes=frozenset({contact_token(scope)}))
    keyed = views.ledger.keys_matching(query_segments(wanted.text), now=datetime.now(UTC), scopes=[scope])
    ids = {hit.id for hit in hits} | {hit.id for hit in keyed}
    return [one for one in stated if one.id in ids]


async def _carry_out(
    core: Core, caller: Caller, profile: str, verb: str, wanted: Description, found: _Found, request: Any, run: ById
) -> TouchedReply:
    several = len(found.targets) + len(found.messages) > 1
    if several and not request.preview:
        # What is refused of one is refused of all, before anything is written.
        await _each(core, caller, profile, verb, wanted, found, msgspec.structs.replace(request, preview=True), run)
    replies = await _each(core, caller, profile, verb, wanted, found, request, run)
    touched = list(dict.fromkeys(one for reply in replies for one in reply.touched))
    positions = [reply.position for reply in replies] or [core.positions.show(await core.events.log.last_position())]
    return TouchedReply(
        touched=touched,
        position=max(positions, key=lambda one: core.positions.read(one, field="position")),
        preview=request.preview,
        memory=next((reply.memory for reply in replies if reply.memory), ""),
        why=[_why(target) for target in found.targets],
        messages=found.messages,
    )


async def _each(
    core: Core, caller: Caller, profile: str, verb: str, wanted: Description, found: _Found, request: Any, run: ById
) -> list[TouchedReply]:
    replies: list[TouchedReply] = []
    gone: set[str] = set()
    for target in found.targets:
        if target.stated.id not in gone:
            replies.append(await act(core, caller, profile, verb, wanted, target, request, run))
            gone.update(replies[-1].touched)
    for message in found.messages if getattr(request, "with_sources", False) else ():
        with suppress(NotFoundError):  # it went with the memory that rests on it
            by_id = msgspec.structs.replace(request, id=message, description="", all=False)
            replies.append(await run(core, caller, profile, by_id))
    return replies


def _why(target: Target) -> Touched:
    text = target.stated.text
    return Touched(
        id=target.stated.id,
        text=text if len(text) <= _TEXT_SHOWN else text[: _TEXT_SHOWN - 1] + "…",
        by=target.by,
        form=target.form,
        score=target.score,
        left=target.left,
    )
