"""What each verb is for, in one line, and a request that shows it; the types check that the examples are valid."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from umbriel import admin, contexts, conversations, copies, goals, grants, notes, sessions, state, tokens, turns
from umbriel import types as wire
from umbriel.auditing import AuditRequest
from umbriel.backups import BackupRequest
from umbriel.diffs import DiffRequest
from umbriel.erasure import DeleteProfileRequest, EraseRequest
from umbriel.inspecting import InspectRequest
from umbriel.keys import KeysRequest
from umbriel.messages import MessagesRequest
from umbriel.proofs import ProofRequest
from umbriel.reflecting import ReflectDayRequest
from umbriel.session_list import SessionsRequest
from umbriel.upkeep import ConsolidateRequest
from umbriel.verifying import VerifyRequest

__all__ = ["EXAMPLES", "EXAMPLE_MEMORY", "Example"]

EXAMPLE_MEMORY = "mfrggzdfmztwq2lknnwg23tpoa@1"
_SESSION = "chat-17"


class Example(msgspec.Struct, frozen=True):
    """A verb in one line, and a request of it."""

    summary: str
    request: msgspec.Struct | None = None


def _change(summary: str) -> Example:
    return Example(summary, wire.ChangeRequest(id=EXAMPLE_MEMORY))


EXAMPLES: dict[str, Example] = {
    "ingest": Example(
        "Record messages of a conversation",
        wire.IngestRequest(
            messages=[
                wire.Message(
                    role="user", content="I moved to Porto last week.", at=datetime(2026, 4, 15, 9, 30, tzinfo=UTC)
                ),
                wire.Message(role="assistant", content="How do you like it there?"),
            ],
            session=_SESSION,
            contact="mara@example.org",
        ),
    ),
    "remember": Example(
        "State a memory",
        wire.RememberRequest(content="Mara lives in Porto", key="home city", contact="mara@example.org", wait=True),
    ),
    "recall": Example(
        "Find what answers a question",
        wire.RecallRequest(query="Where does Mara live?", contact="mara@example.org", limit=5),
    ),
    "recall_conversation": Example(
        "Find messages", conversations.RecallConversationRequest(query="moving to another city", scope="all", limit=5)
    ),
    "context": Example(
        "What a model is to see in the next turn",
        contexts.ContextRequest(session=_SESSION, query="Which trains go there?", budget=4_000, format="openai"),
    ),
    "summary": Example("Sum a session up in Markdown", conversations.SummaryRequest(session=_SESSION)),
    "get": Example("Read one memory", wire.GetRequest(id=EXAMPLE_MEMORY)),
    "list": Example("List memories, newest first", wire.ListRequest(contact="mara@example.org", kind="fact", limit=20)),
    "history": Example("Every version of a memory, and what happened to it", wire.IdRequest(id=EXAMPLE_MEMORY)),
    "why": Example("Why a memory says what it says", wire.IdRequest(id=EXAMPLE_MEMORY)),
    "forget": Example("Take a memory out of every view", wire.ForgetRequest(id=EXAMPLE_MEMORY, preview=True)),
    "correct": Example(
        "Let a memory say something else", wire.CorrectRequest(id=EXAMPLE_MEMORY, content="Mara lives in Braga")
    ),
    "expire": Example(
        "Set when a memory stops being live",
        wire.ExpireRequest(id=EXAMPLE_MEMORY, at=datetime(2027, 1, 1, tzinfo=UTC)),
    ),
    "retract": _change("Withdraw a memory without a replacement"),
    "reject": _change("Declare a memory wrong, for good"),
    "restore": _change("Make a version live again"),
    "pin": _change("Exempt a memory from decay"),
    "unpin": _change("Let a memory decay again"),
    "copy": Example(
        "Copy a memory to another profile", copies.CopyRequest(id=EXAMPLE_MEMORY, target="another-profile")
    ),
    "end_session": Example("End a session; its tasks end with it", sessions.EndSessionRequest(session=_SESSION)),
    "delete_session": Example(
        "Forget a session's messages and what rests on them",
        sessions.DeleteSessionRequest(session=_SESSION, preview=True),
    ),
    "list_sessions": Example(
        "List conversations, the one heard last first", SessionsRequest(contact="mara@example.org", limit=20)
    ),
    "messages": Example(
        "Read a session message by message", MessagesRequest(session=_SESSION, order="newest", limit=20)
    ),
    "set_context": Example(
        "Write a session's working notes",
        notes.SetNotesRequest(session=_SESSION, notes="Wants short answers.", mode="append"),
    ),
    "get_context": Example("Read a session's working notes", notes.NotesRequest(session=_SESSION)),
    "set_task": Example(
        "Say what a session is working on", notes.SetTaskRequest(session=_SESSION, task="Book the train to Braga")
    ),
    "get_task": Example("Read what a session is working on", notes.NotesRequest(session=_SESSION)),
    "clear_task": Example("Say that a session's task is done", notes.ClearTaskRequest(session=_SESSION)),
    "save_turn": Example(
        "Save the tool results of a turn under way",
        turns.SaveTurnRequest(
            session=_SESSION,
            turn_id="turn-9",
            rows=[turns.ToolRow(tool="search", arguments='{"q": "trains to Braga"}', result="08:45, 10:15")],
        ),
    ),
    "resume_turn": Example("Take over a turn that stopped", turns.ResumeTurnRequest(session=_SESSION)),
    "reflect": Example(
        "Record what was thought about a day",
        goals.ReflectRequest(topic="travel", text="The first train was full.", learnings=["Book the day before."]),
    ),
    "reflect_day": Example("Think about a day now", ReflectDayRequest(day="2026-04-15", dry_run=True)),
    "list_reflections": Example("List reflections", goals.ReflectionsRequest(topic="travel", limit=10)),
    "set_goal": Example("Set a goal", goals.SetGoalRequest(text="Settle Mara's move to Braga", name="move")),
    "progress_goal": Example(
        "Note progress of a goal", goals.ProgressGoalRequest(goal="move", note="The flat is found.", fraction=0.5)
    ),
    "close_goal": Example("Close a goal", goals.CloseGoalRequest(goal="move", outcome="achieved")),
    "list_goals": Example("List goals", goals.GoalsRequest(status="open")),
    "feed": Example(
        "Follow a profile's events: a page, or a stream with `Accept: text/event-stream`",
        wire.FeedRequest(kinds=["memory"], limit=100, wait=10.0),
    ),
    "status": Example("Positions, lag, what waits and what failed", wire.StatusRequest()),
    "diff": Example(
        "What was learnt, changed and lost between two points",
        DiffRequest(start="2026-04-01T00:00:00Z", end="2026-05-01T00:00:00Z"),
    ),
    "audit": Example("Who did what, newest first", AuditRequest(principal="shop-bot", limit=20)),
    "proof": Example("Prove that something was in the log", ProofRequest(id=EXAMPLE_MEMORY)),
    "verify": Example("Verify the whole log", VerifyRequest(action="status")),
    "backup": Example("Make a backup, or see how the last one stands", BackupRequest(action="status")),
    "profiles": Example("List the profiles that the grants reach"),
    "rebuild": Example("Build views anew from the log", state.RebuildRequest(action="status")),
    "link_contact": Example(
        "Say that two contacts are one person", admin.LinkRequest(contact="mara@example.org", to="t:12345")
    ),
    "unlink_contact": Example("Take a link back", admin.UnlinkRequest(contact="t:12345")),
    "list_contacts": Example("List contacts and their links", admin.ContactsRequest(limit=20)),
    "settings": Example(
        "Read or change a profile's settings", admin.SettingsRequest(changes={"recall.fusion": "classic"}, expected=0)
    ),
    "retry": Example("Try again what failed", admin.RetryRequest()),
    "consolidate": Example("Decay and merge now", ConsolidateRequest(dry_run=True)),
    "erase": Example(
        "Erase a contact, a session or the whole profile, so that not even the log can be read any more",
        EraseRequest(contact="mara@example.org", preview=True),
    ),
    "delete_profile": Example("Delete a profile, as far as its keys", DeleteProfileRequest(preview=True)),
    "keys": Example("List the keys of a profile", KeysRequest(profile="default")),
    "rotate_keys": Example("Wrap every key under a new master key"),
    "principal_add": Example(
        "Add a principal; its password is in the reply, this once",
        grants.PrincipalAddRequest(name="shop-bot", grants=[grants.GrantSpec(profile="support", access="write")]),
    ),
    "principal_list": Example("List the principals", grants.PrincipalListRequest()),
    "principal_revoke": Example("Take everything from a principal", grants.PrincipalNameRequest(name="shop-bot")),
    "principal_rotate": Example("Replace a principal's password", grants.PrincipalRotateRequest(name="shop-bot")),
    "principal_token": Example(
        "Make a bearer token; it is in the reply, this once", tokens.TokenRequest(name="shop-bot", label="web shop")
    ),
    "inspect": Example("Get a way into the web inspector, good for one login", InspectRequest(name="local")),
    "principal_token_revoke": Example("Take a bearer token away", tokens.TokenRevokeRequest(id="3f9a1c20b7d4")),
}
