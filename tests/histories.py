"""Random histories: events in an order that no aggregate would allow, about few memories and messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

from hypothesis import strategies as st

from domain.envelope import Envelope
from domain.events import (
    AccessCounted,
    ContactsLinked,
    ContactsUnlinked,
    ContradictionNoted,
    ConversationDeleted,
    ConversationEnded,
    EmbeddingFailed,
    Event,
    ExpirySet,
    GoalClosed,
    GoalProgressed,
    GoalSet,
    Learning,
    MemoryDecayed,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRevised,
    MemorySuperseded,
    MessageRecorded,
    NotesSet,
    OverlayAdded,
    ReflectionDrafted,
    ReflectionRecorded,
    SettingsChanged,
    SummaryRewritten,
    TaskCleared,
    TaskSet,
    Thought,
)
from domain.indexing import message_text
from domain.settings import ProfileSettings, RecallPreferences
from tests.builders import MODEL, NOW, Log, indexing, unit

__all__ = ["STEPS", "random_log", "split"]

_MEMORY_ACTIONS, _WORK_ACTIONS, _EPISODE_ACTIONS = 7, 12, 14
_PREFERENCES = [RecallPreferences(fill=number) for number in range(4)]
STEPS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=30)


def random_log(steps: list[tuple[int, int, int]]) -> Log:
    """A log of random, even contradictory, events about few memories and messages."""
    log = Log(step=2)
    for action, what, variant in steps:
        key, content, session = f"key {what % 3}", f"content {what}", f"s{what % 2}"
        written = [e.data for e in log.envelopes if isinstance(e.data, MemoryRemembered)]
        said = [e.data for e in log.envelopes if isinstance(e.data, MessageRecorded)]
        memory = written[what % len(written)] if written else None
        if action >= _WORK_ACTIONS:
            _work(log, action, what, variant, said, [one.memory for one in written])
            continue
        message = said[what % len(said)] if said else None
        if memory and action >= _MEMORY_ACTIONS:
            _touch(log, action, memory, variant)
            continue
        match action:
            case 0:
                log.message(content, session=session)
            case 1:
                log.contact(session, f"contact {variant}")
            case 2 if message:
                log.forget_message(message.message, session=message.session)
            case 3 if message:
                log.embed(message_text(message), unit(1, what, 0, 0))
            case 4 if message:
                embedding = indexing().embedding_id("k1", message_text(message))
                log.append(EmbeddingFailed(embedding=embedding, model=MODEL, reason=f"reason {variant}"))
            case 5 | 6:
                scope = None if variant % 2 else "ana"
                log.remember(
                    content, key=key, scope=scope, version=1 + variant, kind="task" if variant == 3 else "fact"
                )
            case _:
                _set(log, action, what, variant)
    return log


def _set(log: Log, action: int, what: int, variant: int) -> None:
    match action:
        case 2 | 3 | 4:
            linked = ContactsLinked if what % 2 else ContactsUnlinked
            log.append(linked(first=f"contact {what % 3}", second=f"contact {3 + variant}"))
        case 7:
            log.append(SettingsChanged(version=variant, settings=ProfileSettings(recall=_PREFERENCES[variant])))
        case _:
            counts = {f"content {what}": (1 + variant, NOW + timedelta(hours=what))}
            log.append(AccessCounted(instance="i", counts=counts))


def _work(log: Log, action: int, what: int, variant: int, said: list[MessageRecorded], written: list[str]) -> None:
    if action >= _EPISODE_ACTIONS:
        _episode(log, what, variant + 4 * (action - _EPISODE_ACTIONS), said, written)
        return
    memory = written[what % len(written)] if written else ""
    session, text, goal = f"s{what % 3}", f"text {what}", f"goal {variant}"
    works: list[Event] = (
        [
            NotesSet(session=session, mode="append" if what % 2 else "replace", notes=text),
            NotesSet(session=session, mode="clear"),
            TaskSet(session=session, task=text),
            TaskCleared(session=session),
        ]
        if action == _WORK_ACTIONS
        else [
            GoalSet(goal=goal, text=text),
            GoalProgressed(goal=goal, note=text, fraction=None if what % 2 else what / 5),
            GoalClosed(goal=goal, outcome="achieved" if what % 2 else "failed"),
            ReflectionRecorded(
                reflection="r", topic=text, day="2026-01-01", text=text, learnings=(Learning(text=text, memory=memory),)
            ),
        ]
    )
    log.append(works[variant])


def _episode(log: Log, what: int, variant: int, said: list[MessageRecorded], written: list[str]) -> None:
    """What stands for messages and for memories: summaries, reflections, and the ends of sessions."""
    last = said[what % len(said)] if said else MessageRecorded(message="none", session="s0", role="user", content="")
    session, text = last.session, f"text {what}"
    messages = tuple(dict.fromkeys(one.message for one in said if one.session == session))[: 1 + what] or (
        last.message,
    )
    drawn_from = tuple(dict.fromkeys(written))[: 1 + what % 2]
    new = written[-1] if written else ""
    learning = Learning(text=text, memory=new, outcome="remembered", drawn_from=tuple(set(drawn_from) - {new}))
    thought = Thought(topic=text, text=text, sources=messages, drawn_from=drawn_from)
    works: list[Event] = [
        OverlayAdded(session=session, overlay=f"o{what}", messages=messages, summary=text, tokens=3, model="m"),
        OverlayAdded(
            session=session, overlay=f"p{what}", messages=messages, summary=text, tokens=3, model="m", replaces=("o1",)
        ),
        SummaryRewritten(session=session, summary=text, last=last.message, messages=1, tokens=3, model="m"),
        ConversationEnded(session=session),
        ConversationDeleted(session=session),
        ReflectionDrafted(draft="d", day="2026-01-01", pipeline="r", model="m", lines=1, notes=1, thoughts=(thought,)),
        ReflectionRecorded(
            reflection="r", topic=text, day="2026-01-01", text=text, sources=messages, model="m", learnings=(learning,)
        ),
        ReflectionRecorded(reflection="r", topic=text, day="2026-01-02", text=text, contact="ana", sources=messages),
    ]
    log.append(works[variant])


def _touch(log: Log, action: int, memory: MemoryRemembered, variant: int) -> None:
    id_ = memory.memory
    match action, variant:
        case 7, _:
            log.forget(id_)
        case 8, _:
            log.append(MemorySuperseded(memory=id_, by=f"x@{variant}", rule="judge"))
        case 9, _:
            log.append(MemoryRestored(memory=id_, content=memory))
        case _, 0:
            log.append(MemoryRevised(memory=id_, metadata={"n": variant}))
        case _, 1:
            log.append(MemoryDecayed(memory=id_, day="2026-01-02", confidence=0.3))
        case _, 2:
            log.append(ExpirySet(memory=id_, expires_at=NOW + timedelta(minutes=1)))
        case _:
            log.append(ContradictionNoted(memory=id_, other="", text="a text"))
            log.append(MemoryRejected(memory=id_, skeleton="x"))


def split(envelopes: Sequence[Envelope], cuts: list[int]) -> list[Sequence[Envelope]]:
    """Cut a log into batches at these places."""
    edges = [0, *sorted({cut % (len(envelopes) + 1) for cut in cuts}), len(envelopes)]
    return [envelopes[start:end] for start, end in pairwise(edges)]
