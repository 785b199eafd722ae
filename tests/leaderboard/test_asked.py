"""The page of a sample shows the exact prompt and answer once both may be seen, and never before or after that."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from hellofresh.cli import main
from hellofresh.core.quarters import Quarter, parse_utc
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, Finish, Request
from hellofresh.releases.collection import collect_quarter
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.erasure import Erasure, find_files
from hellofresh.releases.life.load import load_release
from hellofresh.releases.life.state import reveal
from hellofresh.releases.life.takedown import take_down
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.journal import read_request, snapshot
from hellofresh.tasks import get_task
from leaderboard.export import export_board
from leaderboard.serving import ServedCopy
from tests.fakes import FakeModel, catalogued, fake_spec

QUARTER, TASK = Quarter(2023, 2), get_task("x-notes")
REVEALED = parse_utc("2023-11-01T12:00:00Z")


def chatty(request: Request) -> Answer:
    """Says more than its class, and repeats the note's number, so that its words are about one sample."""
    number = re.search(r"Note (\d+):", request.messages[0].text)
    assert number
    return Answer(f"Yes <b>surely</b>, said of {number[1]}.", Finish.STOP, tokens_in=7, tokens_out=1)


@pytest.fixture
def workspace(make: Any, request: Any, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """An open quarter that the chatty model was evaluated on, with texts unless the test says otherwise."""
    catalogued(monkeypatch, FakeModel(fake_spec("chatty"), chatty))
    made = make.workspace()
    collect_quarter(made, make.job(make.notes(2, 2)), progress=lambda _: None)
    texts = getattr(request, "param", True)
    build_release(made, QUARTER, TASK, seed="s", cap=2, texts=texts, moment=QUARTER.start)
    evaluate(made, Evaluation(QUARTER, TASK, "chatty", prompts="all"), lambda _: None)
    return made


def exported(workspace: Workspace, *, revealed: bool = True) -> str:
    """Everything in the static copy, as a reader sees it: without markup, with spaces made even."""
    if revealed:
        reveal(workspace, QUARTER, TASK, REVEALED)
    score_quarter(workspace, QUARTER, workspace.root / "none")
    build_board(workspace)
    folder = workspace.root.parent / "site"
    export_board(workspace.board, folder)
    files = sorted(path for path in folder.rglob("*") if path.suffix in {".html", ".js", ".json", ".csv"})
    return plain("\n".join(path.read_text() for path in files).replace('\\"', '"'))


def plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"</?(bdi|br)>", " ", text)).split())


def asked(workspace: Workspace) -> Iterator[tuple[str, str, str, str]]:
    """Sample, the two parts of a prompt, and the answer, as the journal has them."""
    (folder,) = (path.parent for path in workspace.runs.glob("*/journal.sqlite"))
    with snapshot(folder) as journal:
        for entry in journal.entries():
            frame, instruction = read_request(entry.request).messages[0].parts
            yield entry.sample, frame, instruction, entry.answer.text


def test_the_page_of_a_sample_holds_the_exact_prompt_and_answer(workspace: Workspace) -> None:
    copy, found = exported(workspace), list(asked(workspace))
    assert len(found) == 60  # 12 samples, 5 wordings
    for _, frame, instruction, answer in found:
        assert plain(frame) in copy and plain(instruction) in copy and answer in copy
    prompts = pl.read_parquet(workspace.board / "prompts.parquet")
    assert prompts.height == 5 and prompts["origins"].list.len().to_list() == [1] * 5


def test_a_takedown_removes_both(workspace: Workspace) -> None:
    before = exported(workspace)
    sample, frame, instruction, answer = next(asked(workspace))
    take_down(workspace, QUARTER, TASK, {sample: "asked for"}, REVEALED)
    after = exported(workspace)
    assert plain(frame) in before and answer in before
    assert plain(frame) not in after and answer not in after and plain(instruction) in after
    assert "1 taken down: asked for." in after and f'"gone":{{"{sample}":"asked for"}}' in after


def test_a_takedown_everywhere_leaves_no_text_in_the_site_that_is_served(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    exported(workspace)
    copy, (sample, *_) = ServedCopy.of_board(workspace.board), load_release(workspace, QUARTER, TASK).samples
    while copy.find("no-such.csv")[0] == 503:
        pass
    erasure = Erasure(TASK.own_texts(sample))
    assert any(map(erasure.is_held_by, find_files([copy.folder])))
    assert main(["release", "takedown", sample.id, "--reason", "asked for", "--everywhere"]) == 0
    assert not any(map(erasure.is_held_by, find_files([workspace.root])))
    assert copy.find("about.html")[0] == 200
    copy.close()


def test_an_open_quarter_shows_neither(workspace: Workspace) -> None:
    copy = exported(workspace, revealed=False)
    for _, frame, instruction, answer in asked(workspace):
        assert plain(frame) not in copy and plain(instruction) not in copy and answer not in copy
    for name in ("prompts", "questions", "transcripts"):
        assert pl.read_parquet(workspace.board / f"{name}.parquet").is_empty()


@pytest.mark.parametrize("workspace", [False], indirect=True)
def test_where_texts_are_withheld_neither_is_shown(workspace: Workspace) -> None:
    copy = exported(workspace)
    for _, frame, instruction, answer in asked(workspace):
        assert plain(frame) not in copy and plain(instruction) not in copy and answer not in copy
    assert "text withheld" not in copy
    for part in ("Texts withheld.", "samples by id, with what systems answered"):
        assert part in copy
