"""A metric and an analysis of another package go through scores and analyses like those of our own."""

from __future__ import annotations

import importlib
import runpy
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import polars as pl
import pytest

from hellofresh.core import plugins as found_plugins
from hellofresh.results import analyses
from hellofresh.results.analyses.base import AnalysisResult, analysis, measure
from hellofresh.results.panel import Panel
from hellofresh.results.scores import _scores_of
from hellofresh.tasks import _base, get_task
from hellofresh.tasks.samples import Label

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "jaccard_metric.py"


def jaccard(classes):
    return runpy.run_path(str(EXAMPLE))["jaccard"](classes)


@analysis("share-yes", "Share of yes", "How often is the answer yes?", "The share of label 1 among answers.")
def share_yes(panel: Panel) -> AnalysisResult:
    rows = [{"system": one.label, "share": float((one.headline.answers == 1).mean())} for one in panel.systems]
    return AnalysisResult(pl.DataFrame(rows))


@pytest.fixture
def installed(monkeypatch):
    points = {"hellofresh.metrics": "jaccard", "hellofresh.analyses": "share_yes"}

    def entry_points(group, name=None):
        return [EntryPoint(points[group], f"{__name__}:{points[group]}", group)] if group in points else []

    monkeypatch.setattr(found_plugins, "entry_points", entry_points)
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.value.split(":")[1]])
    _base._added_metrics.cache_clear()
    before = dict(vars(analyses))
    yield
    monkeypatch.undo()
    _base._added_metrics.cache_clear()
    vars(analyses).update(before)  # others hold the very objects of the module as it was


@pytest.mark.usefixtures("installed")
def test_a_strangers_metric_is_scored_with_an_interval_and_measured_in_analyses(build) -> None:
    task = replace(get_task("x-notes"))
    assert task.headline.name == "f1" and task.metrics[-1].name == "jaccard"
    release = replace(build.release(40), task=task)
    labels = {
        sample.id: Label(sample.id, label, {})
        for sample, label in zip(release.samples, build.labels(release), strict=True)
    }
    entry = build.entry(release, "one", prompts=("manual",))
    scores = {score.metric: score for score in _scores_of(release, labels, [entry]) if score.period == "all"}
    f1, own = scores["f1"].value, scores["jaccard"]
    assert own.value == pytest.approx(f1 / (2 - f1))
    assert own.low < own.value < own.high
    panel = replace(build.panel([entry], release), task=task)
    found = measure(panel, panel.systems[0].headline, None, task.metric("jaccard"))
    assert found is not None and found.value == pytest.approx(own.value)


@pytest.mark.usefixtures("installed")
def test_a_strangers_analysis_is_one_of_all(build) -> None:
    found = importlib.reload(analyses)
    release = build.release(12)
    panel = build.panel([build.entry(release, "one", prompts=("manual",))], release)
    assert list(found.ANALYSES)[-1] == "share-yes"
    assert found.get_analyses("share-yes")[0].run(panel).table.height == 1
