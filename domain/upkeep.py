"""What upkeep does to the versions at an address, beside what callers ask for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from domain.errors import RefusedError
from domain.events import MemoryConsolidated, MemoryDecayed, MemoryRemembered
from domain.indexing import memory_key_scope
from domain.kernel import Aggregate, Context
from domain.kinds import conversation_scope
from domain.settings import DecayPreferences
from domain.text import fold_content
from domain.version import Version

__all__ = ["Kept", "day_of", "faded"]

#: Products of the factor are the same whichever machine works them out.
_DIGITS = 6


def day_of(moment: datetime) -> str:
    """Return the UTC day of a moment, as ``2026-01-31``."""
    return moment.astimezone(UTC).date().isoformat()


def faded(confidence: float, rule: DecayPreferences) -> float:
    """Return what a confidence falls to in one day, never more than it is."""
    return min(confidence, max(rule.floor, round(confidence * rule.factor, _DIGITS)))


class Kept(Aggregate):
    """A part of `domain.memory.Memory`."""

    versions: list[Version]

    def find(self, memory: str) -> Version:
        """Return the state of one version, or raise NotFoundError."""
        raise NotImplementedError

    def _write(
        self, standing: Version | None, draft: MemoryRemembered, context: Context, *, rule: str = "address"
    ) -> object:
        raise NotImplementedError

    def decay(self, memory: str, as_of: datetime, rule: DecayPreferences, context: Context) -> bool:
        """Let the confidence of a version that nobody used fall, at most once a UTC day.

        False where it has fallen on the day of ``as_of`` or a later one, is at the floor, is not live then, is
        pinned, or is a person's and those are spared. Whether it was used is the caller's to know.
        """
        version, day = self.find(memory), day_of(as_of)
        if not version.live_at(as_of) or version.pinned or version.decayed_on >= day:
            return False
        if rule.spare_people and version.author_type == "person":
            return False
        confidence = faded(version.confidence, rule)
        if confidence >= version.confidence:
            return False
        event = MemoryDecayed(memory=memory, day=day, confidence=confidence)
        self.emit(event, context, key_scope=memory_key_scope(version.written))
        return True

    def on_decayed(self, event: MemoryDecayed) -> None:
        """Take the confidence, and note the day."""
        version = self.find(event.memory)
        version.changed, version.decayed_on = event.confidence, event.day

    def stand_for(self, memory: str, members: Sequence[Version], context: Context) -> Version:
        """Let a version stand for others that say the same, in its own words."""
        version = self.find(memory)
        event = MemoryConsolidated(
            memory=memory,
            members=tuple(one.written.memory for one in members),
            sources=_sources([version, *members]),
            confidence=_highest([version, *members]),
        )
        self.emit(event, context, key_scope=memory_key_scope(version.written))
        return version

    def reword(self, memory: str, text: str, members: Sequence[Version], context: Context, *, model: str) -> Version:
        """Let a new version in a model's words replace one, to stand for it and for others that say the same.

        Raises RefusedError where its words are a person's or pinned: those are no model's to change.
        """
        version = self.find(memory)
        if version.author_type == "person" or version.pinned:
            raise RefusedError("these words are not to be changed", expected="an agent's words, not pinned")
        all_of_them = [version, *members]
        # What one conversation said goes with its key; what several said, or somebody stated, with none of them.
        said_in = {one.written.session for one in all_of_them if _is_of_a_conversation(one)}
        one_session = len(said_in) == 1 and all(map(_is_of_a_conversation, all_of_them))
        draft = msgspec.structs.replace(
            version.written,
            text=text,
            folded=fold_content(text),
            source="consolidation",
            confidence=_highest(all_of_them),
            sources=_sources(all_of_them),
            session=said_in.pop() if one_session else "",
            queries=(),
            expires_at=version.expires_at,
            request_id="",
            stated_at=max(one.stated_at for one in all_of_them),
            extraction="",
            model=model,
        )
        self._write(version, draft, context, rule="consolidation")
        return self.versions[-1]

    def on_consolidated(self, event: MemoryConsolidated) -> None:
        """Take the sources and the confidence of what it stands for."""
        version = self.find(event.memory)
        version.changed, version.gained = event.confidence, event.sources


def _sources(versions: Sequence[Version]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source for one in versions for source in one.sources))


def _highest(versions: Sequence[Version]) -> float:
    return max(one.confidence for one in versions)


def _is_of_a_conversation(version: Version) -> bool:
    written = version.written
    return bool(written.session) and memory_key_scope(written) == conversation_scope(written.session)
