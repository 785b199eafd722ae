"""What each analysis answers, and that it says so where it cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hellofresh.core.clock import now
from hellofresh.core.errors import UnknownNameError
from hellofresh.releases.life.takedown import take_down
from hellofresh.results.analyses import ANALYSES, get_analyses
from hellofresh.results.analyses.prompts import LEAST_RECALL
from hellofresh.results.split.arrays import build_panel, panel_of
from hellofresh.results.split.panel import MAJORITY, NOT_ASKED
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks.samples import Label


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
