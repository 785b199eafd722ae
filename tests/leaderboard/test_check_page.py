"""Check a table: strangers' tables on the site, in a worker of their own, without and in a browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import visiting
from browsing import CLIPPED, Visit, keep_picture, running_site, serious_findings
from conftest import HOSTILE
from playwright.sync_api import Browser, expect

from hellofresh.core.errors import DataError
from hellofresh.core.workspace import Workspace
from leaderboard.data import checks
from leaderboard.data.checks import check_table
from leaderboard.data.uploads import Upload
from leaderboard.views.check import EXAMPLES

NAMES = [name.replace('"', "'").replace("\n", " ") for name in HOSTILE[:6]]
ROWS = [[str(k), *(str(int(k % 7 > j)) for j in range(len(NAMES)))] for k in range(40)]
STRANGE = "\n".join([",".join(["item", *(f'"{name}"' for name in NAMES)]), *map(",".join, ROWS)]).encode()


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[str]:
    """A site that is this page alone, without a board."""
    with running_site(root, tmp_path_factory.mktemp("alone"), {"HELLOFRESH_TABLE_ONLY": "1"}) as address:
        yield address


@pytest.mark.parametrize("title", EXAMPLES)
def test_each_example_opens_with_one_click_and_shows_its_verdict(
    hostile_board: Workspace, monkeypatch: pytest.MonkeyPatch, title: str
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(hostile_board.root))
    test = visiting.app("check")
    next(one for one in test.button if one.label == title).click().run()
    assert not test.exception
    said = visiting.text(visiting.shown(test))
    assert "What the lead depends on" in said and "R10" in said and 'class="hf-bracket"' in visiting.shown(test)
    next(one for one in test.selectbox if one.label == "Missing scores").set_value("drop").run()
    next(one for one in test.multiselect if one.label == "Leave out").select("model-b").run()
    assert "model-b" in said and "model-b" not in visiting.shown(test).partition("depends on")[2]


@pytest.mark.parametrize(
    ("files", "options", "said"),
    [
        ([Upload("../../a.csv", b"item,A,B\n1,0,x\n2,1,y\n")], {}, "left out: `B`"),
        ([Upload("\0<b>.parquet", b"PAR1")], {}, "not a table"),
        ([Upload("t.csv", STRANGE)], {"scale": "9,1"}, "LOW,HIGH"),
        ([Upload("t.csv", b"item,A,B\n" + b"".join(b"%d,1,0\n" % k for k in range(100_001)))], {}, "100,001 items"),
    ],
)
def test_what_cannot_be_compared_is_said_without_a_place_of_the_server(
    files: list[Upload], options: dict[str, str], said: str
) -> None:
    problem = check_table(files, options)["problem"]
    assert said.lower() in problem.lower() and "/tmp" not in problem and "<b>" not in problem


def test_a_worker_is_ended_at_its_limit_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert json.loads(check_table([Upload("t.csv", STRANGE)], {})["files"][".json"])["systems"]
    for name, files in (("_WALL_S", [Upload("t.csv", STRANGE)]), ("MOST_MB", [Upload("t.csv", b"\n" * 200_000)])):
        monkeypatch.setattr(checks, name, 0.1)
        with pytest.raises(DataError, match="at most"):
            check_table(files, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_strange_names_can_do_nothing_in_a_browser(visit: Callable[[str], Visit], root: Path, look: str) -> None:
    seen = visit(look)
    page = seen.go("/", "h1")
    page.locator("input[type=file]").set_input_files({"name": "<i>.csv", "mimeType": "text/csv", "buffer": STRANGE})
    with page.expect_download() as wanted:
        page.get_by_text("compared.html").click()
    assert b"<script" not in Path(wanted.value.path()).read_bytes()
    seen.settle(".hf-podium h2")
    page.get_by_text("Read it differently").click()
    box = page.get_by_role("checkbox", name="Lower is better")
    while not box.is_checked():  # a tick is lost if the page is drawn again at that moment
        page.get_by_text("Lower is better").click()
        page.wait_for_timeout(1000)
    expect(page.locator(".hf-podium h2")).to_contain_text("safe", timeout=120_000)
    keep_picture(page, root, f"check-{look}")
    assert page.evaluate("window.pwned") is None and not seen.strangers and not seen.errors
    assert not page.evaluate(CLIPPED) and not serious_findings(page)
