"""The page Analyses in a real browser: every figure in light, dark and on a phone, tooltips, legends, hostile names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from browsing import CLIPPED, CONTRASTS, LOOKS, Visit, keep_picture, running_site, serious_findings
from playwright.sync_api import Browser, Page, expect

from hellofresh.core.workspace import Workspace
from leaderboard.data.analyses import ORDER

pytestmark = [pytest.mark.integration, pytest.mark.slow]

HERE = "/analyses?task=x-notes&edition=2023Q2"
KINDS = ("ranking", "temporal-consistency", "precision-recall", "agreement", "cost")
DRAWN = "[data-testid=stVegaLiteChart] svg"


@pytest.fixture(scope="module")
def site(analysed_board: Workspace, root: Path, browser: Browser) -> Iterator[str]:
    """The address of a site with all analyses of one task and quarter; its board is made before the browser."""
    with running_site(root, analysed_board.root) as address:
        yield address


def look_at(seen: Visit, name: str, more: str = "") -> Page:
    page = seen.go(f"{HERE}&analysis={name}{more}", ".hf-findings")
    expect(page.locator(DRAWN).first).to_be_visible(timeout=120_000)
    return page


@pytest.mark.parametrize("look", LOOKS)
def test_every_figure_is_whole_and_readable(visit: Callable[[str], Visit], root: Path, look: str) -> None:
    """All of them in light; elsewhere one of each kind."""
    seen = visit(look)
    for name in ORDER if look == "light" else KINDS:
        page = look_at(seen, name)
        for chart in page.locator("[data-testid=stVegaLiteChart]").all():
            expect(chart).to_have_attribute("aria-label", re.compile(r"\?.*The table below has the numbers\."))
        contrasts = page.evaluate(CONTRASTS)
        assert contrasts[0][0] >= 4.5, (name, contrasts[:5])
        assert page.evaluate(CLIPPED) == [], name
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth"), name
        for box in page.locator(DRAWN).all():
            found = box.bounding_box()
            assert found is not None and found["x"] >= 0, name
            assert found["x"] + found["width"] <= LOOKS[look]["viewport"]["width"], name  # type: ignore[index]
        assert page.locator("[data-testid=stException]").count() == 0, name
        if name in KINDS:
            assert serious_findings(page) == [], name
        keep_picture(page, root, f"analyses-{name}-{look}")
        page.set_viewport_size(LOOKS[look]["viewport"])  # type: ignore[arg-type]
    assert seen.strangers == []
    assert seen.errors == []


@pytest.mark.parametrize("name", ORDER)
def test_no_text_leaves_its_picture(browser: Browser, analysed_board: Workspace, name: str) -> None:
    """Whatever fonts the reader has."""
    page = browser.new_page()
    page.goto((analysed_board.root / f"analyses/2023Q2/x-notes/{name}.svg").as_uri())
    left_out = page.evaluate("""() => {
      const whole = document.documentElement.getBoundingClientRect();
      return [...document.querySelectorAll('text')].filter(text => text.textContent.trim())
        .map(text => [text.textContent, text.getBoundingClientRect()])
        .filter(([, box]) => box.left < whole.left - 1 || box.right > whole.right + 1)
        .map(([said]) => said);
    }""")
    page.close()
    assert left_out == []


def test_a_tooltip_tells_value_interval_and_samples(visit: Callable[[str], Visit]) -> None:
    page = look_at(visit("light"), "placebo")
    page.locator(f"{DRAWN} .mark-symbol path").first.hover()
    told = page.locator("#vg-tooltip-element")
    expect(told).to_be_visible()
    for part in ("alpha", "F1", "95% interval", " to ", "samples", "96"):
        expect(told).to_contain_text(part)


def test_hostile_names_are_text_in_axes_tooltips_legends_and_tables(
    visit: Callable[[str], Visit], hostile: Sequence[str]
) -> None:
    seen = visit("light")
    wanted = "".join(f"&show={name}" for name in ("%3Cscript%3Ewindow.pwned%3D1%3C/script%3E",
                     "%3Cimg src%3D%22http://beacon.invalid/x.png%22 onerror%3D%22window.pwned%3D1%22%3E",
                     "![x](http://beacon.invalid/y.png)"))  # fmt: skip
    for name in ("slices", "ranking", "cost"):
        page = look_at(seen, name, wanted)
        marks = page.locator(f"{DRAWN} .mark-symbol path:visible")
        for mark in marks.all()[:8]:
            mark.hover(force=True)
            page.wait_for_timeout(60)
        main = page.locator("[data-testid=stMain]")
        assert main.locator("script, img, iframe, .katex, a[href^=javascript]").count() == 0, name
        assert page.locator("#vg-tooltip-element").locator("script, img, a, iframe").count() == 0, name
        assert "window.pwned=1" in page.locator("[data-testid=stMain]").inner_text()
        assert page.evaluate("window.pwned") is None
        assert "\u202e" not in main.inner_text()
    assert seen.strangers == []
    assert seen.errors == []


def test_a_click_in_the_legend_highlights_a_regime(visit: Callable[[str], Visit]) -> None:
    page = look_at(visit("light"), "placebo")
    faded = page.locator(f"{DRAWN} .mark-symbol.role-mark path[opacity='0.15']")
    expect(faded).to_have_count(0)
    page.locator(f"{DRAWN} .role-legend-symbol path").first.click()
    expect(faded).to_have_count(6)


def test_a_link_opens_the_same_question_and_a_choice_changes_the_link(visit: Callable[[str], Visit]) -> None:
    seen = visit("light")
    page = look_at(seen, "votes")
    expect(page.locator(".hf h2").first).to_have_text("Do systems do better where people agreed more?")
    page.get_by_role("combobox", name="Question").click()
    page.get_by_role("option", name="What does a better score cost?").click()
    expect(page.locator(".hf h2").first).to_have_text("What does a better score cost?")
    seen.settle(DRAWN)
    assert seen.query == {"task": "x-notes", "edition": "2023Q2", "analysis": "cost"}
    page.get_by_role("link", name="Do different systems give the same answers?").click()
    expect(page.locator(".hf h2").first).to_have_text("Do different systems give the same answers?", timeout=120_000)
    assert seen.query["analysis"] == "agreement"


def test_table_and_figure_can_be_taken_away(visit: Callable[[str], Visit], analysed_board: Workspace) -> None:
    page = look_at(visit("light"), "silence")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert text.splitlines()[0].startswith("system,team,regime,kind")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the figure as SVG").click()
    made = analysed_board.root / "analyses/2023Q2/x-notes/silence.svg"
    assert Path(waiting.value.path()).read_bytes() == made.read_bytes()
