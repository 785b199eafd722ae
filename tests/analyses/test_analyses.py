"""What each analysis answers, and that it says so where it cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hellofresh.core.clock import now
from hellofresh.core.errors import UnknownNameError
from hellofresh.releases.life.takedown import take_down
from hellofresh.results.analyses import ANALYSES, get_analyses
from hellofresh.results.analyses.base import AnalysisResult, compare_said
from hellofresh.results.analyses.prompts import LEAST_RECALL
from hellofresh.results.split.arrays import build_panel, panel_of
from hellofresh.results.split.panel import MAJORITY, NOT_ASKED, SINGLE, Panel, PromptOutputs, System, cutoff_end
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.stats.metrics import class_metrics
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice, Status
from hellofresh.tasks.samples import Label


def answer(name, panel):
    return ANALYSES[name].run(panel)


@pytest.mark.parametrize("name", ANALYSES)
def test_each_answers_where_there_are_data(name, full_panel) -> None:
    result = answer(name, full_panel)
    assert result.missing == ""
    assert result.figure is not None
    assert result.table.height > 0
    drawn = {mark.who for mark in result.marks}
    assert set(result.figure.systems) == drawn
    assert len(result.figure.systems) == len(drawn)


@pytest.mark.parametrize("name", ANALYSES)
def test_each_says_why_where_nobody_has_answered(name, build) -> None:
    result = answer(name, build.panel([], build.release(6)))
    assert result.figure is None
    assert result.missing.endswith(".")


@pytest.mark.parametrize("name", ANALYSES)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_samples_are_no_failure(name, n, build) -> None:
    release = build.release(n)
    entries = [build.entry(release, "alpha", regime=regime, confident=True) for regime in ("zero-shot", "web-search")]
    result = answer(name, build.panel(entries, release))
    assert bool(result.missing) == (result.figure is None) == (not result.marks)


@pytest.mark.parametrize("name", ANALYSES)
def test_each_analysis_can_be_read_by_a_stranger(name) -> None:
    analysis = ANALYSES[name]
    assert analysis.name == name
    assert analysis.question.endswith("?")
    assert len(analysis.how_to_read) > 100


@pytest.mark.parametrize("name", ["search-gain", "placebo"])
def test_equal_answers_under_two_regimes_differ_by_nothing(name, build) -> None:
    release = build.release(40)
    entries = [build.entry(release, "alpha", regime=r, seed=4) for r in ("zero-shot", "web-search", "placebo")]
    table = answer(name, build.panel(entries, release)).table
    differences = table["difference"].drop_nulls()
    assert differences.len() > 0
    assert (differences == 0).all()
    assert (table["p_value"].drop_nulls() == 1).all()


def test_pairs_use_only_samples_that_both_regimes_were_asked(build) -> None:
    release = build.release(60)
    entries = [build.entry(release, "alpha"), build.entry(release, "alpha", seed=2, regime="web-search", asked=20)]
    assert set(answer("search-gain", build.panel(entries, release)).table["n"]) == {20}


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


def test_silence_counts_what_was_not_said(full_panel) -> None:
    table = answer("silence", full_panel).table
    counts = table.group_by("system", "regime", "prompt").agg(pl.col("count").sum()).iter_rows()
    found = {tuple(row[:3]): row[3] for row in counts}
    for system in full_panel.systems:
        for said in system.said:
            silent = int(((said.answers < 0) & (said.answers != NOT_ASKED)).sum())
            assert found.get((system.label, system.regime, said.prompt), 0) == silent


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


def test_what_is_known_when_goes_from_no_search_to_the_decision_in_paired_steps(full_panel) -> None:
    table = answer("known-when", full_panel).table
    assert table["known"].to_list() == ["no search", "until the post", "until the note", "until the decision"]
    assert table["n"].n_unique() == 1
    by_origin = {system.settings: system for system in full_panel.systems if system.regime == "search-agent"}
    later, earlier = (by_origin[f"before={name}"].headline for name in ("decision", "note"))
    made = compare_said(full_panel, later, earlier, where=by_origin["before=post"].headline.asked)
    last = table.row(-1, named=True)
    assert last["step"] == pytest.approx(made.difference) == pytest.approx(last["value"] - table["value"][-2])
    assert last["p_adjusted"] == pytest.approx(min(1, 3 * made.p_value))
    assert table["step"][0] is None


def test_known_when_counts_answers_that_it_is_too_early_and_scores_all_as_forecasts(build) -> None:
    release, entries = build.release(), []
    for settings, early in (("before=post, early=True", 30), ("before=note, early=True", 0)):
        entry = build.entry(release, "alpha", 0.6, regime="search-agent", seed=early, prompts=("one",))
        said = dict(entry.outputs[SINGLE])
        said |= {key: Choice(prompt=SINGLE, status=Status.NONE, probabilities=(0.5, 0.5)) for key in list(said)[:early]}
        entries.append(replace(entry, settings=settings, outputs={SINGLE: said}))
    for offered, seed in (("", 7), ("early=True", 8)):
        entries.append(replace(build.entry(release, "alpha", 0.6, seed=seed), settings=offered))
    panel = build.panel(entries, release)
    result = answer("known-when", panel)
    assert result.table["known"].to_list() == ["no search", "until the post", "until the note"]
    assert result.table["too_early"].to_list() == [0, 30, 0] and set(result.table["metric"]) == {"relative_brier_index"}
    (system,) = (one for one in panel.systems if "before=post" in one.settings)
    said, labels = system.headline, panel.labels
    missed = np.where(said.answers < 0, 1.0, said.answers != labels)
    missed[said.too_early] = 0.25
    share = labels.mean()
    index = 100 * (1 - np.sqrt(missed.mean() / (share * (1 - share))) / 2)
    assert result.table["value"][1] == pytest.approx(max(index, 0.0)) and "too early" in result.notes[0]


def test_memory_is_the_gain_by_search_after_the_cutoff_less_that_before(full_panel) -> None:
    table = answer("memory", full_panel).table
    assert set(table["system"]) >= {"alpha", "beta"} and "gamma" not in set(table["system"])  # its cutoff is unknown
    for row in table.iter_rows(named=True):
        assert row["memory"] == pytest.approx(row["gain_after"] - row["gain_before"])
        assert row["memory_low"] <= row["memory"] <= row["memory_high"]
    early = np.array([sample.date < cutoff_end("2023-05-15") for sample in full_panel.samples])
    system = next(one for one in full_panel.systems if (one.label, one.regime) == ("beta", "web-search"))
    base = next(one for one in full_panel.systems if (one.label, one.regime) == ("beta", "zero-shot"))
    both, metric = system.headline.asked & base.headline.asked, full_panel.task.headline

    def value(one, side) -> float:
        return float(metric.value(full_panel.table(one.headline, both & side).sum(axis=0)))

    gains = [value(system, side) - value(base, side) for side in (early, ~early)]
    (row,) = table.filter(pl.col("system") == "beta", pl.col("regime") == "web-search").iter_rows(named=True)
    assert row["memory"] == pytest.approx(gains[1] - gains[0])


def test_a_change_of_the_rule_is_drawn_in_its_month(full_panel) -> None:
    result = answer("temporal-consistency", full_panel)
    assert result.figure.charts[0].marked == ("04",)  # 14 April 2023
    assert any("2023-04-14: more notes not helpful" in note for note in result.notes)
    edits = replace(full_panel, task=replace(full_panel.task, rules=""))
    assert answer("temporal-consistency", edits).figure.charts[0].marked == ()


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


def test_ranks_without_labels_that_few_could_flip_are_those_on_the_labels_that_are_left(build) -> None:
    release = build.release(160)
    panel = build.panel([build.entry(release, name, right, seed=k) for k, (name, right) in
                         enumerate((("alpha", 0.9), ("beta", 0.6)))], release)  # fmt: skip
    table = answer("robustness", panel).table
    costs = panel.known("flip_cost")
    for least in (0, 1, 3, 10):
        rows = table.filter(pl.col("least_cost") == least)
        assert rows["n"].unique().to_list() == [int((costs >= least).sum())]
        assert dict(rows.select("system", "rank").iter_rows()) == {"alpha": 1, "beta": 2}
    without = replace(panel, facts=[{**facts, "flip_cost": None} for facts in panel.facts])
    assert "unknown" in answer("robustness", without).missing


def test_probabilities_that_follow_the_intercepts_are_told_from_choices_that_are_as_good(build) -> None:
    release = build.release(160)
    said = build.said(release, 0.8, 3)
    known = dict(zip((sample.id for sample in release.samples), build.facts(release), strict=True))
    graded = {
        key: choice if choice.label is None
        else replace(choice, probabilities=(0.8 - known[key]["intercept"], 0.2 + known[key]["intercept"]))
        for key, choice in said.items()
    }  # fmt: skip
    entries = [
        build.entry(release, name, prompts=("one",), provenance="uploaded", team=name) for name in ("plain", "fine")
    ]
    entries = [replace(one, outputs={SINGLE: outputs}) for one, outputs in zip(entries, (said, graded), strict=True)]
    table = answer("intercepts", build.panel(entries, release)).table
    rows = {row["system"]: row for row in table.iter_rows(named=True)}
    assert rows["fine"]["value"] > rows["plain"]["value"] + 0.1
    assert rows["plain"]["less_best_high"] < 0 and rows["plain"]["p_value"] < 0.05
    assert (rows["plain"]["stated"], rows["plain"]["different_values"]) == (0, 3)  # yes, no and silence
    assert rows["fine"]["less_best"] is None and rows["fine"]["p_value"] is None


def test_difficulty_is_the_samples_own_where_models_fail_on_the_same(build) -> None:
    release = build.release(160)
    same = [build.entry(release, f"model-{k}", 0.7, seed=5, prompts=("one",)) for k in range(6)]
    table = answer("difficulty", build.panel(same, release)).table
    assert table["value"][0] == pytest.approx(1)
    others = [build.entry(release, f"model-{k}", 0.7, seed=k, prompts=("one",)) for k in range(6)]
    table = answer("difficulty", build.panel(others, release)).table
    assert table["low"][0] < 0 < table["high"][0]


CLASSES = 3
CLAIMS = get_task("claims")


def run(name: str, panel: Panel) -> AnalysisResult:
    (analysis,) = get_analyses(name)
    return analysis.run(panel)


@pytest.fixture
def panel(full_panel: Panel) -> Panel:
    """Claims of three classes by three publishers, one of them small; two systems, one of them silent now and then."""
    chance = np.random.default_rng(3)
    n = len(full_panel.samples)
    labels = chance.integers(0, CLASSES, n).astype(np.int8)
    sites = ["a.example" if k % 3 else "b.example" for k in range(n - 5)] + ["small.example"] * 5
    plain = next(system for system in full_panel.systems if system.regime == "zero-shot")

    def system(regime: str, right: float, silent: float) -> System:
        said = np.where(chance.random(n) < right, labels, chance.integers(0, CLASSES, n))
        said = np.where(chance.random(n) < silent, -1, said).astype(np.int8)
        outputs = PromptOutputs.of("manual", said, CLASSES)
        return replace(plain, name=f"{plain.label}, {regime}", regime=regime, said=[outputs])

    return replace(
        full_panel,
        task=replace(CLAIMS, metrics=class_metrics(CLAIMS.classes), text=full_panel.task.text),
        labels=labels,
        facts=[{"publisher": site} for site in sites],
        systems=[system("zero-shot", 0.4, 0.2), system("search-agent", 0.8, 0.0)],
    )


def test_a_bin_is_scored_as_its_samples_alone(panel: Panel) -> None:
    found = run("subgroups", panel)
    table = found.table.filter((found.table["bin"] == "a.example") & (found.table["regime"] == "search-agent"))
    where = np.array([facts["publisher"] == "a.example" for facts in panel.facts])
    metric, said = panel.task.headline, panel.systems[1].headline
    value = float(metric.value(panel.table(said, where).sum(axis=0)))
    assert table["value"].item() == pytest.approx(value) and table["n"].item() == where.sum()
    assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()


def test_gains_are_differences_and_flips_are_those_of_all_bins(panel: Panel) -> None:
    table = run("category-gains", panel).table
    assert table["gain"].to_list() == pytest.approx((table["value"] - table["value_against"]).to_list())
    whole = table.filter(table["bin"] == "all samples")
    labels = panel.labels
    one, two = (panel.systems[k].headline.answers for k in (1, 0))
    assert whole["flips_to_right"].item() == ((one == labels) & (two != labels)).sum()
    assert whole["flips_to_wrong"].item() == ((one != labels) & (two == labels)).sum()
    bins = table.filter(table["factor"] == "publisher")
    assert bins["flips_to_right"].sum() <= whole["flips_to_right"].item() and whole["gain"].item() > 0
    numbers = replace(panel, task=get_task("corrections"))
    assert run("category-gains", numbers).missing.startswith("The task has no classes")


def test_leaving_out_silence_is_told_beside_counting_it_as_wrong(panel: Panel) -> None:
    table = run("parsing", panel).table
    silent, spoken = (table.filter(table["regime"] == regime) for regime in ("zero-shot", "search-agent"))
    answers = panel.systems[0].headline.answers
    assert silent["share_parsed"].item() == pytest.approx((answers >= 0).mean())
    assert silent["value_of_parsed"].item() > silent["value"].item()
    assert spoken["share_parsed"].item() == 1 and spoken["value"].item() == spoken["value_of_parsed"].item()
