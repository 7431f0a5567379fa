"""How each surface says the verbs of the operations table, and what it leaves out on purpose, with the reason.

REST and NATS say every field of every request. The command line, the client and the tools of a model follow the same
types; where one of them calls a field otherwise, or has no use for it, it is here and nowhere else. The tests hold all
surfaces against the types and against this table, so that neither can gain or lose a parameter alone.

What a surface cannot say at all differs by its nature, and is no line here: a path or a query is text, a command line
ends with a usage error (exit code 2, as ``invalid``) before a service is asked where an option is no number, and the
client's own signature refuses a name that it does not have.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["COMMANDS", "METHODS", "NOT_FOR_MODELS", "NOT_IN_CLIENT", "NOT_IN_TOOLS", "OURS", "Command"]


class Command(msgspec.Struct, frozen=True):
    """The command of a verb: its words, the fields that it calls otherwise, and those that it leaves out, with why.

    ``beside`` are options about what is done with the answer, or with a file, that are no field of the request.
    """

    words: tuple[str, ...]
    spelt: Mapping[str, str] = {}
    without: Mapping[str, str] = {}
    beside: tuple[str, ...] = ()


_MADE_UP = "each run of a command is one request; its retries carry one id, which is made up"
_ALL_PAGES = "the command reads every page"
_WATCHED = "the command asks until it is done"

_SESSION = {"session": "SESSION"}
_ONE = {"description": "--matching"}
_RETRIED = {"request_id": _MADE_UP}


def _change(*words: str) -> Command:
    return Command(words, {"id": "[ID]", **_ONE}, _RETRIED)


#: by verb, its command; a field that is not named is an option of its own name
COMMANDS: Mapping[str, Command] = {
    "ingest": Command(("ingest",), {"messages": "FILE"}, beside=("--me", "--date-order", "--skip-broken")),
    "remember": Command(("remember",), {"content": "CONTENT", "scope": "--agent"}, _RETRIED),
    "recall": Command(
        ("recall",), {"query": "QUERY", "kinds": "--kind", "channels": "--channel"}, beside=("--fenced",)
    ),
    "recall_conversation": Command(("recall-conversation",), {"query": "QUERY"}),
    "context": Command(("context",), _SESSION, _RETRIED),
    "summary": Command(("summary",), _SESSION),
    "get": Command(("get",), {"id": "[ID]"}),
    "list": Command(("list",)),
    "diff": Command(("diff",), {"start": "--from", "end": "--to"}, {"cursor": _ALL_PAGES, "limit": _ALL_PAGES}),
    "history": Command(("history",), {"id": "ID"}),
    "why": Command(("why",), {"id": "ID"}),
    "forget": _change("forget"),
    "correct": Command(("correct",), {"id": "[ID] TEXT", "content": "[ID] TEXT", **_ONE}, _RETRIED),
    **{verb: _change(verb) for verb in ("expire", "retract", "reject", "restore", "pin", "unpin")},
    "copy": Command(("copy",), {"id": "ID", "target": "TARGET"}, _RETRIED),
    "end_session": Command(("end-session",), _SESSION),
    "delete_session": Command(("delete-session",), _SESSION, beside=("--yes",)),
    "set_context": Command(
        ("note", "set"),
        {**_SESSION, "notes": "NOTES"},
        {**_RETRIED, "mode": "`note add` and `note clear` are commands of their own"},
    ),
    "get_context": Command(("note", "show"), _SESSION),
    "set_task": Command(("task", "set"), {**_SESSION, "task": "TASK"}, _RETRIED),
    "get_task": Command(("task", "show"), _SESSION),
    "clear_task": Command(("task", "clear"), _SESSION, _RETRIED),
    "save_turn": Command(
        ("turn", "save"),
        {**_SESSION, "turn_id": "TURN", "rows": "ROWS", "sessions": "--open"},
        {"omitted_rows": "counted by the client where it sends the newest rows only"},
    ),
    "resume_turn": Command(("turn", "resume"), _SESSION, _RETRIED),
    "reflect": Command(("reflect",), {"topic": "TOPIC", "text": "TEXT", "learnings": "--learnt"}, _RETRIED),
    "list_reflections": Command(("reflections",)),
    "set_goal": Command(("goal", "set"), {"text": "TEXT"}, _RETRIED),
    "progress_goal": Command(("goal", "progress"), {"goal": "GOAL", "note": "[NOTE]"}, _RETRIED),
    "close_goal": Command(("goal", "close"), {"goal": "GOAL"}, _RETRIED),
    "list_goals": Command(
        ("goal", "list"),
        {},
        {"goal": "`goal show` is a command of its own", "history": "`goal show` shows it"},
    ),
    "feed": Command(("feed",), {"kinds": "--kind"}, beside=("--follow",)),
    "export": Command(("export",), {"kinds": "--kind"}, beside=("--output", "--resume", "--markdown", "--schema")),
    "import": Command(
        ("import",),
        {"lines": "FILE", "mode": "--check"},
        dict.fromkeys(("run", "source", "log", "counts"), "read from the file"),
        beside=("--abandon",),
    ),
    "status": Command(("status",)),
    "profiles": Command(("profiles",)),
    "rebuild": Command(("rebuild",), {"views": "--view", "action": "ACTION", "wait": "--detach"}, beside=("--all",)),
    "link_contact": Command(("link",), {"contact": "CONTACT", "to": "CONTACT"}),
    "unlink_contact": Command(("unlink",), {"contact": "CONTACT", "other": "[CONTACT]"}),
    "list_contacts": Command(("contacts",)),
    "settings": Command(("settings",), {"changes": "[KEY=VALUE …]"}),
    "retry": Command(("retry",)),
    "consolidate": Command(("consolidate",)),
    "erase": Command(
        ("erase",), {"wait": "--no-wait"}, {"whole": "`delete-profile` is a command of its own"}, ("--yes",)
    ),
    "delete_profile": Command(("delete-profile",), {"wait": "--no-wait"}, beside=("--proof", "--yes")),
    "keys": Command(("keys", "list"), {}, {"profile": "--profile, as everywhere"}),
    "rotate_keys": Command(("keys", "rotate")),
    "reflect_day": Command(("reflect-day",)),
    "audit": Command(("audit",), {"principal": "--by"}, beside=("--service",)),
    "proof": Command(("proof",), {"id": "ID"}, beside=("--output",)),
    "verify": Command(("verify",), {}, {"action": _WATCHED}, ("--proof", "--trust")),
    "backup": Command(("backup",), {"path": "DIR|FILE", "master_key": "--with-master-key"}, {"action": _WATCHED}),
    "principal_add": Command(("principal", "add"), {"name": "NAME", "grants": "--grant"}),
    "principal_list": Command(("principal", "list")),
    "principal_revoke": Command(("principal", "revoke"), {"name": "NAME"}),
    "principal_rotate": Command(("principal", "rotate"), {"name": "NAME"}),
    "principal_token": Command(("principal", "token"), {"name": "NAME", "expires_at": "--days"}),
    "principal_token_revoke": Command(("principal", "revoke-token"), {"id": "ID"}),
}

#: verbs that the client has under other names
METHODS: Mapping[str, str] = {"import": "import_export"}
#: fields that are no parameter of the client's method, by verb
NOT_IN_CLIENT: Mapping[str, Mapping[str, str]] = {
    "context": {"request_id": "made up where a turn is taken over"},
    "save_turn": {"omitted_rows": "counted where only the newest rows are sent"},
    "import": {
        "run": "the digest of the file",
        "mode": "`check=` and `abandon_import`",
        "lines": "read from the file, a page at a time",
        "source": "read from the file",
        "log": "read from the file",
        "counts": "counted on the way",
    },
    "erase": {"proof": "`erasure_proof`", "lift": "`lift_erasure`"},
    "delete_profile": {"lift": "`lift_erasure(whole=True)`"},
}

#: fields that the server of the tools fills in, never the model
OURS: Mapping[str, str] = {"request_id": "made up for each call, so that one that is sent again writes once"}
#: fields that would change nothing in what a tool answers, by verb
NOT_IN_TOOLS: Mapping[str, Mapping[str, str]] = {"context": {"format": "a tool answers in text"}}
#: verbs that no model is offered, whoever it speaks for; those that need a person are none either
NOT_FOR_MODELS: Mapping[str, str] = {
    "feed": "a stream without an end is no answer",
    "profiles": "a model is given one profile",
    "rebuild": "looking after the service",
    "retry": "looking after the service",
    "settings": "what a model may do is not a model's to set",
}
