"""What a retrieval benchmark asks: conversations, or statements drawn from them, and questions with evidence."""

from __future__ import annotations

import msgspec

from gateways.importers import Conversation

__all__ = ["Observation", "Question", "Sample", "label_of"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question, its category, and what holds the answer: turns (as `label_of` names them), or only sessions."""

    text: str
    category: str
    evidence: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """A statement drawn from turns of a conversation, to be remembered as a fact."""

    text: str
    turns: tuple[str, ...]


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation over many sessions, or the ``observations`` drawn from it, and its questions.

    ``skipped`` counts the questions left out because none of their evidence can be found,
    ``unresolved`` are the entries of evidence that name no turn.
    """

    name: str
    sessions: tuple[Conversation, ...]
    questions: tuple[Question, ...]
    skipped: int = 0
    unresolved: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()

    @property
    def size(self) -> int:
        """How many messages or statements are loaded."""
        return len(self.observations) or sum(len(session.messages) for session in self.sessions)


def label_of(message_id: str) -> str:
    """Return the turn that a message of an importer is (part of): ``D1:3`` of ``D1:3#2/2``."""
    return message_id.partition("#")[0]
