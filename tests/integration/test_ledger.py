"""The ledger on a real SQLite file: what each event leaves behind and what each query answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from domain.errors import DamagedError, InvalidInputError, MismatchError, UnavailableError
from domain.events import (
    AccessCounted,
    ContradictionNoted,
    EmbeddingFailed,
    ExpirySet,
    MemoryDecayed,
    MemoryPinned,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
)
from domain.indexing import Indexing, session_token
from domain.text import fold_key
from projections.ledger import AsOf, Ledger, query_segments
from projections.outcome import Outcome
from tests.builders import MODEL, NOW, Log, indexing, unit


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger."""
    opened = Ledger(tmp_path, indexing())
    yield opened
    opened.close()


@pytest.fixture
def log() -> Log:
    """An empty log."""
    return Log()


def _feed(ledger: Ledger, log: Log) -> Outcome:
    return ledger.apply(log.envelopes, upto=log.position)


def test_position_moves_with_the_data_and_survives_a_reopen(tmp_path: Path, log: Log) -> None:
    """Position and data are one commit, and both are there after the file is opened again."""
    log.message("hello")
    first = Ledger(tmp_path, indexing())
    assert first.apply(log.envelopes, upto=7) is Outcome.APPLIED
    first.close()
    again = Ledger(tmp_path, indexing())
    assert (again.position, again.checkpoint.event_position, again.checkpoint.event_id) == (7, 1, "e1")
    assert again.counts().messages == 1
    again.close()


def test_outcomes_are_named(ledger: Ledger, log: Log) -> None:
    """A batch is applied once, seen the second time, and refused when the log is another one."""
    log.message("hello")
    assert _feed(ledger, log) is Outcome.APPLIED
    assert _feed(ledger, log) is Outcome.SEEN
    assert ledger.advance(5) is Outcome.APPLIED
    other = [msgspec.structs.replace(log.envelopes[0], event_id="different")]
    assert ledger.apply(other, upto=9) is Outcome.MISMATCH
    assert ledger.position == 5


def test_events_out_of_order_are_refused(ledger: Ledger, log: Log) -> None:
    """A batch that is not in log order changes nothing."""
    log.message("one")
    log.message("two")
    with pytest.raises(InvalidInputError):
        ledger.apply(log.envelopes[::-1], upto=2)
    assert ledger.position == 0


def test_a_failed_batch_leaves_nothing(ledger: Ledger, log: Log) -> None:
    """An event that cannot be stored undoes its whole batch, position included."""
    log.message("one")
    log.append(MemoryDecayed(memory="a@1", day="2026-01-01", confidence=0.4))
    log.append(AccessCounted(instance="i", counts={"x": (2**70, NOW)}))
    with pytest.raises(Exception):  # noqa: B017, PT011
        _feed(ledger, log)
    assert (ledger.position, ledger.counts().messages) == (0, 0)


def test_message_is_known_with_its_contact(ledger: Ledger, log: Log) -> None:
    """A message record says everything about it, and the contact of its conversation."""
    public = log.message("hello", name="Ana", at=NOW)
    log.contact("s1", "ana@example.org")
    _feed(ledger, log)
    record = ledger.message(public)
    assert record is not None
    assert (record.content, record.name, record.at, record.contact) == ("hello", "Ana", NOW, "ana@example.org")
    assert [c.session for c in ledger.sessions_of("ana@example.org")] == ["s1"]
    assert ledger.contactless_sessions() == []
    assert ledger.session_tokens("ana@example.org") == {session_token("s1")}
    assert ledger.has_contacts()


def test_no_contacts_means_no_filter(ledger: Ledger, log: Log) -> None:
    """A profile without any contact says so."""
    log.message("hello")
    log.remember("agent-wide")
    _feed(ledger, log)
    assert not ledger.has_contacts()
    assert [c.session for c in ledger.contactless_sessions()] == ["s1"]


def test_forgotten_message_is_blank(ledger: Ledger, log: Log) -> None:
    """A forgotten message keeps its row and loses its words, its item and its liveness."""
    public = log.message("secret words", name="Ana")
    log.forget_message(public)
    _feed(ledger, log)
    record = ledger.message(public)
    assert record is not None
    assert (record.content, record.name, record.forgotten) == ("", "", True)
    assert ledger.live([public], NOW).items == {}
    assert ledger.count == 0
    assert ledger.session_messages("s1") == []


def test_supersession_keeps_the_chain(ledger: Ledger, log: Log) -> None:
    """The replaced version stays addressable, points forward, and is not live."""
    first = log.remember("lives in Rome", key="home city")
    second = log.replace("lives in Oslo", key="home city", version=2)
    _feed(ledger, log)
    old, new = ledger.versions(first.partition("@")[0])
    assert (old.id, old.status, old.superseded_by) == (first, "superseded", second)
    assert (new.id, new.status, new.version) == (second, "live", 2)
    assert set(ledger.live([first, second], NOW).items) == {second}
    assert [e.topic for e in ledger.history(old.address)] == [
        "memory.remembered",
        "memory.remembered",
        "memory.superseded",
    ]
    assert ledger.history(old.address)[-1].detail == {"by": second, "rule": "address"}


def test_restored_version_is_live_again(ledger: Ledger, log: Log) -> None:
    """A restore brings back status and item, and opens a second interval."""
    memory = log.remember("lives in Rome", key="home")
    content = log.envelopes[0].data
    assert isinstance(content, MemoryRemembered)
    log.append(MemoryRetracted(memory=memory))
    log.append(MemoryRestored(memory=memory, content=content))
    _feed(ledger, log)
    record = ledger.memory(memory)
    assert record is not None
    assert (record.status, record.superseded_by, record.position) == ("live", "", 1)
    assert ledger.count == 1
    live_then = [bool(ledger.list_memories(now=NOW, as_of=AsOf(p, NOW)).entries) for p in (1, 2, 3)]
    assert live_then == [True, False, True]


def test_restore_needs_no_earlier_event(ledger: Ledger, log: Log) -> None:
    """A restore that is the first the ledger hears of a memory writes the version it carries."""
    content = MemoryRemembered(
        memory="a@1", address="a", version=1, kind="fact", text="t", folded="t", source="explicit", confidence=0.9
    )
    log.append(MemoryRestored(memory="a@1", content=content))
    _feed(ledger, log)
    record = ledger.memory("a@1")
    assert record is not None
    assert (record.text, record.status) == ("t", "live")


def test_forgotten_memory_is_blank_everywhere(ledger: Ledger, log: Log, tmp_path: Path) -> None:
    """After a forget no text of the memory is left in any table, only its status and its history."""
    memory = log.remember("the canary sings", key="canary-key")
    log.append(MemoryRevised(memory=memory, metadata={"note": "canary"}))
    log.append(ContradictionNoted(memory=memory, other="", text="canary silent"))
    log.forget(memory)
    _feed(ledger, log)
    record = ledger.memory(memory)
    assert record is not None
    assert (record.status, record.text, record.key, record.metadata, record.queries) == ("forgotten", "", "", {}, ())
    assert ledger.by_key(fold_key("canary-key"), [None], now=NOW) is None
    assert ledger.keys_matching(["canary"], now=NOW) == []
    with ledger._store.read() as db:
        assert "canary" not in "\n".join(db.iterdump())


def test_forgotten_stays_forgotten(ledger: Ledger, log: Log) -> None:
    """Later events about a forgotten version change nothing of it."""
    memory = log.remember("x")
    log.forget(memory)
    log.append(MemoryRejected(memory=memory, skeleton="x"))
    log.append(MemoryRevised(memory=memory, metadata={"a": 1}))
    log.append(ExpirySet(memory=memory, expires_at=None))
    _feed(ledger, log)
    record = ledger.memory(memory)
    assert record is not None
    assert (record.status, record.metadata) == ("forgotten", {})
    assert ledger.list_memories(now=NOW, as_of=AsOf(1, NOW)).entries == []
    (then,) = ledger.list_memories(now=NOW, as_of=AsOf(2, NOW), status="all").entries
    assert (then.status, then.text, then.metadata) == ("forgotten", "", {})


def test_expiry_is_judged_at_read(ledger: Ledger, log: Log) -> None:
    """The same row is live before its expiry and expired from then on, without an event."""
    memory = log.remember("short", key="k", expires_at=NOW + timedelta(hours=1))
    _feed(ledger, log)
    later = NOW + timedelta(hours=1)
    assert set(ledger.live([memory], NOW).items) == {memory}
    assert ledger.live([memory], later).items == {}
    assert ledger.by_key("k", [None], now=later) is None
    assert ledger.keys_matching(["k"], now=later) == []
    assert ledger.list_memories(now=later).entries == []
    (entry,) = ledger.list_memories(now=later, status="expired").entries
    assert (entry.status, entry.status_at(later), entry.status_at(NOW)) == ("live", "expired", "live")


def test_past_list_uses_the_expiry_of_then(ledger: Ledger, log: Log) -> None:
    """An expiry that is set later does not reach into the past, and one removed later was real then."""
    memory = log.remember("x", expires_at=NOW + timedelta(hours=1))
    log.append(ExpirySet(memory=memory, expires_at=None))
    _feed(ledger, log)
    after = NOW + timedelta(hours=2)
    assert ledger.list_memories(now=NOW, as_of=AsOf(1, after)).entries == []
    assert len(ledger.list_memories(now=NOW, as_of=AsOf(2, after)).entries) == 1
    assert len(ledger.list_memories(now=after, as_of=AsOf(1, NOW)).entries) == 1


def test_a_time_is_the_position_of_the_last_event_recorded_by_then(ledger: Ledger, log: Log) -> None:
    """Clocks that differ a little do not hide what the log held already, nor does one that ran far ahead once."""
    seconds = (1, 3, 2, 90_000, 5)
    for number, second in enumerate(seconds):
        log.remember(f"memory {number}", key=f"key {number}")
        log.envelopes[-1] = msgspec.structs.replace(log.envelopes[-1], recorded_at=NOW + timedelta(seconds=second))
    _feed(ledger, log)
    points = [ledger.as_of(NOW + timedelta(seconds=second)) for second in (0, 1, 2, 3, 4, 5, 6, 99_000)]
    assert [one and one.position for one in points] == [None, 1, 3, 4, 4, 5, 5, 5]
    assert [ledger.as_of(position) for position in (0, 2)] == [None, AsOf(2, NOW + timedelta(seconds=3))]
    assert ledger.began() == AsOf(1, NOW + timedelta(seconds=1))
    assert [ledger.last_event(position) for position in (0, 4, 99)] == [0, 4, 5]


def test_metadata_confidence_and_pin_follow_their_events(ledger: Ledger, log: Log) -> None:
    """Revisions replace metadata, decay lowers confidence, a pin shows."""
    memory = log.remember("x")
    log.append(MemoryRevised(memory=memory, metadata={"a": [1, None]}))
    log.append(MemoryDecayed(memory=memory, day="2026-01-02", confidence=0.72))
    log.append(MemoryPinned(memory=memory))
    log.append(AccessCounted(instance="i", counts={memory: (2, NOW)}))
    log.append(AccessCounted(instance="j", counts={memory: (3, NOW - timedelta(days=1))}))
    _feed(ledger, log)
    record = ledger.memory(memory)
    assert record is not None
    assert (record.metadata, record.confidence, record.pinned) == ({"a": [1, None]}, 0.72, True)
    assert (record.accesses, record.last_access) == (5, NOW)


def test_key_finds_the_contact_first_then_agent_wide(ledger: Ledger, log: Log) -> None:
    """Scopes answer in the order they are asked, other contacts never."""
    mine = log.remember("Ana's", key="Home City", scope="ana")
    log.remember("old", key="home city")
    everyone = log.remember("everyone's", key="home-city", kind="instruction")
    log.remember("Bob's", key="home_city", scope="bob")
    _feed(ledger, log)

    def found(*scopes: str | None, kind: str | None = None) -> str:
        record = ledger.by_key(fold_key("HOME city"), scopes, kind, now=NOW)
        return record.id if record else ""

    assert found("ana", None) == mine
    assert found(None, "ana") == everyone
    assert found("carl", None) == everyone
    assert found() == found("carl") == found("ana", kind="task") == ""


@pytest.mark.parametrize("text", ["%", "_", "a_c", "a%c", "#key:value", "a*", "' OR 1=1 --", '"', "[a-z]"])
def test_user_text_is_never_a_pattern(ledger: Ledger, log: Log, text: str) -> None:
    """A contact, session or key that looks like a pattern matches only itself."""
    log.remember("abc", key="abc", scope="abc", session="abc")
    log.message("abc", session="abc")
    log.contact("abc", "abc")
    itself = log.remember("own", key=text, scope=text, session=text)
    _feed(ledger, log)
    record = ledger.by_key(fold_key(text), [text], now=NOW)
    assert record is not None
    assert record.id == itself
    assert [m.id for m in ledger.list_memories(now=NOW, contact=text).entries] == [itself]
    assert [m.id for m in ledger.list_memories(now=NOW, contact="*", session=text).entries] == [itself]
    assert ledger.sessions_of(text) == []


def test_list_pages_are_stable_under_inserts(ledger: Ledger, log: Log) -> None:
    """Pages taken while others write show every memory of the first look once, newest first."""
    ids = [log.remember(f"fact {n}") for n in range(25)]
    _feed(ledger, log)
    seen: list[str] = []
    cursor = ""
    while True:
        page = ledger.list_memories(now=NOW, cursor=cursor, limit=10)
        seen += [entry.id for entry in page.entries]
        cursor = page.cursor
        if not cursor:
            break
        log.remember(f"late {len(seen)}")
        _feed(ledger, log)
    assert seen == ids[::-1]


def test_list_filters(ledger: Ledger, log: Log) -> None:
    """Kind, contact and status narrow a list; unknown values are refused."""
    fact = log.remember("f", scope="ana")
    task = log.remember("t", kind="task", session="s9")
    gone = log.remember("g")
    log.append(MemoryRetracted(memory=gone))
    _feed(ledger, log)

    def ids(**filters: object) -> list[str]:
        return [entry.id for entry in ledger.list_memories(now=NOW, **filters).entries]  # type: ignore[arg-type]

    assert ids() == [task]
    assert ids(contact="ana") == ids(contact="*") == [task, fact]
    assert ids(contact="*", status="all") == [gone, task, fact]
    assert ids(status="retracted") == [gone]
    assert ids(kind="task", session="s9") == [task]
    assert ids(contact="bob") == [task]
    for wrong in ({"status": "no"}, {"cursor": "no"}, {"cursor": "é"}):
        with pytest.raises(InvalidInputError):
            ids(**wrong)


def test_exact_key_channel_matches_segments(ledger: Ledger, log: Log) -> None:
    """A key matches by whole segments in any script, fuller matches first, function words never."""
    city = log.remember("Rome", key="home-city of the user")
    home = log.remember("blue", key="home_colour_2024")
    log.remember("a", key="of")
    japanese = log.remember("青", key="好きな色")
    task = log.remember("call", key="home", kind="task")
    _feed(ledger, log)

    def hits(query: str, **options: object) -> list[str]:
        found = ledger.keys_matching(query_segments(query), now=NOW, **options)  # type: ignore[arg-type]
        return [hit.id for hit in found]

    assert hits("Which CITY is home of the user?") == [task, city, home]
    assert hits("homes citya of") == []
    assert hits("私の好きな色は何ですか") == [japanese]
    assert hits("home", kinds=frozenset({"task"})) == [task]
    assert hits("home", scopes=["ana"]) == []
    assert hits("%") == []


def test_pending_embeddings_and_complete(ledger: Ledger, log: Log) -> None:
    """The ledger is complete below the first live item without vectors; a failure counts as complete."""
    log.message("one")
    log.message("two")
    log.message("two", session="s2")
    log.remember("buy milk", kind="task")
    _feed(ledger, log)
    assert [(p.text, p.position) for p in ledger.pending_embeddings()] == [("user: one", 1), ("user: two", 2)]
    assert ledger.complete_position() == 0
    log.embed("user: one", unit(1, 0, 0, 0))
    _feed(ledger, log)
    assert ledger.complete_position() == 1
    embedding = ledger.pending_embeddings()[0].embedding
    log.append(EmbeddingFailed(embedding=embedding, model="another", reason="not ours"))
    _feed(ledger, log)
    assert ledger.complete_position() == 1
    log.append(EmbeddingFailed(embedding=embedding, model=MODEL, reason="too odd"))
    _feed(ledger, log)
    assert ledger.complete_position() == log.position
    assert [p.reason for p in ledger.pending_embeddings(state="failed")] == ["too odd"]
    assert (ledger.counts().pending, ledger.counts().failed) == (0, 1)
    log.embed("user: two", unit(0, 1, 0, 0))
    _feed(ledger, log)
    assert ledger.counts().failed == 0


def test_removed_items_wait_for_nothing(ledger: Ledger, log: Log) -> None:
    """What is forgotten before it was embedded no longer holds up completeness."""
    public = log.message("one")
    log.forget_message(public)
    _feed(ledger, log)
    assert ledger.pending_embeddings() == []
    assert ledger.complete_position() == log.position


def test_another_model_is_a_mismatch(tmp_path: Path) -> None:
    """A ledger built for one embedding model does not open for another."""
    Ledger(tmp_path, indexing()).close()
    with pytest.raises(MismatchError):
        Ledger(tmp_path, Indexing(lambda *_: "x", "another", 4))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """A file that is no database is reported as damaged, never as empty."""
    (tmp_path / "ledger.sqlite").write_bytes(b"not a database" * 1000)
    with pytest.raises(DamagedError):
        Ledger(tmp_path, indexing())


def test_readers_see_whole_batches(ledger: Ledger, log: Log) -> None:
    """Threads that read while batches are applied see position and data of the same commit."""
    wrong: list[tuple[int, int]] = []
    done = threading.Event()
    ids = [log.message(f"m{n}", session=f"s{n}") for n in range(200)]

    def read() -> None:
        while not done.is_set():
            live = ledger.live(ids, NOW)
            if live.position != len(live.items):
                wrong.append((live.position, len(live.items)))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for start in range(0, 200, 20):
        ledger.apply(log.envelopes[start : start + 20], upto=start + 20)
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_two_writers_apply_each_event_once(tmp_path: Path, log: Log) -> None:
    """Two processes' worth of ledgers on one file count an access once."""
    first, second = Ledger(tmp_path, indexing()), Ledger(tmp_path, indexing())
    memory = log.remember("x")
    log.append(AccessCounted(instance="i", counts={memory: (1, NOW)}))
    outcomes = {_feed(first, log), _feed(second, log)}
    assert outcomes == {Outcome.APPLIED, Outcome.SEEN}
    record = second.memory(memory)
    assert record is not None
    assert record.accesses == 1
    first.close()
    second.close()


def test_a_closed_ledger_says_so(tmp_path: Path) -> None:
    """Reading after close is a named error, and closing twice is allowed."""
    ledger = Ledger(tmp_path, indexing())
    ledger.close()
    ledger.close()
    with pytest.raises(UnavailableError):
        _ = ledger.position


@pytest.mark.parametrize("reading", [False, True])
def test_what_is_forgotten_leaves_the_write_ahead_log(tmp_path: Path, log: Log, *, reading: bool) -> None:
    """At once, or with the next write where somebody read an older snapshot for too long."""
    ledger = Ledger(tmp_path, indexing())
    memory = log.remember("a zebracanary was seen")
    message = log.message("the quaggacanary told so")
    log.remember("gardens stay")
    _feed(ledger, log)
    canaries = b"zebracanary", b"quaggacanary"
    assert all(_holds(tmp_path, one) for one in (*canaries, b"gardens"))
    log.forget(memory)
    log.forget_message(message)
    with ledger._store.read() as db:
        if reading:
            db.execute("SELECT count(*) FROM memories").fetchone()
            _feed(ledger, log)
            assert _holds(tmp_path, canaries[0])
    if not reading:
        _feed(ledger, log)
    else:
        ledger.advance(log.position + 1)
    assert [one for one in canaries if _holds(tmp_path, one)] == []
    assert _holds(tmp_path, b"gardens")
    ledger.close()


def _holds(directory: Path, word: bytes) -> bool:
    """Whether a file of an open ledger has these bytes."""
    return any(word in path.read_bytes() for path in directory.iterdir())
