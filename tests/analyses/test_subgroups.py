"""What is computed by subgroup is what is computed on the subgroup alone, and flips add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hellofresh.results.analyses import Panel, get_analyses
from hellofresh.results.analyses._base import AnalysisResult
from hellofresh.results.panel import PromptOutputs, System
from hellofresh.stats.metrics import class_metrics
from hellofresh.tasks import get_task

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


def test_bins_that_are_too_small_are_left_out_and_said_so(panel: Panel) -> None:
    found = run("subgroups", panel)
    assert "small.example" not in found.table["bin"].to_list()
    assert any("1 bins of fewer than 20 samples (5 in all)" in note for note in found.notes)


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


def test_leaving_out_silence_is_told_beside_counting_it_as_wrong(panel: Panel) -> None:
    table = run("parsing", panel).table
    silent, spoken = (table.filter(table["regime"] == regime) for regime in ("zero-shot", "search-agent"))
    answers = panel.systems[0].headline.answers
    assert silent["share_parsed"].item() == pytest.approx((answers >= 0).mean())
    assert silent["value_of_parsed"].item() > silent["value"].item()
    assert spoken["share_parsed"].item() == 1 and spoken["value"].item() == spoken["value_of_parsed"].item()


@pytest.mark.parametrize("name", ["subgroups", "category-gains", "parsing", "prompt-sensitivity", "slices", "silence"])
def test_analyses_of_several_classes_fail_on_nothing(name: str, panel: Panel) -> None:
    run(name, panel)
    assert run(name, replace(panel, systems=[])).missing
