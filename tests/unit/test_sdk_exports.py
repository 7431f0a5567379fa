"""The client's public face: names once published stay."""

from __future__ import annotations

import inspect
import subprocess
import sys

import umbriel

EXPORTS = [
    "AlreadyRunningError",
    "BuildingError",
    "ChannelHit",
    "ConflictError",
    "ContactInfo",
    "ContactsReply",
    "DamagedError",
    "ErasedError",
    "DeleteSessionReply",
    "EndSessionReply",
    "ErrorReply",
    "Export",
    "ExportSync",
    "FeedEvent",
    "FeedReply",
    "ForwardingStatus",
    "GrantSpec",
    "HistoryEvent",
    "HistoryReply",
    "IngestReply",
    "InvalidInputError",
    "Kind",
    "LinkReply",
    "ListReply",
    "LogFullError",
    "Memory",
    "Message",
    "MessageOutcome",
    "MismatchError",
    "NotFoundError",
    "Origin",
    "PrincipalInfo",
    "PrincipalSecret",
    "PrincipalsReply",
    "ProfileInfo",
    "ProfilesReply",
    "RebuildReply",
    "RecallReply",
    "RecallResult",
    "RefusedError",
    "RememberReply",
    "RetryReply",
    "SettingsReply",
    "SourceLine",
    "StatusReply",
    "Subscription",
    "SubscriptionSync",
    "TouchedReply",
    "Umbriel",
    "UmbrielError",
    "UmbrielSync",
    "UnavailableError",
    "ViewStatus",
    "Visibility",
    "WhyReply",
    "WorkItem",
    "data_directory",
    "pages",
    "read_endpoint",
    "sequence_of",
]

VERBS = [
    "ingest",
    "remember",
    "recall",
    "get",
    "list",
    "history",
    "why",
    "diff",
    "forget",
    "correct",
    "retract",
    "reject",
    "restore",
    "pin",
    "unpin",
    "expire",
    "abandon_import",
    "copy",
    "export",
    "import_export",
    "end_session",
    "delete_session",
    "feed",
    "subscribe",
    "status",
    "rebuild",
    "profiles",
    "link_contact",
    "unlink_contact",
    "list_contacts",
    "settings",
    "retry",
    "consolidate",
    "erase",
    "keys",
    "rotate_keys",
    "erasure_proof",
    "lift_erasure",
    "delete_profile",
    "reflect_day",
    "verify",
    "proof",
    "audit",
    "principal_add",
    "principal_list",
    "principal_revoke",
    "principal_rotate",
    "backup",
    "save_turn",
    "resume_turn",
    "set_context",
    "get_context",
    "set_task",
    "get_task",
    "clear_task",
    "reflect",
    "list_reflections",
    "set_goal",
    "progress_goal",
    "close_goal",
    "list_goals",
]


def test_exported_names_are_frozen() -> None:
    """Nothing appears in or disappears from the public names by accident."""
    assert sorted(umbriel.__all__) == sorted(EXPORTS)
    assert all(hasattr(umbriel, name) for name in EXPORTS)


def test_every_verb_is_documented_and_asynchronous() -> None:
    """Each verb of the contract is an asynchronous method with a docstring."""
    for verb in VERBS:
        method = getattr(umbriel.Umbriel, verb)
        assert method.__doc__, verb
        assert inspect.iscoroutinefunction(method) or verb in {"export", "subscribe"}, verb


def test_errors_share_the_servers_codes() -> None:
    """Client and server name the same error by the same code, with the same answer to 'try again?'."""
    import domain.errors as server

    for name in (name for name in server.__all__ if name.endswith("Error")):
        ours, theirs = getattr(umbriel, name), getattr(server, name)
        assert (ours.code, ours.retryable) == (theirs.code, theirs.retryable)


def test_the_client_needs_no_framework() -> None:
    """Agent frameworks are imported where their adapters are, and by nobody else."""
    code = "import sys, umbriel, umbriel.messages; print({'agents', 'langgraph', 'openai'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "set()"
