"""Every number that can be set, in one frozen Struct with its default: of an instance, and of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from domain.errors import InvalidInputError
from domain.settings_reflection import ReflectionLimits, ReflectionPreferences

__all__ = [
    "AccessSettings",
    "AnalysisLimits",
    "AnswerLimits",
    "BackupSettings",
    "ConsolidationPreferences",
    "DataFlow",
    "DecayPreferences",
    "ExtractionLimits",
    "ExtractionPreferences",
    "HistoryLimits",
    "Limits",
    "PastLimits",
    "ProfileSettings",
    "ProviderPreferences",
    "Reaches",
    "RecallPreferences",
    "ReflectionLimits",
    "ReflectionPreferences",
    "RetentionPreferences",
    "SealingLimits",
    "Settings",
    "TaskPreferences",
    "ThinkingRoom",
    "TurnLimits",
    "VectorGrowth",
    "VerifierLimits",
    "VerifierPreferences",
    "flat",
    "with_changes",
]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes above which input is refused (C18)."""

    messages_per_ingest: int = 500
    occurrences: int = 10_000
    message_bytes: int = 32_768
    #: of what is kept beside a message, as JSON writes it
    attachment_bytes: int = 262_144
    memory_bytes: int = 32_768
    query_bytes: int = 1_024
    session_chars: int = 64
    contact_chars: int = 256
    key_chars: int = 256
    name_chars: int = 256
    metadata_bytes: int = 4_096
    notes_bytes: int = 16_384
    task_bytes: int = 4_096
    goal_bytes: int = 4_096
    reflection_bytes: int = 32_768
    learning_bytes: int = 4_096
    learnings: int = 20
    #: a reflection's topic, which is part of its memories' keys
    topic_chars: int = 200
    metadata_depth: int = 16
    list_limit: int = 500
    recall_limit: int = 200
    feed_limit: int = 1_000
    feed_wait_seconds: float = 30.0
    reply_bytes: int = 900_000


class ExtractionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How conversations are cut for extraction, and how long it tries."""

    #: seconds without a message after which what was said is read without waiting for an answer
    idle_seconds: float = 10.0
    #: messages read at once; what is pending beyond is the next stretch
    messages: int = 500
    #: a stretch of at most this many messages is a turn, a longer one was ingested in bulk
    turn_messages: int = 4
    #: characters of one chunk, and the messages two chunks share
    chunk_chars: int = 10_000
    overlap: int = 2
    #: chunks read at the same time
    parallel: int = 4
    #: messages from which a detail pass runs beside the full one
    detail_from: int = 9
    #: characters of a tool's output above which it is noise
    tool_chars: int = 2_000
    #: statements one stretch may make
    items: int = 200
    #: tries before the work counts as failed, and the seconds before the second one (doubled each time)
    tries: int = 7
    pause_seconds: float = 1.0
    #: seconds that reading one stretch may take
    read_seconds: float = 600.0
    #: profiles worked for at the same time
    profiles: int = 4


class VerifierLimits(msgspec.Struct, frozen=True, kw_only=True):
    """When an older memory is asked about, and when it is replaced (U21)."""

    candidates: int = 3
    cosine: float = 0.6
    replaces: float = 0.75
    contradicts: float = 0.75
    tries: int = 5
    pause_seconds: float = 1.0
    #: seconds that one opinion may take
    judge_seconds: float = 60.0


class TurnLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a turn that is under way, and for how long (U1-U3)."""

    #: tool calls kept of one turn, the newest
    rows: int = 40
    #: characters kept of what a tool returned, and of what it was called with
    preview_chars: int = 3_000
    arguments_chars: int = 1_000
    #: bytes of all rows; above, the previews get shorter
    bytes: int = 400_000
    #: browser or other sessions that one turn may hold open
    sessions: int = 20
    #: turns of one session that are kept beside each other, the newest
    kept: int = 20
    #: seconds without a tool round after which another request takes the turn over
    resume_seconds: float = 45.0
    #: seconds after which what is kept of a turn expires
    keep_seconds: int = 86_400


class HistoryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How a conversation is fitted into a budget of tokens (U7, U8, U10); what the two shares leave is the tail's."""

    head_share: float = 0.1
    overlay_share: float = 0.2
    #: messages a conversation begins with that are shown
    head_messages: int = 2
    #: messages read at once, and at most
    page: int = 10
    scanned: int = 200
    #: messages that one overlay stands for
    overlay_from: int = 3
    overlay_to: int = 60
    #: tokens of an overlay: a part of what it stands for, within bounds; and of the summary of all
    overlay_part: float = 0.12
    overlay_least: int = 60
    overlay_most: int = 400
    summary_tokens: int = 600
    #: memories that a look over a stretch may add before its words are out of sight
    flushed: int = 10
    #: seconds that one summary may take a model
    seconds: float = 120.0
    #: part of a context's budget for what is not history: notes, task, resumed work, memories
    aside_share: float = 0.4


class ThinkingRoom(msgspec.Struct, frozen=True, kw_only=True):
    """What a level of thinking gives a model: results to look at, tokens to show them in, and tokens to think in."""

    results: int
    prompt_tokens: int
    answer_tokens: int


class AnswerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How answers in words are made from what recall finds (C13)."""

    low: ThinkingRoom = ThinkingRoom(results=10, prompt_tokens=4_000, answer_tokens=1_000)
    medium: ThinkingRoom = ThinkingRoom(results=20, prompt_tokens=8_000, answer_tokens=4_000)
    high: ThinkingRoom = ThinkingRoom(results=40, prompt_tokens=16_000, answer_tokens=8_000)
    #: seconds that an answer may take, all tries and models together; what was found is handed out all the same
    seconds: float = 60.0
    #: answers made at the same time; recall without an answer must not wait behind them
    parallel: int = 16

    def room(self, thinking: Literal["low", "medium", "high"]) -> ThinkingRoom:
        """Return what a level gives."""
        return {"low": self.low, "medium": self.medium, "high": self.high}[thinking]


class AnalysisLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How a model analyses queries, and how long recall waits for it (C12)."""

    #: seconds after which recall goes on without it
    seconds: float = 2.0
    #: topic keys in use that it may choose from, the newest
    keys: int = 50
    #: failures in a row after which a model is left alone, and the seconds that lasts
    tries: int = 3
    rest_seconds: float = 60.0
    #: analyses kept to be used again, and the seconds they are
    kept: int = 1_000
    kept_seconds: float = 600.0


class PastLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many views of the past are kept, how long, and how they are made."""

    #: generations kept at once, their bytes on disk together, and the seconds without a question they are kept
    kept: int = 4
    kept_bytes: int = 1024**3
    kept_seconds: float = 900.0
    #: seconds a request waits for one before it says how far it is
    wait_seconds: float = 1.0
    #: seconds without anybody asking after which one is not made on
    patience_seconds: float = 60.0
    #: generations that may be asked for before they are made
    waiting: int = 8


class SealingLimits(msgspec.Struct, frozen=True, kw_only=True):
    """When what was written is sealed: so many messages at most, and so many seconds after the first of them."""

    messages: int = 1_000
    seconds: float = 60.0


class BackupSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where backups go by themselves (an empty ``directory``: none do), how often, and how many are kept."""

    directory: str = ""
    #: hours from one to the next
    every: Annotated[float, msgspec.Meta(gt=0.0, le=8_760.0)] = 24.0
    keep: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 7


class VectorGrowth(msgspec.Struct, frozen=True, kw_only=True):
    """How vectors are held in memory as a profile grows; what is found is the same, and exact, at any size."""

    #: rows from which a part of the vectors is held as codes of 8 bits a component
    coded_from: Annotated[int, msgspec.Meta(ge=1)] = 20_000
    #: the most rows of a part: what is read, scored and replaced at once
    part_rows: Annotated[int, msgspec.Meta(ge=2)] = 131_072


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one instance."""

    limits: Limits = Limits()
    #: events applied in one commit of a profile's views
    reader_batch: int = 256
    #: texts embedded at once
    embedding_batch: int = 64
    #: profiles whose views are kept open
    open_profiles: int = 64
    #: bytes of memory that their views may take together, about; the one used last stays open whatever it takes
    open_profile_bytes: int = 4 * 1024**3
    #: how their vectors are held
    vectors: VectorGrowth = VectorGrowth()
    #: bytes of decoded events kept for feeds
    feed_cache_bytes: int = 16 * 1024**2
    #: feeds of one principal that may wait at once
    feeds_per_principal: int = 2_000
    #: threads that run commands and queries
    command_threads: int = 8
    #: how long a read waits for its ``at_least`` position
    wait_seconds: float = 10.0
    #: how long an erasure is waited for; it goes on after that
    erase_seconds: float = 540.0
    #: seconds between flushes of what is counted: accesses, refusals, what model calls used
    flush_seconds: float = 5.0
    #: seconds without a request after which ``serve --exit-when-idle`` ends
    idle_seconds: float = 300.0
    #: whether conversations are read for memories and new memories held against older ones
    thinking: bool = True
    extraction: ExtractionLimits = ExtractionLimits()
    verifier: VerifierLimits = VerifierLimits()
    turns: TurnLimits = TurnLimits()
    history: HistoryLimits = HistoryLimits()
    reflection: ReflectionLimits = ReflectionLimits()
    answering: AnswerLimits = AnswerLimits()
    analysis: AnalysisLimits = AnalysisLimits()
    past: PastLimits = PastLimits()
    sealing: SealingLimits = SealingLimits()
    backup: BackupSettings = BackupSettings()
    #: largest size of the log; below the disk's, so that a full log is a clear error
    log_max_bytes: int = 64 * 1024**3
    #: copies of every stream, on as many servers
    replicas: int = 1
    #: besides keeping views: answer requests (``api``), think about what was written (``worker``)
    roles: tuple[str, ...] = ("api", "worker")


class RecallPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """How a profile's recall orders and fills its results."""

    #: ``default`` is the set that measured best, ``classic`` reciprocal ranks
    fusion: Literal["default", "classic"] = "default"
    #: largest part of the results that may be messages while memories are left
    message_share: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 1.0
    #: whether a language model says what a query looks for beyond its words, where one is configured and may be told
    analysis: bool = True
    #: places left over that memories used lately or often may take
    fill: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0


class AccessSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it is recorded which memories were handed out, and which questions they answered."""

    counted: bool = True
    recalls: bool = True


class ExtractionPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a profile's conversations are read for memories, and once more before their words are out of sight."""

    enabled: bool = True
    before_compaction: bool = True


class VerifierPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a profile's new memories are held against older ones like them."""

    enabled: bool = True


class DecayPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """How the confidence of what nobody uses falls: ``× factor`` a day from ``days`` without use on, to ``floor``.

    What a person stated is spared by default: a statement does not become less true because nobody asks for it, and
    who confirmed it would find it behind what agents guessed later.
    """

    enabled: bool = True
    days: Annotated[int, msgspec.Meta(ge=1, le=36_500)] = 30
    factor: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.8
    floor: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.1
    spare_people: bool = True


class ConsolidationPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked at for duplicates each day: how many memories of a scope, how alike, how many merges at most."""

    enabled: bool = True
    sample: Annotated[int, msgspec.Meta(ge=2, le=200)] = 30
    cosine: Annotated[float, msgspec.Meta(ge=0.5, le=1.0)] = 0.85
    merges: Annotated[int, msgspec.Meta(ge=0, le=50)] = 5


#: How far content may go: not outside this machine, to endpoints of one's own, or to third parties.
Reaches = Literal["local", "own", "partner"]


class DataFlow(msgspec.Struct, frozen=True, kw_only=True):
    """The farthest class of provider that each class of a profile's content may be sent to."""

    messages: Reaches = "own"
    memories: Reaches = "own"
    queries: Reaches = "own"


class ProviderPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """Whether what is written is forwarded to the configured managed memory, and which one answers recall."""

    forward: bool = False
    recall: Literal["local", "managed"] = "local"


class TaskPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """How long tasks of a session live that have no end of their own and whose session does not end, in days."""

    #: 0: until something else ends them
    ttl_days: Annotated[int, msgspec.Meta(ge=0, le=36_500)] = 30


class RetentionPreferences(msgspec.Struct, frozen=True, kw_only=True):
    """After how many days messages and memories are shown no more; the log keeps them."""

    #: 0: never
    days: Annotated[int, msgspec.Meta(ge=0, le=36_500)] = 0


class ProfileSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one profile, changed at run time through events.

    A capability adds its own section here, a Struct whose fields have defaults: older events, which lack them,
    then read as those defaults. Renaming a field or changing its meaning is a new schema of the event, with an
    upcaster. Events hold every field, so that a new default changes nothing for who has chosen.
    """

    recall: RecallPreferences = RecallPreferences()
    access: AccessSettings = AccessSettings()
    extraction: ExtractionPreferences = ExtractionPreferences()
    verifier: VerifierPreferences = VerifierPreferences()
    decay: DecayPreferences = DecayPreferences()
    consolidation: ConsolidationPreferences = ConsolidationPreferences()
    reflection: ReflectionPreferences = ReflectionPreferences()
    data_flow: DataFlow = DataFlow()
    provider: ProviderPreferences = ProviderPreferences()
    tasks: TaskPreferences = TaskPreferences()
    retention: RetentionPreferences = RetentionPreferences()


def flat(settings: ProfileSettings) -> dict[str, Any]:
    """Return settings by name, as ``{"recall.fusion": "default", …}``."""
    sections = msgspec.to_builtins(settings)
    return {f"{section}.{field}": value for section, fields in sections.items() for field, value in fields.items()}


def with_changes(settings: ProfileSettings, changes: Mapping[str, Any]) -> ProfileSettings:
    """Return settings with some of them changed by name; raises InvalidInputError for a name or value that is none."""
    known = flat(settings)
    if unknown := sorted(set(changes) - set(known)):
        raise InvalidInputError("unknown setting", expected=", ".join(known), found=", ".join(unknown)[:200])
    sections = msgspec.to_builtins(settings)
    for name, value in changes.items():
        section, _, field = name.partition(".")
        sections[section][field] = value
    try:
        return msgspec.convert(sections, ProfileSettings, strict=True)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise InvalidInputError(f"{place.rstrip('`')} cannot have that value: {reason}") from error
