"""Handing in, in a real browser: good and bad files, the package, the receipt, limits, a phone, hostile names."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from browsing import CLIPPED, CONTRASTS, Visit, keep_picture, running_site, serious_findings
from playwright.sync_api import Browser, Page, expect

from hellofresh.core.workspace import Workspace
from hellofresh.submissions.inbox import VARIABLE, Inbox
from hellofresh.submissions.receipts import read_receipt
from leaderboard.data.uploads import load_dues

pytestmark = pytest.mark.integration

INFO = 'name = "{name}"\nteam = "My team"\ncontact = "me@team.example"\nregime = "zero-shot"\nmodels = ["m"]\n'
CUTOFF = "knowledge_cutoff = 2026-01-31\n"
PREDICTIONS, SYSTEM = "Predictions (predictions.jsonl or predictions.csv)", "The system (system.toml)"


@dataclass(frozen=True, slots=True)
class Files:
    """What a submitter has."""

    ids: Sequence[str]

    def predictions(self, **more: object) -> bytes:
        """Answers to all samples, by turns."""
        rows = ({"id": key, "label": k % 2} | more for k, key in enumerate(self.ids))
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    def system(self, name: str = "My system", more: str = "") -> bytes:
        """A system of that name."""
        return (INFO.format(name=name) + CUTOFF + more).encode()


@pytest.fixture(scope="module")
def inbox(open_board: Workspace) -> Inbox:
    """The inbox of the site."""
    return Inbox(open_board.root.parent / "inbox")


@pytest.fixture(scope="module")
def site(open_board: Workspace, inbox: Inbox, root: Path, browser: Browser) -> Iterator[str]:
    """The address of a running site with an inbox."""
    with running_site(root, open_board.root, {VARIABLE: str(inbox.folder)}) as address:
        yield address


@pytest.fixture
def files(open_board: Workspace) -> Files:
    """A submission to the open quarter."""
    due = load_dues(open_board.board)[-1]
    return Files([key for task in due.ids for key in due.ids[task]])


def upload(seen: Visit, box: str, content: bytes, name: str) -> None:
    """Put a file into an upload box and wait until the page has taken it in."""
    place = seen.page.locator("[data-testid=stFileUploader]").filter(has_text=box)
    place.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})
    expect(seen.page.locator(".hf h2", has_text="Result of the check")).to_be_visible(timeout=120_000)
    seen.settle(".hf h1")


def given(seen: Visit, files: Files, name: str = "My system") -> Page:
    """The page with a submission without fault."""
    page = seen.go("/submit", ".hf ol")
    upload(seen, PREDICTIONS, files.predictions(), "predictions.jsonl")
    upload(seen, SYSTEM, files.system(name), "system.toml")
    expect(page.locator(".hf-hash")).to_be_visible(timeout=120_000)
    return page


def assert_sound(seen: Visit) -> None:
    page = seen.page
    assert page.evaluate(CONTRASTS)[0][0] >= 4.5
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth")
    assert page.locator("[data-testid=stException]").count() == 0
    assert serious_findings(page) == []
    assert seen.strangers == []
    assert seen.errors == []


@pytest.mark.parametrize("look", ["dark", "phone"])
def test_a_bad_file_is_told_what_is_wrong_line_by_line(visit, files, root, look: str) -> None:
    seen = visit(look)
    page = seen.go("/submit", ".hf ol")
    bad = files.predictions().replace(b'"label": 1', b'"label": "perhaps"', 1) + b'{"id": NaN}\n'
    upload(seen, PREDICTIONS, bad, "predictions.jsonl")
    rows = page.locator(".hf-faults tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("bad-field")
    expect(rows.nth(0).locator("td").nth(1)).to_have_text("2")
    expect(rows.nth(1)).to_contain_text("not-finite")
    expect(page.get_by_role("button", name="Download the package")).to_have_count(0)
    keep_picture(page, root, f"submit-bad-{look}")
    assert_sound(seen)


@pytest.mark.parametrize("look", ["light", "phone"])
def test_what_is_right_is_previewed_and_handed_in_with_a_receipt(visit, files, inbox, root, look: str) -> None:
    seen = visit(look)
    page = given(seen, files, f"Seen on {look}")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the package").click()
    place = f"2026Q3/my-team/seen-on-{look}"
    assert waiting.value.suggested_filename == f"{place.replace('/', '-')}.zip"
    with zipfile.ZipFile(waiting.value.path()) as archive:
        assert archive.namelist() == [f"{place}/predictions.jsonl", f"{place}/system.toml"]
        assert len(archive.read(f"{place}/predictions.jsonl").splitlines()) == len(files.ids)
    before = len(inbox.arrivals()[0])
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator(".hf-notice", has_text="Submitted.")).to_be_visible(timeout=120_000)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the receipt").click()
    arrivals, _ = inbox.arrivals()
    assert len(arrivals) == before + 1
    receipt = json.loads(Path(waiting.value.path()).read_text())
    assert receipt == arrivals[-1].receipt.to_json() == read_receipt(arrivals[-1].folder, []).to_json()
    keep_picture(page, root, f"submit-good-{look}")
    assert_sound(seen)


def test_hostile_names_and_texts_do_nothing(visit, files, hostile, root) -> None:
    seen = visit("light")
    page = seen.go("/submit", ".hf ol")
    reasons = [text[:9000].replace("\u202e", "") for text in hostile]
    rows = "".join(
        json.dumps({"id": key, "label": k % 2, "rationale": reasons[k % len(reasons)]}) + "\n"
        for k, key in enumerate(sorted(files.ids))
    )
    upload(seen, PREDICTIONS, rows.encode(), "<img src=x onerror=window.pwned=1>.jsonl")
    notes = json.dumps(hostile[0] + hostile[1] + hostile[3])
    upload(seen, SYSTEM, files.system(more=f"notes = {notes}\n"), "..\\..\\\u202elmot.system")
    expect(page.locator(".hf-facts")).to_contain_text(hostile[0])
    expect(page.locator(".hf-lines")).to_contain_text(hostile[1])
    bad = "".join(json.dumps({"id": name, "label": 1}) + "\n" for name in hostile if len(name) <= 80)
    upload(seen, PREDICTIONS, bad.encode(), "x.jsonl")
    expect(page.locator(".hf-faults")).to_contain_text("<script>window.pwned=1</script>", timeout=120_000)
    keep_picture(page, root, "submit-hostile")
    main = page.locator("[data-testid=stMain]")
    assert main.locator(".hf :is(script, img, iframe, .katex, a[href^=javascript])").count() == 0
    assert page.evaluate("window.pwned") is None
    assert "\u202e" not in "".join(main.locator(".hf").all_inner_texts())
    assert seen.strangers == []
