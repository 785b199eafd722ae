"""The verifier stands alone, says what it did not check, and looks at the tables that people load."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.files import read_json, sha256_file, write_json, write_jsonl
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.state import reveal
from hellofresh.releases.publish import publish_to_folder
from hellofresh.results.reveal import publish_results
from hellofresh.results.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from verifier.checks import Check, find_releases, repeat_checks, report_lines
from verifier.publication import ACCOUNT, publication_checks, publications_above
from verifier.reading import misfit
from verifier.scores import table_of
from verifier.statistics import Metric


@pytest.fixture
def scored(make: Any, quarter: Any, notes_task: Any, tmp_path: Path) -> Workspace:
    """A revealed release with the scores of one system."""
    make.release(make.notes(3, 3))
    workspace: Workspace = make.workspace()
    evaluate(workspace, Evaluation(quarter, notes_task, "coin"), lambda _: None)
    reveals = CalendarRule().of(quarter).reveals
    reveal(workspace, quarter, notes_task, reveals)
    publish_results(workspace, score_quarter(workspace, quarter, tmp_path / "none", reveals))
    return workspace


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_only_where_everything_was_checked_all_is_said_to_have_passed() -> None:
    assert list(report_lines([Check("r", "files", "fine")]))[-1] == "1 checks, all passed."
    some = [Check("r", "files", "fine"), Check("r", "scores", "fine", unchecked=("ratings",))]
    assert list(report_lines(some))[-1] == "2 checks passed. Not checked: ratings."
    wrong = [*some, Check("r", "labels", "", ("another",))]
    assert list(report_lines(wrong))[-1] == "3 checks, 1 failed. Not checked: ratings."


@pytest.mark.parametrize(("lineages", "told"), [
    ((["1.a"], ["2.b"], ["3.c"]), set()),
    ((["1.a"], ["1.a", "2.b"], ["3.c"]), {"we-1", "we-2"}),  # in one split
    ((["1.a"], ["2.b"], ["0.x", "2.b"]), {"we-2", "we-3"}),  # over splits
    ((["1.a"], ["1.a"], ["1.a"]), {"we-1", "we-2", "we-3"}),
])  # fmt: skip
def test_two_samples_of_one_lineage_are_found_in_a_split_and_over_splits(
    scored: Workspace, quarter: Any, tmp_path: Path, lineages: Any, told: set[str]
) -> None:
    manifest = read_json(scored.release(quarter, "x-notes") / "manifest.json")
    rows = [{"id": f"we-{number}", "lineage": names} for number, names in enumerate(lineages, start=1)]
    folders = [tmp_path / edition / "wikipedia-edits" for edition in ("2023Q2", "2023Q3", "copy")]
    for folder, mine, edition in zip(
        folders, (rows[:2], rows[2:], rows[:2]), ("2023Q2", "2023Q3", "2023Q2"), strict=True
    ):
        write_jsonl(folder / "samples.jsonl", mine)
        write_json(folder / "manifest.json", manifest | {"edition": edition, "task": "wikipedia-edits"})
    (check,) = repeat_checks(folders[:2], [folders[2].resolve()])
    assert {fault.split("'")[1] for fault in check.faults} == told


def test_versions_of_a_data_set_are_said_to_share_what_they_share(
    scored: Workspace, quarter: Any, tmp_path: Path
) -> None:
    folders = []
    for edition in ("fever@300", "fever@400"):
        folders.append(tmp_path / edition / "fever")
        shutil.copytree(scored.release(quarter, "x-notes"), folders[-1])
        manifest = read_json(folders[-1] / "manifest.json") | {"edition": edition, "task": "fever"}
        write_json(folders[-1] / "manifest.json", manifest)
    (check,) = repeat_checks(folders, [])
    assert check.ok
    shared = "fever@300/fever and fever@400/fever share 18"
    assert check.said == f"no sample or lineage of these is in another of 0 releases of quarters at hand; {shared}"
    (check,) = repeat_checks([*folders, scored.release(quarter, "x-notes")], [])
    assert not check.ok


def test_a_published_table_that_says_otherwise_than_its_release_is_found(
    scored: Workspace, tmp_path: Path, quarter: Any
) -> None:
    root = tmp_path / "published"
    publish_to_folder(scored, root, CalendarRule().of(quarter).reveals)
    assert all(check.ok for check in publication_checks(root))
    (path,) = root.rglob("*.parquet")
    table, account = pl.read_parquet(path), read_json(root / "publication.json")
    for changed in (
        table.with_columns(label=1 - pl.col("label")), table.with_columns(period=pl.lit("2023-04")), table[::-1],
        table[1:], table.drop("label"), pl.concat([table, table[:1]]),
    ):  # fmt: skip
        changed.write_parquet(path)
        write_json(root / "publication.json", account)
        assert not by_name(publication_checks(root))["publication"].ok
        there = {"size": path.stat().st_size, "sha256": sha256_file(path)}
        place = path.relative_to(root).as_posix()
        mended: Any = [entry | (there if entry["path"] == place else {}) for entry in account["files"]]
        write_json(root / "publication.json", account | {"files": mended})
        checks = by_name(publication_checks(root))
        assert checks["publication"].ok and checks["tables"].faults


def test_a_file_that_no_account_of_a_publication_lists_is_found(
    scored: Workspace, tmp_path: Path, quarter: Any
) -> None:
    root = tmp_path / "published"
    publish_to_folder(scored, root, CalendarRule().of(quarter).reveals)
    (root / "names.txt").write_text("somebody")
    assert any("names.txt" in fault for fault in by_name(publication_checks(root))["publication"].faults)
    (tmp_path / "README.md").write_text("of the repository that the publication lies in")
    assert publications_above(find_releases(root)) == [root]


def test_a_missing_number_counts_as_the_worst_one_with_a_weight_of_one() -> None:
    numbers = {("e", "p", "overall"): np.array([[7.0, 1.0], [np.nan, 1.0], [9.0, 1.0]])}
    content: Any = SimpleNamespace(numbers=numbers, groups=np.array([0, 1, 2]))
    metric = Metric("overall", (), (2.0, 10.0))
    table = table_of(content, "e", "p", metric, np.array([True, True, False]))
    assert metric.value(table.sum(axis=0)) == (7 + 2) / 2


@pytest.mark.parametrize(
    ("value", "form", "fault"),
    [
        ([1, 2], [int], ""),
        ([1, "2"], [int], '[1]: "2" does not belong here'),
        ({"a": [{"b": 1}, {"b": None}]}, {"a": [{"b": int}]}, "a[1].b: null does not belong here"),
        ({"a": 1}, {"a": int, "b?": str}, ""),
        ({}, {"a": int}, "a: missing"),
        ({"a": 1, "c": 2}, {"a": int}, '"c": not a field'),
        ({"a": 1, "c": "x"}, {"a": int, "*": str}, ""),
        ("x", (int, None, str), ""),
        (True, (int, None), "the line: true does not belong here"),
        (3, range(3), "the line: 3 does not belong here"),
        (2, float, ""),
        ([], {"a": int}, "the line: not an object"),
    ],
)
def test_a_value_that_does_not_fit_its_form_is_named_with_its_place(value: object, form: Any, fault: str) -> None:
    assert misfit(value, form).replace('"', "") == fault.replace('"', "")


@pytest.mark.parametrize("content", ["{}", "[", '{"files": 3}'])
def test_a_publication_without_a_readable_account_fails_its_one_check(tmp_path: Path, content: str) -> None:
    (tmp_path / ACCOUNT).write_text(content)
    (check,) = publication_checks(tmp_path)
    assert not check.ok and ACCOUNT in "".join(check.faults)
