"""Exports of each kind imported twice into a real service, the second time longer: only what is new is recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli import Cli
from tests.unit.test_import_assistants import BOATS, CLAUDE, node
from tests.unit.test_import_people import MAY_1, MAY_2, SLACK, TELEGRAM, USERS, folder, said, zipped
from tests.unit.test_import_whatsapp import DASHED
from umbriel import Umbriel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A data directory of its own; the service that the first command starts is ended at the end."""
    data = tmp_path_factory.mktemp("reimport") / "data"
    yield Cli(data)
    asyncio.run(Umbriel.stop_embedded(data))


def boats_later() -> dict[str, Any]:
    """Return the boats with two messages more, at the end of the branch that was current."""
    talk: Any = json.loads(json.dumps(BOATS))
    for one in (node("q2", "e", "user", "Which boat should I buy?"), node("a2", "q2", "assistant", "The dinghy.")):
        talk["mapping"][one["id"]] = one
    return {**talk, "current_node": "a2"}


def claude_later() -> dict[str, Any]:
    """Return the talk with one message more, of the words of an earlier one."""
    again = {"uuid": "m-4", "sender": "human", "text": "I bought a dinghy."}
    return {**CLAUDE, "chat_messages": [*CLAUDE["chat_messages"], again]}


SLACK_LATER = {
    **SLACK,
    "users.json": [USERS[0], {**USERS[1], "profile": {"display_name": "Jonny"}}],  # nobody wrote of Jon by name
    "boats/2024-05-03.json": [
        said("U1", "A green one", MAY_2 + 90_000, thread_ts=f"{MAY_1:.6f}"),
        said("U2", "Unrelated", MAY_2 + 90_001),
    ],
}
TELEGRAM_LATER = {**TELEGRAM, "messages": [*TELEGRAM["messages"], {**TELEGRAM["messages"][-1], "id": 5}]}
WHATSAPP_LATER = DASHED + "3/1/24, 12:05\u202fAM - Mara: ok\n3/1/24, 12:06\u202fAM - Mara: ok\n"


@pytest.mark.parametrize(
    "kind, first, longer, messages, more",
    [
        ("ChatGPT", {"conversations.json": [BOATS]}, {"conversations.json": [boats_later()]}, 3, 2),
        ("Claude", {"conversations.json": [CLAUDE]}, {"conversations.json": [claude_later()]}, 2, 1),
        ("Slack", SLACK, SLACK_LATER, 5, 2),
        ("Telegram", {"result.json": TELEGRAM}, {"result.json": TELEGRAM_LATER}, 2, 1),
        ("WhatsApp", {"_chat.txt": DASHED}, {"_chat.txt": WHATSAPP_LATER}, 4, 2),
    ],
)
def test_a_longer_export_adds_what_is_new(
    cli: Cli, tmp_path: Path, kind: str, first: dict[str, Any], longer: dict[str, Any], messages: int, more: int
) -> None:
    """From a zip, then again from a folder, then a longer one: recorded, duplicate, and both."""
    where = ("--profile", kind, "--no-wait")
    done = cli.json("ingest", str(zipped(tmp_path, first)), *where)
    assert (done["recognised"], done["recorded"], done["duplicate"]) == (kind, messages, 0)
    done = cli.json("ingest", str(folder(tmp_path, first)), *where)
    assert (done["recorded"], done["duplicate"]) == (0, messages)
    done = cli.json("ingest", str(zipped(tmp_path, longer, "longer.zip")), *where)
    assert (done["recorded"], done["duplicate"]) == (more, messages)


def test_ingest_says_what_it_recognised_and_what_it_skipped(cli: Cli, tmp_path: Path) -> None:
    """People see the shape, the counts, and why something was left out; a chat names its channel."""
    shown = cli.run("ingest", str(folder(tmp_path, SLACK)), "--profile", "shown", "--me", "mara").stdout
    assert "Ingested: Slack" in shown
    assert "5 recorded, 0 duplicate, 0 blocked; 2 skipped (channel_join 1, file without text 1)" in shown
    found = cli.json("recall", "Which boat does Jon ask about?", "--profile", "shown")["results"]
    assert "boat" in found[0]["text"]


def test_a_broken_export_records_nothing(cli: Cli, tmp_path: Path) -> None:
    """The sound conversations before the broken one are not recorded either, and no service is asked."""
    broken = [CLAUDE, {**CLAUDE, "uuid": "c-3", "chat_messages": [7]}]
    path = folder(tmp_path, {"conversations.json": broken}) / "conversations.json"
    assert "conversations[1].chat_messages[0]" in cli.fails("ingest", str(path), "--profile", "broken", code=2)
    assert "broken" not in [one["name"] for one in cli.json("profiles")["profiles"]]
