"""Recall over the real ledger, vector and keyword views."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import prod
from pathlib import Path

import pytest

from domain.errors import InvalidInputError
from domain.events import AccessCounted, MemoryRetracted
from projections.keywords import KeywordView
from projections.ledger import Ledger
from projections.recall import RecallAnswer, RecallQuery, RecallSettings, recall
from projections.vectors import VectorView
from tests.builders import DIMENSION, MODEL, NOW, Log, indexing, unit

BLUE, RED, OFF = unit(1, 0, 0, 0), unit(0, 1, 0, 0), unit(0, 0, 0, 1)


class Profile:
    """One profile's views fed from a log, and a query embedder that knows what each test says it knows."""

    def __init__(self, root: Path) -> None:
        self.ledger = Ledger(root / "ledger", indexing())
        self.vectors = VectorView(root / "vectors", MODEL, DIMENSION)
        self.keywords = KeywordView(root / "keywords")
        self.log = Log()
        self.embedded: list[str] = []
        self.direction = BLUE

    def feed(self, *, indexes: bool = True) -> None:
        """Apply what the log has; without the indexes they stay behind."""
        envelopes, upto = self.log.envelopes, self.log.position
        self.ledger.apply(envelopes, upto=upto)
        changes = [change for change in map(indexing().change, envelopes) if change is not None]
        if indexes:
            self.vectors.apply(changes, upto=upto, event_id=f"e{upto}")
            self.keywords.apply(changes, upto=upto, event_id=f"e{upto}")

    def say(self, content: str, vector: bytes = OFF, *, session: str = "s1", role: str = "user", name: str = "") -> str:
        """Record and embed a message."""
        public = self.log.message(content, session=session, role=role, name=name)
        self.log.embed(f"{name or role}: {content}", vector)
        return public

    def state(self, text: str, vector: bytes = OFF, *, key: str = "", scope: str | None = None, **more: object) -> str:
        """Remember and embed a statement."""
        memory = self.log.remember(text, key=key, scope=scope, **more)  # type: ignore[arg-type]
        self.log.embed(text, vector)
        return memory

    def ask(
        self, text: str, *, now: datetime = NOW, settings: RecallSettings | None = None, **options: object
    ) -> RecallAnswer:
        """Recall with the embedder of this test."""

        def embed(query: str) -> bytes:
            self.embedded.append(query)
            return self.direction

        request = RecallQuery(text=text, **options)  # type: ignore[arg-type]
        return recall(self, request, embed_query=embed, now=now, settings=settings or RecallSettings())

    def ids(self, text: str, **options: object) -> list[str]:
        """Ids of what is recalled, best first."""
        return [hit.item.id for hit in self.ask(text, **options).results]  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the views."""
        for view in (self.ledger, self.vectors, self.keywords):
            view.close()


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Profile]:
    """An empty profile."""
    opened = Profile(tmp_path)
    yield opened
    opened.close()


def test_nothing_in_nothing_out(profile: Profile) -> None:
    """An empty profile answers with nothing and does not even embed the query."""
    asked = (
        "key",
        "vector",
        "keyword",
        "message_vector",
        "message_keyword",
        "message_window",
        "message_neighbour",
        "message_session",
        "memory_source",
    )
    assert profile.ask("anything") == RecallAnswer(
        results=[],
        position=0,
        truncated=False,
        channels={name: [] for name in asked},
        weights={name: getattr(RecallSettings(), name).weight for name in asked},
    )
    assert profile.embedded == []


def test_every_channel_finds_and_is_told(profile: Profile) -> None:
    """A memory found by key, vector and keyword says so, with rank, score and weight, and what it came from."""
    memory = profile.state("the favourite colour is blue", BLUE, key="favourite colour")
    message = profile.say("blue is what I like", BLUE)
    profile.feed()
    answer = profile.ask("favourite colour blue")
    assert [hit.item.id for hit in answer.results] == [memory, message]
    assert [(one.channel, one.rank, one.weight) for one in answer.results[0].channels] == [
        ("key", 1, 0.75),
        ("vector", 1, 0.5),
        ("keyword", 1, 0.5),
    ]
    assert {one.channel for one in answer.results[1].channels} == {
        "message_vector",
        "message_keyword",
        "message_window",
        "message_session",
    }
    assert answer.results[1].item.sources == (message,)
    assert answer.results[0].relevance == pytest.approx(1.0, abs=1e-3)
    assert answer.channels["vector"] == [memory]
    assert answer.position == profile.log.position
    assert profile.embedded == ["favourite colour blue"]


def test_memories_come_before_messages_at_equal_evidence(profile: Profile) -> None:
    """The same words and the same vector rank higher as a memory than as a message, whatever its source."""
    memory = profile.state("user: blue sky", BLUE, source="turn")
    message = profile.say("blue sky", BLUE)
    profile.feed()
    assert profile.ids("blue sky") == [memory, message]


def test_an_unfitting_memory_is_below_a_fitting_message(profile: Profile) -> None:
    """A lone memory about something else does not outrank the message that answers."""
    memory = profile.state("the cat sleeps", OFF)
    message = profile.say("my car is blue", BLUE)
    profile.say("nothing of note", RED)
    profile.feed()
    assert profile.ids("which car is blue")[0] == message
    assert memory not in profile.ids("which car is blue", min_score=0.2)


def test_confidence_decides_at_equal_evidence(profile: Profile) -> None:
    """0.9 is before 0.85, 0.6 and 0.5 when nothing else differs."""
    paths = {"explicit": 0.9, "reflection": 0.85, "pre-compaction": 0.6, "turn": 0.5}
    ids = {path: profile.state("blue sky", BLUE, source=path, key=f"k{n}") for n, path in enumerate(paths)}
    profile.feed()
    assert profile.ids("blue sky", channels=frozenset({"vector", "keyword"})) == list(ids.values())


@pytest.mark.parametrize("indexes", [True, False], ids=["indexes follow", "indexes stay behind"])
def test_dead_memories_take_no_places(profile: Profile, indexes: bool) -> None:  # noqa: FBT001
    """Replaced, retracted, forgotten and expired ones are gone at once and leave their ranks to the living."""
    dead = [
        profile.state("blue sky one", BLUE, key="a"),
        profile.state("blue sky two", BLUE, key="b"),
        profile.state("blue sky three", BLUE, key="c"),
        profile.state("blue sky four", BLUE, key="d", expires_at=NOW),
    ]
    live = profile.state("blue", unit(1, 1, 0, 0), key="e")
    message = profile.say("blue sky five", BLUE)
    profile.feed()
    new = profile.log.replace("green grass", key="a", version=2)
    profile.log.append(MemoryRetracted(memory=dead[1]))
    profile.log.forget(dead[2])
    profile.log.forget_message(message)
    profile.feed(indexes=indexes)
    answer = profile.ask("blue sky", settings=RecallSettings())
    found = [hit.item.id for hit in answer.results]
    assert found[0] == live
    assert set(found) <= {live, new}
    assert [one.rank for one in answer.results[0].channels if one.channel == "vector"] == [1]


def test_many_dead_hits_are_refilled(profile: Profile) -> None:
    """When the best hundreds are expired, the search goes on until living ones are found."""
    for n in range(150):
        profile.state(f"blue sky {n}", BLUE, expires_at=NOW)
    live = profile.state("blue", unit(1, 1, 0, 0))
    profile.feed()
    assert profile.ids("blue sky") == [live]


def test_contacts_do_not_see_each_other(profile: Profile) -> None:
    """A contact gets its own and the agent-wide; without a contact only the agent-wide; all only on demand."""
    ana = profile.state("blue ana", BLUE, key="colour", scope="a")
    longer = profile.state("blue ana1", BLUE, key="colour", scope="a1")
    everyone = profile.state("blue everyone", BLUE, key="colour")
    profile.log.contact("of a", "a")
    profile.log.contact("of a1", "a1")
    said = {session: profile.say(f"blue {session}", BLUE, session=session) for session in ("of a", "of a1", "nobody")}
    profile.feed()
    assert set(profile.ids("blue colour", contact="a")) == {ana, everyone, said["of a"]}
    assert set(profile.ids("blue colour", contact="a1")) == {longer, everyone, said["of a1"]}
    assert set(profile.ids("blue colour")) == {everyone, said["nobody"]}
    assert set(profile.ids("blue colour", contact="unknown")) == {everyone}
    assert set(profile.ids("blue colour", contact="*")) == {ana, longer, everyone, *said.values()}
    assert set(profile.ids("blue colour", contact="%")) == {everyone}


def test_a_small_contact_is_not_starved(profile: Profile) -> None:
    """Hundreds of closer memories of another contact do not push a contact's own out of the candidates."""
    for n in range(300):
        profile.state(f"blue {n}", BLUE, scope="big")
    own = profile.state("blue own", unit(1, 1, 0, 0), scope="small")
    profile.feed()
    assert profile.ids("blue", contact="small") == [own]


def test_kinds_and_channels_narrow(profile: Profile) -> None:
    """Only the asked kinds and channels take part; a task is found by keyword alone; unknown names are refused."""
    fact = profile.state("blue fact", BLUE)
    task = profile.log.remember("paint it blue", kind="task")
    message = profile.say("blue", BLUE)
    profile.feed()
    assert profile.ids("blue", kinds=frozenset({"task"})) == [task]
    assert profile.ids("blue", kinds=frozenset({"message"})) == [message]
    assert set(profile.ids("blue", channels=frozenset({"vector"}))) == {fact}
    assert set(profile.ids("blue", channels=frozenset({"keyword"}))) == {fact, task}
    profile.embedded.clear()
    profile.ids("blue", channels=frozenset({"keyword", "key"}))
    assert profile.embedded == []
    with pytest.raises(InvalidInputError):
        profile.ids("blue", channels=frozenset({"guess"}))
    with pytest.raises(InvalidInputError):
        profile.ids("blue", kinds=frozenset({"note"}))


def test_a_named_key_is_found(profile: Profile) -> None:
    """A key that an analysis of the query named counts as a full match."""
    memory = profile.state("Oslo", OFF, key="home-city", scope="ana")
    profile.feed()
    answer = profile.ask("where", keys=("Home City",), contact="ana", channels=frozenset({"key"}))
    assert [hit.item.id for hit in answer.results] == [memory]
    assert profile.ids("where", keys=("Home City",), channels=frozenset({"key"})) == []


def test_limit_truncates_and_says_so(profile: Profile) -> None:
    """At most ``limit`` results come back, and whether there were more is told."""
    for n in range(5):
        profile.state(f"blue {n}", BLUE)
    profile.feed()
    assert (len(profile.ask("blue", limit=3).results), profile.ask("blue", limit=3).truncated) == (3, True)
    assert not profile.ask("blue", limit=5).truncated


def test_nonsense_stays_low(profile: Profile) -> None:
    """The best of bad results is still bad: its relevance is far below that of an answer."""
    profile.state("I live in Rome", unit(1, 0.1, 0, 0))
    profile.say("the weather is fine", unit(0, 1, 0.2, 0))
    profile.feed()
    profile.direction = unit(0.1, 0.1, 1, 0)
    assert max(hit.relevance for hit in profile.ask("zorgon blip quux fnord").results) < 0.3
    assert profile.ask("zorgon blip quux fnord", min_score=0.3).results == []


@pytest.mark.parametrize("query", ["it's", "a/b", "x-y:z", '"', "AND", "OR NOT", "%", "_", "#key:value", "(", "*", " "])
def test_any_text_is_a_query(profile: Profile, query: str) -> None:
    """No character of a query is syntax anywhere."""
    profile.state("blue", BLUE, key="key")
    profile.feed()
    assert len(profile.ids(query)) <= 1


def test_ties_go_to_the_newer(profile: Profile) -> None:
    """Equal evidence is ordered newest first, also where the depth cuts."""
    ids = [profile.state("blue sky", BLUE, key=f"k{n}") for n in range(120)]
    profile.feed()
    assert profile.ids("blue sky", limit=200, channels=frozenset({"vector", "keyword"})) == ids[::-1][:100]


def test_the_classic_set_is_selectable(profile: Profile) -> None:
    """Reciprocal ranks with the model's own weights give 1.5 / 61 for a key and 1 / 61 for a first rank."""
    memory = profile.state("blue", BLUE, key="colour", confidence=1.0)
    profile.feed()
    (hit,) = profile.ask("colour blue", settings=RecallSettings.classic()).results
    assert hit.item.id == memory
    assert hit.score == pytest.approx(3.5 / 61, abs=1e-6)


def test_messages_can_be_limited_to_a_share(profile: Profile) -> None:
    """With a share of a half, messages take half of the places while memories are left, and the rest otherwise."""
    for n in range(4):
        profile.say(f"blue sky {n}", BLUE)
        profile.state(f"sky {n}", unit(1, 1, 0, 0), source="turn")
    profile.feed()
    half = RecallSettings(message_share=0.5)
    kinds = [hit.item.kind for hit in profile.ask("blue sky", limit=4, settings=half).results]
    assert sorted(kinds) == ["fact", "fact", "message", "message"]
    kinds = [hit.item.kind for hit in profile.ask("blue sky", limit=7, settings=half).results]
    assert sorted(kinds) == ["fact"] * 4 + ["message"] * 3


def test_fill_adds_what_is_used(profile: Profile) -> None:
    """Places left over go to live memories used lately or often, in scope, marked as fill."""
    hit = profile.state("blue", BLUE)
    profile.state("other's", RED, scope="bob")
    rare = profile.log.remember("rare", at=NOW - timedelta(days=90), kind="task")
    often = profile.log.remember("often", at=NOW - timedelta(days=91), kind="task")
    profile.log.append(AccessCounted(instance="i", counts={often: (20, NOW - timedelta(days=60))}))
    profile.feed()
    only = frozenset({"keyword"})
    assert profile.ids("blue", channels=only) == [hit]
    filled = profile.ask("blue", channels=only, fill=20)
    assert [one.item.id for one in filled.results] == [hit, often, rare]
    assert filled.results[1].channels[0].channel == "fill"
    assert profile.ids("blue", channels=only, fill=1) == [hit, often]
    assert profile.ids("blue", channels=only, fill=20, limit=1) == [hit]
    assert profile.ids("blue", channels=only, fill=20, min_score=0.01) == [hit]


def test_the_lowest_position_is_told(profile: Profile) -> None:
    """An answer is as old as the view that is furthest behind."""
    profile.state("blue", BLUE)
    profile.feed()
    behind = profile.log.position
    profile.state("blue too", BLUE)
    profile.feed(indexes=False)
    assert profile.ask("blue").position == behind


def test_what_an_analysis_expects_as_the_answer_is_looked_for_as_well(profile: Profile) -> None:
    """A statement and added terms find what the question's own words and direction do not, each by its own channel."""
    like_the_answer = profile.state("Ana rents a flat in Porto", RED)
    by_a_synonym = profile.state("The employer is Acme", OFF)
    profile.feed()

    def embed(text: str) -> bytes:
        return RED if text == "Ana lives in Porto" else BLUE

    plain = recall(profile, RecallQuery(text="xyzzy"), embed_query=embed, now=NOW, settings=RecallSettings())
    asked = RecallQuery(text="xyzzy", terms=("employer",), statement="Ana lives in Porto")
    found = recall(profile, asked, embed_query=embed, now=NOW, settings=RecallSettings())
    assert {"hyde_vector", "terms"}.isdisjoint(plain.channels)
    assert found.channels["hyde_vector"][0] == like_the_answer
    assert found.channels["terms"] == [by_a_synonym]
    assert found.results[0].item.id == like_the_answer


def test_what_was_said_twice_in_the_same_words_is_shown_once(profile: Profile) -> None:
    """Repetitions take one place of a limit, the newest of them; another speaker's are another thing."""
    profile.say("The boat is red.", session="s1")
    again = profile.say("the boat is red", session="s2")
    theirs = profile.say("The boat is red", session="s3", role="assistant")
    profile.feed()
    assert set(profile.ids("red boat")) == {again, theirs}


def test_of_equal_evidence_the_contacts_own_comes_first(profile: Profile) -> None:
    """What everybody may know gives way to what is about who was asked for, and counts in full without a contact."""
    own = profile.state("Prefers tea in the morning", scope="mara")
    everybody = profile.state("Prefers tea in the morning")
    profile.feed()
    answer = profile.ask("prefers tea", contact="mara")
    assert [hit.item.id for hit in answer.results] == [own, everybody]
    assert [hit.factors["scope"] for hit in answer.results] == [1.0, 0.95]
    assert profile.ask("prefers tea").results[0].factors["scope"] == 1.0


def test_the_score_is_the_evidence_times_the_factors(profile: Profile) -> None:
    """Everything that made a score is in the answer, so that it can be worked out by hand."""
    profile.state("Plays the cello", BLUE, key="instrument", confidence=0.6)
    profile.say("the cello is loud", BLUE, role="assistant")
    profile.feed()
    settings = RecallSettings(fusion="reciprocal_rank")
    for hit in profile.ask("which instrument, my cello?", settings=settings).results:
        evidence = sum(found.weight / (settings.rank_constant + found.rank) for found in hit.channels)
        assert hit.score == pytest.approx(evidence * prod(hit.factors.values()), abs=1e-8)
