"""The inspector shows what anybody wrote as text and nothing else, works by keys alone, and in both colour schemes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import Watched
from tests.e2e.inspected import HOSTILE, PROFILE, Inspected, inspecting

pytestmark = pytest.mark.timeout(120)

BAD = "hostile"
_CONTRAST = """
() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map(one => {
      const part = Number(one) / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = node => {
    for (let one = node; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (!/(, 0\\)|transparent)$/.test(colour)) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const poor = [];
  for (const node of document.querySelectorAll('#app *')) {
    const own = [...node.childNodes].some(one => one.nodeType === 3 && one.textContent.trim());
    if (!own || !node.checkVisibility() || node instanceof SVGElement || node.closest(':disabled')) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(node.textContent.slice(0, 40));
  }
  return poor;
}
"""


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspected]:
    """One service and one browser, and a profile in which everything is hostile."""
    with inspecting(tmp_path_factory.mktemp("inspected") / "data") as running:
        spoil(running)
        yield running


def spoil(inspected: Inspected) -> None:
    """Write the corpus wherever somebody can write."""
    for number, text in enumerate(HOSTILE):
        said = [{"role": "user", "name": text[:60], "content": text}, {"role": "assistant", "content": f"re: {text}"}]
        inspected.ask("ingest", {"messages": said, "session": text[:64], "contact": text, "wait": True}, BAD)
        inspected.remember(f"{number} {text}", BAD, key=text, contact=text, session=text[:64], metadata={text: text})
        inspected.remember(f"{number} {text} again", BAD, key=text, contact=text)
        inspected.ask("reflect", {"topic": text[:60], "text": text}, BAD)
        inspected.ask("set_context", {"session": text[:64], "notes": text}, BAD)


@pytest.fixture
def watched(inspected: Inspected) -> Iterator[Watched]:
    """A page that is logged in; a test after which it did something wrong fails."""
    page = inspected.inside()
    yield page
    assert page.wrong == []
    page.close()


def texts(page: Page) -> str:
    """Return what the page says, and what its controls hold."""
    return str(
        page.evaluate(
            "document.querySelector('main').textContent + [...document.querySelectorAll('main input, main option')]"
            ".map(one => one.value + one.textContent).join(' ')"
        )
    )


@pytest.mark.parametrize("name", ["memories", "timeline", "feed", "sessions", "audit", "recall", "export"])
def test_hostile_texts_are_texts(watched: Watched, name: str) -> None:
    """Wherever texts, keys, contacts and sessions are shown they stand as they were written, and nothing runs."""
    page = watched.open(BAD, name, {"recall": "q=alert", "memories": "status=all"}.get(name, ""))
    if name in {"memories", "sessions", "feed"}:
        expect(page.locator("main")).to_contain_text(HOSTILE[1])
        found = texts(page)
        assert [one for one in HOSTILE if one not in found] == []
    if name == "timeline":
        expect(page.get_by_role("region", name="Known then")).to_contain_text("again")
    if name == "recall":
        expect(page.locator("pre.fenced")).to_contain_text("alert")
    assert page.locator("main img, main iframe, main script, main math, main style").count() == 0


def test_hostile_memories_one_by_one(watched: Watched, inspected: Inspected) -> None:
    """One memory, its picture, its actions and its session show the corpus as it is."""
    entries = inspected.ask("list", {"contact": "*", "limit": 500}, BAD)["entries"]
    stated = [one for one in entries if one["text"].endswith("again")]
    assert len(stated) == len(HOSTILE)
    for one in stated:
        page = watched.open(BAD, "memory", f"id={one['id']}")
        expect(page.get_by_role("heading", level=1)).to_have_text(one["text"])
        assert one["key"] in texts(page)
        assert page.locator("svg.chain a.version").count() == 2
    page.get_by_role("button", name="Correct").click()
    expect(page.locator("blockquote")).to_have_text(stated[-1]["text"])
    for text in HOSTILE:
        page = watched.page
        page.goto(watched.origin + "/#/" + BAD + "/sessions")
        page.get_by_role("link", name=text[:64], exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(text[:64])
        expect(page.locator(".message").first).to_have_text(text)


def test_hostile_addresses(watched: Watched) -> None:
    """Nothing in the address becomes anything but a value of a field, or an error in words."""
    for text in HOSTILE:
        page = watched.page
        page.evaluate(
            "([profile, text]) => location.hash = `#/${profile}/memories?text=${encodeURIComponent(text)}`", [BAD, text]
        )
        expect(page.get_by_label("Text")).to_have_value(text)
        page.evaluate("text => location.hash = `#/${encodeURIComponent(text)}/memories`", text)
        expect(page.get_by_role("alert")).to_be_visible()
    with pytest.raises(Exception, match="TrustedHTML"):
        page.evaluate("document.querySelector('main').innerHTML = '<b>no</b>'")
    watched.wrong.clear()  # the policy said no to the test itself


def test_hostile_settings(watched: Watched) -> None:
    """What the service says about a value that it refuses is shown as it says it."""
    page = watched.open(BAD, "settings")
    page.locator("[name='recall.fill']").evaluate(
        "(node, text) => { node.type = 'text'; node.value = text }", HOSTILE[0]
    )
    page.locator("[name='recall.fill']").dispatch_event("input")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".setting .wrong:not(:empty)")).to_contain_text("cannot have that value")


def test_by_keys_alone(inspected: Inspected) -> None:
    """From logging in to a changed memory without a mouse; what has the focus is seen."""
    watched = inspected.outside()
    page = watched.page
    page.goto(inspected.url)
    page.keyboard.type(inspected.rest.token("local"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Profiles")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "A"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.evaluate(f"location.hash = '#/{PROFILE}/memories'")
    expect(page.get_by_role("heading", name="Memories")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    for key, title in (("t", "Timeline"), ("a", "Audit"), ("m", "Memories")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.get_by_role("heading", name=title, level=1)).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Text")).to_be_focused()
    page.keyboard.type("peanuts")
    page.keyboard.press("Enter")
    expect(page.locator(".item")).to_have_count(1)
    expect(page.get_by_label("Text")).to_be_focused()
    for _ in range(20):
        page.keyboard.press("Tab")
        if "peanuts" in page.evaluate("document.activeElement.textContent"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Mara cannot eat peanuts")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Unpin":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Unpin")).to_be_focused()
    assert watched.wrong == []
    watched.close()


def test_everything_has_a_name(watched: Watched) -> None:
    """Whoever listens hears what every control, link and picture is."""
    unnamed = """
    () => [...document.querySelectorAll('a, button, input, select, textarea, svg, progress, dialog')].filter(node => {
      if (!node.checkVisibility() || node.closest('[aria-hidden=true]')) return false;
      const label = node.getAttribute('aria-label') || node.getAttribute('aria-labelledby') || node.textContent.trim();
      return !label && !(node.labels && node.labels.length);
    }).map(node => node.outerHTML)
    """
    for name in ("memories", "recall", "timeline", "feed", "sessions", "projections", "settings", "audit", "export"):
        page = watched.open(PROFILE, name, "q=Porto" if name == "recall" else "")
        expect(page.locator("h1")).to_have_count(1)
        assert page.evaluate(unnamed) == [], name
        assert page.evaluate("document.title").endswith("· Umbriel")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_schemes_can_be_read(inspected: Inspected, scheme: str) -> None:
    """The system's scheme holds until another is chosen, which stays; every text stands out from what is behind it."""
    watched = inspected.inside(color_scheme=scheme)
    page = watched.page
    dark = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).every(one => one < 60)"
    assert page.evaluate(dark) == (scheme == "dark")
    for name in ("memories", "recall", "projections", "settings", "audit"):
        watched.open(PROFILE, name, "q=Porto" if name == "recall" else "")
        assert page.evaluate(_CONTRAST) == [], name
    other = "light" if scheme == "dark" else "dark"
    while page.get_by_title("Colours").inner_text().lower() != other:
        page.keyboard.press("d")
    assert page.evaluate(dark) == (other == "dark")
    page.reload()
    page.get_by_role("heading", level=1).wait_for()
    assert page.evaluate(dark) == (other == "dark")
    assert watched.wrong == []
    watched.close()
