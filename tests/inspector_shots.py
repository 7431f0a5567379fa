"""Takes the web inspector's screenshots for the README: ``python -m tests.inspector_shots``, with Chromium at hand.

They show a demonstration profile of a service of its own, which is gone afterwards.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from pathlib import Path

from tests.e2e.browser import Watched, launched
from tests.inspector_demo import PROFILE, fill, spread
from umbriel import Umbriel

__all__ = ["main"]

_TO = Path(__file__).parents[1] / "gateways" / "inspector" / "screenshots"
_SIZE = {"width": 1280, "height": 860}
_PHONE = {"width": 375, "height": 760}
_QUESTION = "q=Where does Mara live?"
#: the step of the timeline at which a memory took the place of another
_STEPS = 12
_SETTLE = 700


async def _made(data: Path) -> tuple[list[str], str]:
    """Write the demonstration; returns a link for each visit, and the memory that has a chain."""
    async with (
        await Umbriel.embedded(data, profile="draft", principal="local") as draft,
        await Umbriel.embedded(data, profile=PROFILE, principal="local") as shown,
    ):
        await fill(draft)
        await spread(draft, data, shown)
        await draft.delete_profile()
        home = await shown.list(contact="mara", text="third floor")
        return [(await shown.inspect()).link for _ in range(3)], home.entries[0].id


def _take(watched: Watched, link: str, shots: dict[str, tuple[str, str]]) -> None:
    watched.page.goto(link)
    watched.page.get_by_role("heading", name="Profiles").wait_for()
    for name, (page, query) in shots.items():
        watched.open(PROFILE, page, query)
        watched.page.wait_for_timeout(_SETTLE)
        if page == "timeline":
            watched.page.get_by_label("As of").press("Home")
            for _ in range(_STEPS):
                watched.page.get_by_label("As of").press("ArrowRight")
            watched.page.wait_for_timeout(_SETTLE)
        watched.page.evaluate("document.activeElement.blur()")
        watched.shot(_TO / f"{name}.png")
    watched.close()


def _visit(links: list[str], memory: str) -> None:
    origin, one = links[0].partition("/#")[0], ("memory", f"id={memory}")
    light = {"memory": one, "recall": ("recall", _QUESTION), "timeline": ("timeline", "")}
    with launched() as browser:
        _take(Watched(browser, origin, viewport=_SIZE), links[0], light)
        dark = Watched(browser, origin, viewport=_SIZE, color_scheme="dark")
        _take(dark, links[1], {"memories-dark": ("memories", "")})
        _take(Watched(browser, origin, viewport=_PHONE), links[2], {"phone": one})


def main() -> None:
    """Write the pictures, small."""
    _TO.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="umbriel-shots-") as directory:
        data = Path(directory) / "data"
        links, memory = asyncio.run(_made(data))
        _visit(links, memory)
        asyncio.run(Umbriel.stop_embedded(data))
    for picture in _TO.glob("*.png"):
        # Fewer colours, half the size; where the tool is missing the pictures are larger.
        subprocess.run(["convert", picture, "+dither", "-colors", "160", "-strip", picture], check=False)


if __name__ == "__main__":
    main()
