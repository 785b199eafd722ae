"""Rows of the board on systems: facts, answers, calibration, conduct, and standings by ratings."""

from __future__ import annotations

from dataclasses import dataclass

from hellofresh.core.parquet import Estimate
from hellofresh.core.systems import SystemId
from hellofresh.results.split.tables import RatedStanding

NO_ANSWER, REFUSED = -1, -2
"""Codes in place of a class: no readable answer, and a refusal."""


@dataclass(frozen=True, slots=True)
class Participant(SystemId):
    """A participant in a split with secret labels; no field depends on a label.

    Attributes:
        entered: the day on which its predictions came in or its run was started (`2026-11-21`), empty if not known.
        judged, samples: samples that it answered, and samples there are; 0 judged before its predictions may be used.
    """

    entered: str
    judged: int
    samples: int


@dataclass(frozen=True, slots=True)
class AnswerShare:
    """Number of samples to which a participant gave an answer with one prompt.

    Attributes:
        origin, prompt: whose, and with which prompt.
        headline: whether this prompt stands for the participant.
        said: the class, or `NO_ANSWER` or `REFUSED`.
        samples: how many.
    """

    origin: str
    prompt: str
    headline: bool
    said: int
    samples: int


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """Two participants' headline answers: `same` of `n` samples, and Cohen's kappa."""

    one: str
    two: str
    n: int
    same: int
    kappa: float


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """Facts about an entry besides its scores; None means unknown.

    Attributes:
        origin: the entry's.
        entered: the day on which its predictions came in or its run was started (`2026-11-21`), empty if not known.
        contamination: whether it may have seen outcomes: possible, unlikely or unknown, by its knowledge cutoff and the
            quarter's first day; impossible where nothing had been decided.
        hollow: uploaded to a main split whose answers are public elsewhere: they may have been looked up.
        prompts: names of the prompts, joined by commas.
        judged: samples.
        failed: samples that could not be judged.
        tokens_in, tokens_out, cost_usd: of the whole run.
        manifest: the run's own record as JSON, empty for submissions.
    """

    origin: str
    entered: str
    contamination: str
    hollow: bool
    prompts: str
    judged: int
    failed: int | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    manifest: str


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """Calibration of an entry's stated probabilities, see `hellofresh.stats.calibration`.

    Attributes:
        origin, prompt: whose, and with which prompt.
        headline: whether this prompt stands for the entry.
        subject: the class whose probability is judged, by its name, or `chosen` for that of the chosen class.
        n, clusters: samples with a stated probability, and groups of them.
        few_clusters: whether these are too few for intervals with nominal coverage.
        brier, auc: with 95% intervals; None where there are too few samples to tell, and AUC where all have one label.
        reliability, resolution, uncertainty: the parts of the Brier score, likewise (reliability - resolution +
            uncertainty, but for what differs within a bin).
        ece, ece_debiased, ece_p_value: expected calibration error, without its bias, and the p-value of the test of
            calibration; None where there are too few samples, and the p-value with one cluster.
    """

    origin: str
    prompt: str
    headline: bool
    subject: str
    n: int
    clusters: int
    few_clusters: bool
    brier: Estimate | None
    ece: float | None
    ece_debiased: float | None
    ece_p_value: float | None
    auc: Estimate | None
    reliability: Estimate | None
    resolution: Estimate | None
    uncertainty: Estimate | None


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """A step of an entry's reliability curve.

    Attributes:
        origin, prompt, subject: whose, with which prompt, and of what, as in `CalibrationRow`.
        number: from 0, by confidence.
        n, hits: number of samples, and of those where the subject was true.
        confidence: mean stated probability.
        share: hits / n.
        low, high: the share's 95% interval.
    """

    origin: str
    prompt: str
    subject: str
    number: int
    n: int
    hits: int
    confidence: float
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Mistakes:
    """How often an entry's headline prompt was wrong; counts are samples.

    Attributes:
        origin: the entry's.
        n, wrong: samples answered, and those without the right answer.
        compared: its errors on samples that other ranked systems judged too.
        others_right: those of them that more than half of these others got right.
    """

    origin: str
    n: int
    wrong: int
    compared: int
    others_right: int


@dataclass(frozen=True, slots=True)
class ConductRow:
    """Observed misconduct of an entry.

    Attributes:
        origin: the entry's.
        kind: `blocked-page`, an agent asked for pages of blocked sources, which were withheld; `later-page`, it was
            given pages that say they are from after the day before which it searched; `cited-blocked`, its answers rest
            on blocked sources; `copied-labels`, it is right where no other ranked system is.
        samples: on how many samples.
        of: of how many that it judged; for copied labels, of those that no other system is right on.
        times: how often.
        examples, urls: ids of some of the samples, and an address for each, empty if absent.
    """

    origin: str
    kind: str
    samples: int
    of: int
    times: int
    examples: tuple[str, ...]
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfusionCell:
    """Number of samples of a class to which an entry's headline prompt gave an answer.

    Attributes:
        origin: the entry's.
        label: the class that the samples have.
        said: the class that it chose, or `NO_ANSWER` or `REFUSED`.
        samples: how many.
    """

    origin: str
    label: int
    said: int
    samples: int


@dataclass(frozen=True, slots=True)
class RatedRow(RatedStanding):
    """A system's standing by ratings, with its criterion and judges.

    Attributes:
        rubric: its title.
        title, definition: of the criterion.
        worst, best: the ends of the scale.
        validated: whether these judges' scores may rank systems.
        raters: how many they are.
        origin: of the entry that it is on the board, else empty.
    """

    rubric: str
    title: str
    definition: str
    worst: float
    best: float
    validated: bool
    raters: int
    origin: str


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """Agreement of a judge that is not a person with people on a criterion; None if unknown."""

    judge: str
    kind: str
    criterion: str
    title: str
    responses: int
    kappa: Estimate
    people_kappa: float | None
    correlation: Estimate
    accuracy: Estimate | None
    ranks: bool
