"""Exports of chats among people: Slack, Telegram, and who is the user in them."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from domain.errors import InvalidInputError
from gateways.importers import Hints, archive, read_conversations, read_export
from gateways.importers.slack_text import Names, plain
from umbriel import Message

USERS = [
    {"id": "U1", "name": "mara", "profile": {"display_name": "Mara", "real_name": "Mara Lund"}},
    {"id": "U2", "name": "jon", "profile": {"display_name": "", "real_name": "Jon Berg"}},
]
MAY_1, MAY_2 = 1714557600, 1714644000


def said(user: str, text: str, at: float, **fields: object) -> dict[str, Any]:
    """Return a message of Slack's."""
    return {"type": "message", "user": user, "text": text, "ts": f"{at:.6f}", **fields}


SLACK: dict[str, Any] = {
    "users.json": USERS,
    "channels.json": [{"id": "C1", "name": "boats"}],
    "boats/2024-05-02.json": [
        said("U1", "A blue one", MAY_2, thread_ts=f"{MAY_1:.6f}"),
        said("U2", "<@U1> &amp; <@U9|kim>: see <https://example.org/a|the list>", MAY_2 + 1),
    ],
    "boats/2024-05-01.json": [
        said("U1", "joined", MAY_1 - 5, subtype="channel_join"),
        said("U2", "Which boat?", MAY_1, thread_ts=f"{MAY_1:.6f}"),
        said("U2", "Unrelated", MAY_1 + 5),
        said("U1", "", MAY_1 + 6, files=[{"id": "F1"}]),
        said("", "Build passed", MAY_1 + 7, subtype="bot_message", username="ci", bot_id="B1"),
    ],
}


def folder(tmp_path: Path, files: dict[str, Any], name: str = "export") -> Path:
    """Write files of JSON (or text) into a folder."""
    for file, content in files.items():
        path = tmp_path / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return tmp_path / name


def zipped(tmp_path: Path, files: dict[str, Any], name: str = "export.zip") -> Path:
    """Write files of JSON (or text) into an archive."""
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as packed:
        for file, content in files.items():
            packed.writestr(file, content if isinstance(content, str) else json.dumps(content))
    return tmp_path / name


@pytest.mark.parametrize("pack", [folder, zipped])
def test_slack_has_a_session_a_day_and_threads_stay_together(tmp_path: Path, pack: Any) -> None:
    """A thread is told where it began, whenever it was answered; bots are tools; a folder and a zip are the same."""
    found = read_export(pack(tmp_path, SLACK))
    first, second = found
    assert (first.session, second.session) == ("slack C1 2024-05-01", "slack C1 2024-05-02")
    assert (found.shape, first.channel) == ("Slack", "slack #boats")
    assert [(one.role, one.name, one.content) for one in first.messages] == [
        ("user", "Jon Berg", "Which boat?"),
        ("user", "Mara", "A blue one"),
        ("user", "Jon Berg", "Unrelated"),
        ("tool", "ci", "Build passed"),
    ]
    assert first.messages[0] == Message(
        role="user", content="Which boat?", id=f"{MAY_1}.000000", name="Jon Berg", at=datetime.fromtimestamp(MAY_1, UTC)
    )
    assert second.messages[0].content == "@Mara & @kim: see the list (https://example.org/a)"
    assert found.skipped == {"channel_join": 1, "file without text": 1}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a &lt;b&gt; &amp;lt;", "a <b> &lt;"),
        ("<@U1> <@U7>", "@Mara @U7"),
        ("<#C1> <#C1|old> <#C9|>", "#boats #old #C9"),
        ("<!here> <!channel|channel> <!subteam^S1|@crew>", "@here @channel @crew"),
        ("<!date^1714557600^{date}|May 1>", "May 1"),
        ("<https://a.org> <https://a.org|a.org> <http://a.org|A>", "https://a.org https://a.org A (http://a.org)"),
        ("<mailto:m@a.org|m@a.org> <tel:123|123>", "m@a.org 123"),
        ("1 < 2 > 1", "1 < 2 > 1"),
    ],
)
def test_slack_text_is_read_as_people_saw_it(text: str, expected: str) -> None:
    """Mentions are names, links have label and address, and only what Slack escapes is unescaped."""
    assert plain(text, Names({"U1": "Mara"}, {"C1": "boats"})) == expected


@pytest.mark.parametrize(
    "day, complaint",
    [
        ([{"type": "message", "text": "x"}], r"boats/2024-05-02\.json\[0\]: a message without a time"),
        ([said("U1", "x", MAY_2), {**said("U1", "x", 1), "ts": "soon"}], r"boats/2024-05-02\.json\[1\].*: not a time"),
        ([{**said("U1", "x", MAY_2), "text": 7}], r"boats/2024-05-02\.json\[0\]\.text: text is not text"),
        ("[{", r"boats/2024-05-02\.json: not JSON"),
    ],
)
def test_a_broken_day_is_told_its_place(tmp_path: Path, day: object, complaint: str) -> None:
    """The file of the day and the message in it."""
    with pytest.raises(InvalidInputError, match=complaint):
        read_export(folder(tmp_path, {**SLACK, "boats/2024-05-02.json": day}))


TELEGRAM: dict[str, Any] = {
    "name": "Mara",
    "type": "personal_chat",
    "id": 77,
    "messages": [
        {"id": 1, "type": "service", "date": "2024-05-01T12:00:00", "action": "phone_call"},
        {
            "id": 2,
            "type": "message",
            "date": "2024-05-01T12:00:00",
            "date_unixtime": str(MAY_1),
            "from": "Mara",
            "from_id": "user1",
            "text": [
                "See ",
                {"type": "text_link", "text": "this", "href": "https://a.org"},
                {"type": "bold", "text": "!"},
            ],
        },
        {"id": 3, "type": "message", "date": "2024-05-01T12:01:00", "from": "Jon", "photo": "a.jpg", "text": ""},
        {"id": 4, "type": "message", "date": "2024-05-02T12:01:00", "from": None, "from_id": "user9", "text": "Bye"},
    ],
}


def test_telegram_reads_pieces_of_text_and_skips_services(tmp_path: Path) -> None:
    """One session for each chat and day, ids of the export, the clock of who made it, links with their address."""
    path = tmp_path / "result.json"
    path.write_text(json.dumps(TELEGRAM))
    found = read_export(path)
    first, second = found
    assert [one.session for one in (first, second)] == ["telegram 77 2024-05-01", "telegram 77 2024-05-02"]
    (message,) = first.messages
    assert message == Message(
        role="user", content="See this (https://a.org)!", id="2", name="Mara", at=datetime(2024, 5, 1, 10, tzinfo=UTC)
    )
    assert message.at is not None
    assert message.at.isoformat() == "2024-05-01T12:00:00+02:00"
    assert [one.name for one in second.messages] == ["user9"]
    assert found.skipped == {"service": 1, "media without text": 1}
    path.write_text(json.dumps({"about": "…", "chats": {"about": "…", "list": [TELEGRAM, {**TELEGRAM, "id": 78}]}}))
    assert [one.session[:11] for one in read_conversations(path)] == ["telegram 77"] * 2 + ["telegram 78"] * 2


def test_a_bot_that_is_talked_to_is_the_assistant(tmp_path: Path) -> None:
    """In a chat with a bot, the bot is the one the chat is named after."""
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**TELEGRAM, "type": "bot_chat"}))
    assert [[m.role for m in one.messages] for one in read_conversations(path)] == [["assistant"], ["user"]]


@pytest.mark.parametrize(
    "message, complaint",
    [
        (7, r"not a message in result\.messages\[0\]"),
        ({"type": "message", "text": 7}, r"text is not text in result\.messages\[0\]"),
        ({"type": "message", "text": [7]}, r"a piece of text is not text in result\.messages\[0\]"),
        ({"type": "message", "text": "x", "date": "soon"}, r"not a time in result\.messages\[0\]"),
    ],
)
def test_a_broken_telegram_message_is_told_its_place(tmp_path: Path, message: object, complaint: str) -> None:
    """The place is the message's number in the chat, also in the export of an account."""
    path = tmp_path / "result.json"
    chat = {**TELEGRAM, "messages": [message]}
    if isinstance(message, dict):
        path.write_text(json.dumps(chat))
        with pytest.raises(InvalidInputError, match=complaint):
            read_export(path)
    path.write_text(json.dumps({"chats": {"list": [TELEGRAM, chat]}}))
    with pytest.raises(InvalidInputError, match=complaint.replace("result", r"result\.chats\.list\[1\]")):
        read_export(path)


def test_a_broken_chat_of_an_account_can_be_left_out(tmp_path: Path) -> None:
    """The other chats are read, and it is named."""
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"chats": {"list": [{**TELEGRAM, "messages": [*TELEGRAM["messages"], 7]}, TELEGRAM]}}))
    found = read_export(path, Hints(skip_broken=True))
    assert found.messages == 2
    assert found.skipped["broken: not a message in chats.list[0].messages[4]"] == 1


def test_me_is_the_user_and_everybody_else_the_other_side(tmp_path: Path) -> None:
    """Without --me nobody's words count less; with it the others are the assistant's side, by name."""
    path = folder(tmp_path, SLACK)
    roles = {one.name: one.role for talk in read_conversations(path, Hints(me="mara")) for one in talk.messages}
    assert roles == {"Mara": "user", "Jon Berg": "assistant", "ci": "tool"}
    with pytest.raises(InvalidInputError, match="nobody of this name") as caught:
        read_export(path, Hints(me="Kim"))
    assert "Jon Berg" in caught.value.expected
    alone = tmp_path / "chat.json"
    alone.write_text('[{"role": "user", "content": "x"}]')
    with pytest.raises(InvalidInputError, match="who is the user is known"):
        read_export(alone, Hints(me="Mara"))


CLAUDE = [{"uuid": "c", "chat_messages": [{"uuid": "m", "sender": "human", "text": "Hi"}]}]


def test_an_archive_is_read_for_the_exports_in_it(tmp_path: Path) -> None:
    """Other files beside them are left alone, and what a Mac adds is not looked at."""
    files = {
        "data/users.json": [{"uuid": "u"}],
        "data/conversations.json": CLAUDE,
        "data/feedback.json": [],
        "data/notes.txt": "Hello",
        "__MACOSX/._a.json": "\x00",
    }
    found = read_export(zipped(tmp_path, files))
    assert (found.shape, found.messages) == ("Claude", 1)
    with pytest.raises(InvalidInputError, match=r"data/more\.json, line 1: not JSON"):
        read_export(zipped(tmp_path, {**files, "data/more.json": "[{"}))
    with pytest.raises(InvalidInputError, match="no export that is known"):
        read_export(zipped(tmp_path, {"a.json": [1], "b.csv": "x"}))
    with pytest.raises(InvalidInputError, match="several kinds of export") as caught:
        read_export(folder(tmp_path, {"a.json": CLAUDE, "b.json": TELEGRAM}))
    assert caught.value.found == "Claude, Telegram"


def test_an_archive_that_grows_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size is what the archive states, and no more than that is read; nothing is unpacked before."""
    path = zipped(tmp_path, {"conversations.json": json.dumps(CLAUDE) + " " * 4096, "picture.bin": "x" * 9000})
    assert read_export(path).messages == 1
    monkeypatch.setattr(archive, "MAX_ARCHIVE_BYTES", 4096)
    with pytest.raises(InvalidInputError, match="too large once it is unpacked") as caught:
        read_export(path)
    assert "4,096 bytes" in caught.value.expected
    monkeypatch.setattr(archive, "MAX_ENTRIES", 1)
    with pytest.raises(InvalidInputError, match="too many files"):
        read_export(path)


def test_a_damaged_archive_is_one_error(tmp_path: Path) -> None:
    """Neither a cut file nor changed bytes are anything but an error of the file."""
    path = zipped(tmp_path, {"conversations.json": json.dumps(CLAUDE * 200)})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInputError, match="broken archive"):
        read_export(path)
    path.write_bytes(whole[:80] + bytes(20) + whole[100:])
    with pytest.raises(InvalidInputError, match="broken archive"):
        read_export(path)
