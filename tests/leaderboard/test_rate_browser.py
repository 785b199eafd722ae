"""The pages of raters in a real browser: hostile responses, keyboard, mouse, phone, two tabs, kills, no network."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from browsing import ARGUMENTS, LOOKS, free_port, serious_findings
from hostile_responses import HOSTILE_RESPONSES
from playwright.sync_api import Browser, BrowserContext, BrowserType, Page, expect

from hellofresh.core.editions import Frozen
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.judging.people import RaterAccess, SystemResponse, assign, close_study, open_study, page_folder
from hellofresh.judging.predicting import assign_predictions
from hellofresh.judging.rating import take_file, write_pages
from hellofresh.judging.study import StudyFiles, StudySample
from hellofresh.judging.submitted import Step
from hellofresh.releases.life.load import load_release
from hellofresh.tasks import get_task
from tests.conftest import Maker

pytestmark = pytest.mark.integration

LINKS = ("javascript:window.pwned=1", "https://example.org/page")
EDITION = Frozen("hostile", "1")


@dataclass(slots=True)
class Study:
    """A study of hostile responses, and the server of its pages, which can be killed and started again."""

    files: StudyFiles
    access: tuple[RaterAccess, ...]
    pages: list[Path]
    server: subprocess.Popen[bytes] | None = None
    port: int = 0

    def address(self, rater: int) -> str:
        return f"http://localhost:{self.port}/?token={self.access[rater].token}"

    def start(self) -> None:
        self.port = self.port or free_port()
        command = [
            sys.executable,
            "-m",
            "hellofresh",
            "rate",
            "serve",
            "--edition",
            str(self.files.edition),
            "--task",
            self.files.task,
            "--port",
            str(self.port),
        ]
        environment = {**os.environ, "HELLOFRESH_DATA": str(self.files.workspace.root)}
        self.server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                socket.create_connection(("localhost", self.port), 1).close()
                return
            except OSError:
                assert self.server.poll() is None, self.server.stderr.read().decode()
                time.sleep(0.1)
        pytest.fail("the server did not start")

    def kill(self) -> None:
        self.server.kill()
        self.server.communicate()

    def sheets(self) -> list[dict[str, list[str]]]:
        """For each rater, the steps of each response in order."""
        study, found = open_study(page_folder(self.files)), []
        for plan in study.assignments.raters:
            steps: dict[str, list[str]] = {}
            for line in study.sheet(plan).lines():
                steps.setdefault(line.response, []).append(line.step)
            found.append(steps)
        return found


def made_study(folder: Path, *, raters: int = 2, samples: int = 1, texts: tuple[str, ...] = HOSTILE_RESPONSES) -> Study:
    files = StudyFiles(Workspace(folder / "data"), EDITION, "corrections")
    posts = [
        StudySample(f"mp-{k}", "Rivers <b>flow</b> uphill.", "javascript:window.pwned=1", media=("javascript:1",))
        for k in range(samples)
    ]
    written = [
        SystemResponse(f"mp-{k}", f"system-{n}", f"{text} {k}", LINKS if n == 0 else ())
        for k in range(samples)
        for n, text in enumerate(texts)
    ]
    names = [f"Name {k}" for k in range(raters)]
    access = tuple(assign(files, posts, written, names, rubric="correction-13", share=1.0))
    pages = write_pages(
        files.private / "raters", open_study(page_folder(files)), {who.rater: who.token for who in access}
    )
    return Study(files, access, pages)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Study]:
    study = made_study(tmp_path)
    study.start()
    yield study
    study.kill()


def begin(page: Page) -> None:
    """Read the instructions to their end."""
    page.locator("#start").click()
    expect(page.locator("fieldset").first).to_be_visible()


def answer(page: Page, by: str) -> None:
    """Answer all questions about a response with their first choice, as fast as can be; submit it."""
    if by == "keyboard":
        for _ in range(page.locator("fieldset").count()):
            page.keyboard.press("1")
        page.keyboard.press("Enter")
        return
    for group in page.locator("fieldset").all():
        if group.is_visible():
            choice = group.locator("label").first
            choice.tap() if by == "phone" else choice.click()
    page.locator("#submit").click()


def rated(page: Page) -> int:
    return int(page.locator("#count").inner_text().split()[0])


def test_a_page_from_a_file_needs_no_network_runs_no_foreign_code_and_hands_over_a_file(
    tmp_path: Path, browser: Browser
) -> None:
    study = made_study(tmp_path, texts=HOSTILE_RESPONSES[:20])
    context = browser.new_context(**LOOKS["light"], offline=True)
    page, asked, errors = context.new_page(), list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(study.pages[0].as_uri())
    expect(page.get_by_text("Example 2")).to_be_visible()
    assert serious_findings(page) == []
    begin(page)
    page.get_by_role("button", name="Side by side").click()
    assert page.locator(".responses .text").count() == 20
    shown = page.locator(".text").all_inner_texts()
    for text in HOSTILE_RESPONSES[:20]:
        assert any(f"{text} 0".split() == seen.split() for seen in shown), text
    assert page.evaluate("window.pwned") is None
    assert page.locator("a[href^='javascript:'], .text *, iframe, form, img").count() == 0
    assert serious_findings(page) == []
    page.get_by_role("button", name="Side by side").click()

    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("no answer yet")
    answer(page, "keyboard")
    expect(page.locator("#count")).to_have_text("1 of 20 responses are rated")
    page.keyboard.press("u")
    expect(page.locator("#count")).to_have_text("0 of 20 responses are rated")
    page.keyboard.press("Enter")  # the answers are there again
    for _ in range(19):
        answer(page, "keyboard")
    expect(page.get_by_text("All of your responses are rated.")).to_be_visible()
    with page.expect_download() as download:
        page.locator("main").get_by_role("button", name="Download my ratings").click()
    handed = tmp_path / "handed.json"
    download.value.save_as(handed)
    assert all(address.startswith(("file:", "blob:")) for address in asked) and errors == []
    opened = open_study(page_folder(study.files))
    assert [take_file(opened, handed), take_file(opened, handed)] == [22, 0]
    ratings = close_study(study.files, secret=False, incomplete=True)
    assert set(ratings["judge"]) == {"rater-1"} and ratings["response"].n_unique() == 20
    context.close()


def test_two_tabs_and_two_devices_submit_each_response_once(
    served: Study, screens: Callable[[str], BrowserContext]
) -> None:
    context = screens("light")
    one, two = context.new_page(), context.new_page()
    for page in (one, two):
        page.goto(served.address(0))
        begin(page)
    for page in (one, two):  # both answer the same response before either submits
        for _ in range(14):
            page.keyboard.press("1")
    for page in (one, two):
        page.keyboard.press("Enter")
    for page in (one, two):
        expect(page.locator("#count")).to_have_text("1 of 20 responses are rated")
    other = screens("dark").new_page()
    other.goto(served.address(0))
    expect(other.locator("#count")).to_have_text("1 of 20 responses are rated")
    one.get_by_role("button", name="Undo the last one").click()
    expect(two.locator("#count")).to_have_text("0 of 20 responses are rated")
    expect(one.locator("#count")).to_have_text("0 of 20 responses are rated")
    assert [list(steps.values()) for steps in served.sheets()] == [[[Step.SUBMITTED, Step.UNDONE]], []]


def test_what_is_rated_without_a_network_is_handed_over_once_there_is_one(
    served: Study, screens: Callable[[str], BrowserContext]
) -> None:
    context = screens("light")
    page = context.new_page()
    page.goto(served.address(1))
    begin(page)
    context.set_offline(True)
    for done in range(3):
        answer(page, "mouse")
        expect(page.locator("#count")).to_have_text(f"{done + 1} of 20 responses are rated")
    expect(page.get_by_text("The server cannot be reached")).to_be_visible()
    assert served.sheets()[1] == {}
    context.set_offline(False)
    expect(page.get_by_text("The server cannot be reached")).to_be_hidden()
    assert list(served.sheets()[1].values()) == [[Step.SUBMITTED]] * 3
    page.reload()
    expect(page.locator("#count")).to_have_text("3 of 20 responses are rated")


def test_a_closed_study_takes_nothing_more_and_says_so(served: Study, screens: Callable[[str], BrowserContext]) -> None:
    page = screens("light").new_page()
    page.goto(served.address(0))
    begin(page)
    close_study(served.files, secret=False, incomplete=True)
    answer(page, "keyboard")
    expect(page.get_by_text("This study is closed. Thank you.")).to_be_visible()
    assert served.sheets()[0] == {}


@contextmanager
def own_browser(kind: BrowserType, profile: Path, look: str) -> Iterator[BrowserContext]:
    """A browser with a profile on disk, which can be killed."""
    path = os.environ.get("HELLOFRESH_CHROMIUM", "/usr/bin/chromium")
    looks = {**LOOKS[look], "has_touch": look == "phone"}
    context = kind.launch_persistent_context(str(profile), executable_path=path, args=ARGUMENTS, **looks)
    try:
        yield context
    finally:
        kill_browser(profile)


def kill_browser(profile: Path) -> None:
    """End all processes of a browser without a word."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(profile) in (process / "cmdline").read_text(errors="replace"):
                os.kill(int(process.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue


def play_round(kind: BrowserType, folder: Path, seed: int) -> None:
    """One rater works; browser and server are killed on the way; nothing that the page counted is lost or doubled."""
    source = random.Random(seed)
    by, look = source.choice([("keyboard", "light"), ("mouse", "dark"), ("phone", "phone")])
    study = made_study(folder, samples=2, texts=HOSTILE_RESPONSES[:6])
    study.start()
    counted = 0
    for stop in (source.randint(1, 4), source.randint(5, 9), 12):
        with own_browser(kind, folder / "profile", look) as context:
            page = context.pages[0]
            page.goto(study.address(0))
            expect(page.locator("#count")).to_have_text(f"{counted} of 12 responses are rated")
            if page.locator("#start").is_visible():
                begin(page)
            while counted < stop:
                if source.random() < 0.2:
                    study.kill()
                    study.start()
                answer(page, by)
                counted += 1
                expect(page.locator("#count")).to_have_text(f"{counted} of 12 responses are rated")
            if stop == 12:
                expect(page.get_by_text("Your ratings have been sent")).to_be_visible()
    assert list(study.sheets()[0].values()) == [[Step.SUBMITTED]] * 12
    study.kill()


@pytest.mark.parametrize(
    "rounds",
    [pytest.param(1, marks=pytest.mark.slow), pytest.param(50, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])],
)
def test_no_rating_is_lost_or_doubled_when_browser_and_server_are_killed(
    tmp_path: Path, browser: Browser, rounds: int
) -> None:
    rounds = min(rounds, int(os.environ.get("HELLOFRESH_ROUNDS", "8")))
    for seed in range(rounds):
        (tmp_path / str(seed)).mkdir()
        play_round(browser.browser_type, tmp_path / str(seed), seed)


def test_a_phone_shows_the_page_without_scrolling_sideways(served: Study, browser: Browser) -> None:
    context = browser.new_context(**LOOKS["phone"], has_touch=True)
    page = context.new_page()
    page.goto(served.address(0))
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide)
    begin(page)
    assert not page.evaluate(wide)
    answer(page, "phone")
    expect(page.locator("#count")).to_have_text("1 of 20 responses are rated")
    assert "r-" not in json.dumps(page.locator("body").inner_text())
    context.close()


BUTTONS = [(0, 95), (0, 80), (0, 60), (1, 60), (1, 80), (1, 95)]
"""Class and certainty of the six buttons, from "surely not" to "surely"."""


def predict(page: Page, by: str, chosen: tuple[int, int, int]) -> None:
    """Give class, whether it was known, and certainty, as fast as can be; submit."""
    label, known, certainty = chosen
    place = BUTTONS.index((label, certainty))
    if by == "keyboard":
        for key in (str(place + 1), *("k" * known), "Enter"):
            page.keyboard.press(key)
        return
    targets = [page.locator(".scale label").nth(place), *([page.locator(".box")] * known), page.locator("#submit")]
    for target in targets:  # two taps, or three where the outcome was known
        expect(page.locator("#submit")).to_be_in_viewport()
        target.tap() if by == "phone" else target.click()


@pytest.mark.slow
def test_people_predict_by_keyboard_mouse_and_phone_and_each_answer_arrives_once(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_NOW", "2023-09-01T00:00:00Z")
    make, source = Maker(tmp_path), random.Random(5)
    make.release(make.notes(2, 2))
    files = StudyFiles(make.workspace(), Quarter(2023, 2), "x-notes")
    release = load_release(files.workspace, files.edition, get_task("x-notes"))
    study = Study(files, tuple(assign_predictions(files, release, ["A", "B", "C"], count=12)), [])
    study.start()
    given: list[list[tuple[int, int, int]]] = []
    for rater, (by, look) in enumerate((("keyboard", "light"), ("mouse", "dark"), ("phone", "phone"))):
        context = browser.new_context(**LOOKS[look], has_touch=look == "phone")
        page, mine = context.new_page(), list[tuple[int, int, int]]()
        page.goto(study.address(rater))
        assert serious_findings(page) == []
        expect(page.locator("main")).to_contain_text("six buttons")
        expect(page.locator("main")).not_to_contain_text("from 0 to 100")
        begin(page)
        assert serious_findings(page) == []
        assert not page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        page.locator("#submit").click()
        expect(page.get_by_role("alert")).to_contain_text("no answer yet")
        for number in range(14):
            label, certainty = source.choice(BUTTONS)
            mine.append((label, source.randint(0, 1), certainty))
            predict(page, by, mine[-1])
            if by != "keyboard" or number == 6:  # keys may come faster than the page
                expect(page.locator("#count")).to_have_text(f"{number + 1} of 14 samples are predicted")
            if number == 6:
                page.reload()
                expect(page.locator("#count")).to_have_text("7 of 14 samples are predicted")
        expect(page.get_by_text("Your predictions have been sent")).to_be_visible()
        given.append(mine)
        context.close()
    study.kill()
    opened = open_study(page_folder(files))
    for plan, mine in zip(opened.assignments.raters, given, strict=True):
        submitted = opened.sheet(plan).state().submitted
        said = [submitted[response].answers.values for _, response in plan.responses]
        assert [(one["class"], one["known"], one["certainty"]) for one in said] == mine
        assert len(list(opened.sheet(plan).lines())) == 14
