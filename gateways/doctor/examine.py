"""The doctor's round: what needs no server, then what does."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gateways.doctor import offline, online
from gateways.doctor.findings import Finding, Report, attempt, fail
from umbriel import read_endpoint

__all__ = ["examine"]


async def examine(data: Path) -> Report:
    """Look at a data directory and, where one runs, at its service. Starts nothing and changes nothing."""
    findings = await asyncio.to_thread(offline.look, data)
    if not await asyncio.to_thread(offline.is_locked, data):
        return Report(findings + online.skip())
    return Report(findings + await _service(data))


async def _service(data: Path) -> list[Finding]:
    found: list[str] = []

    def endpoint() -> list[Finding]:
        at = read_endpoint(data)
        if at is None:
            return [fail("endpoint", "the service does not say where it answers", "look into serve.log")]
        found.append(at.url)
        return []

    findings = attempt("endpoint", "delete endpoint.json and start the service again", endpoint)
    return findings + (await online.look(data, found[0]) if found else [])
