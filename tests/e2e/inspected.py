"""A service with a profile that has something of everything, and the inspector in a browser before it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from playwright.sync_api import Browser

from domain.grants import Grant, Principal
from tests.e2e.browser import Watched, launched
from tests.rest_service import RestService

__all__ = ["HOSTILE", "PERSON", "PROFILE", "Inspected", "inspecting"]

PERSON = Principal("local", "person", (Grant("*", "admin"),))
PROFILE = "home"
#: What must be shown as it is: markup, handlers, addresses, templates, and characters that turn text around.
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    "\"'><svg onload=alert(3)>",
    "</textarea></title><iframe srcdoc='<script>parent.alert(4)</script>'>",
    "javascript:alert(5)//",
    "{{constructor.constructor('alert(6)')()}} ${alert(7)}",
    "<a href='javascript:alert(8)'>x</a><math><mtext><style><img src onerror=alert(9)>",
    "\u202egnp.exe\u202c &lt;b&gt; %3Cscript%3Ealert(10)%3C/script%3E",
)


class Inspected:
    """A service and a browser; `inside` gives a page that is logged in."""

    def __init__(self, rest: RestService, browser: Browser) -> None:
        self.rest = rest
        self.browser = browser
        self.url = rest.web.url

    def ask(self, verb: str, body: dict[str, Any] | None = None, profile: str = PROFILE) -> Any:
        """Ask the service as the person does."""
        return self.rest.ask(verb, profile, msgspec.json.encode(body or {}), PERSON)

    def remember(self, content: str, profile: str = PROFILE, **fields: Any) -> str:
        """State a memory and wait until it can be found; returns its id."""
        return str(self.ask("remember", {"content": content, "wait": True, **fields}, profile)["memory"]["id"])

    def link(self, name: str = "local") -> str:
        """Return a link that logs a principal in once."""
        return str(self.ask("inspect", {"name": name}, "_")["link"])

    def outside(self, **options: Any) -> Watched:
        """Return a page that nobody is logged in to."""
        return Watched(self.browser, self.url, **options)

    def inside(self, name: str = "local", **options: Any) -> Watched:
        """Return a page that a principal is logged in to."""
        watched = self.outside(**options)
        watched.page.goto(self.link(name))
        watched.page.get_by_role("heading", name="Profiles").wait_for()
        return watched

    def fill(self) -> None:
        """Give the profile a conversation and memories of every state."""
        said = [
            {"role": "user", "name": "Mara", "content": "I moved to Porto in May."},
            {"role": "assistant", "content": "How do you like it there?"},
            {"role": "user", "name": "Mara", "content": "The rehearsals are on Tuesdays now."},
        ]
        self.ask("ingest", {"messages": said, "session": "evening", "contact": "mara", "wait": True})
        for city in ("Lisbon", "Braga", "Porto"):
            self.remember(f"Mara lives in {city}", key="home city", contact="mara")
        self.remember("Answer in French", kind="instruction", key="language")
        self.ask("retract", {"id": self.remember("Mara plays the cello", contact="mara")})
        self.ask("pin", {"id": self.remember("Mara cannot eat peanuts", key="allergies", contact="mara")})

    async def _flush(self) -> None:
        await self.rest.runtime.service.handed_out.accesses.flush()

    def accesses(self, profile: str = PROFILE) -> int:
        """Return how often memories of a profile were handed out so far."""
        self.rest.on_loop(self._flush())
        entries = self.ask("list", {"contact": "*", "at_least": self.rest.end(profile)}, profile)["entries"]
        return sum(one.get("accesses", 0) for one in entries)


@contextmanager
def inspecting(data: Path) -> Iterator[Inspected]:
    """One service and one browser until the context ends."""
    with launched() as browser, RestService(data) as rest:
        inspected = Inspected(rest, browser)
        inspected.fill()
        yield inspected
    asyncio.set_event_loop(None)
