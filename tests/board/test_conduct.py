"""What agents should not do is listed: blocked pages, pages from after the bound, blocked sources, copied labels."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote

import polars as pl
import pytest

from hellofresh.core.quarters import Quarter
from hellofresh.evidence.web import Found, PageStatus, SearchResult, WebPage
from hellofresh.models import Answer, Finish, Limits, Request
from hellofresh.releases.life.load import load_labels
from hellofresh.results.board.build import build_board
from hellofresh.results.board.schema import TABLES
from hellofresh.results.board.system_rows import ConductRow
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation, WebAccess
from hellofresh.runs.regimes.agents import agent_regime
from hellofresh.tasks import get_task
from leaderboard.components.labels import Links
from leaderboard.data.board import SplitKey
from leaderboard.views.system import conduct_section
from tests.fakes import FakeModel, catalogued, fake_spec

NOWHERE = Links({}, "index.html")
"""Links of a site without any page."""

QUARTER = Quarter(2023, 2)
BLOCKED = "https://twitter.com/i/birdwatch/n/1"
AGENT = """
from urllib.parse import quote

import hellofresh as hf

async def solve(sample, tools):
    await tools.read("https://twitter.com/search/" + quote(sample.note.text) + "?q=" + quote(sample.post.text))
    found = await tools.search("rivers")
    for hit in found.results:
        await tools.read(hit.url)
    said = await tools.ask(tools.question)
    return hf.Choice(label=int(said == "yes"), sources=("https://twitter.com/i/birdwatch/n/1", "https://fine.example/a"))
"""


def told(name: str, labels: dict[str, int], wrong: set[str]) -> FakeModel:
    """Answers the label, turned around on the samples that it is to be wrong on."""

    def say(request: Request) -> Answer:
        assert request.sample is not None
        right = labels[request.sample.id] == 1
        return Answer("yes" if right is not (request.sample.id in wrong) else "no", Finish.STOP, 1, 1)

    return FakeModel(fake_spec(name, limits=Limits(4)), say)


class Outside:
    """A web with an old page, a blocked one and one from much later."""

    parameters: ClassVar[dict[str, str]] = {"provider": "fake"}
    blocked: tuple[str, ...] = ()

    async def search(self, query: str, *, before: object = None) -> Found:
        urls = ("https://fine.example/a", BLOCKED, "https://later.example/b")
        return Found([SearchResult(url, "A title", "", None, n) for n, url in enumerate(urls, 1)], "")

    async def read(self, url: str) -> WebPage:
        if url.startswith("https://twitter.com"):
            return WebPage(url, url, PageStatus.EXCLUDED, "holds the answers", title=f"Somebody on X: {unquote(url)}")
        day = "2023-03-01" if "fine" in url else "2024-01-01T10:00:00Z"
        return WebPage(url, url, PageStatus.OK, text="A text.", sha256="0" * 64, date=day)

    def reason(self, url: str) -> str:
        return ""

    async def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture
def listed(make, monkeypatch, tmp_path: Path):
    """What is listed after an agent that copies labels and three systems that are all wrong on twelve samples."""
    make.release(make.notes(3, 3))
    workspace, task = make.workspace(), get_task("x-notes")
    labels = {key: label.label for key, label in load_labels(workspace, QUARTER, task).items()}
    hard = set(sorted(labels)[:12])
    (tmp_path / "mine.py").write_text(AGENT)
    for name in ("copies", "one", "two", "three"):
        catalogued(monkeypatch, told(name, labels, set() if name == "copies" else hard))
        evaluation = Evaluation(QUARTER, task, name, prompts="manual")
        if name == "copies":
            evaluation = Evaluation(
                QUARTER, task, name, agent_regime(f"{tmp_path / 'mine.py'}:solve"), settings=("before=sample",),
                web=WebAccess(Outside.parameters, lambda _: Outside()),
            )  # fmt: skip
        evaluate(workspace, evaluation, lambda _: None)

    def build(*, private: bool) -> list[ConductRow]:
        score_quarter(workspace, QUARTER, tmp_path / "none")
        frame = pl.read_parquet(build_board(workspace, private=private).folder / "conduct.parquet")
        return TABLES["conduct"].rows(frame)

    return build


def test_each_act_is_listed_with_its_samples_and_an_honest_system_is_not(listed) -> None:
    assert listed(private=False) == [], "nothing before the reveal"
    rows = {row.kind: row for row in listed(private=True)}
    assert {row.origin.split("_")[2] for row in rows.values()} == {"agent"}
    counts = {kind: (row.samples, row.of, row.times) for kind, row in rows.items()}
    assert counts == {
        "blocked-page": (18, 18, 36),
        "later-page": (18, 18, 18),
        "cited-blocked": (18, 18, 18),
        "copied-labels": (12, 12, 12),
    }
    assert len(rows["blocked-page"].examples) == 5
    # The release withholds its texts, and an agent may look a text up by an address that holds it.
    assert set(rows["blocked-page"].urls) == {"twitter.com"} and set(rows["later-page"].urls) == {"later.example"}


def test_where_texts_are_withheld_no_title_and_address_of_a_transcript_holds_one(listed, make) -> None:
    listed(private=True)
    steps = pl.read_parquet(make.workspace().private_board / "transcripts.parquet")
    assert set(steps["url"]) == {"", "twitter.com", "fine.example", "later.example"}
    said = unquote("".join(steps.select(pl.concat_str(pl.all().fill_null("").cast(pl.String))).to_series()))
    assert "says something about" not in said and "a source says otherwise" not in said and "on X" not in said


def test_the_system_page_lists_them_and_nothing_of_a_page_is_markup() -> None:
    hostile = ConductRow("a", "later-page", 1, 2, 3, ("xn-1",), ("https://x.example/<script>alert(1)</script>",))
    split = SplitKey("2023Q2", "x-notes", "main")
    shown = str(conduct_section([hostile], split, NOWHERE))
    assert "<script>" not in shown and "1 of 2" in shown and "xn-1" in shown
    assert conduct_section([], split, NOWHERE) is None
