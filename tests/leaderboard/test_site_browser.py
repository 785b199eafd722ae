"""The site in a real browser: every page in light, dark and on a phone, hostile names, deep links, problems."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unicodedata import normalize

import pytest
from browsing import CLIPPED, CONTRASTS, LOOKS, Visit, keep_picture, running_site, serious_findings
from playwright.sync_api import Browser, Page, expect

from hellofresh.core.workspace import Workspace

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PAGES = {
    "leaderboard": ("/?task=x-notes&edition=2023Q2", ".hf-standings"),
    "bundled": ("/?task=wikipedia-edits&edition=2026Q3", ".hf-standings"),
    "data": ("/data?task=wikipedia-edits&edition=2023Q2", ".hf-balance"),
    "about": ("/about", ".hf-prose"),
    "many": ("/?task=x-notes&edition=2022Q4", ".hf-long"),
    "ties": ("/?task=x-notes&edition=2024Q1", ".hf-standings"),
    "compare": (
        "/compare?task=wikipedia-edits&edition=2024Q1&one=team-good%2Fgood&two=team-poor%2Fpoor",
        ".hf-samples",
    ),
    "system": ("/system?task=x-notes&edition=2024Q1&system=team-fair%2Ffair", ".hf-facts"),
    "forecasts": ("/?task=x-notes&edition=2026Q4&lane=prospective", ".hf-standings"),
    "release": ("/data?task=wikipedia-edits&edition=2024Q1", ".hf-hashes"),
    "samples": ("/samples?task=wikipedia-edits&edition=2024Q1", ".hf-sample"),
    "notes": ("/samples?task=x-notes&edition=2024Q1&sample=xn-103", ".hf-sample"),
}


@pytest.fixture(scope="module")
def site(hostile_board: Workspace, root: Path, browser: Browser) -> Iterator[str]:
    """The address of a running site; its board is made before the browser, whose event loop would stand in the way."""
    with running_site(root, hostile_board.root) as address:
        yield address


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_whole_and_readable(visit: Callable[[str], Visit], root: Path, name: str, look: str) -> None:
    path, ready = PAGES[name]
    seen = visit(look)
    page = seen.go(path, ready)
    keep_picture(page, root, f"{name}-{look}")
    for summary in page.locator(".hf summary:visible").all():
        summary.click()
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 10
    assert contrasts[0][0] >= 4.5, contrasts[:5]
    assert serious_findings(page) == []
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth")
    assert page.locator("[data-testid=stException]").count() == 0
    assert seen.strangers == []
    assert seen.errors == []


@pytest.mark.parametrize("look", ["light", "phone"])
def test_the_first_screen_shows_what_it_is_and_who_leads(visit: Callable[[str], Visit], look: str) -> None:
    page = visit(look).go(*PAGES["leaderboard"])
    leader = page.locator(".hf-standings bdi", has_text="best").first
    for shown in (page.locator("h1"), page.locator(".hf-lede"), leader):
        expect(shown).to_be_in_viewport(ratio=1)


def test_a_link_opens_what_was_seen_and_a_choice_changes_the_link(visit: Callable[[str], Visit]) -> None:
    seen = visit("light")
    page = seen.go("/?task=wikipedia-edits&edition=2023Q2", ".hf-standings")
    expect(page.locator(".hf-question")).to_contain_text("Wikipedia paragraph")
    expect(page.locator(".hf-notice")).to_have_count(0)
    page.get_by_role("combobox", name="Edition").click()
    page.get_by_role("option", name="2026Q3 (revealed, bundled sample)").click()
    expect(page.locator(".hf-notice")).to_contain_text("for demonstration only")
    assert seen.query == {"task": "wikipedia-edits", "edition": "2026Q3"}
    page.get_by_role("link", name="Data").click()
    seen.settle(".hf-balance")
    expect(page.locator(".hf-balance")).to_contain_text("2026-W30")
    assert seen.query == {"task": "wikipedia-edits", "edition": "2026Q3"}
    page.get_by_role("link", name="About").click()
    seen.settle(".hf-prose")
    page.get_by_role("link", name="Leaderboard").click()
    seen.settle(".hf-standings")
    assert seen.query == {"task": "wikipedia-edits", "edition": "2026Q3"}


def choose(page: Page, box: str, fragment: str) -> None:
    """Choose the one option with that text; long lists are drawn in part, so it is typed first."""
    combobox = page.get_by_role("combobox", name=box, exact=True)
    combobox.click()
    combobox.fill(fragment)
    page.locator("[role=option]").filter(has_text=fragment).click()


def test_the_chart_and_the_prompts_follow_the_choice(visit: Callable[[str], Visit]) -> None:
    page = visit("light").go(*PAGES["leaderboard"])
    expect(page.locator("figure")).to_have_count(3)
    choose(page, "Systems to show", "always-yes")
    expect(page.locator("figure")).to_have_count(4)
    page.keyboard.press("Escape")
    expect(page.locator(".hf-prompts tbody tr")).to_have_count(3)
    choose(page, "System", "always-yes")
    expect(page.locator(".hf-prompts tbody tr")).to_have_count(1)


def test_hostile_names_are_shown_as_text_and_do_nothing(
    visit: Callable[[str], Visit], hostile: Sequence[str], root: Path
) -> None:
    seen = visit("light")
    page = seen.go(*PAGES["leaderboard"])
    names = page.locator(".hf-standings :is(td.hf-name > bdi, td.hf-name > a bdi)").all_inner_texts()
    for name in hostile:
        # Invisible characters are removed from names when the board is built, and heaps of marks are cut.
        assert normalize("NFC", name.replace("\u202e", "").replace("\u0301" * 10_000, "\u0301" * 3)) in names
    for count, fragment in enumerate(("<script>", "![x](http", "frac"), start=4):
        choose(page, "Systems to show", fragment)
        expect(page.locator("figure")).to_have_count(count)
    page.keyboard.press("Escape")
    choose(page, "System", "<img src")
    expect(page.locator(".hf-said bdi")).to_have_text(hostile[1])
    keep_picture(page, root, "hostile")
    main = page.locator("[data-testid=stMain]")
    assert main.locator("script, img, iframe, .katex, a[href^=javascript]").count() == 0
    assert page.evaluate("window.pwned") is None
    assert "\u202e" not in main.inner_text()
    assert seen.strangers == []


def test_hostile_samples_do_nothing(visit: Callable[[str], Visit]) -> None:
    seen = visit("light")
    for task, keys in (("x-notes", ("xn-100", "xn-101", "xn-103")), ("wikipedia-edits", ("we-100-0", "we-101-0"))):
        for key in keys:
            page = seen.go(f"/samples?task={task}&edition=2024Q1&sample={key}", ".hf-sample")
            assert page.locator("[data-testid=stMain]").locator("script, img, iframe, .katex").count() == 0
    assert page.evaluate("window.pwned") is None
    assert seen.strangers == []


def test_filters_stand_in_the_link_and_the_table_can_be_taken_away(visit: Callable[[str], Visit]) -> None:
    seen = visit("light")
    page = seen.go("/?task=x-notes&edition=2024Q1&lane=submitted", ".hf-standings")
    rows = page.locator(".hf-standings .hf-system tr:not(.hf-group):visible")
    expect(rows).to_have_count(3)
    expect(page.locator(".hf-standings .hf-baseline")).to_be_hidden()
    page.get_by_label("Find a system or team").fill("fair")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/\?task=x-notes&edition=2024Q1#find=fair&lane=submitted$"))
    page.reload()
    seen.settle(".hf-standings")
    expect(rows).to_have_count(1)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert text.splitlines()[0].startswith("task,edition,rank,rank_low,rank_high")


def test_titles_sort_rows_open_and_back_goes_back_once(visit: Callable[[str], Visit]) -> None:
    seen = visit("light")
    page = seen.go("/?task=x-notes&edition=2024Q1", ".hf-standings")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if request.resource_type == "document" else None)
    expect(page).to_have_title("Community Notes on X, 2024Q1 · Leaderboard · HelloFresh")
    page.get_by_role("button", name="System", exact=True).click()
    names = page.locator(".hf-standings .hf-system td.hf-name a")
    expect(names).to_have_text(["fair", "good", "poor"])
    page.locator(".hf-standings tr", has_text="Team fair").locator("td").nth(5).click()
    seen.settle(".hf-facts")
    expect(page).to_have_title(re.compile("^fair · Team fair · zero-shot · "))
    assert seen.query["system"] == "team-fair/fair"
    page.get_by_role("link", name="Samples", exact=True).first.click()
    seen.settle(".hf-samples")
    page.locator(".hf-samples tbody tr").nth(4).locator("td").nth(1).click()
    expect(page.locator("[data-opened=xn-104]")).to_be_in_viewport()
    for ready in (".hf-samples", ".hf-facts", ".hf-standings"):
        page.go_back()
        seen.settle(ready)
    expect(names).to_have_text(["fair", "good", "poor"])
    assert requests == []


@contextmanager
def kept_safe(folder: Path) -> Iterator[None]:
    """Puts the board's files back in the end."""
    safe = folder.with_name("board-kept-safe")
    shutil.copytree(folder, safe)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        safe.rename(folder)


@pytest.mark.parametrize("path", ["/", "/data", "/about"])
@pytest.mark.parametrize("problem", ["empty", "damaged"])
def test_without_a_sound_board_every_page_says_what_to_run(
    visit: Callable[[str], Visit], hostile_board: Workspace, root: Path, path: str, problem: str
) -> None:
    board = hostile_board.board
    seen = visit("light")
    with kept_safe(board):
        if problem == "empty":
            shutil.rmtree(board)
        else:
            (board / "scores.parquet").write_bytes(b"not a table")
        page = seen.go(path, ".hf-problem")
        expect(page.locator(".hf-problem")).to_contain_text("make release")
        expect(page.locator(".hf-problem")).to_contain_text("board" if problem == "empty" else "scores.parquet")
        assert page.locator("[data-testid=stException]").count() == 0
        keep_picture(page, root, f"{problem}-{path[1:] or 'leaderboard'}")
    page.reload()
    expect(page.locator(".hf-problem")).to_have_count(0)
    seen.settle(".hf h1")
