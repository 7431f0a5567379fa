"""Times in replies have microseconds, and nothing else that looks like a time is touched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from umbriel._json import encoded, with_micros
from umbriel._wire import Reply

WHOLE = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


class Shown(Reply, frozen=True):
    """A reply with a time, a text, a list of replies and something that is JSON already."""

    at: datetime
    text: str = ""
    more: tuple[Shown, ...] = ()
    raw: msgspec.Raw = msgspec.Raw(b"{}")


@pytest.mark.parametrize(
    "at", [WHOLE, WHOLE.replace(microsecond=5), WHOLE.astimezone(timezone(timedelta(hours=2)))], ids=["z", "us", "off"]
)
def test_times_have_microseconds(at: datetime) -> None:
    """With and without a fraction, in any zone, as deep as it lies."""
    shown = encoded(Shown(at=WHOLE, more=(Shown(at=at),)))
    assert shown.startswith(b'{"at":"2026-05-04T03:02:01.000000Z"')
    assert msgspec.json.decode(shown, type=Shown).more[0].at == at
    assert b"03:02:01.00000" in encoded(Shown(at=at))


def test_a_text_is_not_a_time() -> None:
    """What a person said, and what was encoded before, stays as it is, and defaults stay out."""
    said = "2026-05-04T03:02:01Z"
    raw = msgspec.Raw(f'{{"text":"{said}","share":1.5}}'.encode())
    shown = msgspec.json.decode(encoded(Shown(at=WHOLE, text=said, raw=raw)))
    assert shown == {"at": "2026-05-04T03:02:01.000000Z", "text": said, "raw": {"text": said, "share": 1.5}}
    assert encoded({"text": said}) == f'{{"text":"{said}"}}'.encode()


@pytest.mark.parametrize(
    "time, shown", [("2026-05-04T03:02:01Z", "2026-05-04T03:02:01.000000Z"), ("today", "today"), ("", "")]
)
def test_a_time_that_was_encoded(time: str, shown: str) -> None:
    """It gets its microseconds once."""
    assert with_micros(time) == shown
    assert with_micros(shown) == shown
