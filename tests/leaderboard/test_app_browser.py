"""The app in a real browser: four widths, light and dark, what one clicks, what links keep, hostile names."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import Visit, keep_picture, running_site, serious_findings
from playwright.sync_api import Browser, Page, expect

from hellofresh.core.workspace import Workspace

pytestmark = [pytest.mark.integration, pytest.mark.slow]

QUARTER = "task=x-notes&edition=2024Q1"
SEEN = [
    ("", "light"), ("", "phone"), ("leaderboard", "light"),
    ("leaderboard?provenance=uploaded", "dark"), ("leaderboard?provenance=uploaded", "tablet"),
    (f"compare?{QUARTER}", "light"), (f"compare?{QUARTER}", "phone"),
    (f"samples?{QUARTER}&sample=xn-101", "dark"), (f"samples?{QUARTER}&sample=xn-101", "narrow"),
    ("forecasts", "tablet"), (f"data?{QUARTER}", "phone"), ("about", "narrow"),
]  # fmt: skip
GRID = "[data-testid=stDataFrame]"


@pytest.fixture(scope="module")
def site(hostile_board: Workspace, root: Path, browser: Browser) -> Iterator[str]:
    """The address of the app on a board with hostile names."""
    with running_site(root, hostile_board.root) as address:
        yield address


def tick(page: Page, row: int) -> None:
    """Press the box at the left of a row of the first table, counted from 0."""
    page.locator(GRID).first.click(position={"x": 16, "y": 38 + 35 * row + 17})


def go(seen: Visit, query: str) -> Page:
    return seen.go(f"/{query}", ".hf-foot")


@pytest.mark.parametrize(("query", "look"), SEEN)
def test_every_page_is_whole_and_can_be_used_by_all(
    visit: Callable[[str], Visit], root: Path, query: str, look: str
) -> None:
    seen = visit(look)
    page = go(seen, query)
    expect(page.locator("h1").first).to_be_visible()
    keep_picture(page, root, f"app-{query.split('&', maxsplit=1)[0].strip('?').replace('=', '-') or 'home'}-{look}")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth")
    assert page.locator("[data-testid=stException]").count() == 0
    assert serious_findings(page) == []
    assert (seen.strangers, seen.errors) == ([], [])
    assert page.evaluate("window.pwned") is None
    assert page.locator("[data-testid=stMain] .hf :is(script, iframe, a[href^=javascript])").count() == 0


def test_filters_narrow_the_ranking_and_the_link_keeps_them(visit: Callable[[str], Visit]) -> None:
    seen = visit("light")
    page = go(seen, "leaderboard")
    rows_shown = page.locator(".hf-row")
    before = rows_shown.count()
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("combobox", name="Provenance").click()
    page.get_by_role("option", name="uploaded").click()
    expect(rows_shown).not_to_have_count(before)
    if not page.get_by_label("Find a system or team").is_visible():
        page.get_by_role("button", name="Filters").click()
    assert rows_shown.count() < before and seen.query == {"provenance": "uploaded"}
    page.get_by_label("Find a system or team").fill("BEST")
    page.keyboard.press("Enter")
    expect(rows_shown).to_have_count(0)
    expect(page.get_by_text("No system passes the search and the filters.")).to_be_visible()
    assert seen.query == {"provenance": "uploaded", "find": "BEST"}
    expect(go(visit("light"), "leaderboard?find=BEST").locator(".hf-row")).to_have_count(2)
    expect(go(visit("light"), f"leaderboard?{QUARTER}&weights=open").locator(".hf-row")).to_have_count(1)


def test_a_row_leads_to_its_system_and_back_returns(visit: Callable[[str], Visit]) -> None:
    seen = visit("light")
    page = go(seen, f"leaderboard?{QUARTER}")
    question = page.locator("h1").inner_text()
    page.locator(".hf-row .hf-bar").first.click(force=True)  # the name's link covers the whole row
    expect(page.locator("h1")).to_have_text("good")
    assert seen.query["system"] and "/system?" in page.url
    page.locator(".st-key-hf-menu-wide").get_by_role("link", name="Samples").click()
    expect(page.locator("h1", has_text="Samples")).to_be_visible()
    assert seen.query == {"task": "x-notes", "edition": "2024Q1"}
    page.go_back()
    expect(page.locator("h1")).to_have_text("good")
    page.go_back()
    expect(page.locator("h1")).to_have_text(question)


def test_a_tick_is_a_step_that_back_undoes(visit: Callable[[str], Visit]) -> None:
    page = go(visit("light"), "")
    page.locator(".st-key-hf-menu-wide").get_by_role("link", name="Compare").click()
    expect(page.locator("h1", has_text="Compare")).to_be_visible()
    page.go_back()
    expect(page.locator(".hf-poster")).to_be_visible()


def test_a_walk_over_all_pages_leads_back_and_forward_to_the_same_pages(
    visit: Callable[[str], Visit], thorough: bool
) -> None:
    chance = random.Random(5)  # which links a visitor follows
    for _ in range(20 if thorough else 2):
        seen = visit("light")
        page = go(seen, "")
        pages = [where(seen)]
        for _ in range(5):
            if page.get_by_role("dialog").count():  # an opened sample covers the page's links
                break
            links = page.locator("a[href]:visible")
            ways = [place for place, inner in enumerate(links.evaluate_all(INNER)) if inner]
            links.nth(chance.choice(ways)).click()
            pages.append(where(seen))
            assert pages[-1][0] != pages[-2][0]
        for step, there in ((page.go_back, pages[-2::-1]), (page.go_forward, pages[1:])):
            for one in there:
                step()
                assert where(seen) == one


# The menu's item of the page that is shown leads nowhere.
INNER = """links => links.map(one => one.host === location.host && one.target !== "_blank" &&
  !one.hasAttribute("download") && !one.href.includes("#") && one.href !== location.href &&
  !(one.closest("[class*=hf-menu]") && one.pathname === location.pathname))"""


def where(seen: Visit) -> tuple[str, str]:
    """The address and the heading of the page that has come to rest."""
    readings: list[tuple[str, str]] = []
    while len(readings) < 3 or len(set(readings[-3:])) > 1:  # an address changes before its page is drawn
        seen.page.wait_for_timeout(250)
        seen.settle(".hf-foot")
        readings.append((seen.page.url, seen.page.locator("h1").first.inner_text()))
    return readings[-1]


def test_a_ticked_sample_opens_where_it_is_and_a_chart_tells_its_numbers(visit: Callable[[str], Visit]) -> None:
    seen = visit("light")
    page = go(seen, f"samples?{QUARTER}")
    tick(page, 1)
    opened = page.get_by_role("dialog")
    expect(opened.get_by_role("heading", name="The sample")).to_be_in_viewport()
    expect(opened.locator(".hf-answers")).to_be_visible()
    assert seen.query["sample"].startswith("xn-")
    assert serious_findings(page) == []
    opened.get_by_role("button", name="Close").click()
    expect(opened).to_be_hidden()
    seen.settle(".hf-foot")
    expect(page).not_to_have_url(re.compile("sample="))
    page = go(seen, "leaderboard")
    page.get_by_role("tab", name="Charts").click()
    chart = page.locator("[data-testid=stVegaLiteChart]").first
    chart.scroll_into_view_if_needed()
    mark = chart.locator("svg [aria-roledescription=point]").first
    mark.hover()
    expect(page.locator("#vg-tooltip-element")).to_contain_text("95% interval")
