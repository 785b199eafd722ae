"""Row types of the scores and the files beside them: outputs of systems, receipts, waiting submissions, and
people compared with systems."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.parquet import Table
from hellofresh.core.systems import IDENTITY, SystemId
from hellofresh.tasks.samples import MAIN

OVER_REPETITIONS = ("repetitions", "mean", "mean_low", "mean_high")
"""Unpublished fields, which need more than the published predictions."""

WITHOUT_LABELS = (*IDENTITY, "prompt", "period", "headline", "bundled", "n", "n_split", "none", "blocked")
"""The fields of a score, besides quarter and task, that do not depend on labels."""
CHANCE = pl.coalesce("certainty", pl.col("probabilities").list.get(pl.col("label"), null_on_oob=True))
"""`AnswerRow.chance` of each row of a table."""
HAS_WORDS = (
    (pl.col("rationale") != "") | (pl.col("sources").list.len() > 0)
    | (pl.col("text") != "") | (pl.col("documents").list.len() > 0)
)  # fmt: skip
"""Whether the answer of a row of a table comes with a text, a ranking, a rationale or sources."""


@dataclass(frozen=True, slots=True)
class Score(SystemId):
    """One metric of a system with one prompt in one period, with its interval at 95%.

    Attributes:
        edition, task, prompt, period, bundled: identify what is scored.
        headline: whether the prompt is the system's headline.
        n, n_split: number of judged samples, and of all samples.
        clusters, effective_clusters: groups of samples, and as many of one size as would weigh as much; of a mean over
            classes those of its rarest class where these are fewer than 12, of the log score an eighth where these
            are fewer than 96.
        none, blocked: samples without a readable answer, and with a refusal.
        metric: its name; a task's metrics follow each other in the task's order, the headline metric first.
        value, low, high: of the first repetition (or of the vote), with the limits of its interval over samples.
        bootstrap_low, bootstrap_high: limits of the bootstrap's interval, see `hellofresh.stats.bootstrap_limits`.
        method: how the interval from `low` to `high` was made.
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
    bootstrap_low: float
    bootstrap_high: float
    method: str
    repetitions: int = 1
    mean: float | None = None
    mean_low: float | None = None
    mean_high: float | None = None


SCORES = Table(Score)
"""A quarter's file of scores."""


def score_command(edition: Edition | str, split: str) -> str:
    """The command that writes the scores of a split."""
    return f"hellofresh score --edition {edition}" + ("" if split == MAIN else f" --split {split}")


def score_stage(edition: Edition, split: str) -> str:
    """The name of the stage that writes them."""
    return f"score{'' if split == MAIN else f'-{split}'}/{edition}"


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A system's output on a sample with one prompt.

    Attributes:
        id: of the sample.
        origin: the system's, as in the scores.
        prompt: which.
        headline: whether this prompt stands for the system.
        status: whether there is an output: answered, none or blocked.
        label: of a choice, the class; None if absent.
        probabilities: of a choice, by class, empty where not stated.
        certainty: of a choice, the stated chance that it is right, None where not stated.
        text: of a response, None for other outputs.
        documents, scores: of a ranking, None for other outputs.
        rationale, sources: why, and what it rests on; empty where not said.
    """

    id: str
    origin: str
    prompt: str
    headline: bool
    status: str
    label: int | None
    probabilities: tuple[float, ...]
    certainty: float | None
    text: str | None
    documents: tuple[str, ...] | None
    scores: tuple[float, ...] | None
    rationale: str
    sources: tuple[str, ...]

    @property
    def chance(self) -> float | None:
        """The stated chance that the choice is right, None where it is not known."""
        if self.label is None or self.certainty is not None or not self.probabilities:
            return self.certainty
        return self.probabilities[self.label]


@dataclass(frozen=True, slots=True)
class PairDifference:
    """How two systems or writers differ.

    Attributes:
        one, two: who.
        difference: the first minus the second.
        low, high: its 95% interval, which holds for all pairs of the family together: `adjusted` is below 0.05 wherever
            it leaves 0 out.
        p_value: of no difference, for this pair alone; None where nothing is tested.
        adjusted: the same, adjusted for all pairs of its family.
    """

    one: str
    two: str
    difference: float
    low: float
    high: float
    p_value: float | None
    adjusted: float | None


@dataclass(frozen=True, slots=True)
class NumberRow:
    """The value of an output and its weight, for a metric that is a mean of a number."""

    origin: str
    prompt: str
    metric: str
    id: str
    value: float
    weight: float


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    """The receipt of a submission.

    Attributes:
        origin: the entry's.
        sha256: hash of its canonical content.
        received: when, UTC to the second (ISO 8601).
        code: the version that wrote the receipt.
        tasks: what it takes part in, joined by commas.
        earlier: how many receipts it replaces.
    """

    origin: str
    sha256: str
    received: str
    code: str
    tasks: str
    earlier: int


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A submission that may not be used yet, without its predictions."""

    origin: str
    system: str
    team: str
    regime: str
    knowledge_cutoff: str
    received: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleRow:
    """People, or a system beside them, on the samples that people judged.

    Attributes:
        with_known: whether answers count of people who say that they knew the outcome.
        section: what it is to the ranking, a `hellofresh.results.split.panel.EntrySection`: people are never ranked.
        origin: the entry's; `people/single` and `people/vote` are one person and the vote of three.
        value, low, high: the headline metric with its 95% interval; None where too little is there.
        samples, people, answers: that the table rests on.
        failed: people who are left out because they failed an attention check.
        agreement: Krippendorff's alpha of people's answers; None of systems, and where all answers are the same.
        missing: what there is too little of, where there are no values; else empty.
    """

    with_known: bool
    section: str
    origin: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    samples: int
    people: int
    answers: int
    failed: int
    agreement: float | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class RatedStanding:
    """A system's standing on one criterion of a rubric, on all samples or on a part of them.

    Attributes:
        kind: whose ratings: `person`, `model`, `classifier` or `rule`.
        criterion: id in the rubric.
        part, value: field of the samples and its value; both empty for all samples.
        system: its name.
        n: samples of its that were rated.
        mean, low, high: of its ratings, with the limits of the 95% interval.
        rank, rank_low, rank_high, tie_group: its place; None where it is not ranked.
    """

    kind: str
    criterion: str
    part: str
    value: str
    system: str
    n: int
    mean: float
    low: float
    high: float
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    tie_group: int | None


@dataclass(frozen=True, slots=True)
class CeilingRow:
    """The score of an oracle that knows all voters, but not which of them voted; a package brings it.

    Attributes:
        metric: its name.
        value, low, high: with the limits of its 95% interval over redrawn raters.
        samples, of: samples whose ratings are known, on which it is, and all of the split.
    """

    metric: str
    value: float
    low: float
    high: float
    samples: int
    of: int


PEOPLE_NAMES = {"people/single": "One person", "people/vote": "Vote of three people"}
"""Names of the rows of people, by origin."""

JUDGEMENTS = Table(AnswerRow, {"task": str})
NUMBERS = Table(NumberRow, {"task": str})
RECEIPTS = Table(ReceiptRow, {"task": str})
WAITING = Table(WaitingRow, {"task": str})
