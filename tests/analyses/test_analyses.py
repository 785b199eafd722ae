"""What each analysis answers, of a split in memory and as it is written, and that it says so where it cannot."""

from __future__ import annotations

import json
import re
import runpy
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from hellofresh.cli import main
from hellofresh.core import plugins as found_plugins
from hellofresh.core.clock import now
from hellofresh.core.errors import UnknownNameError
from hellofresh.core.files import read_json, sha256_file
from hellofresh.core.systems import IDENTITY
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import Funnel
from hellofresh.releases.life.load import Published
from hellofresh.releases.life.manifest import Manifest
from hellofresh.releases.life.state import reveal
from hellofresh.releases.life.takedown import take_down
from hellofresh.results.analyses import ANALYSES, get_analyses
from hellofresh.results.analyses.base import measure
from hellofresh.results.analyses.prompts import LEAST_RECALL
from hellofresh.results.analyses.writing import make_analyses
from hellofresh.results.board.build import board_tables, build_board
from hellofresh.results.scoring.scores import _scores_of, score_quarter
from hellofresh.results.split.arrays import build_panel, panel_of
from hellofresh.results.split.judgements import _TABLES, _answers
from hellofresh.results.split.open import BoardSplit
from hellofresh.results.split.panel import MAJORITY, NOT_ASKED
from hellofresh.results.standings import standings_of
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import _base, get_task
from hellofresh.tasks.samples import MAIN, Label
from tests.analyses.synthetic import QUARTER, Builder, full_entries


def answer(name, panel):
    return ANALYSES[name].run(panel)


@pytest.mark.parametrize("name", ANALYSES)
def test_each_says_why_where_nobody_has_answered(name, build) -> None:
    result = answer(name, build.panel([], build.release(6)))
    assert result.figure is None
    assert result.missing.endswith(".")


@pytest.mark.parametrize("name", ANALYSES)
def test_each_analysis_can_be_read_by_a_stranger(name) -> None:
    analysis = ANALYSES[name]
    assert analysis.name == name
    assert analysis.question.endswith("?")
    assert len(analysis.how_to_read) > 100


def test_deployment_never_chooses_by_the_second_half(build) -> None:
    release = build.release(120)
    entry = build.entry(release, "alpha", seed=3)
    panel = build.panel([entry], release)
    chosen = answer("deployment", panel).table["prompt"].item()
    late = panel.period_names[len(panel.period_names) // 2 :]
    turned = np.isin(panel.periods, late)
    flipped = [
        replace(said, answers=np.where(turned & (said.answers >= 0), 1 - said.answers, said.answers).astype(np.int8))
        for said in panel.systems[0].said
    ]
    other = answer("deployment", replace(panel, systems=[replace(panel.systems[0], said=flipped)])).table
    assert other["prompt"].item() == chosen != MAJORITY
    assert other["first_recall"].item() >= LEAST_RECALL


def test_the_order_of_systems_and_samples_changes_nothing(build) -> None:
    release = build.release(40)
    entries = [build.entry(release, name, seed=k) for k, name in enumerate("abc")]
    panel, other = build.panel(entries, release), build.panel(entries[::-1], release)
    assert panel.sha256 == other.sha256
    for name in ("ranking", "agreement", "temporal-consistency"):
        assert answer(name, panel).table.equals(answer(name, other).table)


def test_an_unknown_analysis_or_system_is_named(full_panel) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'votes'"):
        get_analyses("vote")
    with pytest.raises(UnknownNameError, match="unknown system"):
        full_panel.only(["nobody"])


def test_what_was_said_of_a_sample_that_was_taken_down_is_left_out(make, notes_task, quarter, tmp_path) -> None:
    workspace = make.workspace()
    make.release(make.notes(3, 2))
    evaluate(workspace, Evaluation(quarter, notes_task, "coin"), lambda _: None)
    before = build_panel(workspace, quarter, notes_task, tmp_path / "none", private=True)
    gone = before.samples[0].id
    take_down(workspace, quarter, notes_task, {gone: "asked for"}, now())
    after = build_panel(workspace, quarter, notes_task, tmp_path / "none", private=True)
    assert [sample.id for sample in after.samples] == [sample.id for sample in before.samples[1:]]
    (one,), (other,) = before.systems, after.systems
    assert np.array_equal(one.said[0].answers[1:], other.said[0].answers)
    assert NOT_ASKED not in other.said[0].answers


@pytest.mark.parametrize(("told_by", "is_told"), [("class", True), ("group", False), ("nothing", False)])
def test_words_tell_a_label_where_they_do_and_not_by_the_group_they_share(build, told_by, is_told) -> None:
    release, draw = build.release(240), np.random.default_rng(1)
    labels = np.repeat(draw.permutation(np.arange(60) % 2), 4)  # four samples a group, all of one class
    samples = []
    for k, (sample, label) in enumerate(zip(release.samples, labels, strict=True)):
        word = {"class": f"verdict{label}", "group": f"name{k // 4}", "nothing": f"word{draw.integers(9)}"}[told_by]
        note = replace(sample.note, text=f"A note that says {word} at random{draw.integers(9)}.")
        samples.append(replace(sample, group=f"g{k // 4}", note=note))
    known = {sample.id: Label(sample.id, int(label), {}) for sample, label in zip(samples, labels, strict=True)}
    panel = panel_of(release.task, release.edition, samples, known, [])
    rows = {row["text"]: row for row in answer("text-alone", panel).table.to_dicts()}
    assert (rows["all texts"]["over_chance_low"] > 0.1) is is_told
    assert rows["all texts"]["over_chance"] == pytest.approx(0.5 if is_told else 0.0, abs=0.15)
    assert rows["all texts"]["clusters"] == 60 and set(rows) > {"all texts"}


# --- Board and analyses are functions of an opened split: one that was made in memory, without a folder, has them all.


NOWHERE = Path("/nowhere/at/all")
FUNNEL = Funnel("notes", 120, (), {"2023-04": {0: 60, 1: 60}})
OF_LABELS = {"standings", "pairs", "labels", "samples", "systems", "confusion", "mistakes", "answers", "calibration"}


def opened() -> BoardSplit:
    build = Builder()
    release = build.release()
    entries = full_entries(build, release)
    panel = build.panel(entries, release)
    said = pl.concat(
        _TABLES[""].frame(_answers(one, prompt), task="x-notes") for one in entries for prompt in one.outputs
    )
    counts = {"n": len(release.samples), "n_split": len(release.samples), "bundled": True}
    manifest = Manifest.model_validate(
        {
            "format": 1, "version": 1, "task": "x-notes", "edition": str(QUARTER), "code": "", "source": "sample",
            "collection": {"sources": (), "parameters": {}, "funnel": FUNNEL, "warnings": ()}, "files": (),
            "revealed": True,
        }
    )  # fmt: skip
    known = zip(release.samples, build.labels(release), build.facts(release), strict=True)
    empty = {part: _TABLES[part].schema.to_frame() for part in ("numbers", "receipts", "waiting")}
    return BoardSplit(
        Workspace(NOWHERE),
        Published(QUARTER, "x-notes", MAIN, NOWHERE, manifest),
        [{name: getattr(entry, name) for name in IDENTITY} | counts for entry in entries],
        said.lazy(),
        **empty,
        samples=release.samples,
        full=release.samples,
        labels={sample.id: Label(sample.id, label, facts) for sample, label, facts in known},
        shown=True,
        panel=panel,
    )


def test_a_board_and_all_analyses_are_made_of_a_split_in_memory() -> None:
    split = opened()
    assert split.panel is not None
    tables = {name: made.whole().collect() for name, made in board_tables([split], NOWHERE)[0].items()}
    assert {name for name in OF_LABELS if tables[name].is_empty()} == set()
    ranked = {one.origin: one.rank for one in standings_of(split.panel).ranked}
    assert dict(tables["standings"].select("origin", "rank").iter_rows()) == ranked
    results = {name: one.run(split.panel) for name, one in ANALYSES.items() if name != "text-alone"}
    assert all(made.missing or made.table.height for made in results.values())


# --- Analyses as they are written, and those of other packages.


HOSTILE = (
    "$\\frac{1}{0}$ $x_2$",
    "<script>alert(1)</script>",
    "</svg><img src=x onerror=alert(1)>",
    "evil\u202egpj.exe\u200b\x00\x1b[31m",
    "=HYPERLINK(1)",
    "日本語 🙂 a\u0301\u0301\u0301\u0301\u0301",
    "NA",
    "x" * 5_000,
    "a · b",
    "\u202e",
)
SOME = ("cost", "votes")


def some():
    return [ANALYSES[name] for name in SOME]


@pytest.fixture
def small_panel(build):
    """Two systems on a few samples."""
    release = build.release(40)
    entries = [build.entry(release, name, seed=k, cost=1.0) for k, name in enumerate(("alpha", "beta"))]
    return build.panel(entries, release)


def hashes(folder):
    return {path.name: sha256_file(path) for path in sorted(folder.iterdir())}


def test_an_analysis_has_all_its_files_and_they_agree(make, small_panel) -> None:
    workspace = make.workspace()
    made = make_analyses(workspace, small_panel, some())
    for one in made:
        stored = read_json(one.folder / f"{one.name}.json")
        table = pl.read_parquet(one.folder / f"{one.name}.parquet")
        csv = pl.read_csv(one.folder / f"{one.name}.csv")
        assert len(stored["rows"]) == table.height == csv.height == one.rows == stored["row_count"]
        assert stored["columns"] == table.columns
        assert sorted(stored["rows"][0]) == sorted(table.columns) == sorted(csv.columns)
        assert (one.folder / f"{one.name}.png").read_bytes().startswith(b"\x89PNG")
        ElementTree.parse(one.folder / f"{one.name}.svg")


def test_the_same_panel_gives_the_same_bytes_and_is_not_made_twice(make, small_panel) -> None:
    first, second = make.workspace("one"), make.workspace("two")
    for workspace in (first, second):
        assert not any(one.skipped for one in make_analyses(workspace, small_panel, some()))
    folders = [workspace.analyses(small_panel.edition, small_panel.task.name) for workspace in (first, second)]
    assert hashes(folders[0]) == hashes(folders[1])
    assert all(one.skipped for one in make_analyses(first, small_panel, some()))
    (folders[0] / "votes.svg").write_bytes(b"changed by hand")
    skipped = {one.name: one.skipped for one in make_analyses(first, small_panel, some())}
    assert skipped == {"cost": True, "votes": False}
    assert hashes(folders[0]) == hashes(folders[1])


def test_a_png_is_left_out_on_request_and_made_when_it_is_wanted(make, small_panel) -> None:
    workspace = make.workspace()
    (first,) = make_analyses(workspace, small_panel, get_analyses("cost"), png=False)
    ends = {path.name.partition(".")[2] for path in first.folder.iterdir()}
    assert ends == {"csv", "json", "parquet", "points.parquet", "svg", "narrow.svg"}
    svg = (first.folder / "cost.svg").read_bytes()
    (second,) = make_analyses(workspace, small_panel, get_analyses("cost"))
    assert not second.skipped
    assert (first.folder / "cost.svg").read_bytes() == svg
    (third,) = make_analyses(workspace, small_panel, get_analyses("cost"), png=False)
    assert third.skipped
    assert (first.folder / "cost.png").is_file()


def test_points_are_the_marks_of_all_systems_and_the_picture_shows_those_that_lead(make, full_panel) -> None:
    folder = make_analyses(make.workspace(), full_panel, get_analyses("slices"), png=False)[0].folder
    points = pl.read_parquet(folder / "slices.points.parquet")
    table = pl.read_parquet(folder / "slices.parquet")
    assert points["value"].to_list() == table["value"].to_list()
    figure = read_json(folder / "slices.json")["figure"]
    assert set(points["who"]) == set(figure["systems"])
    svg = (folder / "slices.svg").read_text()
    assert [name in svg for name in figure["systems"]] == [True] * 4 + [False] * 9


def test_no_date_and_no_machine_stand_in_a_figure(make, small_panel) -> None:
    (made,) = make_analyses(make.workspace(), small_panel, get_analyses("cost"))
    text = (made.folder / "cost.svg").read_text()
    assert not re.search(r"<dc:date>|/home/|/work/|https?://(?!www\.w3\.org)", text)
    assert b"tIME" not in (made.folder / "cost.png").read_bytes()


def test_an_analysis_that_can_no_longer_be_made_leaves_no_old_figure(make, build, small_panel) -> None:
    workspace = make.workspace()
    make_analyses(workspace, small_panel, some())
    (made,) = make_analyses(workspace, replace(small_panel, systems=()), get_analyses("cost"))
    assert made.missing
    assert [path.name for path in sorted(made.folder.glob("cost.*"))] == ["cost.json"]
    assert read_json(made.folder / "cost.json")["missing"] == made.missing


def test_chosen_systems_do_not_stand_for_all(make, small_panel) -> None:
    workspace = make.workspace()
    (whole,) = make_analyses(workspace, small_panel, get_analyses("cost"))
    before = hashes(whole.folder)
    (chosen,) = make_analyses(workspace, small_panel, get_analyses("cost"), systems=["alpha"])
    assert chosen.folder == whole.folder / "selected"
    assert set(pl.read_parquet(chosen.folder / "cost.parquet")["system"]) == {"alpha"}
    assert {name: sha256_file(whole.folder / name) for name in before} == before


def hostile(build, names):
    release = build.release(24)
    entries = [
        build.entry(release, name, seed=k, provenance="uploaded", team=f"{name} {k}", prompts=("p",), cost=1.0 + k)
        for k, name in enumerate(names)
    ]
    return build.panel(entries, release)


def test_names_of_others_do_nothing_in_figures_and_tables(make, build) -> None:
    (made,) = make_analyses(make.workspace(), hostile(build, HOSTILE), get_analyses("cost"))
    tree = ElementTree.parse(made.folder / "cost.svg")
    assert not {element.tag.split("}")[-1] for element in tree.iter()} & {"script", "foreignObject", "a", "image"}
    table = pl.read_csv(made.folder / "cost.csv", null_values=[""])
    assert "NA" in table["system"].to_list()
    assert table.height == len(HOSTILE)
    assert not any(str(cell).startswith(("=", "@")) for row in table.rows() for cell in row)


@pytest.fixture
def workspace(make, tmp_path, monkeypatch, quarter):
    """A scored quarter with two baselines, as the command line finds it."""
    place = make.workspace()
    make.release(make.notes(5, 5), workspace=place)
    for model in ("coin", "always-yes"):
        evaluate(place, Evaluation(quarter, get_task("x-notes"), model), lambda _: None)
    reveal(place, quarter, get_task("x-notes"), now())
    score_quarter(place, quarter, tmp_path / "none")
    monkeypatch.setenv("HELLOFRESH_DATA", str(place.root))
    monkeypatch.chdir(tmp_path)
    return place


def test_the_commands_write_and_then_skip(workspace, capsys) -> None:
    assert main(["analyse", "agreement", "--quarter", "2023Q2", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["name"], one["task"], one["skipped"], one["rows"]) == ("agreement", "x-notes", False, 1)
    assert main(["analyse", "agreement", "--quarter", "2023Q2", "--system", "coin", "--system", "always-yes"]) == 0
    assert "written" in capsys.readouterr().out
    assert main(["analyse", "all", "--quarter", "2023Q2"]) == 0
    assert "unchanged, skipped" in capsys.readouterr().out


def test_the_board_has_copies_and_an_index(workspace, quarter) -> None:
    assert read_json(build_board(workspace).folder / "manifest.json")["analyses"] == []
    main(["analyse", "agreement", "--quarter", "2023Q2"])
    main(["analyse", "placebo", "--quarter", "2023Q2"])
    built = build_board(workspace)
    assert not built.skipped
    folder = built.folder / "analyses" / "2023Q2" / "x-notes"
    index = {one["name"]: one for one in read_json(folder / "index.json")["analyses"]}
    ends = ("parquet", "points.parquet", "svg", "narrow.svg")
    assert index["agreement"]["files"] == [f"agreement.{end}" for end in ends]
    assert index["placebo"]["files"] == [] and index["placebo"]["missing"]
    listed = {entry["path"]: entry for entry in read_json(built.folder / "manifest.json")["analyses"]}
    assert set(listed) == {f"analyses/2023Q2/x-notes/{path.name}" for path in folder.iterdir()}
    for name, entry in listed.items():
        path = built.folder / name
        assert (entry["size"], entry["sha256"]) == (path.stat().st_size, sha256_file(path))
    assert build_board(workspace).skipped
    for path in workspace.analyses(quarter, "x-notes").glob("agreement.*"):
        path.unlink()
    build_board(workspace)
    assert [path.name for path in folder.iterdir()] == ["index.json"]


# --- A metric of another package goes through scores and analyses like those of our own.


EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "jaccard_metric.py"


def jaccard(classes):
    return runpy.run_path(str(EXAMPLE))["jaccard"](classes)


@pytest.fixture
def installed(monkeypatch):
    points = {"hellofresh.metrics": "jaccard"}

    def entry_points(group, name=None):
        return [EntryPoint(points[group], f"{__name__}:{points[group]}", group)] if group in points else []

    monkeypatch.setattr(found_plugins, "entry_points", entry_points)
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.value.split(":")[1]])
    _base.added_metrics.cache_clear()
    yield
    monkeypatch.undo()
    _base.added_metrics.cache_clear()


@pytest.mark.usefixtures("installed")
def test_a_strangers_metric_is_scored_with_an_interval_and_measured_in_analyses(build) -> None:
    task = replace(get_task("x-notes"))
    assert task.headline.name == "f1" and task.metrics[-1].name == "jaccard"
    release = replace(build.release(40), task=task)
    known = zip(release.samples, build.labels(release), strict=True)
    labels = {sample.id: Label(sample.id, label, {}) for sample, label in known}
    entry = build.entry(release, "one", prompts=("manual",))
    scores = {score.metric: score for score in _scores_of(release, labels, [entry]) if score.period == "all"}
    f1, own = scores["f1"].value, scores["jaccard"]
    assert own.value == pytest.approx(f1 / (2 - f1))
    assert own.low < own.value < own.high
    panel = replace(build.panel([entry], release), task=task)
    found = measure(panel, panel.systems[0].headline, None, task.metric("jaccard"))
    assert found is not None and found.value == pytest.approx(own.value)
