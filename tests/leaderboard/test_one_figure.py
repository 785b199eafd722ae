"""What stands in two places is one figure and one verdict: on pages, in downloads, in analyses, checks and prints."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_claims_quarter import workspace as claims_board
from test_retrieval_page import board as retrieval_board
from test_retrieval_page import small, workspace
from visiting import html, opened, paths, text

from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.judging.muse import MUSE_EDITION, MUSE_TASK, import_muse, read_muse
from hellofresh.results.analyses.order import ranking
from hellofresh.results.board.build import build_board
from hellofresh.results.card import CardRow
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.arrays import build_panel
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.components.labels import Links, task_title
from leaderboard.components.ranking import front_of
from leaderboard.components.scale import Scale, figure
from leaderboard.components.standings import View, all_lines, lines_of, plain_row, standings_table
from leaderboard.components.tables import span
from leaderboard.data.board import Board, MetricValue, SplitKey, load_board
from leaderboard.export.every_eval_ever import evaluation_records
from leaderboard.views.leaderboard import whole_scale
from tests.conftest import Cli
from verifier.checks import verify_release
from verifier.scores import FigureName

__all__ = ["claims_board", "retrieval_board", "small", "workspace"]

ENDS = ("value", "low", "high")


def scored(board: Board) -> Iterator[tuple[SplitKey, Mapping[str, Any]]]:
    """The splits whose scores are shown, each with its results by the origin of the entry."""
    for split in (one._replace(kind=kind) for one in board.splits for kind in (MAIN, PROSPECTIVE)):
        found = {result.entry.origin: result for result in board.headlines(split)}
        if found and (split.kind == PROSPECTIVE or not board.is_open(split)):
            yield split, found


def written(metric: MetricValue) -> tuple[str, str, str, str]:
    """A score and the limits of its interval as pages write them: with three digits, and short limits."""
    value, low, high = (figure(part, metric.name) for part in (metric.value, metric.low, metric.high))
    return value, low, high, span(*(figure(part, metric.name, 2) for part in (metric.low, metric.high)))


BOARDS = ["revealed_board", "prospective_board", "open_board", "claims_board", "retrieval_board"]


@pytest.mark.parametrize("name", BOARDS)
def test_a_score_is_the_same_on_every_page_and_in_every_download(
    request: pytest.FixtureRequest, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace: Workspace = request.getfixturevalue(name)
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    seen = 0
    size = re.compile(r"\(([+\N{MINUS SIGN}]?\d[\d.]*), 95% interval (\S+) to (\S+), p [=<] [\d.]+, adjusted")
    board = load_board(workspace.board)
    for split, found in scored(board):
        one = {"task": split.task, "edition": split.edition, "kind": split.kind}
        ranking = opened("leaderboard", **one)
        (rows,) = (content for path, content in ranking.files.items() if path.endswith("leaderboard.json"))
        numbers = [float(number) for number in re.findall(rb"-?\d+\.\d+(?:e-\d+)?", rows)]
        leads = size.search(text(ranking))
        if leads:
            compared = text(opened("compare", **one))
            assert all(part in compared for part in leads.groups()), (split, leads.groups())
        for origin, result in found.items():
            metric = result.headline
            value, low, high, short = written(metric)
            assert f"{value} {short}" in text(ranking), (split, origin)
            assert f"{value}, {low} to {high}" in text(opened("system", **one, system=origin))
            assert {metric.value, metric.low, metric.high} - {0.0, 1.0, 100.0} <= {*numbers}
            seen += 1
    assert seen


CARD = re.compile(r"by (\S+); .*, for all pairs (\S+)")


@pytest.mark.parametrize("name", BOARDS)
def test_all_metrics_are_the_same_on_further_pages_in_downloads_in_records_and_on_the_card(
    request: pytest.FixtureRequest, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace: Workspace = request.getfixturevalue(name)
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    board, pages = load_board(workspace.board), paths()
    home, seen = html(opened("home")), 0
    for split, found in scored(board):
        one = {"task": split.task, "edition": split.edition, "kind": split.kind}
        ranking = opened("leaderboard", **one)
        files = {path.rpartition("/")[2]: content for path, content in ranking.files.items()}
        downloaded = [*csv.DictReader(StringIO(files["leaderboard.csv"].decode()))]
        tex = files["leaderboard.tex"].decode()
        own = "retrieval" if not get_task(split.task).classes else "forecasts" if split.kind == PROSPECTIVE else ""
        further = [text(ranking), *([text(opened(own, **one))] if own in pages else [])]
        for result in found.values():
            (row,) = (row for row in downloaded if row["system"] == result.entry.name)
            ((_, record), *_) = evaluation_records(board, split, [result], instances=False)
            stated = {
                score["metric_config"]["metric_id"]: score["score_details"]
                for score in json.loads(record)["evaluation_results"]
            }
            for metric in result.metrics:
                ends = (metric.value, metric.low, metric.high)
                assert tuple(float(row[f"{metric.name}{end}"]) for end in ("", "_low", "_high")) == ends
                score = stated[f"hellofresh.{metric.name}"]
                interval = score["uncertainty"]["confidence_interval"]
                assert (score["score"], interval["lower"], interval["upper"]) == ends
                shown = [figure(metric.value, metric.name)] if ":" not in metric.name else []
                assert all(part in page for part in shown for page in further), metric
            assert row["system"].replace("_", r"\_") in tex
            seen += 1
        lines = all_lines(board, split)
        front = front_of(lines, whole_scale(board, split))
        if front is not None and split.kind == MAIN and f"{task_title(split.task)}, {split.edition}" in text(home):
            first = front.leaders[0].result
            value, *_, short = written(first.headline)
            assert f"{first.entry.name} {value} ({short}" in home and str(front.title) in home
        names = {result.entry.name: result.entry.origin for result in found.values()}
        for row in board.rows(CardRow, split):
            if row.field == "R10":
                leader, other = (names[part] for part in row.what.split(" over "))
                pair, said = board.against(split, leader)[other], CARD.search(row.value)
                assert said and pair.adjusted is not None
                assert [*map(float, said.groups())] == [
                    float(f"{abs(pair.difference):.3g}"),
                    float(f"{pair.adjusted:.3g}"),
                ]
    assert seen


@pytest.mark.parametrize(
    ("name", "edition"),
    [("revealed_board", "2024Q1"), ("claims_board", "2026Q2"), ("retrieval_board", "scifact-retrieval@dev-16")],
)
def test_scores_are_those_that_the_command_gives(
    request: pytest.FixtureRequest, name: str, edition: str, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shared: Workspace = request.getfixturevalue(name)
    workspace, handed_in = Workspace(tmp_path / "data"), shared.root.parent / "submissions"
    shutil.copytree(shared.root, workspace.root)  # the command publishes, and other tests use the same workspace
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    submissions = tmp_path / "submissions"
    if handed_in.is_dir():
        shutil.copytree(handed_in, submissions)
    given = cli.json("score", "--edition", edition, "--submissions", submissions)
    known = {
        (row["task"], row["origin"], row["metric"]): row for row in given if row["period"] == "all" and row["headline"]
    }
    for split, found in scored(load_board(workspace.board)):
        if split.edition != edition:
            continue
        for origin, result in found.items():
            for metric in result.metrics:
                row = known[split.task, origin, metric.name]
                assert (row["value"], row["low"], row["high"]) == (metric.value, metric.low, metric.high)


@pytest.mark.integration
def test_a_rated_system_has_one_interval_on_the_board_and_in_reports(
    shared_data: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace(tmp_path / "data")
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    import_muse(workspace, read_muse(shared_data / "muse_study" / "muse-94662cc-data.tar.xz"))
    score_quarter(workspace, MUSE_EDITION, tmp_path / "submissions")
    build_board(workspace)
    board, split = load_board(workspace.board), SplitKey(str(MUSE_EDITION), MUSE_TASK)
    shown = {one.entry.system: tuple(one.headline[1:4]) for one in board.headlines(split)}
    standings = cli.json("rate", "report", "--kind", "standings")
    overall = [row for row in standings if (row["criterion"], row["part"]) == ("overall", "")]
    assert {row["system"]: (row["mean"], row["low"], row["high"]) for row in overall} == shown
    whole = cli.json("rate", "report")
    report, tests = (next(part[name] for part in whole if name in part) for name in ("means", "tests"))
    origin = {one.entry.system: one.entry.origin for one in board.headlines(split)}
    for test in tests:
        pair, found = board.against(split, origin[test["first"]])[origin[test["second"]]], test["difference"]
        assert (pair.difference, pair.low, pair.high, pair.p_value) == pytest.approx(
            [*map(found.get, ENDS), found["p_value"]]
        )
        assert pair.adjusted == pytest.approx(test["difference_adjusted"])
        assert pair.n == found["clusters"]
    assert len(tests) == 6
    means = {row["system"]: tuple(map(row["mean"].get, ENDS)) for row in report}
    assert means == {name: pytest.approx(shown[name]) for name in means} and len(means) == 4
    responses = text(opened("responses", task=split.task, edition=split.edition))
    for name in means:
        value, low, high = (f"{part:.2f}" for part in shown[name])
        assert f"{value} of 10, {low} to {high}" in responses


# --- Page, analysis and verification of one quarter say the same about who is ahead.


QUARTER, TASK = Quarter(2024, 1), "x-notes"
SPLIT = SplitKey(str(QUARTER), TASK)


@pytest.fixture(scope="module")
def published(revealed_board: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The revealed quarter with what its reveal publishes."""
    place = tmp_path_factory.mktemp("one-rule") / "all"
    shutil.copytree(revealed_board.root.parent, place)
    found = Workspace(place / revealed_board.root.name)
    publish_results(found, score_quarter(found, QUARTER, place / "submissions"))
    return found


def verified(folder: Path, *names: str) -> list[tuple[float, float, float]]:
    checks = verify_release(folder, figures=[FigureName.parse(name) for name in names])
    found = [check for check in checks if check.name == "figure"]
    assert all(check.ok for check in found), [check.faults for check in found]
    return [(one.value, one.low, one.high) for check in found for one in check.figures]


def test_page_analysis_and_verification_agree(published: Workspace) -> None:
    board = load_board(published.board)
    standings = board.standings(SPLIT)
    assert len(standings) > 1
    lines = lines_of(board.headlines(SPLIT), standings, {})
    nowhere = Links({}, "index.html")
    page = str(standings_table(lines, View(SPLIT, Scale(), nowhere)))
    panel = build_panel(published, QUARTER, get_task(TASK), published.root.parent / "submissions")
    table = ranking.run(panel).table
    folder = published.release(QUARTER, TASK)
    for line in lines:
        origin, system, place = line.result.entry.origin, line.result.entry.system, line.standing
        if place is None:
            continue
        mine = table.filter(pl.col("system") == system).row(0, named=True)
        names = ("rank", "rank_low", "rank_high", "probability_first", "tie_group")
        assert [mine[name] for name in names] == [place.rank, place.low, place.high, place.first, place.tie_group]
        row = plain_row(line, SPLIT)
        assert (row["rank"], row["rank_low"], row["rank_high"], row["tie_group"]) == (
            place.rank, place.low, place.high, place.tie_group,
        )  # fmt: skip
        first = "&gt;99%" if place.first > 0.99 else f"{place.first:.0%}"
        assert re.search(rf">{place.rank}<.*?{system}.*?{first}", page.replace("\n", ""))
        rank, first, group = verified(folder, *(f"entry={origin},system={system},metric={name}"
                                                for name in ("rank", "first", "tie_group")))  # fmt: skip
        assert rank == (place.rank, place.low, place.high)
        assert first[0] == pytest.approx(place.first, abs=1e-12)
        assert group[0] == place.tie_group
        for other in lines:
            pairs = [pair for pair in board.pairs(SPLIT, origin, other.result.entry.origin) if pair.period == "all"]
            if other is not line and pairs:
                about = f"system={system},entry={origin},against={other.result.entry.origin},metric="
                lead, p_value = verified(folder, f"{about}lead", f"{about}p_value")
                assert lead == pytest.approx((pairs[0].difference, pairs[0].low, pairs[0].high), rel=1e-9, abs=1e-12)
                assert p_value[0] == pytest.approx(pairs[0].adjusted, rel=1e-9)
