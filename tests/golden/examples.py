"""Envelopes whose bodies are recorded: every topic once with all its fields, some with as few as possible."""

from __future__ import annotations

import struct
from datetime import UTC, datetime

import msgspec

from domain.envelope import Actor, Envelope
from domain.events import (
    AccessCounted,
    ContactSet,
    ContactsLinked,
    ContactsUnlinked,
    ContradictionNoted,
    ConversationDeleted,
    ConversationEnded,
    CopyFollowed,
    DroppedItem,
    EmbeddingComputed,
    EmbeddingFailed,
    Event,
    ExpirySet,
    ExtractedItem,
    ExtractionCompleted,
    ExtractionFailed,
    GoalClosed,
    GoalProgressed,
    GoalSet,
    ImportStarted,
    Judgement,
    Learning,
    MemoriesKept,
    MemoriesMerged,
    MemoryConsolidated,
    MemoryCopied,
    MemoryDecayed,
    MemoryExpired,
    MemoryForgotten,
    MemoryJudged,
    MemoryPinned,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
    MemorySuperseded,
    MemoryUnpinned,
    MessageForgotten,
    MessageRecorded,
    NotesSet,
    Origin,
    OriginChanged,
    OverlayAdded,
    PassCompleted,
    ProfileCreated,
    ProfileImported,
    RecallServed,
    ReflectionRecorded,
    RefusalRecorded,
    Served,
    SettingsChanged,
    SummaryRewritten,
    TaskCleared,
    TaskSet,
    Usage,
    UsageRecorded,
)
from domain.settings import AccessSettings, ProfileSettings, RecallPreferences

__all__ = ["EXAMPLES"]

_AT = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
_LATER = datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
_ADDRESS = "lxoepn6c2zcq5e7ahvgrtcwwbq"
_ONE, _TWO = f"{_ADDRESS}@1", f"{_ADDRESS}@2"
_OTHER = "ym6wqjcpbq2z4cgbhm5dlx5x2e@1"
_MESSAGE = "ud3ny4nwjk7ewg2kc2gvkgzkqe"
# A NUL inside the vectors, where the body is cut, is part of them.
_VECTORS = struct.pack("<8f", 1.0, 0.0, 0.0, 0.0, 0.0, 0.6, -0.8, 0.0)

_REMEMBERED = MemoryRemembered(
    memory=_ONE,
    address=_ADDRESS,
    version=1,
    kind="fact",
    text="Ana lives in Lisbon.",
    folded="ana lives in lisbon",
    source="explicit",
    confidence=0.9,
    fact_type="identity",
    scope="Ana 🌍",
    key="home town",
    session="s1",
    sources=(_MESSAGE, f"{_MESSAGE}.2"),
    queries=("Where does Ana live?", "住んでいる所"),
    occurred_at=_AT,
    valid_from=_AT,
    valid_to=_LATER,
    expires_at=_LATER,
    metadata={"n": 1, "f": 0.5, "deep": {"list": [True, None, '\u0000 " \\ é']}},
    request_id="r-1",
)
_BARE = MemoryRemembered(
    memory=_OTHER,
    address=_OTHER[:26],
    version=1,
    kind="task",
    text="東京へ行く",
    folded="東京へ行く",
    source="turn",
    confidence=0.5,
)

_EVENTS: tuple[Event, ...] = (
    ProfileCreated(name="ana"),
    ProfileCreated(name="open", encrypted=False),
    MessageRecorded(message=_MESSAGE, session="s1", role="user", content="Hey \u0000 “Mel” 🙂\n\u2028x"),
    MessageRecorded(
        message=f"{_MESSAGE}.2",
        session="会議",
        role="assistant",
        content="hello",
        occurrence=2,
        at=_AT,
        name="Caroline",
        caller_id="D1:2",
        turn_id="t1",
        channel="chat",
    ),
    MessageForgotten(message=_MESSAGE, session="s1"),
    MessageForgotten(message=_MESSAGE, session="s1", caller_id="D1:1", at=_AT),
    ContactSet(session="s1", contact="Ana", channel="mail"),
    _REMEMBERED,
    _BARE,
    MemorySuperseded(memory=_ONE, by=_TWO, rule="address"),
    MemorySuperseded(memory=_ONE, by=_OTHER, rule="judge", probability=0.75, model="verifier"),
    MemoryRevised(memory=_ONE, metadata={"tag": "home"}),
    ContradictionNoted(memory=_ONE, other="", text="Ana lives in Oslo.", request_id="r-2"),
    ContradictionNoted(memory=_ONE, other=_OTHER, probability=0.625, model="verifier"),
    # Written under schema 1, which held one pair.
    MemoryJudged(memory=_ONE, model="verifier", candidates=(Judgement(memory=_OTHER, replaces=0.25, contradicts=0.5),)),
    MemoryDecayed(memory=_ONE, day="2026-01-02", confidence=0.875),
    MemoryPinned(memory=_ONE),
    MemoryUnpinned(memory=_ONE),
    ExpirySet(memory=_ONE, expires_at=_LATER),
    ExpirySet(memory=_ONE),
    MemoryExpired(memory=_ONE),
    MemoryRetracted(memory=_ONE, request_id="r-3"),
    MemoryRejected(memory=_ONE, skeleton="analivesinlisbon", request_id="r-4"),
    MemoryRestored(memory=_ONE, content=_REMEMBERED, request_id="r-5"),
    MemoryForgotten(address=_ADDRESS, memories=(_ONE, _TWO), with_sources=True, request_id="r-6"),
    EmbeddingComputed(embedding="e" * 26, model="minilm", dimension=4, chunks=2, vectors=_VECTORS),
    EmbeddingComputed(embedding="f" * 26, model="minilm", dimension=4, chunks=0),
    EmbeddingFailed(embedding="e" * 26, model="minilm", reason="no tokens"),
    AccessCounted(instance="i1", counts={_ONE: (3, _AT), _OTHER: (1, _LATER)}),
    RecallServed(
        entries=(Served(verb="recall", query="Where does Ana live?", results=(_ONE, _MESSAGE)),), contact="Ana"
    ),
    ContactsLinked(first="Ana 🌍", second="ana@example.org"),
    ContactsUnlinked(first="Ana 🌍", second="ana@example.org"),
    SettingsChanged(
        version=3,
        settings=ProfileSettings(
            recall=RecallPreferences(fusion="classic", message_share=0.5, fill=3), access=AccessSettings(counted=False)
        ),
    ),
    SettingsChanged(version=1, settings=ProfileSettings()),
    MemoryJudged(
        memory=_TWO,
        model="jev-latest",
        rule="heuristic",
        candidates=(
            Judgement(memory=_OTHER, replaces=0.875, contradicts=0.5, decision="superseded", cosine=0.75),
            Judgement(memory=_ONE, replaces=0.0, contradicts=0.25),
        ),
    ),
    MemoryJudged(memory=_TWO, model="", reason="nothing like it"),
    msgspec.structs.replace(_REMEMBERED, stated_at=_AT, extraction="x" * 26, model="openai:small", source="turn"),
    ExtractionCompleted(
        extraction="x" * 26,
        session="s1",
        messages=(_MESSAGE,),
        source="turn",
        pipeline="1",
        model="openai:small",
        contact="Ana",
        items=(
            ExtractedItem(
                text="Ana lives in Lisbon.",
                kind="fact",
                sources=(_MESSAGE,),
                fact_type="identity",
                key="home city",
                queries=("Where does Ana live?",),
                occurred_at=_AT,
                valid_from=_AT,
                valid_to=_LATER,
                expires_at=_LATER,
                stated_at=_AT,
                found_by="both",
                verdict="corrected",
                checks=("location",),
                before="Ana lives in Lyon.",
                memory=_ONE,
                outcome="remembered",
            ),
            ExtractedItem(text="Ana sings.", kind="fact", sources=(_MESSAGE,)),
        ),
        dropped=(
            DroppedItem(text="Ana is a spy.", reason="no line says so", check="inference", sources=(_MESSAGE,)),
            DroppedItem(text="", reason="empty"),
        ),
        tries=2,
    ),
    ExtractionCompleted(
        extraction="x" * 26, session="s1", messages=(_MESSAGE,), source="ingest", pipeline="1", model="offline"
    ),
    ExtractionFailed(
        extraction="x" * 26,
        session="s1",
        messages=(_MESSAGE,),
        source="turn",
        pipeline="1",
        model="openai:small",
        reason="no answer",
        tries=5,
    ),
    UsageRecorded(
        instance="i1",
        entries=(
            Usage(
                provider="openai",
                model="small",
                purpose="extract.full",
                calls=2,
                input_tokens=900,
                output_tokens=80,
                cost=0.25,
                estimated=True,
            ),
            Usage(provider="local", model="m", purpose="judge", calls=1, input_tokens=9, output_tokens=1),
        ),
    ),
    RefusalRecorded(rule="data-flow", subject="messages", provider="openai", detail="expected own, found partner"),
    RefusalRecorded(rule="data-flow", subject="queries", provider="openai", detail="partner", count=3),
    RecallServed(
        instance="i1",
        session="s 1",
        entries=(
            Served(
                verb="recall_conversation",
                query="boat?",
                results=(_MESSAGE,),
                principal="local-agent",
                principal_type="agent",
                at=_AT,
                provider="managed",
                answered=True,
            ),
        ),
    ),
    NotesSet(session="s1", mode="append", notes="Ana wants short answers.", request_id="r-7"),
    NotesSet(session="s1", mode="clear"),
    TaskSet(session="s1", task="Book the 東京 trip", request_id="r-8"),
    TaskCleared(session="s1", request_id="r-9"),
    TaskCleared(session="s1"),
    ReflectionRecorded(
        reflection=_ADDRESS,
        topic="deploys",
        day="2026-01-01",
        text="Fridays went wrong twice.",
        learnings=(
            Learning(
                text="Never deploy on Fridays.",
                key="reflection:2026-01-01:deploys",
                memory=_OTHER,
                outcome="remembered",
            ),
            Learning(text="", outcome="refused"),
        ),
        request_id="r-10",
    ),
    ReflectionRecorded(reflection=_ADDRESS, topic="deploys", day="2026-01-02", text="Nothing new."),
    GoalSet(goal=_ADDRESS, text="Answer within a day", name="speed", due=_LATER, request_id="r-11"),
    GoalSet(goal=_ADDRESS, text="Answer within a day"),
    GoalProgressed(goal=_ADDRESS, note="Half of them", fraction=0.5, request_id="r-12"),
    GoalProgressed(goal=_ADDRESS, note="Hardly"),
    GoalClosed(goal=_ADDRESS, outcome="achieved", note="Done.", request_id="r-13"),
    GoalClosed(goal=_ADDRESS, outcome="dropped"),
    OverlayAdded(
        session="s 1",
        overlay="o" * 26,
        messages=(_MESSAGE, f"{_MESSAGE}.2"),
        summary="Ana asked for the train.",
        tokens=7,
        model="extractive-1",
        replaces=("p" * 26,),
    ),
    SummaryRewritten(session="s 1", summary="Ana travels.", last=_MESSAGE, messages=61, tokens=4, model="qwen3"),
    MemoryRevised(memory=_ONE, sources=(f"{_MESSAGE}.2",), lost=(_MESSAGE,)),
    MemoryRevised(memory=_ONE, affirmed=True),
    MemoryForgotten(address=_ADDRESS, memories=(_TWO,), lost=(_MESSAGE,)),
    ContradictionNoted(memory=_ONE, other="", text="Ana lives in Oslo.", sources=(_MESSAGE,)),
    ConversationEnded(session="s1"),
    ConversationDeleted(session="会議"),
    msgspec.structs.replace(
        _REMEMBERED,
        source="copy",
        sources=(),
        origin=Origin(profile="bea", memory=_OTHER, position="UMBRIEL.x:7", author="ana", author_type="person"),
    ),
    MemoryCopied(memory=_ONE, profile="bea", copy=_OTHER),
    CopyFollowed(memory=_ONE, profile="bea", copy=_OTHER, how="forgotten", event="e" * 32),
    OriginChanged(memory=_OTHER, status="superseded"),
    MemoryConsolidated(memory=_ONE, members=(_OTHER,), sources=(_MESSAGE, f"{_MESSAGE}.2"), confidence=0.9),
    MemoriesMerged(day="2026-01-01", cluster="c" * 26, memory=_TWO, members=(_ONE, _OTHER), cosine=0.91, model="m"),
    MemoriesKept(day="2026-01-01", cluster="c" * 26, memory=_ONE, members=(_OTHER,), model="m", reason="r"),
    MemoriesMerged(day="2026-01-01", cluster="c" * 26, memory=_ONE, members=(_OTHER,), cosine=0.86),
    PassCompleted(name="consolidation", day="2026-01-01", counts={"decayed": 2, "merged": 1}, scheduled=False),
    PassCompleted(name="reflection", day="2026-01-02"),
    MessageRecorded(message=_MESSAGE, session="s 1", role="user", content="", redacted=True),
    msgspec.structs.replace(_REMEMBERED, text="", folded="", queries=(), metadata={}, key="", redacted=True),
    ImportStarted(run="f" * 64, source="ana", log="UMBRIEL.x"),
    ImportStarted(run="f" * 64),
    ProfileImported(run="f" * 64, counts={"imported": 3, "duplicate": 1}),
    ProfileImported(run="f" * 64, abandoned=True),
)
_ACTORS = (Actor("ana", "person"), Actor("local-agent", "agent"), Actor("embedder", "service"))


def _envelope(number: int, event: Event) -> Envelope:
    return Envelope(
        originator_id=f"ana.{event.category()}.{'a' * 26}",
        originator_version=number,
        event_id=f"{number:032x}",
        recorded_at=_AT,
        actor=_ACTORS[number % 3],
        data=event,
        cause=f"{number - 1:032x}" if number % 2 else "",
        correlation="c-1" if number % 2 else "",
        key_id="" if number % 5 == 0 else "k" * 26,
    )


#: In the order of the recorded lines; append only.
EXAMPLES: tuple[Envelope, ...] = tuple(_envelope(number, event) for number, event in enumerate(_EVENTS, start=1))
