"""WhatsApp's export as text: no ids and no order of day and month, both of which follow from the file as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date

from domain.ids import digest128
from gateways.importers.conversation import NO_TEXT, BadValueError, Conversation, checked, session_name
from gateways.importers.entries import Entry, Hints, Speakers, by_day
from gateways.importers.whatsapp_lines import Form, Header, Order, aside_of, form_of, header_of
from umbriel import Message

__all__ = ["ORDERS", "is_whatsapp", "order_of", "read_lines"]

#: How dates may be written, as the command line names it.
ORDERS: tuple[Order, ...] = ("dmy", "mdy", "ymd")
_DIGEST = 10

Lines = Callable[[], Iterable[str]]


def is_whatsapp(line: str) -> bool:
    """Return whether a file that begins with this line is a chat."""
    return form_of(line) is not None


def read_lines(lines: Lines, hints: Hints, speakers: Speakers) -> Iterator[Conversation]:
    """Yield a conversation for each day of a chat. ``lines`` is called twice: for the dates, then for the messages.

    A chat is named by its first message, unless ``hints.chat`` names it. Equal messages are told apart by their
    times and their number of the day, which a longer export of the chat does not change.
    """
    form = next((found for line in lines() if (found := form_of(line))), None)
    if form is None:
        raise BadValueError("no message", expected="lines as '[01/05/2024, 10:15:32] Mara: text'", found="none")
    order = order_of(_headers(lines(), form), hints.date_order)
    entries = _entries(lines(), form, order, speakers)
    first = next((entry for entry in _entries(lines(), form, order, Speakers()) if entry.message), None)
    name = hints.chat or f"whatsapp {_digest(first.message)}" if first and first.message else ""
    yield from by_day(entries, lambda day: session_name(name, day), channel="whatsapp")


def _digest(first: Message) -> str:
    # Without the name: a person who is put into the address book is called something else afterwards.
    return digest128("whatsapp", first.at.isoformat() if first.at else "", first.content)[:_DIGEST]


def order_of(headers: Iterable[tuple[int, Header]], given: str) -> Order:
    """Return the order of the dates, each with its line, that fits all: each is a day, none before the one above it.

    Raises BadValueError where two orders fit and make other days of it, or none does, unless ``given`` says which.
    """
    orders: tuple[Order, ...] = tuple(one for one in ORDERS if given in ("", one))
    fits, last, turned = set(orders), dict.fromkeys(orders, date.min), dict[Order, bool]()
    told_apart = False
    for line, header in headers:
        days = {order: header.numbers.under(order) for order in orders if order in fits}
        for order, day in days.items():
            if day is None:
                fits.discard(order)
                continue
            turned[order] = turned.get(order, False) or day < last[order]
            last[order] = day
        if not fits:
            raise BadValueError("dates in no order", expected=_expected(given), found=_shown(header), path=(line,))
        told_apart = told_apart or len({days[order] for order in fits}) > 1
    forwards = [order for order in ORDERS if order in fits and not turned.get(order)]
    found = forwards if len(forwards) == 1 else [order for order in ORDERS if order in fits]
    if len(found) > 1 and told_apart:
        raise BadValueError(
            "day and month could be either way round",
            expected=f"--date-order {' or '.join(found)}",
            found="no date that tells",
        )
    return found[0]


def _expected(given: str) -> str:
    return f"dates that fit --date-order {given}" if given else "all day-first, all month-first or all year-first"


def _shown(header: Header) -> str:
    return f"{header.numbers.first}/{header.numbers.second}/{header.numbers.third}"


def _headers(lines: Iterable[str], form: Form) -> Iterator[tuple[int, Header]]:
    for number, line in enumerate(lines, start=1):
        if header := header_of(line, form):
            yield number, header


def _entries(lines: Iterable[str], form: Form, order: Order, speakers: Speakers) -> Iterator[Entry]:
    for number, header, text in _whole(lines, form):
        try:
            yield _entry(header, text, order, speakers)
        except BadValueError as error:
            raise error.under(number) from error


def _whole(lines: Iterable[str], form: Form) -> Iterator[tuple[int, Header, str]]:
    """Yield each message with all of its lines, and the number of its first one."""
    begun: tuple[int, Header] | None = None
    texts: list[str] = []
    for number, line in enumerate(lines, start=1):
        header = header_of(line, form)
        if header is None:
            if begun is None and line.strip():
                raise BadValueError(
                    "a line before the first message", expected="a date", found=ascii(line[:40]), path=(number,)
                )
            texts.append(line)
            continue
        if begun is not None:
            yield (*begun, "\n".join(texts))
        begun, texts = (number, header), [header.text]
    if begun is not None:
        yield (*begun, "\n".join(texts))


def _entry(header: Header, text: str, order: Order, speakers: Speakers) -> Entry:
    at = header.at(order)
    day = at.date().isoformat() if at else ""
    content, aside = aside_of(header, text)
    if aside or not content:
        return Entry(skipped=aside or NO_TEXT, day=day)
    said = Message(role=speakers.role(header.name), content=content, at=at, name=header.name)
    return Entry(message=checked(said), day=day)
