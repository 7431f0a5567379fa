"""WhatsApp's text export: the forms of its lines, the order of day and month, and what is no message."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInputError
from gateways.importers import ORDERS, Hints, read_conversations, read_export
from gateways.importers.conversation import BadValueError
from gateways.importers.whatsapp import order_of
from gateways.importers.whatsapp_lines import Form, Header, Numbers, Order, header_of
from umbriel import Message

BRACKETED = """\u200e[28/02/2024, 22:15:31] Boat club: \u200eMessages and calls are end-to-end encrypted.
[28/02/2024, 22:15:32] Mara: I bought a dinghy:
it is blue,

and small
[28/02/2024, 22:15:40] ~\u202fJon Berg: \u200eimage omitted
[28/02/2024, 22:15:41] ~\u202fJon Berg: Nice \u200e<This message was edited>
[28/02/2024, 22:16:00] Mara: This message was deleted.
[29/02/2024, 00:01:02] \u202a+47\u00a0123\u202c: 12/31/23, 10:00 - Ann: quoted
"""
DASHED = """2/28/24, 10:15\u202fPM - Messages and calls are end-to-end encrypted. Tap to learn more.
2/28/24, 10:15\u202fPM - Mara: ok
2/28/24, 10:15\u202fPM - Mara: <Media omitted>
2/28/24, 10:15\u202fPM - Jon: ok
2/28/24, 10:16\u202fPM - Mara: ok
3/1/24, 12:05\u202fAM - Mara: ok
"""


def write(tmp_path: Path, text: str, name: str = "_chat.txt") -> Path:
    """Write a chat as text and return the path."""
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_bracketed_form(tmp_path: Path, end: str) -> None:
    """Lines belong to the message before them, marks of direction are nobody's words, one session a day."""
    found = read_export(write(tmp_path, BRACKETED.replace("\n", end)))
    first, second = found
    assert first.messages == [
        Message(
            role="user",
            content="I bought a dinghy:\nit is blue,\n\nand small",
            name="Mara",
            at=datetime(2024, 2, 28, 22, 15, 32, tzinfo=UTC),
        ),
        Message(role="user", content="Nice", name="Jon Berg", at=datetime(2024, 2, 28, 22, 15, 41, tzinfo=UTC)),
    ]
    assert [(one.name, one.content) for one in second.messages] == [("+47 123", "12/31/23, 10:00 - Ann: quoted")]
    assert (found.shape, first.session[-11:], second.session[-11:]) == ("WhatsApp", " 2024-02-28", " 2024-02-29")
    assert found.skipped == {"system": 1, "media": 1, "deleted": 1}


def test_the_dashed_form_with_a_clock_of_twelve_hours(tmp_path: Path) -> None:
    """Month-first follows from a 28 in second place; five past midnight is the next day."""
    found = read_export(write(tmp_path, DASHED))
    times = [message.at.isoformat() for one in found for message in one.messages if message.at]
    assert times == ["2024-02-28T22:15:00+00:00"] * 2 + ["2024-02-28T22:16:00+00:00", "2024-03-01T00:05:00+00:00"]
    assert found.skipped == {"system": 1, "media": 1}


@pytest.mark.parametrize(
    "line, at",
    [
        ("[01.05.24, 09:07:00] Mara: x", "2024-05-01T09:07:00"),
        ("[2024-05-01, 09:07:00] Mara: x", "2024-05-01T09:07:00"),
        ("[13/5/2024 9:07:00 p. m.] Mara: x", "2024-05-13T21:07:00"),
        ("13/05/2024, 9:07 a.m. - Mara: x", "2024-05-13T09:07:00"),
        ("13.5.2024 klo 9.07 - Mara: x", ""),
        ("13.5.2024, 9.07 - Mara: x", "2024-05-13T09:07:00"),
        ("13/5/24, 24:07 – Mara: x", "2024-05-13T00:07:00"),
        ("13/5/24, 13:07 PM - Mara: x", ""),
        ("13/5/24, 9:61 - Mara: x", ""),
        ("13/5-24, 9:07 - Mara: x", ""),
    ],
)
def test_lines_of_many_regions(tmp_path: Path, line: str, at: str) -> None:
    """Dots, slashes and dashes; seconds or none; half days in every spelling. What is no time begins no message."""
    path = write(tmp_path, line)
    if not at:
        with pytest.raises(InvalidInputError, match="no known shape"):
            read_export(path, Hints(date_order="dmy"))
        return
    order = "ymd" if line[1:5] == "2024" else "dmy"
    (found,) = read_conversations(path, Hints(date_order=order))
    assert found.messages[0].at == datetime.fromisoformat(at).replace(tzinfo=UTC)
    assert (found.messages[0].name, found.messages[0].content) == ("Mara", "x")


@pytest.mark.parametrize(
    "rest, name",
    [
        ("Mara: x: y", "Mara"),
        ("Mara:", "Mara"),
        ("Mara changed the subject", ""),
        ('Mara changed the subject from "a" to "b: c"', ""),
        ('Jon "Jo" Berg: x', 'Jon "Jo" Berg'),
        ("see https://example.org", ""),
    ],
)
def test_who_says_it_stands_before_the_first_colon(rest: str, name: str) -> None:
    """What has no speaker is a line of the app's own, also where it quotes a colon."""
    header = header_of(f"13/5/24, 10:00 - {rest}", "dashed")
    assert header is not None
    assert header.name == name


def dates(*written: str) -> list[tuple[int, Header]]:
    """Return headers with these dates."""
    headers = [header_of(f"{one}, 10:00 - Mara: x", "dashed") for one in written]
    return [(number, one) for number, one in enumerate(headers, start=1) if one]


@pytest.mark.parametrize(
    "written, expected",
    [
        (("05/01/2024", "13/01/2024"), "dmy"),
        (("01/05/2024", "01/13/2024"), "mdy"),
        (("2024-05-01",), "ymd"),
        (("01/02/2024", "01/03/2024", "02/01/2024"), "mdy"),  # day-first would go back from March to January
        (("01/02/2024", "02/02/2024", "01/03/2024"), "dmy"),
        (("04/04/2024", "05/05/24"), "dmy"),  # either way round it is the same day
    ],
)
def test_the_order_of_dates_is_what_fits_them_all(written: tuple[str, ...], expected: str) -> None:
    """Every date must be a day, and a chat does not go back in time."""
    assert order_of(dates(*written), "") == expected


@pytest.mark.parametrize(
    "written, order, complaint",
    [
        (("01/05/2024",), "", "either way round"),
        (("01/02/2024", "02/03/2024"), "", "either way round"),
        (("13/01/2024", "01/13/2024"), "", "dates in no order"),
        (("13/13/2024",), "", "dates in no order"),
        (("13/01/2024",), "mdy", "dates in no order"),
    ],
)
def test_an_order_that_cannot_be_told_is_refused(written: tuple[str, ...], order: str, complaint: str) -> None:
    """The error says what to do; an order that was given must fit too."""
    with pytest.raises(BadValueError, match=complaint) as caught:
        order_of(dates(*written), order)
    assert "date-order" in caught.value.expected or "first" in caught.value.expected


def test_the_order_may_be_given(tmp_path: Path) -> None:
    """A single date that could be read both ways is read as one is told."""
    path = write(tmp_path, "01/05/2024, 10:00 - Mara: x\n")
    with pytest.raises(InvalidInputError, match=r"_chat\.txt: day and month could be either way round"):
        read_export(path)
    found = {order: next(iter(read_export(path, Hints(date_order=order)))).session[-10:] for order in ("dmy", "mdy")}
    assert found == {"dmy": "2024-05-01", "mdy": "2024-01-05"}


def test_a_longer_export_of_a_chat_has_the_same_sessions(tmp_path: Path) -> None:
    """The chat's name comes from its first message; a person's new name in the address book changes nothing of it."""
    one = [talk.session for talk in read_export(write(tmp_path, DASHED))]
    longer = DASHED.replace("Mara", "Mara Lund") + "3/2/24, 1:00\u202fPM - Jon: bye\n"
    more = [talk.session for talk in read_export(write(tmp_path, longer, "other.txt"))]
    assert one == more[:2]
    assert len(set(more)) == 3
    named = read_export(write(tmp_path, DASHED), Hints(chat="club"))
    assert [talk.session for talk in named] == ["club 2024-02-28", "club 2024-03-01"]


NAMES = st.text(alphabet="Maré Lund+47(_)😀", min_size=1, max_size=12).map(str.strip).filter(bool)
TEXTS = st.text(alphabet="abc: 1/2[]-,\u00e9😀", max_size=30)
MOMENTS = st.datetimes(datetime(2009, 1, 1), datetime(2099, 12, 31))  # noqa: DTZ001 - as a phone shows it


def written(at: datetime, form: Form, order: Order, *, gap: str, short: bool, half: bool) -> str:
    """Return a moment as a phone writes it."""
    year = f"{at:%y}" if short and order != "ymd" else f"{at.year}"
    parts = {"y": year, "m": f"{at.month}" if short else f"{at:%m}", "d": f"{at.day}" if short else f"{at:%d}"}
    stamp = gap.join(parts[one] for one in order)
    clock = f"{at.hour % 12 or 12}:{at:%M}" if half else f"{at:%H:%M}"
    clock += f":{at:%S}" if form == "bracketed" else ""
    clock += f"\u202f{'PM' if at.hour >= 12 else 'AM'}" if half else ""
    return f"[{stamp}, {clock}] " if form == "bracketed" else f"{stamp}, {clock} - "


@given(
    at=MOMENTS,
    name=NAMES,
    text=TEXTS,
    form=st.sampled_from(("bracketed", "dashed")),
    order=st.sampled_from(ORDERS),
    gap=st.sampled_from("/.-"),
    short=st.sampled_from((False, True)),
    half=st.sampled_from((False, True)),
)
def test_what_a_phone_writes_is_read_back(
    at: datetime, name: str, text: str, form: Form, order: Order, gap: str, short: object, half: object
) -> None:
    """Name, text and time of any line in any form, whatever stands in the text."""
    header = header_of(f"{written(at, form, order, gap=gap, short=bool(short), half=bool(half))}{name}: {text}", form)
    assert header is not None
    assert (header.name, header.text) == (" ".join(name.split()), text)
    seconds = at.second if form == "bracketed" else 0
    assert header.at(order) == at.replace(second=seconds, microsecond=0, tzinfo=UTC)


@given(line=st.text(alphabet="0123456789/.-,:[] -AMP\u202fxü", max_size=40))
def test_no_line_is_too_strange(line: str) -> None:
    """Whatever stands in a line, it begins a message or it does not."""
    for form in ("bracketed", "dashed"):
        header = header_of(line, form)
        assert header is None or all(header.at(order) is None or isinstance(header.clock, time) for order in ORDERS)


@given(
    days=st.lists(st.dates(date(2010, 1, 1), date(2030, 1, 1)), min_size=1, max_size=30).map(sorted),
    order=st.sampled_from(("dmy", "mdy")),
)
def test_a_chat_in_order_is_read_right_or_refused(days: list[date], order: Order) -> None:
    """No chat is ever dated wrongly: with its dates in order, either the right order is found or none."""
    numbers = [
        Numbers(one.day, one.month, one.year) if order == "dmy" else Numbers(one.month, one.day, one.year)
        for one in days
    ]
    headers = [(n, Header(numbers=one, clock=time(), name="Mara", text="x")) for n, one in enumerate(numbers, start=1)]
    try:
        found = order_of(headers, "")
    except BadValueError:
        assert max(one.day for one in days) <= 12  # a later day tells
        return
    assert [one.under(found) for one in numbers] == days


@given(
    texts=st.lists(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=3), min_size=1, max_size=8),
    form=st.sampled_from(("bracketed", "dashed")),
)
def test_every_line_of_a_chat_is_in_some_message(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], form: Form
) -> None:
    """Messages of several lines come back as they were typed, in their order."""
    start = datetime(2024, 5, 13, 9, tzinfo=UTC)
    lines = [
        written(start + timedelta(minutes=n), form, "dmy", gap="/", short=False, half=False) + "Mara: " + "\n".join(one)
        for n, one in enumerate(texts)
    ]
    path = write(tmp_path_factory.mktemp("chat"), "\n".join(lines))
    found = [message.content for one in read_conversations(path) for message in one.messages]
    assert found == ["\n".join(one).strip() for one in texts]
