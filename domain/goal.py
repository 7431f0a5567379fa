"""The goal aggregate: what a profile aims at, how far it is, and how it ended."""

from __future__ import annotations

from datetime import datetime

from domain.errors import InvalidInputError, NotFoundError, RefusedError
from domain.events import GoalClosed, GoalProgressed, GoalSet
from domain.events.goal import Outcome
from domain.ids import digest128
from domain.kernel import Aggregate, Context
from domain.kinds import profile_scope
from domain.text import fold_content, fold_key

__all__ = ["Goal", "goal_id"]


def goal_id(text: str, name: str = "") -> str:
    """Return the id of a goal: by its name if it has one, else by what it says."""
    return digest128("goal", "name", fold_key(name)) if name else digest128("goal", "text", fold_content(text))


class Goal(Aggregate):
    """One goal, from when it was first set."""

    CATEGORY = "goal"

    def __init__(self, aggregate_id: str) -> None:
        super().__init__(aggregate_id)
        self.goal = ""
        self.text = ""
        self.name = ""
        self.due: datetime | None = None
        self.outcome: Outcome | None = None
        self.fraction: float | None = None
        self._by_person = False
        self._last: GoalProgressed | None = None
        self._requests: set[str] = set()

    def set(self, event: GoalSet, context: Context) -> bool:
        """Aim at this; False when that is so already or the request was carried out before.

        A closed goal is open again, as far as it was. An agent changes no goal that a person set (RefusedError).
        """
        same = (event.text, event.name, event.due) == (self.text, self.name, self.due)
        if event.request_id in self._requests or (self.goal and self.outcome is None and same):
            return False
        if self._by_person and context.actor.type != "person":
            raise RefusedError("only a person changes a person's goal", expected="person", found=context.actor.type)
        self.emit(event, context, key_scope=profile_scope())
        return True

    def progress(self, event: GoalProgressed, context: Context) -> bool:
        """Note how far it is; False when the last note says so or the request was carried out before."""
        self._check_set()
        if event.request_id in self._requests:
            return False
        self._check_open()
        fraction = self.fraction if event.fraction is None else event.fraction
        if self._last is not None and (self._last.note, self.fraction) == (event.note, fraction):
            return False
        self.emit(event, context, key_scope=profile_scope())
        return True

    def close(self, event: GoalClosed, context: Context) -> bool:
        """End it; False when it ended so already or the request was carried out before."""
        self._check_set()
        if event.request_id in self._requests or self.outcome == event.outcome:
            return False
        self._check_open()
        self.emit(event, context, key_scope=profile_scope())
        return True

    def _check_set(self) -> None:
        if not self.goal:
            raise NotFoundError("no such goal", expected="the id or the name of a goal", found="none")

    def _check_open(self) -> None:
        if self.outcome is not None:
            raise InvalidInputError(
                "this goal is closed; set it again first", expected="an open goal", found=self.outcome
            )

    def on_set(self, event: GoalSet) -> None:
        """Take what is aimed at."""
        self.goal, self.text, self.name, self.due, self.outcome = event.goal, event.text, event.name, event.due, None
        self._by_person = self.author.type == "person"
        self._carried_out(event.request_id)

    def on_progressed(self, event: GoalProgressed) -> None:
        """Take how far it is."""
        self.fraction = self.fraction if event.fraction is None else event.fraction
        self._last = event
        self._carried_out(event.request_id)

    def on_closed(self, event: GoalClosed) -> None:
        """Take how it ended."""
        self.outcome = event.outcome
        self._carried_out(event.request_id)

    def _carried_out(self, request_id: str) -> None:
        if request_id:
            self._requests.add(request_id)
