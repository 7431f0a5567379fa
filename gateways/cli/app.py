"""The table of commands, and the way out of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import typer

from gateways.cli import errors
from gateways.cli.admin import contacts, link, retry, settings, status, unlink
from gateways.cli.audit import audit
from gateways.cli.backup import backup, restore_backup
from gateways.cli.bench import bench
from gateways.cli.changes import correct, expire, forget, pin, reject, restore, retract, unpin
from gateways.cli.closing import delete_session, end_session
from gateways.cli.consolidate import consolidate
from gateways.cli.conversations import context, messages, recall_conversation, summary
from gateways.cli.copying import copy
from gateways.cli.demo import demo
from gateways.cli.diff import diff
from gateways.cli.doctor import doctor
from gateways.cli.erasure import delete_profile, erase
from gateways.cli.export import export
from gateways.cli.feed import feed
from gateways.cli.goals import goal, reflect, reflections
from gateways.cli.hook import hook
from gateways.cli.importing import import_
from gateways.cli.ingest import ingest
from gateways.cli.inspect import inspect
from gateways.cli.keys import keys
from gateways.cli.mcp import mcp
from gateways.cli.notes import note, task
from gateways.cli.principals import principal
from gateways.cli.proof import proof
from gateways.cli.reads import get, history, list_memories, profiles, recall, why
from gateways.cli.rebuild import rebuild
from gateways.cli.recover import recover
from gateways.cli.reflect_day import reflect_day
from gateways.cli.serve import serve
from gateways.cli.session_list import sessions
from gateways.cli.subscribe import subscribe
from gateways.cli.turns import turn
from gateways.cli.verify import verify
from gateways.cli.writes import remember

__all__ = ["app", "run"]

USAGE = 2
INTERRUPTED = 130

app = typer.Typer(
    name="umbriel",
    help="Memory for AI agents: an event log, and views that can be rebuilt from it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

_PANELS: dict[str, dict[str, Callable[..., None]]] = {
    "Start": {
        "demo": demo,
        "serve": serve,
        "inspect": inspect,
        "mcp": mcp,
        "hook": hook,
        "status": status,
        "profiles": profiles,
    },
    "Write": {
        "ingest": ingest,
        "remember": remember,
        "correct": correct,
        "forget": forget,
        "retract": retract,
        "reject": reject,
        "restore": restore,
        "pin": pin,
        "unpin": unpin,
        "expire": expire,
        "copy": copy,
        "import": import_,
        "end-session": end_session,
        "delete-session": delete_session,
    },
    "Read": {
        "recall": recall,
        "recall-conversation": recall_conversation,
        "messages": messages,
        "context": context,
        "sessions": sessions,
        "summary": summary,
        "get": get,
        "list": list_memories,
        "history": history,
        "why": why,
        "diff": diff,
        "feed": feed,
        "subscribe": subscribe,
        "export": export,
    },
    "Work": {"reflect": reflect, "reflections": reflections},
    "Contacts": {"contacts": contacts, "link": link, "unlink": unlink},
    "Maintain": {
        "settings": settings,
        "erase": erase,
        "delete-profile": delete_profile,
        "consolidate": consolidate,
        "reflect-day": reflect_day,
        "rebuild": rebuild,
        "retry": retry,
        "backup": backup,
        "restore-backup": restore_backup,
        "doctor": doctor,
        "audit": audit,
        "verify": verify,
        "proof": proof,
        "recover": recover,
    },
}

for _panel, _commands in _PANELS.items():
    for _name, _command in _commands.items():
        app.command(_name, rich_help_panel=_panel)(_command)
for _name, _group in {"note": note, "task": task, "turn": turn, "goal": goal}.items():
    app.add_typer(_group, name=_name, rich_help_panel="Work")
app.add_typer(principal, name="principal", rich_help_panel="Maintain")
app.add_typer(keys, name="keys", rich_help_panel="Maintain")
app.command(
    "bench",
    rich_help_panel="Maintain",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)(bench)


def run(arguments: list[str] | None = None) -> None:
    """Run one command line and leave the process with its exit code."""
    sys.exit(_run(arguments))


@cache
def _table() -> Any:
    """Return every command, put together once in a process."""
    return typer.main.get_command(app)


def _run(arguments: list[str] | None) -> int:
    try:
        outcome = _table().main(arguments, prog_name="umbriel", standalone_mode=False)
    except errors.HANDLED as error:
        errors.report(error)
        return errors.exit_code(error)
    except typer.TyperException as error:
        errors.line(f"{error.format_message().rstrip('.')}; see `umbriel --help`")
        return USAGE
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; nothing is left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return outcome if isinstance(outcome, int) else 0
