"""Debian's Chromium, driven by Playwright: never downloaded, and watched for what it must not do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, sync_playwright

__all__ = ["Watched", "chromium", "launched"]

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_SECONDS = 5_000.0


def chromium() -> str:
    """Return where the browser is, or skip loudly."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("THE INSPECTOR IS NOT TESTED: no Chromium here; `apt-get install chromium` brings one")
    return found


@contextmanager
def launched() -> Iterator[Browser]:
    """A headless browser until the context ends."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield browser
        browser.close()


class Watched:
    """A page of its own in a browser, with everything it did that no page of ours may do."""

    def __init__(self, browser: Browser, origin: str, **options: Any) -> None:
        self.origin = origin
        self.context: BrowserContext = browser.new_context(locale="en-GB", timezone_id="UTC", **options)
        self.context.set_default_timeout(_SECONDS)
        #: errors, warnings, dialogs, requests to elsewhere, and violations of the page's own policy
        self.wrong: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self._request(request.url))
        self.page.add_init_script(
            "addEventListener('securitypolicyviolation', e => console.error('policy: ' + e.violatedDirective))"
        )

    def _console(self, message: ConsoleMessage) -> None:
        # What the service refuses is an answer; the browser notes every one of these as an error.
        if message.type in {"error", "warning"} and not message.text.startswith("Failed to load resource"):
            self.wrong.append(f"{message.type}: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, url: str) -> None:
        if not url.startswith((f"{self.origin}/", f"blob:{self.origin}/")):
            self.wrong.append(f"request: {url}")

    def open(self, profile: str, name: str, query: str = "") -> Page:
        """Go to a page of a profile, and return it when it stands."""
        self.page.goto(f"{self.origin}/#/{profile}/{name}{'?' + query if query else ''}")
        self.page.wait_for_function(
            "name => document.querySelector('h1') && !document.querySelector('main > .wait')"
            " && location.hash.includes(name)",
            arg=name,
        )
        return self.page

    def shot(self, to: Path, *, whole: bool = False) -> None:
        """Take a picture."""
        self.page.screenshot(path=to, full_page=whole)

    def close(self) -> None:
        """Close it."""
        self.context.close()
