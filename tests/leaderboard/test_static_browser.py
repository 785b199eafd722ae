"""The static copy in a real browser: from its folder and from a server, with scripts and without, on small screens."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import polars as pl
import pytest
from browsing import LOOKS, SMALL_TARGETS, Visit, serious_findings
from playwright.sync_api import Browser, Page, Route, expect

import hellofresh as hf
from hellofresh.core.workspace import Workspace
from hellofresh.results.card import card_of
from leaderboard.data.analyses import ORDER
from leaderboard.export.one_file import compare_page

pytestmark = [pytest.mark.integration, pytest.mark.slow]

HOME = "x-notes/2023Q2/index.html"
PAGES = {
    "home": "index.html",
    "leaderboard": HOME,
    "ties": "x-notes/2024Q1/index.html",
    "compare": "x-notes/2024Q1/compare.html",
    "samples": "x-notes/2024Q1/samples.html",
    "submit": "submit.html",
    "missing": "404.html",
    "data": "wikipedia-edits/2024Q1/data.html",
    "about": "about.html",
    "guess": "x-notes/2024Q1/guess.html",
}
SEEN = [
    ("home", "dark"), ("home", "phone"),
    ("leaderboard", "light"), ("leaderboard", "phone"), ("ties", "dark"), ("ties", "tablet"), ("every-quarter", "dark"),
    ("every-quarter", "phone"), ("system", "light"), ("system", "phone"), ("compare", "dark"),
    ("compare", "phone"), ("samples", "light"), ("samples", "phone"), ("submit", "tablet"), ("missing", "phone"),
    ("data", "phone"), ("about", "dark"), ("guess", "phone"),
]  # fmt: skip
SHOWN = ".hf-standings tbody tr:not(.hf-group):not([hidden])"


class Copied(Visit):
    """A page of the copy in the browser, with what went on behind it."""

    def go(self, path: str, ready: str = "h1") -> Page:
        """Open a page of the copy."""
        self.page.goto(self.address + path)
        return self.page

    def table(self, path: str) -> Page:
        """Open the tab with the table of a ranking."""
        self.go(path)
        self.page.locator(".hf-pills label", has_text="Table").click()
        return self.page

    def names(self) -> list[str]:
        """The systems shown, in their order."""
        return self.page.locator(f"{SHOWN} td.hf-name > a").all_text_contents()

    @property
    def fragment(self) -> str:
        """What stands in the address after the hash."""
        return self.page.url.partition("#")[2]


@pytest.fixture
def visit(hostile_copy: Path, serve: Callable[[Path], str], browser: Browser) -> Iterator[Callable[..., Copied]]:
    """Opens the copy as somebody with a screen of that kind, from its folder unless `from_server`."""
    contexts = []

    def start(look: str = "light", *, from_server: bool = False, **how: Any) -> Copied:
        contexts.append(browser.new_context(**LOOKS[look], **how))
        served = f"{serve(hostile_copy.parent)}/hellofresh/" if from_server else f"file://{hostile_copy}/"
        return Copied(contexts[-1].new_page(), served)

    yield start
    for context in contexts:
        context.close()


def keep_picture(page: Page, root: Path, name: str) -> None:
    """With HELLOFRESH_PICTURES=1 save the whole page."""
    folder = root / "test-artifacts"
    if os.environ.get("HELLOFRESH_PICTURES") == "1":
        folder.mkdir(exist_ok=True)
        page.screenshot(path=folder / f"static-{name}.png", full_page=True)


@pytest.mark.parametrize(("name", "look"), SEEN)
def test_every_page_is_whole_and_can_be_used_by_all(
    visit: Callable[..., Copied], hostile_copy: Path, root: Path, name: str, look: str
) -> None:
    systems = sorted((hostile_copy / "x-notes/2024Q1/systems").iterdir())
    seen = visit(look)
    page = seen.go(PAGES.get(name) or systems[0].relative_to(hostile_copy).as_posix())
    expect(page.locator("h1")).to_be_visible()
    keep_picture(page, root, f"{name}-{look}")
    for summary in page.locator(".hf summary").all():
        if summary.is_visible():
            summary.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light dark"
    assert seen.strangers == seen.errors == []
    # It reads style sheets by itself, which the page's policy does not allow.
    assert serious_findings(page, preload=False) == []


RANKING, ON_A_PHONE = "x-notes/2024Q1/index.html", (".hf-menu", ".hf-more")
OPENED = {
    "menu": (RANKING, [".hf-menu"], "nav a"),
    "columns": (
        RANKING,
        ["label:has-text('Table')", ".hf-more", "summary:text-is('Columns')"],
        ".hf-tools [open] label",
    ),
    "charts": (RANKING, ["label:has-text('Charts')"], ".hf-tabs .hf-plot"),
    "how sure": (RANKING, ["label:has-text('How sure')"], ".hf-tabs > section:nth-of-type(4) > *"),
    "sample": ("wikipedia-edits/2024Q1/samples.html", [".hf-samples tbody a >> nth=1"], "[data-opened] .hf-answers"),
    "guess": ("x-notes/2024Q1/guess.html", [".hf-guess summary >> nth=0"], ".hf-guess [open] :not(summary)"),
    "three": ("x-notes/2024Q1/compare.html", [".hf-picking input >> nth=2"], ".hf-compared .hf-findings"),
}
"""States that clicks open: the page, what is pressed in turn, and what is seen then."""


@pytest.mark.parametrize("look", ["dark", "phone"])
def test_what_a_click_opens_fits_the_screen_and_can_be_used_by_all(
    visit: Callable[..., Copied], root: Path, look: str
) -> None:
    seen = visit(look)
    for name, (path, presses, shown) in OPENED.items():
        page = seen.go(path)
        for press in presses:
            if press not in ON_A_PHONE or look == "phone":
                page.locator(press).click()
        expect(page.locator(shown).first).to_be_visible()
        keep_picture(page, root, f"opened-{name.replace(' ', '-')}-{look}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        aligned = page.locator("[data-opened] p").evaluate_all("all => all.map(one => getComputedStyle(one).textAlign)")
        assert set(aligned) <= {"start", "left"}, name
        assert serious_findings(page, preload=False) == [], name
    assert seen.errors == seen.strangers == []


@pytest.mark.parametrize("look", ["light", "phone"])
def test_the_first_screen_says_what_it_is_and_who_leads(visit: Callable[..., Copied], look: str) -> None:
    page = visit(look).go(HOME)  # whose lead is not tested, so it has no seal
    rows = page.locator(".hf-row")
    for shown in (page.locator("h1"), page.locator(".hf-podium"), rows.nth(0)):
        expect(shown).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("from_server", [False, True])
def test_links_lead_from_page_to_page_and_back(visit: Callable[..., Copied], from_server: bool) -> None:
    seen = visit(from_server=from_server)
    page = seen.go(HOME)
    page.locator(".hf-row").get_by_role("link", name="second-best").click()
    expect(page.locator("h1")).to_have_text("second-best")
    page.get_by_role("link", name="Community Notes on X, 2023Q2").click()
    page.get_by_role("link", name="Data").click()
    expect(page.locator(".hf-balance")).to_be_visible()
    page.get_by_role("link", name="Edits of Wikipedia paragraphs").click()
    expect(page.locator("h1")).to_have_text("Data")
    page.get_by_role("link", name="Ranking", exact=True).click()
    page.get_by_role("link", name="2024Q1 (revealed, bundled sample)").click()
    expect(page.locator(".hf-rows").first).to_be_visible()
    page.get_by_role("link", name="HelloFresh", exact=True).click()
    assert page.url == f"{seen.address}index.html"
    assert seen.strangers == seen.errors == []


@pytest.mark.parametrize("from_server", [False, True])
def test_a_click_on_a_head_sorts_and_the_link_keeps_it(visit: Callable[..., Copied], from_server: bool) -> None:
    seen = visit(from_server=from_server)
    page = seen.table(HOME)
    ranked = seen.names()
    head = page.locator(".hf-standings thead th", has_text="F1")
    head.get_by_role("button").click()
    head.get_by_role("button").click()
    head.get_by_role("button").click()
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert seen.fragment == "sort=-f1"
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    values = [float(text) for text in page.locator(".hf-system td:nth-child(3)").evaluate_all(
        "cells => cells.map(cell => cell.firstChild.textContent)")]  # fmt: skip
    assert values == sorted(values) and values[0] < values[-1]
    other = visit(from_server=from_server)
    other.go(f"{HOME}#{seen.fragment}")
    assert other.names() == seen.names() != ranked
    head.get_by_role("button").click()
    expect(head).not_to_have_attribute("aria-sort", "ascending")
    assert (seen.names(), seen.fragment) == (ranked, "")
    page.locator(".hf-standings th", has_text="System").get_by_role("button").press("Enter")
    assert seen.names() != ranked


def test_numbers_sort_by_sign_and_what_is_missing_comes_last_both_ways(visit: Callable[..., Copied]) -> None:
    page = visit().table(RANKING)
    cells = page.locator(".hf-system td:nth-child(3)")
    written = ["+0.3", "\u2013", "\u22121.2", "1,000.5", "-7"]
    cells.evaluate_all(
        "(cells, texts) => cells.forEach((cell, k) => cell.replaceChildren(texts[k % texts.length]))", written
    )
    button = page.locator(".hf-standings thead th", has_text="F1").get_by_role("button")
    for again in (False, True):
        button.click()
        order = list(dict.fromkeys(cells.all_text_contents()))
        numbers = ["-7", "\u22121.2", "+0.3", "1,000.5"]
        kept = [text for text in (numbers if again else numbers[::-1]) if text in order]
        assert order == [*kept, *(text for text in order if text == "\u2013")] and len(order) > 2


def test_search_filters_and_columns_narrow_the_table_and_the_link_keeps_them(visit: Callable[..., Copied]) -> None:
    seen = visit()
    page = seen.table(HOME)
    at_first, everybody = len(seen.names()), page.locator(".hf-standings tbody tr:not(.hf-group)").count()
    page.get_by_label("Find a system or team").fill("BEST")
    assert seen.names() == ["best", "second-best"]
    expect(page.get_by_role("status")).to_have_text(f"2 of {everybody} systems shown")
    page.get_by_role("combobox", name="Regime").select_option("web-search")
    assert seen.names() == ["best"]
    page.locator(".hf-pills label", has_text="Ranking").click()
    expect(page.locator(".hf-ranking li:visible")).to_have_count(1)
    expect(page.locator(".hf-ranking > p").first).to_contain_text(f"1 of {everybody} systems shown")
    page.locator(".hf-pills label", has_text="Table").click()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("checkbox", name="Cost").uncheck()
    expect(page.locator(".hf-standings th", has_text="Cost")).to_be_hidden()
    page.get_by_role("checkbox", name="Recall").check()
    expect(page.locator(".hf-standings th", has_text="Recall")).to_be_visible()
    assert seen.fragment.startswith("find=BEST&regime=web-search&hide=cost%2C") and "recall" not in seen.fragment
    other = visit()
    there = other.go(f"{HOME}#{seen.fragment}")
    assert other.names() == ["best"]
    expect(there.get_by_label("Find a system or team")).to_have_value("BEST")
    expect(there.locator(".hf-standings th", has_text="Cost")).to_be_hidden()
    there.get_by_label("Find a system or team").fill("nobody has this name")
    assert other.names() == []
    expect(there.get_by_role("button", name="Clear search and filters")).to_be_visible()
    expect(there.locator(".hf-standings .hf-group:visible")).to_have_count(0)
    there.evaluate("location.hash = ''")
    expect(there.locator(SHOWN)).to_have_count(at_first)


def test_what_a_submission_states_of_its_model_is_a_column_and_a_filter(visit: Callable[..., Copied]) -> None:
    seen = visit()
    page = seen.table("x-notes/2024Q1/index.html")
    page.get_by_text("Columns", exact=True).click()
    for title in ("Weights", "Size", "Released"):
        page.get_by_role("checkbox", name=title).check()
    stated = page.locator("tbody tr:not(.hf-group)", has_text="Acme Labs").locator("td").all_inner_texts()
    assert [text for text in stated if text in {"Acme Labs", "open", "7 B", "2024-05-01"}] == [
        "Acme Labs", "open", "7 B", "2024-05-01"
    ]  # fmt: skip
    for title, value, left in (
        ("Maker", "Borealis", ["fair"]), ("Maker", "", ["good", "fair", "poor", "coin"]),
        ("Weights", "open", ["good"]), ("Weights", "", ["good", "fair", "poor", "coin"]),
        ("Released", "2023", ["fair"]),
    ):  # fmt: skip
        page.get_by_role("combobox", name=title).select_option(value)
        assert seen.names() == left, title
    assert "released=2023" in seen.fragment
    expect(page.get_by_role("combobox", name="Size")).to_be_hidden()  # all that is stated is one size
    page.get_by_text("Columns", exact=True).click()
    page.locator(".hf-standings th", has_text="Size").get_by_role("button").click()
    assert "sort=-size" in seen.fragment


def test_the_provenance_can_be_chosen_and_what_nobody_offers_is_ignored(visit: Callable[..., Copied]) -> None:
    seen = visit()
    page = seen.go("x-notes/2024Q1/index.html#sort=nothing&regime=%3Cb%3E&provenance=uploaded&hide=f1,rank,nothing")
    assert seen.names() == ["good", "fair", "poor"]
    expect(page.locator(".hf-tools [role=status]")).to_contain_text(
        "systems shown. The address asked for regime “<b>”, which is not here, so it was ignored."
    )
    assert "regime" not in seen.fragment
    page.goto(f"{seen.address}about.html")
    seen.go("x-notes/2024Q1/index.html#provenance=uploaded&sort=nothing&hide=f1,rank,nothing")
    assert seen.names() == ["good", "fair", "poor"]
    expect(page.get_by_role("columnheader", name="F1")).to_be_visible()
    assert seen.errors == []


def test_all_systems_are_shown_and_uploaded_ones_can_be_filtered_out(visit: Callable[..., Copied]) -> None:
    seen = visit()
    page = seen.table(HOME)
    uploaded = page.locator(".hf-system tr:not(.hf-group)", has_text="uploaded")
    assert uploaded.count() > 2 and uploaded.first.is_visible()
    page.get_by_role("combobox", name="Provenance").select_option("run here")
    expect(uploaded.first).to_be_hidden()
    page.go_back()
    expect(uploaded.first).to_be_visible()
    page.go_forward()
    expect(uploaded.first).to_be_hidden()
    assert (seen.fragment, seen.errors) == ("provenance=run+here", [])


def test_without_scripts_all_is_there_and_nothing_is_offered_that_needs_them(visit: Callable[..., Copied]) -> None:
    with_scripts = visit()
    with_scripts.table(HOME)
    seen = visit(java_script_enabled=False)
    page = seen.table(HOME)
    assert seen.names() == with_scripts.names()
    expect(page.locator(".hf-tools")).to_be_hidden()
    expect(page.locator(".hf-standings thead")).to_contain_text("Provenance")
    page.get_by_text("What the columns mean").click()
    expect(page.locator("dd", has_text="the harmonic mean")).to_be_visible()
    assert page.locator(".hf-standings button").count() == 0


def test_on_a_phone_a_row_is_a_line_until_it_is_tapped_and_the_menu_opens(visit: Callable[..., Copied]) -> None:
    seen = visit("phone")
    page = seen.table(HOME)
    row = page.locator(".hf-system tr:not(.hf-group)").first
    height = row.bounding_box()
    assert height is not None and height["height"] < 54
    provenance = row.locator("td").nth(6)
    expect(provenance).to_be_hidden()
    row.locator("td").nth(2).click()
    expect(provenance).to_be_visible()
    assert provenance.evaluate("cell => getComputedStyle(cell, '::before').content") == '"Provenance"'
    row.locator("td").nth(2).click()
    expect(provenance).to_be_hidden()
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("combobox", name="Order").select_option("System")
    assert seen.fragment == "sort=system"
    assert page.get_by_role("button", name="F1").count() == 0  # nobody sees the head, so nobody tabs to it
    expect(page.get_by_role("link", name="Data")).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Data").click()
    expect(page.locator("h1")).to_have_text("Data")
    assert seen.errors == []


@pytest.mark.parametrize("from_server", [False, True])
def test_samples_are_searched_filtered_and_opened_and_the_link_keeps_it(
    visit: Callable[..., Copied], hostile_copy: Path, from_server: bool
) -> None:
    text = (hostile_copy / "wikipedia-edits/2024Q1/samples/list.js").read_text()
    listed = json.loads(text.removeprefix("hfLoaded=").removesuffix(";\n"))
    marks = listed["right"][[origin for origin, _ in listed["systems"]].index("team-poor/poor")]
    every = listed["samples"]["label"]
    found = f"{sum(m == '0' and one == 1 for m, one in zip(marks, every, strict=True))} of {len(every)} samples."
    seen = visit(from_server=from_server)
    page = seen.go("wikipedia-edits/2024Q1/samples.html")
    status = page.get_by_role("status")
    expect(status).to_have_text(f"{len(every)} of {len(every)} samples.")
    page.get_by_role("combobox", name="Wrong").select_option("team-poor/poor")
    page.get_by_role("combobox", name="Label").select_option("accepted")
    expect(status).to_have_text(found)
    page.get_by_label("Search in texts").fill("no text has this")
    expect(status).to_contain_text(f"0 of {len(every)} samples.")
    page.get_by_role("button", name="Clear search and filters").click()
    expect(status).to_have_text(f"{len(every)} of {len(every)} samples.")
    page.go_back()
    page.get_by_label("Search in texts").fill("")
    expect(status).to_have_text(found)
    page.locator(".hf-samples tbody a").nth(2).click()
    opened = page.locator("[data-opened]")
    expect(opened).to_contain_text("People decidedaccepted")
    expect(opened.locator(".hf-answers tbody tr")).to_have_count(4)
    expect(opened.locator(".hf-answers tr", has_text="poor")).to_contain_text("wrong")
    assert page.evaluate("document.querySelector('.hf-opened').rowIndex") == 4  # below its own row
    first, address = opened.get_attribute("data-opened"), seen.fragment
    opened.get_by_role("link", name="Next").click()
    expect(opened).not_to_have_attribute("data-opened", first or "")
    assert f"sample={opened.get_attribute('data-opened')}" in seen.fragment != address
    opened.get_by_role("link", name="Previous").click()
    expect(opened).to_have_attribute("data-opened", first or "")
    assert seen.fragment == address
    opened.get_by_role("button", name="Close").click()
    expect(opened).to_have_count(0)
    expect(page.locator(".hf-samples tbody a").nth(2)).to_be_focused()
    there = visit(from_server=from_server)
    again = there.go(f"wikipedia-edits/2024Q1/samples.html#{address}&period=never")
    expect(again.locator("[data-opened]")).to_contain_text("People decidedaccepted")
    expect(again.get_by_role("status")).to_contain_text(
        "asked for Period “never”, which is not here, so it was ignored."
    )
    again.goto("about:blank")
    again = there.go(f"wikipedia-edits/2024Q1/samples.html#{address}")
    expect(again.locator("[data-opened]")).to_contain_text("People decidedaccepted")
    expect(again.get_by_role("status")).to_have_text(found)
    assert seen.errors == there.errors == seen.strangers == []


def test_the_first_guess_on_a_sample_counts_and_nothing_is_sent(visit: Callable[..., Copied]) -> None:
    seen = visit(from_server=True)
    page = seen.go("x-notes/2024Q1/guess.html")
    for number, right in ((0, "1"), (1, "0"), (0, "0")):
        page.locator(".hf-guess").nth(number).locator(f"[data-right='{right}'] summary").click()
    expect(page.get_by_role("status")).to_have_text("You were right on 1 of 2.")
    assert seen.strangers == seen.errors == []


def test_on_a_phone_a_sample_opens_where_it_is_pressed_over_the_whole_width(visit: Callable[..., Copied]) -> None:
    page = visit("phone").go("x-notes/2024Q1/samples.html")
    link = page.locator(".hf-samples tbody a").nth(20)
    link.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    link.click()
    opened = page.locator("[data-opened]")
    expect(opened).to_be_visible()
    box = opened.bounding_box()
    assert box and box["width"] > 340
    assert page.evaluate("scrollY") == before > 3000
    opened.get_by_role("button", name="Close").click()
    expect(link).to_be_focused()
    assert page.evaluate("scrollY") == before


def test_ticked_systems_are_compared_and_lead_to_the_samples_that_one_got_right(visit: Callable[..., Copied]) -> None:
    seen = visit()
    page = seen.go("x-notes/2024Q1/compare.html")
    boxes = {name: page.get_by_role("checkbox", name=re.compile(f"^{name} ")) for name in ("fair", "poor", "coin")}
    boxes["fair"].uncheck()
    expect(page.locator(".hf-compared")).to_have_text("Tick two to five systems in the table to compare them.")
    boxes["poor"].check()
    expect(page.locator(".hf-verdict")).to_contain_text("good is better than poor by 0.")
    assert seen.fragment.count("=") == 2 and "team-good" in seen.fragment and "team-poor" in seen.fragment
    only = page.locator(".hf-balance tr", has_text="Only good was right").locator("td").nth(1).inner_text()
    boxes["coin"].focus()
    page.keyboard.press("Space")
    square = page.locator(".hf-compared .hf-findings")
    expect(square.locator("tbody tr")).to_have_count(3)
    assert square.locator("td").all_inner_texts()[1::5] == ["\N{EN DASH}"] * 3
    expect(page.locator(".hf-compared > details")).to_have_count(3)
    page.go_back()  # a tick is a step
    expect(page.locator(".hf-compared > details")).to_have_count(0)
    page.get_by_role("link", name="that only good got right").click()
    expect(page.get_by_role("status")).to_contain_text(f"{only} of ")
    assert seen.errors == []


@pytest.mark.parametrize("look", ["light", "phone"])
def test_systems_ticked_in_the_table_lead_to_their_comparison(visit: Callable[..., Copied], look: str) -> None:
    seen = visit(look)
    page = seen.table("x-notes/2024Q1/index.html")
    boxes, bar = page.locator(".hf-tick"), page.locator(".hf-ticked")
    assert page.evaluate(SMALL_TARGETS) == []
    names = page.locator(".hf-standings td.hf-name > a").all_text_contents()
    boxes.nth(0).check()
    expect(bar).to_contain_text("1 of at most 5 systems ticked.")
    expect(bar.get_by_role("link")).to_have_count(0)
    boxes.nth(2).focus()
    page.keyboard.press("Space")
    page.reload()  # the address names them
    expect(boxes.nth(0)).to_be_checked()
    expect(page.get_by_role("checkbox", name=f"Compare {names[2]}", exact=True)).to_be_checked()
    page.keyboard.press("Escape")
    boxes.nth(2).focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Compare")
    expect(page.locator(".hf-both")).to_have_text(f"{names[0]} and {names[2]}:")
    seen.go(f"x-notes/2024Q1/compare.html#one={seen.fragment.split('=')[1].split('&')[0]}&two=never")
    expect(page.get_by_role("status")).to_contain_text("asked for “never”, which is not here, so it was ignored.")
    expect(page.locator(".hf-compared")).to_have_text("Tick two to five systems in the table to compare them.")
    assert seen.errors == []


def test_a_sixth_system_cannot_be_ticked(visit: Callable[..., Copied], hostile_copy: Path) -> None:
    seen, whole = visit(from_server=True), (hostile_copy / "x-notes/2024Q1/compare/list.js").read_text()
    data = json.loads(whole.removeprefix("hfLoaded=").removesuffix(";\n"))
    data["systems"] += [[f"{origin}-{k}", *rest] for k in range(2) for origin, *rest in data["systems"]]
    data["files"] += [False] * 2 * len(data["files"])
    said = f"hfLoaded={json.dumps(data)};"
    seen.page.route("**/compare/list.js", lambda route: route.fulfill(body=said, content_type="text/javascript"))
    page = seen.go("x-notes/2024Q1/compare.html")
    boxes = page.locator(".hf-picking input")
    for place in (5, 6, 7):
        boxes.nth(place).check()
    expect(page.get_by_role("status")).to_have_text(f"5 of {len(data['systems'])} systems ticked; at most 5.")
    expect(page.locator(".hf-picking :disabled")).to_have_count(len(data["systems"]) - 5)
    assert seen.errors == []


def test_the_script_says_of_the_first_two_what_the_page_says_without(visit: Callable[..., Copied]) -> None:
    with_scripts, without = visit(), visit(java_script_enabled=False)
    pages = [seen.go("x-notes/2024Q1/compare.html") for seen in (with_scripts, without)]
    expect(pages[0].locator("[data-ready]")).to_have_count(1)
    for part in (".hf-verdict", ".hf-both", ".hf-balance >> nth=1"):
        assert pages[0].locator(part).inner_text() == pages[1].locator(part).inner_text()


def test_the_keyboard_reaches_the_content_the_search_and_the_heads(visit: Callable[..., Copied]) -> None:
    page = visit().go(f"{HOME}#sort=-f1")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent || document.activeElement.id"))
        if reached[-1] == "F1":
            break
    assert reached[-1] == "F1" and {"find", "Columns"} <= set(reached)
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_hostile_names_are_shown_as_text_and_do_nothing(
    visit: Callable[..., Copied], hostile_copy: Path, hostile: Sequence[str]
) -> None:
    seen = visit()
    page = seen.table(HOME)
    for name in hostile:
        # Invisible characters are removed from names when the board is built, and heaps of marks are cut.
        assert normalize("NFC", name.replace("\u202e", "").replace("\u0301" * 10_000, "\u0301" * 3)) in seen.names()
    page.get_by_label("Find a system or team").fill("<img src")
    assert len(seen.names()) == 1
    for key in ("xn-100", "xn-101", "xn-102", "xn-103", "xn-104"):
        seen.go("about.html")
        seen.go(f"x-notes/2024Q1/samples.html#sample={key}")
        expect(page.locator(f"[data-opened={key}]")).to_be_visible()
        assert page.locator("main :is(script, img, iframe, a[href^=javascript])").count() == 0
        assert page.evaluate("window.pwned") is None
    for path in sorted((hostile_copy / "x-notes/2023Q2/systems").iterdir()):
        seen.go(path.relative_to(hostile_copy).as_posix())
        assert page.locator("main :is(script, img, iframe, a[href^=javascript])").count() == 0
        assert page.evaluate("window.pwned") is None
    assert seen.strangers == seen.errors == []


def test_what_models_said_is_shown_as_text_and_does_nothing(
    visit: Callable[..., Copied], hostile_copy: Path, hostile: Sequence[str]
) -> None:
    said = hostile[:7]  # without what heaps marks, which are thinned where the copy is made
    seen, whole = visit(from_server=True), (hostile_copy / "x-notes/2024Q1/samples/0.js").read_text(encoding="utf-8")

    def say(route: Route) -> None:
        """Puts words into the mouth of the first system: of its answer, and of that by a further prompt."""
        content = json.loads(whole.removeprefix("hfLoaded=").removesuffix(";\n"))
        for opened in content.values():
            opened["said"] = [[0, 1, None, [[0, 1, None, word] for word in said], word] for word in said]
        route.fulfill(body=f"hfLoaded={json.dumps(content)};", content_type="text/javascript")

    seen.page.route("**/samples/0.js", say)
    page = seen.go("x-notes/2024Q1/samples.html#sample=xn-100")
    expect(page.locator(".hf-answers")).to_contain_text(said[0])
    assert page.locator("main :is(script, img, iframe, a[href^=javascript])").count() == 0
    assert page.evaluate("window.pwned") is None
    assert seen.strangers == seen.errors == []


def test_the_policy_holds_back_what_is_not_of_the_copy(visit: Callable[..., Copied]) -> None:
    seen = visit(from_server=True)
    page = seen.go(HOME)
    held: list[str | None] = []
    page.on("requestfailed", lambda request: held.append(request.failure))
    page.evaluate("""() => {
      const inline = document.createElement('script'); inline.textContent = 'window.pwned = 1';
      const far = document.createElement('img'); far.src = 'http://beacon.invalid/x.png';
      document.body.append(inline, far);
    }""")
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None
    assert held == ["csp"]
    assert len(seen.errors) == 2 and all("Content Security Policy" in error for error in seen.errors)


@pytest.mark.parametrize("name", ORDER)
def test_no_text_leaves_its_picture(browser: Browser, analysed_board: Workspace, name: str) -> None:
    """Whatever fonts the reader has."""
    page = browser.new_page()
    left_out = []
    for ending in ("svg", "narrow.svg"):
        page.goto((analysed_board.root / f"analyses/2023Q2/x-notes/{name}.{ending}").as_uri())
        left_out += page.evaluate("""() => {
      const whole = document.documentElement.getBoundingClientRect();
      return [...document.querySelectorAll('text')].filter(text => text.textContent.trim())
        .map(text => [text.textContent, text.getBoundingClientRect()])
        .filter(([, box]) => box.left < whole.left - 1 || box.right > whole.right + 1)
        .map(([said]) => said);
    }""")
    page.close()
    assert left_out == []


WIDTHS = (390, 768, 1024, 1400)


def test_nothing_overflows_with_sixty_systems_and_eleven_metrics(
    browser: Browser, wide_copy: Path, hostile_copy: Path
) -> None:
    page = browser.new_page()

    def too_wide() -> list[int]:
        found = []
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            found += [width] if page.evaluate("document.documentElement.scrollWidth > innerWidth") else []
        return found

    found = [
        path for folder in (wide_copy, hostile_copy) for path in folder.rglob("*.html") if "/systems/" not in str(path)
    ]
    found += sorted((hostile_copy / "x-notes/2024Q1/systems").glob("*.html"))
    for folder in wide_copy.glob("*/*/systems"):  # all have the same columns; the first has a long name
        found += sorted(folder.glob("*.html"))[:3]
    for path in found:
        page.goto(path.as_uri())
        assert too_wide() == [], path
    page.goto(f"{(wide_copy / 'scifact-retrieval/2023Q2/index.html').as_uri()}#hide=")
    page.goto("about:blank")
    page.goto(f"{(wide_copy / 'scifact-retrieval/2023Q2/index.html').as_uri()}#hide=nothing&provenance=all")
    expect(page.locator(".hf-standings tbody tr:not(.hf-group):not([hidden])")).to_have_count(60)
    assert too_wide() == []
    expect(page.locator(".hf-standings thead th:visible")).to_have_count(27)
    page.close()


def test_above_the_fold_are_the_verdict_and_six_rows_and_a_wide_chart(browser: Browser, wide_copy: Path) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto((wide_copy / "x-notes/2023Q2/index.html").as_uri())
    expect(page.locator(".hf-podium")).to_be_in_viewport(ratio=1)
    expect(page.locator(".hf-row").nth(5)).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.querySelector('.hf-row .hf-interval').getBoundingClientRect().width") >= 220
    page.close()


def test_on_a_phone_each_row_has_its_interval_and_a_button_that_keys_press(browser: Browser, wide_copy: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{(wide_copy / 'x-notes/2023Q2/index.html').as_uri()}#hide=")
    row = page.locator(SHOWN).first
    expect(row.locator(".hf-interval")).to_be_visible()
    button = row.get_by_role("button", name="More about best")
    for state in ("true", "false"):
        button.press("Enter")
        expect(button).to_have_attribute("aria-expanded", state)
        expect(row.get_by_text("run here")).to_be_visible(visible=state == "true")
    page.close()


def test_sixty_systems_take_less_than_6000_pixels_of_a_phone(browser: Browser, wide_copy: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto((wide_copy / "x-notes/2023Q2/index.html").as_uri())
    expect(page.locator(".hf-row")).to_have_count(60)
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
    page.close()


@pytest.mark.parametrize("gaps", [False, True])
def test_a_comparison_of_five_systems_prints_on_one_page_with_its_card_and_all_pairs(
    browser: Browser, tmp_path: Path, gaps: bool
) -> None:
    random, names = np.random.default_rng(0), [f"a-maker/Model-{number}-of-a-long-name-instruct" for number in range(5)]
    values = (random.random((200, 5)) < np.linspace(0.8, 0.5, 5)).astype(float)
    if gaps:
        values[random.random(values.shape) < 0.1] = np.nan
    frame = pl.DataFrame(values, schema=names).fill_nan(None)
    made = hf.compare(frame.with_columns(item=pl.format("q{}", pl.int_range(200)), cluster=pl.int_range(200) // 4))
    (tmp_path / "compared.html").write_text(compare_page(made, card_of(made)))
    page = browser.new_page(viewport={"width": 718, "height": 1047})  # A4 within margins of 1 cm
    page.goto((tmp_path / "compared.html").as_uri())
    assert page.pdf(format="A4", prefer_css_page_size=True).count(b"/Type /Page\n") == 1
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 718  # no column is cut off
