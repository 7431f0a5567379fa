"""The proof of an erasure: what is left of it in the log, tried with every key that is left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from domain.events import KeyDestroyed
from gateways.jetstream.codec import readable
from gateways.jetstream.keys import SECRET, Key, KeyState
from gateways.jetstream.log import Entry
from gateways.service.context import Core
from projections.followed import followed_to, stale_generations
from umbriel.erasure import Left, Proof

__all__ = ["prove"]

_PAGE = 1_000
#: tries of a key on an event; about twenty seconds of them
_ATTEMPTS = 2_000_000


async def prove(core: Core, profile: str, erasure: str, *, contact: str = "") -> Proof:
    """Look at what is left of an erasure, of the whole profile's where it is empty; reads all of the profile's log."""
    events = [one.data for one in await core.events.erasures(profile)]
    destroyed = {
        key
        for one in events
        if isinstance(one, KeyDestroyed) and erasure in ("", one.erasure)
        for key in (*one.keys, *one.again)
    }
    states = await core.events.keys.states(profile)
    entries = await _under(core, profile, destroyed)
    turns = await core.turns.left_under(profile, destroyed)
    surviving = _surviving(core, states)
    attempts, opened, complete = await core.in_thread(lambda: _try(entries, surviving))
    stale = await core.in_thread(lambda: _stale(core, profile))
    elsewhere = 0
    if core.managed is not None:
        place = core.managed.settings.destination
        elsewhere = len(await core.in_thread(lambda: core.directory.unforwarding(profile, place)))
    return Proof(
        keys=len(destroyed),
        undestroyed=sum(_lives(states.get(key)) for key in destroyed),
        left=_by_category(entries),
        turns=len(turns),
        surviving=len(surviving),
        attempts=attempts,
        opened=opened,
        complete=complete,
        stale=tuple(stale),
        elsewhere=elsewhere,
        grants=core.granted(contact) if contact else (),
    )


def _stale(core: Core, profile: str) -> list[str]:
    """Return view files that may be older than the erasure; a generation kept by a later rebuild is not."""
    root = core.profiles.root(profile)
    if not root.exists() or followed_to(root) >= core.directory.destroyed(profile):
        return []
    return stale_generations(root) or ["views"]


def _lives(state: KeyState | None) -> bool:
    return state is None or not (state.destroyed or state.reborn)


async def _under(core: Core, profile: str, keys: set[str]) -> list[Entry]:
    found: list[Entry] = []
    after = 0
    while page := await core.events.log.read(after, _PAGE, profile):
        found += [entry for entry in page if entry.key_id in keys]
        after = page[-1].position
    return found


def _surviving(core: Core, states: dict[str, KeyState]) -> list[Key]:
    ring = core.events.keys
    return [ring.unwrapped(one, state) for one, state in states.items() if not state.destroyed and one != SECRET]


def _try(entries: Sequence[Entry], keys: Sequence[Key]) -> tuple[int, int, bool]:
    """Return how many tries there were, how many events could be read, and whether all was tried."""
    if not keys:
        return 0, 0, True
    most = max(1, _ATTEMPTS // len(keys))
    tried = entries[:most]
    return len(tried) * len(keys), readable(tried, keys), len(tried) == len(entries)


def _by_category(entries: Sequence[Entry]) -> tuple[Left, ...]:
    events: dict[str, int] = defaultdict(int)
    sizes: dict[str, int] = defaultdict(int)
    for entry in entries:
        category = entry.topic.split(".", 1)[0]
        events[category] += 1
        sizes[category] += len(entry.body)
    return tuple(Left(category=one, events=count, bytes=sizes[one]) for one, count in sorted(events.items()))
