"""One score: a row of `scores.parquet`, of the board's table and, after a reveal, of `scores.jsonl`."""

from __future__ import annotations

from dataclasses import dataclass

from hellofresh.parquet import Table

__all__ = ["SCORES", "WITHOUT_LABELS", "Score"]


@dataclass(frozen=True, slots=True)
class Score:
    """One cell: a system's score with one prompt in one period, with intervals at 95%.

    `n` of `n_split` samples were judged, from `clusters` groups that weigh as much as `effective_clusters` of one size;
    `none` and `blocked` of them had no answer; `low` and `high` are the limits of the interval of the metric named
    before them, where the bootstrap's `interval_seed` and `interval_resamples` are 0 unless something was drawn;
    `headline` marks the row that stands for the system; `settings` tell runs under one
    regime apart; `origin` is the run's folder, or the submission's below its quarter.
    """

    edition: str
    task: str
    system: str
    team: str
    lane: str
    kind: str
    regime: str
    prompt: str
    period: str
    headline: bool
    bundled: bool
    smoke_test: bool
    knowledge_cutoff: str
    about: str
    origin: str
    n: int
    n_split: int
    clusters: int
    effective_clusters: float
    tp: int
    fp: int
    tn: int
    fn: int
    none: int
    blocked: int
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    recall_low: float
    recall_high: float
    f1: float
    f1_low: float
    f1_high: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    interval_method: str
    interval_seed: int
    interval_resamples: int
    settings: str


SCORES = Table(Score)
"""A quarter's file of scores."""

WITHOUT_LABELS = (
    "system", "team", "lane", "kind", "regime", "prompt", "period", "headline", "bundled", "smoke_test",
    "knowledge_cutoff", "about", "origin", "settings", "n", "n_split", "none", "blocked",
)  # fmt: skip
"""The fields of a score, besides quarter and task, that are the same whatever the labels are."""
