"""A stranger finds every kind of tampering with a release, and computes its figures again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hellofresh.core.calendar import CalendarRule
from hellofresh.core.files import read_json, read_jsonl, sha256_file, write_json, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.manifest import BUNDLED
from hellofresh.releases.life.state import reveal
from hellofresh.releases.publish.folder import publish_to_folder
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import ScoredSplit, score_quarter
from hellofresh.results.split.entries import Entry
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.intervals import metric_interval
from hellofresh.stats.metrics import class_metrics, two_class_metrics
from verifier.checks import (
    Check,
    NoReleaseError,
    find_releases,
    neighbours,
    repeat_checks,
    report_lines,
    verify_release,
)
from verifier.content import NOT_ASKED, Content, _take_chances, majority
from verifier.manifest import ManifestFile
from verifier.publication import ACCOUNT, publication_checks, publications_above
from verifier.reading import MOST_SHOWN, misfit, quoted, short
from verifier.scores import FigureName, table_of
from verifier.statistics import METRIC_NAMES, OF_ONE, interval
from verifier.statistics import OwnMetric as VerifiedMetric

FILES = ("samples.jsonl", "commitments.jsonl", "labels.jsonl", "predictions.jsonl", "scores.jsonl")


@pytest.fixture(scope="module")
def built() -> Iterator[list[Path]]:
    """Where the first test that needs it has put the release."""
    places: list[Path] = []
    yield places
    for place in places:
        shutil.rmtree(place)


@pytest.fixture
def revealed(make, tmp_path, built, tmp_path_factory) -> Path:
    """The public folder of a revealed release with the scores of two systems, and nothing else."""
    there: Path = tmp_path / "stranger" / "x-notes"
    if built:
        shutil.copytree(built[0], there)
        return there
    notes = [  # the intercept of every seventh is not known
        replace(
            item,
            label=replace(item.label, facts={**item.label.facts, "intercept": k * 37 % 101 / 100 if k % 7 else None}),
        )
        for k, item in enumerate(make.notes(5, 4))
    ]
    folder = make.scored(notes, "coin", "always-yes")
    built.append(tmp_path_factory.mktemp("built") / "x-notes")
    for place in (built[0], there):
        shutil.copytree(folder, place)
    shutil.rmtree(make.workspace().root)
    return there


@pytest.fixture
def opened(make, quarter) -> Path:
    make.release(make.notes(3, 3))
    folder: Path = make.workspace().release(quarter, "x-notes")
    return folder


def faults(folder: Path, **options: Any) -> dict[str, tuple[str, ...]]:
    return {check.name: check.faults for check in verify_release(folder, **options) if not check.ok}


def consistent(folder: Path) -> None:
    """Make the manifest list what is there, as somebody who tampers would."""
    manifest = read_json(folder / "manifest.json")
    for entry in manifest["files"]:
        path = folder / entry["path"]
        entry |= {"size": path.stat().st_size, "sha256": sha256_file(path), "rows": path.read_bytes().count(b"\n")}
    write_json(folder / "manifest.json", manifest)


def edit_rows(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    rows = list(read_jsonl(path))
    change(rows)
    write_jsonl(path, rows)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_a_flipped_byte_is_found_in_every_file(revealed: Path, name: str, place: float) -> None:
    content = bytearray((revealed / name).read_bytes())
    content[int(place * (len(content) - 1))] ^= 1
    (revealed / name).write_bytes(content)
    assert any(name in fault for fault in faults(revealed)["files"])


@pytest.mark.parametrize("name", ["extra.txt", "private/labels.jsonl", ".hidden", "manifests/9.json", "manifests/x"])
def test_a_file_that_is_not_listed_is_found(revealed: Path, name: str) -> None:
    path = revealed / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    assert any(repr(name) in fault for fault in faults(revealed)["listing"])


def test_a_link_is_found_even_where_it_leads_to_the_right_bytes(revealed: Path, tmp_path: Path) -> None:
    shutil.move(revealed / "labels.jsonl", tmp_path / "elsewhere")
    (revealed / "labels.jsonl").symlink_to(tmp_path / "elsewhere")
    found = faults(revealed)
    assert any("labels.jsonl" in fault for fault in found["files"])
    assert any("is a link" in fault for fault in found["listing"])


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "manifest.json", "manifests/1.json", "a\\b", ""])
def test_a_manifest_that_lists_what_is_not_its_own_is_refused(revealed: Path, path: str) -> None:
    manifest = read_json(revealed / "manifest.json")
    manifest["files"].append({"path": path, "size": 1, "sha256": "0" * 64, "rows": 1})
    write_json(revealed / "manifest.json", manifest)
    assert any(repr(path) in fault for fault in faults(revealed)["files"])


def test_a_history_that_was_forged_whole_is_found_by_who_noted_a_hash(revealed: Path) -> None:
    noted = sha256_file(revealed / "manifests/1.json")
    assert faults(revealed, known=noted) == {}
    for version in (1, 2):
        path = revealed / f"manifests/{version}.json"
        manifest = read_json(path) | {"code": "another"}
        if version == 2:
            manifest["previous"]["sha256"] = sha256_file(revealed / "manifests/1.json")
        write_json(path, manifest)
    now = read_json(revealed / "manifest.json") | {"code": "another"}
    now["previous"]["sha256"] = sha256_file(revealed / "manifests/2.json")
    write_json(revealed / "manifest.json", now)
    assert faults(revealed) == {}
    assert "manifest" in faults(revealed, known=noted)


def test_every_figure_of_the_scores_is_computed_again_from_released_files_alone(revealed: Path) -> None:
    rows = list(read_jsonl(revealed / "scores.jsonl"))
    assert len(rows) >= 5 * 8
    for row in [row for row in rows if row["metric"].partition(":")[0] in {*METRIC_NAMES, *OF_ONE}][::7]:
        parts = [row[name] for name in ("edition", "task", "system", "regime", "prompt", "period", "metric")]
        check = verify_release(revealed, figures=[FigureName.parse("/".join(parts))])[-1]
        (figure,) = check.figures
        assert check.ok
        stated = (row["value"], row["low"], row["high"])
        assert (figure.value, figure.low, figure.high) == pytest.approx(stated, abs=1e-12)


def test_a_metric_of_another_package_stands_where_its_task_has_it(revealed: Path) -> None:
    more: list[dict[str, Any]] = []
    for row in read_jsonl(revealed / "scores.jsonl"):
        more += [row, row | {"metric": "theirs"}] if row["metric"] == "precision" else [row]
    write_jsonl(revealed / "scores.jsonl", more)
    consistent(revealed)
    assert faults(revealed) == {}


def test_a_figure_that_no_score_has_is_a_fault_in_an_open_release_only_if_asked_of_its_edition(
    revealed: Path, opened: Path
) -> None:
    assert faults(revealed, figures=[FigureName.parse("system=nobody")])["figure"]
    assert not faults(opened, figures=[FigureName.parse("system=coin")])
    assert faults(opened, figures=[FigureName.parse("system=coin,edition=2023Q2")])["figure"]


def test_every_release_below_a_folder_is_found_and_a_board_is_none(revealed: Path, make, tmp_path) -> None:
    other = tmp_path / "stranger" / "2023Q3" / "x-notes"
    shutil.copytree(revealed, other)
    write_json(tmp_path / "stranger" / "board" / "manifest.json", {"quarters": [], "files": []})
    assert find_releases(tmp_path / "stranger") == [other, revealed]
    write_json(other.with_name("x") / "manifest.json", BOARD)  # no board lies in an edition
    (other / "samples.jsonl").unlink()
    (other / "manifest.json").write_text("{")
    write_json(revealed / "manifests" / "manifest.json", {})  # nor a release among its former versions
    assert find_releases(tmp_path / "stranger") == [other.with_name("x"), other, revealed]
    with pytest.raises(NoReleaseError):
        find_releases(tmp_path / "stranger" / "board")


def test_publishing_twice_changes_nothing_and_is_the_same_bytes_elsewhere(
    make, quarter, notes_task, tmp_path, revealed: Path
) -> None:
    workspace = make.workspace("again")
    make.release(make.notes(5, 4), workspace=workspace, source=BUNDLED)
    for model in ("coin", "always-yes"):
        evaluate(workspace, Evaluation(quarter, notes_task, model), lambda _: None)
    reveals = CalendarRule().of(quarter).reveals

    def scored() -> ScoredSplit:
        return score_quarter(workspace, quarter, tmp_path / "none", reveals)

    assert publish_results(workspace, scored()) == []  # nothing before the reveal
    assert reveal(workspace, quarter, notes_task, reveals)
    (done,) = publish_results(workspace, scored())
    assert (done.version, done.predictions) == (3, 48)
    before = sha256_file(workspace.release(quarter, "x-notes") / "manifest.json")
    assert publish_results(workspace, scored()) == []
    assert publish_results(workspace, turned(scored())) == []
    assert sha256_file(workspace.release(quarter, "x-notes") / "manifest.json") == before
    assert build_release(workspace, quarter, notes_task, seed="seed", cap=250, moment=reveals).skipped


def turned(scored: ScoredSplit) -> ScoredSplit:
    entries: dict[str, list[Entry]] = {task: list(found)[::-1] for task, found in scored.entries.items()}
    return replace(scored, scores=list(scored.scores)[::-1], entries=entries)


ODD = st.one_of(
    st.binary(max_size=200),
    st.sampled_from([
        b"{}\n", b"[]\n", b"null\n", b'"\\ud800"\n', b"NaN\n", b"1" * 5000 + b"\n", b"[" * 50_000 + b"\n", b"\xff\xfe",
        b"", b'{"id":"xn-1","id":"xn-1"}\n', b'{"id":1}\n', b"\n\n\n", b"\x00\n",
    ]),
)  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from([*FILES, "manifest.json", "manifests/1.json"]),
    odd=ODD,
    at=st.floats(0, 1),
    whole=st.booleans(),
)
def test_whatever_a_file_holds_it_is_a_fault_and_no_traceback(
    revealed: Path, name: str, odd: bytes, at: float, whole: bool
) -> None:
    before = (revealed / name).read_bytes()
    place = int(at * len(before))
    content = odd if whole else before[:place] + odd + before[place:]
    (revealed / name).write_bytes(content)
    try:
        # What the newest manifest alone says, such as of itself, nothing but a noted hash can tell.
        assert faults(revealed) or content == before or name == "manifest.json"
    finally:
        (revealed / name).write_bytes(before)


# What is said by the way: every statement of a release follows from the rest of it, or is refused.


def test_a_release_that_is_renamed_to_another_quarter_is_found(opened: Path) -> None:
    edit_rows(opened / "samples.jsonl", lambda rows: [row.update(edition="2023Q3") for row in rows])
    write_json(opened / "manifest.json", read_json(opened / "manifest.json") | {"edition": "2023Q3"})
    consistent(opened)
    found = faults(opened)
    assert "which is not in 2023Q3" in found["samples"][0]
    assert "its folder says 2023Q2" in found["manifest"][0]


def test_samples_of_another_quarter_are_found_beside_the_release_they_are_from(opened: Path) -> None:
    assert repeat_checks([opened], neighbours(opened))[0].ok
    other = shutil.copytree(opened, opened.parent.parent / "2023Q3" / "x-notes")
    write_json(other / "manifest.json", read_json(other / "manifest.json") | {"edition": "2023Q3"})
    for folders in ([other], [opened, other]):
        (check,) = repeat_checks(folders, neighbours(other))
        assert "is a sample of 2023Q" in check.faults[0] and len(check.faults) == 18 * len(folders)


def test_a_sample_of_the_prospective_split_beside_a_release_may_not_be_in_it(opened: Path) -> None:
    as_prospective(opened, opened / "prospective")
    (check,) = repeat_checks([opened], neighbours(opened))
    assert "is a sample of 2023Q2/x-notes/prospective, too" in check.faults[0]


def as_prospective(folder: Path, there: Path) -> None:
    """A prospective split of the samples of a release, which lists its own files."""
    there.mkdir()
    shutil.copy(folder / "samples.jsonl", there)
    manifest = read_json(folder / "manifest.json")
    selection = manifest.pop("selection")
    taken = {name: 2 * period["taken_per_class"] for name, period in selection["periods"].items()}
    drawn = {name: selection[name] for name in ("seed", "period", "rule")} | {
        "cap_per_period": 500,
        "periods": {name: {"pending": n, "taken": n} for name, n in taken.items()},
    }
    manifest |= {"split": "prospective", "prospective": drawn, "files": manifest["files"][:1]}
    write_json(there / "manifest.json", manifest)


BOARD = {"quarters": [], "files": []}


@pytest.mark.parametrize("name", ["private", "a/b", "manifests", "prospective"])
@pytest.mark.parametrize("said", ["the release's own", "a board's", "none", "a split's of another task"])
def test_a_folder_with_a_manifest_of_its_own_hides_no_file(revealed: Path, name: str, said: str) -> None:
    there = revealed / name
    there.mkdir(parents=True, exist_ok=True)
    manifest: Any = read_json(revealed / "manifest.json") if said == "the release's own" else BOARD
    if said == "a split's of another task":
        shutil.rmtree(there)
        as_prospective(revealed, there)
        manifest = read_json(there / "manifest.json") | {"task": "wikipedia-edits"}
    write_json(there / "manifest.json", {} if said == "none" else manifest)
    (there / "names.txt").write_text("somebody")
    assert any(f"{name}/names.txt" in fault for fault in faults(revealed)["listing"])


def test_the_prospective_split_beside_a_release_is_no_unlisted_file_and_lists_its_own(revealed: Path) -> None:
    as_prospective(revealed, revealed / "prospective")
    assert faults(revealed) == {}
    assert revealed / "prospective" in find_releases(revealed)
    (revealed / "prospective" / "names.txt").write_text("somebody")
    assert "names.txt" in faults(revealed / "prospective")["listing"][0]


@pytest.mark.parametrize("field", [
    "effective_clusters", "method", "headline", "provenance", "kind", "about", "smoke_test", "knowledge_cutoff",
    "bundled", "team", "regime", "blocked", "settings", "value", "low", "high", "metric", "n", "n_split", "clusters",
    "none", "period", "system", "maker", "size_billions", "bootstrap_low", "bootstrap_high",
])  # fmt: skip
@pytest.mark.parametrize("everywhere", [False, True])
def test_whatever_a_score_says_otherwise_is_found_without_being_asked_for(
    revealed: Path, field: str, everywhere: bool
) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows if everywhere else rows[:1]:
            value = row[field]
            if isinstance(value, bool):
                row[field] = not value
            else:
                row[field] = f"{value}x" if isinstance(value, str) or field == "maker" else (value or 0) + 1

    edit_rows(revealed / "scores.jsonl", change)
    consistent(revealed)
    # What our own evaluator says of a system in all rows alike is in no other released file.
    if not (everywhere and field in {"about", "smoke_test", "knowledge_cutoff", "settings", "maker", "size_billions"}):
        assert "scores" in faults(revealed)


@pytest.mark.parametrize(("stated", "good"), [
    ([0.3, 0.7], True), ([0.0, 1.0], True), ([0.49, 0.5], True), ([], True), ([1.01, 0.0], False),
    ([1.0, -0.01], False), ([0.5, 0.53], False), ([0.47, 0.5], False), ([1.0], False), ([0.2, 0.3, 0.5], False),
])  # fmt: skip
def test_a_forecast_is_a_probability_of_each_class(stated: list[float], good: bool) -> None:
    content, found = Content(None, places={"a": 0}), list[str]()  # type: ignore[arg-type]
    _take_chances(content, {"entry": "e", "prompt": "p", "id": "a", "probabilities": stated}, 0, found)
    assert (found == []) is good
    assert np.isfinite(content.chances["e", "p"]).all() == (good and bool(stated))


def test_what_may_be_of_any_length_is_shown_up_to_a_limit_and_says_so() -> None:
    assert short("x" * MOST_SHOWN) == "x" * MOST_SHOWN
    assert short("x" * (MOST_SHOWN + 1)) == "x" * MOST_SHOWN + "..."
    assert quoted("a\n") == "'a\\n'"


@given(table=st.lists(st.lists(st.sampled_from([NOT_ASKED, -1, 0, 1]), min_size=3, max_size=3), min_size=1, max_size=8))
def test_a_majority_vote_is_that_of_the_prompts_that_all_were_asked(table: list[list[int]]) -> None:
    votes = [{1: 1, -1: 0, 0: -1}[int(np.sign(row.count(1) - row.count(0)))] for row in table]
    expected = [NOT_ASKED if NOT_ASKED in row else vote for row, vote in zip(table, votes, strict=True)]
    found = majority(list(np.array(table, np.int8).T), Content(ManifestFile({}, "")))
    assert found.tolist() == expected


@settings(max_examples=200, deadline=None)
@given(
    n=st.integers(1, 80), seed=st.integers(0, 10**6), classes=st.integers(2, 7), silence=st.sampled_from([0, 0.2, 1]),
    kind=st.sampled_from(["", "", "all right", "always the first", "all of one class"]),
)  # fmt: skip
def test_metrics_and_intervals_made_by_code_of_their_own_are_those_of_the_scores(
    n: int, seed: int, classes: int, silence: float, kind: str
) -> None:
    random = np.random.default_rng(seed)
    groups = random.integers(0, random.integers(1, n + 1), n)
    labels = random.choice(classes, n, p=random.dirichlet(np.ones(classes))).astype(np.int8)
    said = np.where(random.random(n) < random.random(), labels, random.integers(0, classes, n)).astype(np.int8)
    match kind:
        case "all right":
            said = labels.copy()
        case "always the first":
            said[:] = 0
        case "all of one class":
            labels[:] = seed % classes
    said[random.random(n) < silence] = -1
    names = [f"class {number}" for number in range(classes)]
    for metric in (*class_metrics(names), *(two_class_metrics() if classes == 2 else ())):
        tables = cluster_tables(metric.statistics(labels, said), groups)
        there, value = metric_interval(tables, metric), float(metric.value(tables.sum(axis=0)))
        mine = VerifiedMetric.of_classes(metric.name, names)
        here = interval(mine.sums(labels, said, groups.astype(np.int32)), mine)
        assert here == pytest.approx((value, there.low, there.high), abs=1e-9), metric.name
        number = float(random.integers(1, n + 1))
        total, own = tables.sum(axis=0), mine.sums(labels, said, groups.astype(np.int32)).sum(axis=0)
        theirs = metric.value(metric.statistics.moved(total, number))
        assert sorted(mine.value(mine.moved(own, number))) == pytest.approx(sorted(theirs), abs=1e-9), metric.name


# What is said of releases beside each other, of publications, and in all.


def by_name(publication: Path) -> dict[str, Check]:
    return {check.name: check for check in publication_checks(publication)}


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
    revealed: Path, tmp_path: Path, lineages: Any, told: set[str]
) -> None:
    manifest = read_json(revealed / "manifest.json")
    rows = [{"id": f"we-{number}", "lineage": names} for number, names in enumerate(lineages, start=1)]
    folders = [tmp_path / edition / "wikipedia-edits" for edition in ("2023Q2", "2023Q3", "copy")]
    for folder, mine, edition in zip(
        folders, (rows[:2], rows[2:], rows[:2]), ("2023Q2", "2023Q3", "2023Q2"), strict=True
    ):
        write_jsonl(folder / "samples.jsonl", mine)
        write_json(folder / "manifest.json", manifest | {"edition": edition, "task": "wikipedia-edits"})
    (check,) = repeat_checks(folders[:2], [folders[2].resolve()])
    assert {fault.split("'")[1] for fault in check.faults} == told


def test_versions_of_a_data_set_are_said_to_share_what_they_share(revealed: Path, tmp_path: Path) -> None:
    folders = []
    for edition in ("fever@300", "fever@400"):
        folders.append(tmp_path / edition / "fever")
        shutil.copytree(revealed, folders[-1])
        manifest = read_json(folders[-1] / "manifest.json") | {"edition": edition, "task": "fever"}
        write_json(folders[-1] / "manifest.json", manifest)
    (check,) = repeat_checks(folders, [])
    assert check.ok
    shared = "fever@300/fever and fever@400/fever share 24"
    assert check.said == f"no sample or lineage of these is in another of 0 releases of quarters here; {shared}"
    (check,) = repeat_checks([*folders, revealed], [])
    assert not check.ok


@pytest.fixture
def published(make, quarter: Quarter, tmp_path: Path) -> Path:
    make.scored(make.notes(3, 3), "coin")
    publish_to_folder(make.workspace(), tmp_path / "published", CalendarRule().of(quarter).reveals)
    return tmp_path / "published"


def test_a_published_table_that_says_otherwise_than_its_release_is_found(published: Path) -> None:
    root = published
    assert all(check.ok for check in publication_checks(root))
    (path,) = root.rglob("*.parquet")
    table, account = pl.read_parquet(path), read_json(root / "publication.json")
    for changed in (
        table.with_columns(label=1 - pl.col("label")), table.with_columns(period=pl.lit("2023-04")), table[::-1],
        table[1:], table.drop("label"), pl.concat([table, table[:1]]),
    ):  # fmt: skip
        changed.write_parquet(path)
        write_json(root / "publication.json", account)
        assert not by_name(root)["publication"].ok
        there = {"size": path.stat().st_size, "sha256": sha256_file(path)}
        place = path.relative_to(root).as_posix()
        mended: Any = [entry | (there if entry["path"] == place else {}) for entry in account["files"]]
        write_json(root / "publication.json", account | {"files": mended})
        checks = by_name(root)
        assert checks["publication"].ok and checks["tables"].faults


def test_a_file_that_no_account_of_a_publication_lists_is_found(published: Path, tmp_path: Path) -> None:
    root = published
    (root / "names.txt").write_text("somebody")
    assert any("names.txt" in fault for fault in by_name(root)["publication"].faults)
    (tmp_path / "README.md").write_text("of the repository that the publication lies in")
    assert publications_above(find_releases(root)) == [root]


def test_a_missing_number_counts_as_the_worst_one_with_a_weight_of_one() -> None:
    numbers = {("e", "p", "overall"): np.array([[7.0, 1.0], [np.nan, 1.0], [9.0, 1.0]])}
    content: Any = SimpleNamespace(numbers=numbers, groups=np.array([0, 1, 2]))
    metric = VerifiedMetric("overall", (), (2.0, 10.0))
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


MEASURE = """
import sys
from pathlib import Path
from verifier.checks import verify_release

def peak():  # of this program alone; what getrusage says counts the process that started it, too
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024

for folder in sys.argv[1:]:
    assert all(check.ok for check in verify_release(Path(folder))), "not in order"
    print(peak())
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="the system does not say how much memory was used")
def test_two_hundred_thousand_samples_take_at_most_256_mebibytes(make, revealed: Path) -> None:
    n = 8_000  # what a sample takes does not grow with their number
    notes = [make.note(10**6 + k, date=datetime(2023, 4, 1 + k % 28, tzinfo=UTC)) for k in range(n)]
    candidates = [make.candidate(note, k // 28 % 2) for k, note in enumerate(notes)]
    large = make.scored(candidates, "coin", workspace=make.workspace("large"), cap=n)
    command = [sys.executable, "-c", MEASURE, str(revealed), str(large)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    bare, peak = map(float, done.stdout.split())
    assert bare + (peak - bare) * 200_000 / n < 256
