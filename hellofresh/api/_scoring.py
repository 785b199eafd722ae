"""Scoring and comparing predictions with the leaderboard's own rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from hellofresh.api._loading import LoadedEdition
from hellofresh.api._predictions import Predictions, outputs_of
from hellofresh.api._tables import ComparisonTable, ScoreTable
from hellofresh.core.errors import UsageError
from hellofresh.results.build import panel_of
from hellofresh.results.entries import Entry
from hellofresh.results.panel import ALL_PERIODS, SINGLE, Panel
from hellofresh.results.standings import standings_of
from hellofresh.tasks.outputs import Choice, Output


def score(edition: LoadedEdition, predictions: Predictions, *, name: str = "predictions") -> ScoreTable:
    """Score predictions with the leaderboard's own scorer.

    Args:
        edition: on what, from `load`.
        predictions: labels or outputs by sample id, a frame with the columns `id` and `label`, or a file of
            predictions. A label of None stands for no answer and counts as wrong; other samples are not counted.
        name: what to call the system.

    Raises:
        UsageError: if an id is unknown, or the task does not take an answer.
        ReleaseError: if labels are not public yet.
    """
    return scored(edition, [_entry(name, "submission", outputs_of(edition, predictions))])


def compare(edition: LoadedEdition, systems: Mapping[str, Predictions]) -> ComparisonTable:
    """Rank systems and compare each two of them, as the leaderboard does: on the samples that all of them judged.

    Args:
        edition: on what, from `load`.
        systems: predictions of each by its name, as `score` takes them.

    Raises:
        UsageError: if there are fewer than two, or predictions are refused.
        ReleaseError: if labels are not public yet.
    """
    if len(systems) < 2:
        raise UsageError("nothing to compare", expected="predictions of two systems or more", code="too-few-systems")
    entries = [_entry(name, "submission", outputs_of(edition, said)) for name, said in systems.items()]
    panel = _panel(edition, entries)
    found = standings_of(panel)
    ranks = _frame(found.ranked, "rank", "low", "high", "origin", "tie_group", "first", "n")
    pairs = found.pairs.filter(pl.col("period") == ALL_PERIODS)
    compared = pairs.select("one", "two", "difference", "low", "high", "p_value", "adjusted", "n")
    return ComparisonTable(ranks.rename({"origin": "system"}), compared, edition.task.headline.name)


def _frame(items: Sequence[object], *names: str) -> pl.DataFrame:
    return pl.DataFrame([{name: getattr(item, name) for name in names} for item in items])


def scored(edition: LoadedEdition, entries: Sequence[Entry]) -> ScoreTable:
    """The scores of entries, beside the answers that always name one class."""
    ids = [sample.id for sample in edition]
    always = [
        _entry(f"always {name}", "baseline", dict.fromkeys(ids, Choice(label=number)))
        for number, name in enumerate(edition.task.classes)
    ]
    everyone = [*entries, *always]
    order = {entry.origin: number for number, entry in enumerate(everyone)}
    rows = sorted(_rows(_panel(edition, everyone)), key=lambda row: order[str(row["origin"])])
    return ScoreTable(pl.DataFrame(rows).drop("origin"), edition.task.headline.name)


def _panel(edition: LoadedEdition, entries: Sequence[Entry]) -> Panel:
    release = edition.release
    return panel_of(release.task, release.edition, release.samples, edition.need_labels(), entries)


def _entry(name: str, kind: str, outputs: Mapping[str, Output]) -> Entry:
    return Entry(
        system=name, team="", kind=kind, regime="none", smoke_test=False, knowledge_cutoff="unknown",
        about="", origin=name, outputs={SINGLE: outputs},
    )  # fmt: skip


def _rows(panel: Panel) -> Iterator[dict[str, object]]:
    for system in panel.systems:
        for said in system.said:
            for metric in panel.metrics:
                value, some = panel.measured(said, said.asked, metric)
                yield {
                    "origin": system.origin,
                    "system": system.name,
                    "regime": system.regime,
                    "prompt": said.prompt,
                    "metric": metric.name,
                    "value": value,
                    "low": some.low,
                    "high": some.high,
                    "n": int(said.asked.sum()),
                    "silent": int(np.count_nonzero(said.predictions(said.asked) < 0)),
                    "clusters": some.clusters,
                }
