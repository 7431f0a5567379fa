"""The web inspector in a real browser: every page, every action, and nothing that a page must not do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from domain.grants import Grant
from tests.e2e.browser import Watched
from tests.e2e.inspected import PROFILE, Inspected, inspecting
from umbriel._export_file import ExportFile

pytestmark = pytest.mark.timeout(120)

PAGES = ("memories", "recall", "timeline", "feed", "sessions", "projections", "settings", "audit", "export")
_names = count(1)


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspected]:
    """One service and one browser for all of these tests."""
    with inspecting(tmp_path_factory.mktemp("inspected") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def shared(inspected: Inspected) -> Iterator[Watched]:
    """One page that is logged in; each test goes where it wants to."""
    watched = inspected.inside()
    yield watched
    watched.close()


@pytest.fixture
def home(shared: Watched) -> Iterator[Watched]:
    """The shared page; a test after which it did something wrong fails."""
    shared.wrong.clear()
    yield shared
    assert shared.wrong == []


@pytest.fixture
def profile() -> str:
    """A profile that nothing is in."""
    return f"own-{next(_names)}"


def of(page: Page, name: str) -> str:
    """Return the value of a fact that the page shows."""
    return page.locator(f"dt:text-is('{name}') + dd").inner_text()


def test_a_link_logs_in_once(inspected: Inspected) -> None:
    """A link lets in, is gone from the address at once, and is good for nothing after; leaving takes the token away."""
    link = inspected.link()
    watched = inspected.outside()
    page = watched.page
    page.goto(f"{link}&profile={PROFILE}")
    expect(page.get_by_role("heading", name="Memories")).to_be_visible()
    assert "code" not in page.url
    token = page.evaluate("sessionStorage.getItem('umbriel.token')")
    assert watched.context.cookies() == []
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_focused()
    assert page.evaluate("sessionStorage.length") == 0
    with inspected.rest.nobody() as nobody:
        assert nobody.get("/v1/status", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    again = inspected.outside()
    again.page.goto(link)
    expect(again.page.get_by_role("alert")).to_contain_text("used already")
    assert watched.wrong == again.wrong == []
    watched.close()
    again.close()


def test_a_token_logs_in(inspected: Inspected) -> None:
    """A token lets its principal in as who it is; what is none is said so, and one that ends leads back."""
    inspected.rest.principal("visitor", Grant(PROFILE, "read", ("mara",)))
    token = inspected.rest.token("visitor")
    watched = inspected.outside()
    page = watched.page
    page.goto(inspected.url)
    page.get_by_label("Token").fill("umb_no_such")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("no token")
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("link", name=PROFILE).click()
    expect(page.get_by_role("heading", name="Memories")).to_be_visible()
    expect(page.get_by_role("link", name="Answer in French")).to_be_visible()
    # A contact's grant may not ask for everybody, and is not offered it.
    page.get_by_label("Contact").fill("mara")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Mara lives in Porto")).to_be_visible()
    page.goto(f"{inspected.url}/#/{PROFILE}/settings")
    expect(page.get_by_role("alert")).to_contain_text("You may not see this")
    page.evaluate("sessionStorage.setItem('umbriel.token', 'umb_taken_away')")
    page.goto(f"{inspected.url}/#/{PROFILE}/memories")
    expect(page.get_by_role("alert")).to_contain_text("counts no more")
    assert watched.wrong == []
    watched.close()


def test_profiles(home: Watched) -> None:
    """Profiles come with their counts, and lead to their memories."""
    page = home.page
    page.goto(f"{home.origin}/#/")
    row = page.get_by_role("row", name=PROFILE)
    expect(row.get_by_role("cell")).to_have_count(7)
    assert row.get_by_role("cell").all_inner_texts()[2] == "3"
    assert of(page, "You are") == "local, a person"
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Memories")).to_be_focused()


def test_memories_are_filtered(home: Watched) -> None:
    """Filters hold together, stand in the address, and say so where nothing fits."""
    page = home.open(PROFILE, "memories")
    expect(page.get_by_role("link", name="Mara lives in Porto")).to_be_visible()
    expect(page.get_by_role("link", name="Mara lives in Lisbon")).to_have_count(0)
    page.get_by_label("Text").fill("LIVES")
    page.get_by_label("Status").select_option("superseded")
    expect(page.locator(".item")).to_have_count(2)
    assert "status=superseded" in page.url
    page.reload()
    expect(page.locator(".item")).to_have_count(2)
    page.get_by_label("Contact").select_option("Agent-wide only")
    expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()
    home.open(PROFILE, "memories", "kind=instruction")
    expect(page.locator(".item")).to_have_count(1)


def test_memories_in_pages(home: Watched, inspected: Inspected, profile: str) -> None:
    """A page at a time, older ones on demand, none twice."""
    for number in range(53):
        inspected.ask("remember", {"content": f"Number {number}", "wait": number == 52}, profile)
    page = home.open(profile, "memories")
    expect(page.locator(".item")).to_have_count(50)
    page.get_by_role("button", name="Older").click()
    expect(page.locator(".item")).to_have_count(53)
    assert len(set(page.locator(".item-text").all_inner_texts())) == 53
    expect(page.get_by_role("button", name="Older")).to_have_count(0)


def test_a_memory_with_its_chain(home: Watched) -> None:
    """The picture has every version and what decided; each leads to itself; decisions name rule and who."""
    page = home.open(PROFILE, "memories")
    page.get_by_role("link", name="Mara lives in Porto").click()
    chain = page.locator("svg.chain")
    expect(chain.locator("a.version")).to_have_count(3)
    expect(chain.locator("a.live")).to_have_count(1)
    assert chain.locator("text.why").all_text_contents().count("same key") == 2
    assert of(page, "Key") == "home city"
    expect(page.get_by_role("row", name="superseded").first).to_contain_text("same key")
    chain.get_by_role("link", name="Version 1").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mara lives in Lisbon")
    expect(chain.locator("a.here")).to_have_attribute("aria-current", "true")


def test_where_a_memory_comes_from(home: Watched, inspected: Inspected) -> None:
    """A memory of a message shows its words, its session and its line."""
    message = inspected.ask("recall", {"query": "I moved to Porto in May.", "contact": "mara", "kinds": ["message"]})
    (source,) = message["results"][0]["sources"]
    page = home.open(PROFILE, "sessions", f"session=evening&line={source}")
    expect(page.locator(".item.marked")).to_contain_text("I moved to Porto in May.")


def test_a_memory_is_changed(home: Watched, inspected: Inspected, profile: str) -> None:
    """Each change is shown before it is made, and the page shows what came of it."""
    home.open(profile, "memory", f"id={inspected.remember('The lab is in Lisbon', profile, key='lab')}")
    page = home.page
    page.get_by_role("button", name="Correct").click()
    page.get_by_label("What it is to say").fill("The lab is in Porto")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Touches ")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Correct").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The lab is in Porto")
    expect(page.locator("a.version")).to_have_count(2)
    for name, shown in (("Pin", "pinned"), ("Unpin", "live"), ("Retract", "retracted"), ("Restore", "live")):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.get_by_text("Touches ")).to_be_visible()
        page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()
        expect(page.locator(".statement .tag", has_text=shown)).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Forget").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Forget")).to_be_focused()
    page.get_by_role("button", name="Reject").click()
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(page.locator(".statement .tag", has_text="rejected")).to_be_visible()
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("No words are left of it")
    assert inspected.ask("list", {"status": "live", "contact": "*"}, profile)["entries"] == []


def test_somebody_else_was_first(home: Watched, inspected: Inspected, profile: str) -> None:
    """A change is made to the version that was looked at, or to none."""
    home.open(profile, "memory", f"id={inspected.remember('Tea at four', profile, key='tea')}")
    page = home.page
    page.get_by_role("button", name="Correct").click()
    inspected.remember("Tea at five", profile, key="tea")
    page.get_by_label("What it is to say").fill("Tea at six")
    page.get_by_role("dialog").get_by_role("button", name="Correct").click()
    expect(page.get_by_role("alert")).to_be_visible()
    (live,) = inspected.ask("list", {}, profile)["entries"]
    assert live["text"] == "Tea at five"
    page.keyboard.press("Escape")


def test_recall_is_looked_at(home: Watched, inspected: Inspected) -> None:
    """Every channel stands beside the fused list, contributions add up, and looking counts as no access."""
    before = inspected.accesses()
    page = home.open(PROFILE, "recall")
    page.get_by_label("Question").fill("Where does Mara live?")
    page.get_by_role("button", name="Recall", exact=True).click()
    first = page.locator(".result").first
    expect(first).to_contain_text("Mara lives in Porto")
    expect(page.locator(".channel")).not_to_have_count(0)
    expect(page.get_by_role("region", name="Vector", exact=True)).to_contain_text("Mara lives in Porto")
    added = [float(text) for text in first.locator(".hits li span:last-child").all_inner_texts() if text[0] == "+"]
    scaled = [float(text[2:]) for text in first.locator(".hits li span:last-child").all_inner_texts() if text[0] == "×"]
    score = sum(added)
    for factor in scaled:
        score *= factor
    assert score == pytest.approx(float(first.locator(".score").inner_text()), abs=0.005)
    expect(page.locator("pre.fenced")).to_contain_text("Mara lives in Porto")
    page.get_by_label("Token budget").fill("1")
    page.get_by_role("button", name="Recall", exact=True).click()
    expect(page.get_by_role("heading", name="Nothing is known about that")).to_be_visible()
    assert inspected.accesses() == before


def test_recall_of_then(home: Watched, inspected: Inspected, profile: str) -> None:
    """A question is answered as it would have been, at a time that is chosen."""
    old = inspected.remember("The cat is called Miro", profile, key="cat")
    then = inspected.ask("get", {"id": old}, profile)["recorded_at"]
    at = datetime.fromisoformat(then) + timedelta(milliseconds=1)
    inspected.remember("The cat is called Tomas", profile, key="cat")
    page = home.open(profile, "recall", "q=cat")
    expect(page.locator(".result")).to_contain_text("Tomas")
    page = home.open(profile, "recall", f"q=cat&then={at:%Y-%m-%dT%H:%M:%S.%f}"[:-3])
    expect(page.locator(".result")).to_contain_text("Miro")
    page = home.open(profile, "recall", "q=cat&then=2020-01-01T00:00:00")
    expect(page.get_by_role("alert")).to_contain_text("did not exist")


def test_the_timeline_slides(home: Watched) -> None:
    """Each step shows what was known then and what it changed, by mouse, by keys and by a time."""
    page = home.open(PROFILE, "timeline")
    slider = page.get_by_label("As of")
    expect(page.get_by_text("What this step changed")).to_be_visible()
    slider.focus()
    page.keyboard.press("Home")
    expect(page.get_by_role("heading", name="Known then: 1")).to_be_visible()
    expect(page.get_by_role("region", name="Known then: 1")).to_contain_text("Mara lives in Lisbon")
    for _ in range(2):
        page.get_by_role("button", name="Forward").click()
    expect(page.get_by_role("region", name="What this step changed")).to_contain_text("Mara lives in Braga")
    page.get_by_label("Compared with").select_option("the present")
    page.get_by_label("Go to").fill("2020-01-01T00:00:00")
    page.get_by_label("Go to").dispatch_event("change")
    expect(page.get_by_role("region", name="What came after")).to_contain_text("Mara lives in Porto")


def test_the_feed_is_live(home: Watched, inspected: Inspected, profile: str) -> None:
    """What is written appears by itself, is held back while paused, and comes after."""
    inspected.remember("Already there", profile)
    page = home.open(profile, "feed")
    expect(page.locator(".event", has_text="Already there")).to_be_visible()
    inspected.remember("Just now", profile)
    expect(page.locator(".event").first).to_contain_text("Just now")
    page.get_by_role("button", name="Pause").click()
    inspected.remember("While away", profile)
    expect(page.get_by_role("status").filter(has_text="held back")).to_be_visible()
    expect(page.get_by_text("While away")).to_have_count(0)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".event").first).to_contain_text("While away")


def test_sessions_are_read(home: Watched) -> None:
    """A session is found in the list and read message by message."""
    page = home.open(PROFILE, "sessions")
    row = page.get_by_role("row", name="evening")
    assert row.get_by_role("cell").all_inner_texts()[1:3] == ["mara", "3"]
    row.get_by_role("link").click()
    expect(page.locator(".message")).to_have_count(3)
    expect(page.locator(".item").first).to_contain_text("Mara")
    page.get_by_role("link", name="What was learnt from it").click()
    expect(page.get_by_label("Session")).to_have_value("evening")


def test_views_are_rebuilt(home: Watched, inspected: Inspected, profile: str) -> None:
    """A rebuild is started, watched to its end, and the new generation shown."""
    inspected.remember("Something to index", profile)
    page = home.open(profile, "projections")
    expect(page.get_by_role("row", name="keywords")).to_contain_text("g000001")
    page.get_by_role("button", name="Rebuild all").click()
    expect(page.locator("[data-state=switched]")).to_be_visible()
    expect(page.get_by_role("row", name="keywords")).to_contain_text("g000002")
    expect(page.get_by_role("button", name="Serve the generation before again")).to_be_visible()


def test_settings_are_changed(home: Watched, inspected: Inspected, profile: str) -> None:
    """Several are saved together; a value that cannot be is refused beside its field; who was late is told."""
    page = home.open(profile, "settings")
    save = page.get_by_role("button", name="Save")
    expect(save).to_be_disabled()
    page.get_by_label("fusion").select_option("classic")
    page.locator("[name='decay.days']").fill("0")
    expect(page.get_by_text("2 changed")).to_be_visible()
    save.click()
    refused = page.locator(".setting", has=page.locator("[name='decay.days']")).get_by_role("alert")
    expect(refused).to_contain_text("cannot have that value")
    expect(page.locator("[name='decay.days']")).to_be_focused()
    page.locator("[name='decay.days']").fill("45")
    page.locator("[name='verifier.enabled']").uncheck()
    save.click()
    expect(page.get_by_text("Changed 1 time so far")).to_be_visible()
    found = inspected.ask("settings", {}, profile)["settings"]
    assert (found["recall.fusion"], found["decay.days"], found["verifier.enabled"]) == ("classic", 45, False)
    inspected.ask("settings", {"changes": {"decay.days": 50}}, profile)
    page.locator("[name='decay.days']").fill("60")
    save.click()
    expect(page.get_by_text("Somebody else changed them")).to_be_visible()
    home.open(profile, "memories")


def test_the_audit(home: Watched) -> None:
    """Who did what is listed and filtered, of a profile and of the service."""
    page = home.open(PROFILE, "audit", "action=retracted")
    expect(page.locator(".event")).to_have_count(1)
    expect(page.locator(".event")).to_contain_text("local")
    page.get_by_label("Of", exact=True).select_option("The service")
    page.get_by_label("Action").fill("principal_changed")
    page.keyboard.press("Enter")
    expect(page.locator("main")).not_to_contain_text("retracted")


def test_an_export_is_taken(home: Watched, inspected: Inspected, profile: str, tmp_path: Path) -> None:
    """The file is a whole export: header, trailer, every line as the service wrote it, hash included."""
    inspected.remember('To be taken away: 1.0 {}[]\\"', profile, metadata={"n": 1.0, "big": 2**60})
    page = home.open(profile, "export")
    with page.expect_download() as taken:
        page.get_by_role("button", name="Export").click()
    expect(page.locator("[data-state=exported]")).to_be_visible()
    to = tmp_path / "one.jsonl"
    taken.value.save_as(to)
    assert taken.value.suggested_filename == f"{profile}.jsonl"
    file = ExportFile(to)
    assert file.header.profile == profile
    assert [file.trailer.types[one] for one in file.trailer.types if "memory.remembered" in one] == [1]
    assert str(2**60) in to.read_text()


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_a_phone(inspected: Inspected, small: Watched, name: str) -> None:
    """At 375 pixels nothing is cut off, and the menu opens."""
    page = small.open(PROFILE, name, "q=Porto" if name == "recall" else "")
    page.wait_for_timeout(50)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("navigation").get_by_role("link", name="Export")).to_be_visible()
    assert small.wrong == []


@pytest.fixture(scope="module")
def small(inspected: Inspected) -> Iterator[Watched]:
    """A page on a phone."""
    watched = inspected.inside(viewport={"width": 375, "height": 720})
    yield watched
    watched.close()
