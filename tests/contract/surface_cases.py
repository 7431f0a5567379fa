"""What no surface accepts: one table of bad input, with what each case is refused as."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

__all__ = ["CASES", "Case"]

NONE = "a" * 26 + "@1"
SPLIT = "files and calls of any length are cut to fit, and nothing of them is lost: `test_what_is_cut_is_whole`"
UNTYPED = "an option has a type of its own, and a command line no field that is not an option"
SIGNED = "a method has no such parameter"
LOCAL = "a time without a zone is UTC on the command line, for people"
NO_TOOL = "no tool of a model"


class Case(msgspec.Struct, frozen=True):
    """A request that is refused with ``code``; ``words`` are of its expected and found. ``but``: surfaces without."""

    verb: str
    fields: dict[str, Any]
    code: str = "invalid"
    words: tuple[str, ...] = ()
    but: dict[str, str] = {}


def _said(content: str, **more: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content, **more}]


def _nested(levels: int) -> Any:
    return {} if levels == 1 else {"a": _nested(levels - 1)}


def _sizes() -> Iterator[Case]:
    split = {"python": SPLIT, "cli": SPLIT}
    yield Case("ingest", {"messages": _said("x") * 501}, words=("1 to 500", "501"), but=split)
    yield Case("ingest", {"messages": []}, words=("1 to 500", "0"), but={"cli": SPLIT})
    long = _said("x" * 32_769)
    yield Case("ingest", {"messages": long}, words=("at most 32768 bytes", "32769 bytes"), but={"cli": SPLIT})
    yield Case("ingest", {"messages": _said("é" * 16_385)}, words=("32768", "32770"), but={"cli": SPLIT})
    yield Case("remember", {"content": "x" * 32_769}, words=("at most 32768 bytes", "32769 bytes"))
    for verb in ("recall", "recall_conversation"):
        yield Case(verb, {"query": "x" * 1_025}, words=("at most 1024 bytes", "1025 bytes"))
        yield Case(verb, {"query": "ä" * 513}, words=("at most 1024 bytes", "1026 bytes"))
    yield Case("context", {"session": "s", "query": "x" * 1_025}, words=("1024", "1025"))
    yield Case("forget", {"description": "x" * 1_025}, words=("1024", "1025"))
    named: dict[str, dict[str, Any]] = {
        "ingest": {"messages": _said("x")},
        "remember": {"content": "x"},
        "list": {},
        "context": {},
        "summary": {},
        "end_session": {},
        "delete_session": {"preview": True},
        "set_task": {"task": "x"},
        "get_context": {},
        "resume_turn": {},
    }
    for verb, more in named.items():
        yield Case(verb, {"session": "s" * 65, **more}, words=("at most 64 characters", "65 characters"))
    of_somebody: dict[str, dict[str, Any]] = {
        "ingest": {"messages": _said("x")},
        "remember": {"content": "x"},
        "recall": {"query": "x"},
        "get": {"key": "k"},
        "list": {},
        "diff": {},
        "forget": {"key": "k"},
        "pin": {"key": "k"},
    }
    for verb, more in of_somebody.items():
        yield Case(verb, {"contact": "c" * 257, **more}, words=("at most 256 characters", "257 characters"))
    yield Case("feed", {"contact": "c" * 257}, words=("256", "257"), but={"mcp": NO_TOOL})
    for verb, more in {"remember": {"content": "x"}, "get": {}, "retract": {}, "correct": {"content": "x"}}.items():
        yield Case(verb, {"key": "k" * 257, **more}, words=("at most 256 characters", "257 characters"))
    yield Case("remember", {"content": "x", "metadata": {"a": "x" * 4_090}}, words=("4096 bytes", "4098 bytes"))
    yield Case("remember", {"content": "x", "metadata": _nested(17)}, words=("16 levels", "17 levels"))
    yield Case("set_task", {"session": "s", "task": "x" * 4_097}, words=("4096", "4097"))
    yield Case("set_goal", {"text": "x" * 4_097}, words=("4096", "4097"))
    yield Case("reflect", {"topic": "t" * 201, "text": "x"}, words=("200", "201"))


def _ranges() -> Iterator[Case]:
    for verb, most, more in (
        ("list", 500, {}),
        ("recall", 200, {"query": "x"}),
        ("recall_conversation", 200, {"query": "x"}),
        ("list_goals", 500, {}),
        ("list_contacts", 500, {}),
    ):
        for limit in (0, most + 1):
            yield Case(verb, {"limit": limit, **more}, words=(f"1 to {most}", str(limit)))
    yield Case("recall", {"query": "x", "token_budget": 0}, words=("at least 1", "0"))
    yield Case("context", {"session": "s", "budget": 1})
    for bad, words in (({"limit": 0}, "1 to 1000"), ({"limit": 1_001}, "1 to 1000"), ({"wait": 31}, "0 to 30")):
        yield Case("feed", bad, words=(words,), but={"mcp": NO_TOOL})
    yield Case("feed", {"wait": -1}, words=("0 to 30 seconds", "-1"), but={"mcp": NO_TOOL})
    yield Case("progress_goal", {"goal": "g", "fraction": 1.5})


def _texts() -> Iterator[Case]:
    for bad in ("", " \t\n"):
        yield Case("remember", {"content": bad}, words=("text", "white space"))
        yield Case("recall", {"query": bad}, words=("text", "white space"))
    nul = {"cli": "no argument of a process holds one"}
    yield Case("remember", {"content": "a\0b"}, words=("without NUL", "U+0000"))
    yield Case("recall", {"query": "a\0b"}, words=("without NUL", "U+0000"), but=nul)
    for field in ("session", "contact", "key"):
        yield Case("remember", {"content": "x", field: "a\x1bb"}, words=("no control characters", "U+001B at 1"))
    yield Case("ingest", {"messages": _said("x"), "session": "a\nb"}, words=("no control characters", "U+000A"))
    surrogate = ("valid Unicode", "U+D800 in 'a\\ud800b'")
    yield Case("remember", {"content": "a\ud800b"}, words=surrogate)
    yield Case("remember", {"content": "x", "metadata": {"a": "a\ud800b"}}, words=surrogate, but={"cli": UNTYPED})
    yield Case("recall", {"query": "a\ud800b"}, words=surrogate)
    # A file says at which line; the words are those of the importers.
    yield Case("ingest", {"messages": _said("a\ud800b")}, words=surrogate, but={"cli": UNTYPED})
    yield Case(
        "ingest", {"messages": [{"role": "robot", "content": "x"}]}, words=("user", "'robot'"), but={"cli": SPLIT}
    )


def _times() -> Iterator[Case]:
    for year in ("0001", "9999"):
        far = f"{year}-06-01T00:00:00Z"
        yield Case("remember", {"content": "x", "occurred_at": far}, words=("2 to 9998", str(int(year))))
        yield Case("context", {"session": "s", "query": "x", "reference_date": far}, words=("2 to 9998",))
        yield Case("recall", {"query": "x", "reference_date": far}, words=("2 to 9998", str(int(year))))
    naive = {"content": "x", "valid_from": "2026-01-01T00:00:00"}
    yield Case("remember", naive, words=("RFC 3339 with Z or an offset",), but={"cli": LOCAL})
    backwards = {"content": "x", "valid_from": "2026-02-01T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"}
    yield Case("remember", backwards, words=("a time from 2026-02-01", "2026-01-01"))
    gone = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    yield Case("remember", {"content": "x", "expires_at": gone}, words=("a time to come",))
    between = {"since": "2026-02-01T00:00:00Z", "until": "2026-02-01T00:00:00Z"}
    yield Case("recall", {"query": "x", **between}, words=("a time after 2026-02-01",))
    yield Case("recall", {"query": "x", "since": "yesterday"}, words=("RFC3339",), but={"cli": UNTYPED})
    yield Case("list", {"as_of": "yesterday"})


def _shapes() -> Iterator[Case]:
    both = {"cli": UNTYPED, "python": SIGNED}
    yield Case("recall", {"query": "x", "quarry": "y"}, words=("fields query", "unknown field `quarry`"), but=both)
    yield Case("remember", {"content": "x", "confidence": 1}, words=("unknown field `confidence`",), but=both)
    yield Case("list", {"all": "y"}, words=("unknown field `all`",), but=both)
    yield Case("recall", {}, words=("missing required field `query`",), but=both)
    yield Case("remember", {"content": 7}, words=("Expected `str`, got `int` - at `$.content`",), but={"cli": UNTYPED})
    yield Case("list", {"limit": "many"}, words=("Expected `int`, got `str`",), but={"cli": UNTYPED})
    yield Case("list", {"limit": "07"}, words=("Expected `int`, got `str`",), but={"cli": UNTYPED})
    yield Case("recall", {"query": "x", "explain": "yes"}, words=("Expected `bool`",), but={"cli": UNTYPED})
    yield Case("remember", {"content": "x", "kind": "rumour"}, words=("Invalid enum value 'rumour'",))
    yield Case("list", {"kind": "rumour"}, words=("Invalid enum value 'rumour'",))
    yield Case("recall", {"query": "x", "kinds": ["rumour"]}, words=("fact, event", "rumour"))
    yield Case("recall", {"query": "x", "channels": ["smell"]}, words=("smell",))
    yield Case("list", {"status": "odd"}, words=("live", "'odd'"))
    yield Case("get", {}, words=("one of the two", "neither"))
    yield Case("get", {"id": NONE, "key": "k"}, words=("one of the two", "both"))
    yield Case("forget", {})
    yield Case("forget", {"key": "k", "description": "d"}, words=("id, key or description", "several"))
    yield Case("remember", {"content": "x", "contact": "c", "scope": "agent"}, words=("contact or scope",), but=both)
    yield Case("remember", {"content": "x", "contact": "*"}, words=("a contact's name", "'*'"))
    yield Case("expire", {"id": NONE}, words=("one of the two", "neither"))
    yield Case("list", {"cursor": "nonsense"})
    yield Case("list", {"at_least": "nonsense"})


def _absent() -> Iterator[Case]:
    for verb in ("get", "history", "why", "forget", "retract", "pin", "restore"):
        yield Case(verb, {"id": NONE}, "not_found", (NONE,))
    yield Case("correct", {"id": NONE, "content": "x"}, "not_found", (NONE,))
    yield Case("get", {"key": "nobody's"}, "not_found")
    yield Case("end_session", {"session": "never"}, "not_found")
    yield Case("close_goal", {"goal": "never"}, "not_found")
    yield Case("list", {"at_least": "OTHER.x:5"}, "mismatch")
    yield Case("pin", {"id": NONE, "expected": NONE.replace("@1", "@2")}, "not_found")
    yield Case("copy", {"id": NONE, "target": "else"}, "not_found", (NONE,))


def _refused() -> Iterator[Case]:
    asked: dict[str, dict[str, Any]] = {"erase": {"contact": "c", "preview": True}, "delete_profile": {"preview": True}}
    for verb, fields in asked.items():
        yield Case(verb, fields, "refused", ("a person",), but={"mcp": NO_TOOL})


CASES: tuple[Case, ...] = (
    *_sizes(),
    *_ranges(),
    *_texts(),
    *_times(),
    *_shapes(),
    *_absent(),
    *_refused(),
)
