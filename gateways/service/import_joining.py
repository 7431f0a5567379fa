"""Chains of another log beside those of this one: what is new, what is here already, and what is in the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from domain.envelope import Envelope
from domain.events import EmbeddingComputed, MemoryForgotten, MessageForgotten, MessageRecorded, ProfileCreated
from gateways.jetstream.wire import Entry
from gateways.service.context import Core
from gateways.service.import_placing import Placed

__all__ = ["Joined", "join"]

_GONE = frozenset({MessageForgotten.TOPIC, MemoryForgotten.TOPIC})


class Joined(msgspec.Struct, frozen=True):
    """Every line with its outcome, those to append (in the file's order), and the heads they go on from."""

    placed: list[Placed]
    fresh: list[Envelope]
    heads: dict[str, int]


async def join(core: Core, placed: Sequence[Placed]) -> Joined:
    """Decide about each event from what its aggregate holds here; nothing is written."""
    chains: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(placed):
        if one.envelope is not None:
            chains[one.envelope.originator_id].append(index)
    heads = await core.events.log.heads(list(chains))
    decided = list(placed)
    fresh: dict[int, Envelope] = {}
    here: set[str] = set()
    # Vectors last: they come with what they are of, or not at all.
    for originator, indexes in sorted(chains.items(), key=lambda one: bool(placed[one[1][0]].of)):
        chain = _Chain(heads.get(originator), await _known(core, heads.get(originator), indexes, placed))
        for index in indexes:
            decided[index] = one = chain.decide(placed[index], here)
            if chain.took and one.envelope is not None:
                fresh[index] = one.envelope
                here |= {one.line.subject} if one.outcome == "imported" else set()
    return Joined(
        decided,
        [fresh[index] for index in sorted(fresh)],
        {originator: head.position for originator, head in heads.items()},
    )


async def _known(core: Core, head: Entry | None, indexes: Sequence[int], placed: Sequence[Placed]) -> Mapping[int, str]:
    """Return the ids of an aggregate's events here by version, as far as the lines ask for them."""
    if head is None:
        return {}
    versions = [one.originator_version for index in indexes if (one := placed[index].envelope) is not None]
    if min(versions) >= head.version:
        return {head.version: head.event_id}
    return {one.version: one.event_id for one in await core.events.log.events(head.originator_id)}


class _Chain:
    """One aggregate as it is here, growing by what is taken over."""

    def __init__(self, head: Entry | None, known: Mapping[int, str]) -> None:
        self._known = known
        self._topic = head.topic if head else ""
        self._version = head.version if head else 0
        self._id = head.event_id if head else ""
        #: whether the last line decided about is to be appended
        self.took = False

    def decide(self, one: Placed, here: Collection[str]) -> Placed:
        """Return a line with its outcome; ``here`` is what is about to come with it."""
        envelope = one.envelope
        assert envelope is not None  # noqa: S101 -- only lines with an event have a chain
        self.took = False
        if one.of and one.of not in here:
            return replace(one, outcome="skipped", reason="what it is of does not come")
        if isinstance(envelope.data, EmbeddingComputed) and self._topic == EmbeddingComputed.TOPIC:
            return replace(one, outcome="duplicate")
        if self._known.get(envelope.originator_version) == envelope.event_id:
            return replace(one, outcome="duplicate", reason="")
        if envelope.originator_version <= self._version or not self._follows(one, envelope):
            return self._in_the_way(one, envelope)
        self.took = True
        self._topic, self._version, self._id = envelope.topic, envelope.originator_version, envelope.event_id
        return one if one.outcome else replace(one, outcome="imported")

    def _follows(self, one: Placed, envelope: Envelope) -> bool:
        if isinstance(envelope.data, EmbeddingComputed):
            return not self._version
        # Whoever created the profile here has done nothing else with it yet.
        created = self._topic == ProfileCreated.TOPIC and self._version == 1
        return created or one.line.previous == self._id

    def _in_the_way(self, one: Placed, envelope: Envelope) -> Placed:
        if self._topic in _GONE:
            return replace(one, outcome="blocked", reason="it is forgotten here")
        if isinstance(envelope.data, MessageRecorded | ProfileCreated) and self._version:
            # The id is that of the content: whoever recorded it first.
            return replace(one, outcome="duplicate", reason="")
        reason = "another event is in its place here" if self._version else "what comes before it is not here"
        return replace(one, outcome="conflict", reason=reason)
