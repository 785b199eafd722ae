"""The page Rate in a real browser: hostile responses, the keyboard, two raters, and a kill between two clicks."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from browsing import Visit, serious_findings, wait_for_site
from hostile_responses import HOSTILE_RESPONSES
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from hellofresh.core.editions import Frozen
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import (
    RaterAccess,
    SystemResponse,
    assign,
    close_study,
    open_study,
    page_folder,
    progress,
)
from hellofresh.judging.study import StudyFiles, StudySample

pytestmark = pytest.mark.integration

LINKS = ("javascript:window.pwned=1", "https://example.org/page")


@dataclass
class RatePage:
    """A page of raters that can be killed and started again."""

    root: Path
    files: StudyFiles
    access: Sequence[RaterAccess]
    process: subprocess.Popen[bytes] | None = None
    port: int = 0

    def start(self) -> None:
        """Start it, on the same port as before."""
        if not self.port:
            with socket.socket() as free:
                free.bind(("localhost", 0))
                self.port = free.getsockname()[1]
        data = self.files.workspace.root
        command = [sys.executable, "-m", "leaderboard.rating.start", str(page_folder(self.files)), str(data)]
        command += [f"--server.port={self.port}", "--server.address=localhost"]
        log = data / "page.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command, cwd=self.root, stdout=output, stderr=output, start_new_session=True
            )
        wait_for_site(f"{self.address}/_stcore/health", self.process, log)

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://localhost:{self.port}"

    def kill(self) -> None:
        """End it without a word."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def rate_page(tmp_path: Path, root: Path, browser: Browser) -> Iterator[RatePage]:
    """Two raters, one post with hostile responses, each with a hostile link and a good one."""
    files = StudyFiles(Workspace(tmp_path / "data"), Frozen("hostile", "1"), "corrections")
    samples = [StudySample("mp-1", "Rivers <b>flow</b> uphill.", "javascript:window.pwned=1", media=("javascript:1",))]
    written = [
        SystemResponse("mp-1", f"system-{k}", text, LINKS if k == 0 else ()) for k, text in enumerate(HOSTILE_RESPONSES)
    ]
    access = assign(files, samples, written, ["One", "Two"], rubric="correction-13", share=1.0)
    page = RatePage(root, files, access)
    page.start()
    yield page
    page.kill()
    assert "Traceback" not in (files.workspace.root / "page.log").read_text()


def answer_all(page: Page) -> None:
    """Answer every question that has no answer by the keyboard: what it makes appear, too."""
    expect(page.get_by_text("Your rating")).to_be_visible()
    answered = 0
    while True:
        # The count stands at the page's end: when it is there, so are the questions that the last answer brought.
        expect(page.get_by_text(f"Kept as a draft: {answered} answers")).to_be_visible()
        groups = page.locator("[data-testid=stRadio]:not(:has(input:checked))")
        if groups.count() == 0:
            return
        groups.first.locator("input").first.focus()
        page.keyboard.press("Space")
        answered += 1


def test_raters_work_by_keyboard_lose_nothing_and_run_no_foreign_code(
    rate_page: RatePage, screens: Callable[[str], BrowserContext]
) -> None:
    one = Visit(screens("light").new_page(), rate_page.address)
    page = one.go(f"/?token={rate_page.access[0].token}", "text=Your rating")
    page.get_by_text("Side by side").click()
    expect(page.locator("h3", has_text="Response")).to_have_count(20)
    study = open_study(page_folder(rate_page.files))
    shown = page.locator(".rate-text").all_inner_texts()
    for response in study.responses.values():
        assert any(response.text.split() == text.split() for text in shown), response.text
    assert page.evaluate("window.pwned") is None
    assert one.strangers == []
    assert page.locator("a[href^='javascript:'], .rate-text *, iframe[src*=beacon], form[action]").count() == 0
    assert serious_findings(page) == []
    page.get_by_text("One by one").click()

    for done in range(2):
        answer_all(page)
        page.keyboard.press("Alt+s")
        expect(page.get_by_text(f"{done + 1} of 20 responses are rated")).to_be_visible()
        if done == 0:
            rate_page.kill()
            rate_page.start()
            one.go(f"/?token={rate_page.access[0].token}", "text=1 of 20 responses are rated")
    found = progress(study)
    assert [item.submitted for item in found] == [2, 0]
    assert found[0].median_s < 120

    two = Visit(screens("phone").new_page(), rate_page.address)
    other = two.go(f"/?token={rate_page.access[1].token}", "text=0 of 20 responses are rated")
    for seen in (page, other):  # both at once; what is not submitted is kept too
        explicit(seen).check(force=True)
        expect(seen.get_by_text("Kept as a draft: 1 answers")).to_be_visible()
    rate_page.kill()
    rate_page.start()
    one.go(f"/?token={rate_page.access[0].token}", "text=2 of 20 responses are rated")
    two.go(f"/?token={rate_page.access[1].token}", "text=0 of 20 responses are rated")
    for seen in (page, other):
        expect(explicit(seen)).to_be_checked()

    page.keyboard.press("Alt+u")
    expect(page.get_by_text("1 of 20 responses are rated")).to_be_visible()
    expect(page.locator("[data-testid=stRadio]:not(:has(input:checked))")).to_have_count(0)
    ratings = close_study(rate_page.files, secret=False, incomplete=True)
    assert set(ratings["judge"]) == {"rater-1"}
    assert ratings["response"].n_unique() == 1


def explicit(page: Page) -> Locator:
    """The second answer to the first question."""
    return page.get_by_role("radiogroup", name="Explicitness").locator("input").nth(1)


def test_without_a_token_nothing_is_shown(rate_page: RatePage, screens: Callable[[str], BrowserContext]) -> None:
    visit = Visit(screens("light").new_page(), rate_page.address)
    page = visit.go("/", "text=Enter the token")
    page.goto(rate_page.address + "/?token=wrong")
    expect(page.get_by_text("This token is not known")).to_be_visible()
    assert page.get_by_text("Post").count() == 0
    assert "r-" not in json.dumps(page.locator("body").inner_text())
