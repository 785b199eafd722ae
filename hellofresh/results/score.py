"""One score: a row of `scores.parquet`, of the board's table and, after a reveal, of `scores.jsonl`."""

from __future__ import annotations

from dataclasses import dataclass

from hellofresh.core.parquet import Table
from hellofresh.core.systems import IDENTITY, SystemId


@dataclass(frozen=True, slots=True)
class Score(SystemId):
    """One metric of a system with one prompt in one period, with its interval at 95%.

    Attributes:
        edition, task, prompt, period, bundled: what is scored.
        headline: whether the prompt is the one that stands for the system.
        n, n_split: samples that were judged, and samples there are.
        clusters, effective_clusters: groups of samples, and as many of one size as would weigh as much; of a mean over
            classes those of its rarest class where these are fewer than 8.
        none, blocked: samples without a readable answer, and with a refusal.
        metric: its name; a task's metrics follow each other in the task's order, the headline metric first.
        value, low, high: of the first repetition (or of the vote), with the limits of its interval over samples.
        method: how the interval was made.
        repetitions: how often the system was asked, copies apart.
        mean, mean_low, mean_high: over repetitions, with the limits of its interval over repetitions; None where there
            is one repetition.
    """

    edition: str
    task: str
    prompt: str
    period: str
    headline: bool
    bundled: bool
    n: int
    n_split: int
    clusters: int
    effective_clusters: float
    none: int
    blocked: int
    metric: str
    value: float
    low: float
    high: float
    method: str
    repetitions: int = 1
    mean: float | None = None
    mean_low: float | None = None
    mean_high: float | None = None


SCORES = Table(Score)
"""A quarter's file of scores."""

OVER_REPETITIONS = ("repetitions", "mean", "mean_low", "mean_high")
"""What is not published: it follows from more than the published predictions."""

WITHOUT_LABELS = (*IDENTITY, "prompt", "period", "headline", "bundled", "n", "n_split", "none", "blocked")
"""The fields of a score, besides quarter and task, that are the same whatever the labels are."""
