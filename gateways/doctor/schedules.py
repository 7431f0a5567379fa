"""Checks of the daily schedules: whether the NATS server has each, at its time, and fired it when it was due."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from gateways.doctor.findings import Finding, fail, ok, warn
from gateways.jetstream.connection import Connection
from gateways.jetstream.schedules import Schedules
from umbriel.upkeep import PassStatus

__all__ = ["look"]

_CHECK = "schedules"
#: seconds that a service has been up when it has set its schedules
_SETTLING = 30.0
_RESTART = "start the service again: it sets its schedules"
#: how much the server's clock and ours may differ
_SLACK = timedelta(minutes=2)


async def look(connection: Connection, passes: Sequence[PassStatus], *, uptime: float) -> list[Finding]:
    """Look at the schedule of each daily pass that a service, up for so many seconds, says it has."""
    schedules, findings = Schedules(connection), list[Finding]()
    for one in passes:
        cron, found = f"{one.due.second} {one.due.minute} {one.due.hour} * * *", await schedules.get(one.name)
        if found is None and uptime < _SETTLING:
            findings.append(warn(_CHECK, f"{one.name} is not scheduled yet", "wait, then look again"))
        elif found is None:
            findings.append(fail(_CHECK, f"{one.name} is not scheduled", _RESTART))
        elif found.cron != cron:
            findings.append(fail(_CHECK, f"{one.name} is scheduled at {found.cron!r} and not at {cron!r}", _RESTART))
        elif found.set_at < one.due - _SLACK and (found.fired_at is None or found.fired_at < one.due - _SLACK):
            last = "never" if found.fired_at is None else f"{found.fired_at:%Y-%m-%d %H:%M} UTC"
            missed = f"{one.name} was due at {one.due:%Y-%m-%d %H:%M} UTC and fired last: {last}"
            findings.append(warn(_CHECK, missed, "start the service again: it makes up for what was missed"))
    names = ", ".join(f"{one.name} at {one.due:%H:%M} UTC" for one in passes) or "none"
    return findings or [ok(_CHECK, f"set as they must be: {names}")]
