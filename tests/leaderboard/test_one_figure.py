"""What stands in two places is one figure: on the ranking, a system's page, downloads, and what commands print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from visiting import opened, text

from hellofresh.core.workspace import Workspace
from hellofresh.judging.muse import MUSE_EDITION, MUSE_TASK, import_muse, read_muse
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.components.scale import figure
from leaderboard.components.tables import span
from leaderboard.data.board import Board, MetricValue, SplitKey, load_board
from tests.conftest import Cli

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


@pytest.mark.parametrize("name", ["revealed_board", "prospective_board", "open_board"])
def test_a_score_is_the_same_on_every_page_and_in_every_download(
    request: pytest.FixtureRequest, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace: Workspace = request.getfixturevalue(name)
    monkeypatch.setenv("HELLOFRESH_DATA", str(workspace.root))
    seen = 0
    for split, found in scored(load_board(workspace.board)):
        one = {"task": split.task, "edition": split.edition, "kind": split.kind}
        ranking = opened("leaderboard", **one)
        (rows,) = (content for path, content in ranking.files.items() if path.endswith("leaderboard.json"))
        numbers = [float(number) for number in re.findall(rb"-?\d+\.\d+(?:e-\d+)?", rows)]
        for origin, result in found.items():
            metric = result.headline
            value, low, high, short = written(metric)
            assert f"{value} {short}" in text(ranking), (split, origin)
            assert f"{value}, {low} to {high}" in text(opened("system", **one, system=origin))
            assert {metric.value, metric.low, metric.high} - {0.0, 1.0, 100.0} <= {*numbers}
            seen += 1
    assert seen


def test_scores_are_those_that_the_command_gives(
    revealed_board: Workspace, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLOFRESH_DATA", str(revealed_board.root))
    submissions = revealed_board.root.parent / "submissions"
    given = cli.json("score", "--edition", "2024Q1", "--submissions", submissions)
    known = {
        (row["task"], row["origin"], row["metric"]): row for row in given if row["period"] == "all" and row["headline"]
    }
    for split, found in scored(load_board(revealed_board.board)):
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
    assert len(tests) == 6
    means = {row["system"]: tuple(map(row["mean"].get, ENDS)) for row in report}
    assert means == {name: pytest.approx(shown[name]) for name in means} and len(means) == 4
    responses = text(opened("responses", task=split.task, edition=split.edition))
    for name in means:
        value, low, high = (f"{part:.2f}" for part in shown[name])
        assert f"{value} of 10, {low} to {high}" in responses
