"""Schemas of the board's tables, one type of rows per table, for writers and readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hellofresh.core.data_sets import DatasetFacts
from hellofresh.core.errors import UsageError
from hellofresh.core.folders import FileEntry
from hellofresh.core.parquet import Estimate, Table
from hellofresh.core.plugins import plugins
from hellofresh.core.systems import SystemId
from hellofresh.results.card import CardRow
from hellofresh.results.over_quarters import OverQuartersRow
from hellofresh.results.split.tables import (
    AnswerRow,
    CeilingRow,
    PeopleRow,
    RatedStanding,
    ReceiptRow,
    Score,
)
from hellofresh.results.standings import Pair, Standing

NO_ANSWER, REFUSED = -1, -2
"""Codes in place of a class: no readable answer, and a refusal."""


@dataclass(frozen=True, slots=True)
class PeriodBalance:
    """The samples of a period of a release and, once labels are public, its candidates by label.

    Attributes:
        source, period: the source and the period.
        candidates: number of candidates of each label, from label 0; None before the reveal.
        taken_per_class: samples of each label.
        classes: number of labels.
    """

    source: str
    period: str
    candidates: tuple[int, ...] | None
    taken_per_class: int
    classes: int

    @property
    def offered(self) -> tuple[int, ...]:
        """Number of candidates of each label, from the last label to label 0; zeros before the reveal."""
        return (self.candidates or (0,) * self.classes)[::-1]

    @property
    def taken(self) -> int:
        """Samples of all labels."""
        return self.classes * self.taken_per_class


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A step of a collection's funnel: rows in, what a filter dropped, or candidates."""

    source: str
    step: int
    name: str
    meaning: str
    count: int
    dropped: bool


@dataclass(frozen=True, slots=True)
class DueId:
    """A sample that submissions must cover. One that was `taken_down` is optional; its task is empty."""

    id: str
    taken_down: bool


@dataclass(frozen=True, slots=True)
class Dates:
    """Times of a split's opening, deadline and reveal (UTC, ISO 8601)."""

    opens: str
    deadline: str
    reveals: str


@dataclass(frozen=True, slots=True)
class Participant(SystemId):
    """A participant in a split with secret labels; no field depends on a label.

    Attributes:
        entered: the day on which its predictions came in or its run was started (`2026-11-21`), empty if not known.
        judged, samples: samples that it judged, and samples there are; 0 judged before its predictions may be used.
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
            quarter's first day; impossible where nobody had decided anything.
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
        n, wrong: samples judged, and those without the right answer.
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
class SampleRow:
    """A sample on the board.

    Attributes:
        label, right, facts: None, None and empty before the reveal.
        published: whether its texts are published.
        title, link: as its task gives them, empty if absent.
        parts, kinds, texts: names, kinds and texts of what it consists of (see `hellofresh.tasks.TextPart`).
        judged, right: number of systems (without baselines and smoke tests) that judged it, and that were right.
    """

    id: str
    period: str
    date: str
    group: str
    license: str
    revealed: bool
    published: bool
    label: int | None
    facts: str
    title: str
    parts: tuple[str, ...]
    kinds: tuple[str, ...]
    texts: tuple[str, ...]
    link: str
    judged: int
    right: int | None


@dataclass(frozen=True, slots=True)
class TranscriptStep:
    """One event on the way to a system's answer.

    Attributes:
        id, origin: the sample and the system.
        place: in the transcript, from 0.
        kind: `asked`, `searched`, `read` or `noted`.
        prompt: the prompt that it belongs to, empty where it serves all.
        name: of the step or note.
        role, model: who was asked.
        number: which search of the sample.
        text: the answer, the query, the summary of a page, or what was noted.
        url, title: of a page.
        problem: the error of a search or a page.
        tokens_in, tokens_out, cost_usd: of a request, None where not known.
    """

    id: str
    origin: str
    place: int
    kind: str
    prompt: str = ""
    name: str = ""
    role: str = ""
    model: str = ""
    number: int = 0
    text: str = ""
    url: str = ""
    title: str = ""
    problem: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A wording that runs ended their questions with, where texts may be shown.

    Attributes:
        frame: the number of what stands before it, see `QuestionRow`.
        prompt, instruction: its name and its text.
        origins: of the runs.
    """

    frame: int
    prompt: str
    instruction: str
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """The filled frame before the wordings for one sample; slots for a run's findings stay unfilled."""

    id: str
    frame: int
    text: str


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distribution of a number over samples: the length of a text in words, or a fact of labels.

    Attributes:
        kind: `words` or `fact`.
        name: of the text or the fact.
        label: of which class, None for all samples.
        n, missing: samples where it is known, and where it is not.
        mean, smallest, p10, p25, median, p75, p90, largest: over the `n` samples.
    """

    kind: str
    name: str
    label: int | None
    n: int
    missing: int
    mean: float
    smallest: float
    p10: float
    p25: float
    median: float
    p75: float
    p90: float
    largest: float


@dataclass(frozen=True, slots=True)
class PeriodDates:
    """A period's samples, and the days (`2023-04-03`) of the first and the last of them."""

    period: str
    samples: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class LabelCount:
    """How many samples of a revealed split have a label."""

    label: int
    samples: int


@dataclass(frozen=True, slots=True)
class License:
    """How many samples are under a licence."""

    license: str
    samples: int


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """Facts about a split as a whole, from its manifest.

    Attributes:
        version: of the manifest, which grows with whatever is published.
        sha256: hash of the manifest itself.
        code: the version that built it.
        source: where the rows come from, `bundled-sample` for those written for the project.
        texts: included or withheld.
        revealed: whether labels are public.
        corrected: samples whose labels were corrected since.
        seed, rule: how samples were drawn.
        draw: commitment to the secret key of the draw, empty if absent.
        commitments: how labels are committed to.
        parameters: settings of the collection, as JSON.
    """

    version: int
    sha256: str
    code: str
    source: str
    texts: str
    revealed: bool
    corrected: int
    seed: str
    rule: str
    draw: str
    commitments: str
    parameters: str


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A file that a release was made from; `size` is in bytes."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Prospect:
    """The outcome of a prospective split.

    Attributes:
        drawn: samples that were undecided when they were published.
        decided: how many of them were decided since, 0 before the split is resolved.
        outcomes: how many of these have each label, from label 0; none before the reveal.
        undecided, no_label, early: numbers dropped because they were still undecided, were decided without a label, or
            a decision was visible before the deadline.
        resolved: when (UTC, ISO 8601), empty before.
    """

    drawn: int
    decided: int
    outcomes: tuple[int, ...]
    undecided: int
    no_label: int
    early: int
    resolved: str


SPLIT_KEYS = dict.fromkeys(("edition", "task", "split"), str)
RELEASE_KEYS = dict.fromkeys(("edition", "task"), str)

SAMPLES = Table(SampleRow, SPLIT_KEYS)


@dataclass(frozen=True, slots=True)
class RatedRow(RatedStanding):
    """A system's standing by ratings, with its criterion and judges.

    Attributes:
        rubric: its title.
        title, definition: of the criterion.
        worst, best: the ends of the scale.
        validated: whether these judges' scores may rank systems.
        raters: how many they are: the interval speaks of other samples, and of these raters only.
    """

    rubric: str
    title: str
    definition: str
    worst: float
    best: float
    validated: bool
    raters: int


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


@dataclass(frozen=True, slots=True)
class RatedResponse:
    """A response with its mean overall ratings by people and judges.

    Attributes:
        id: of the sample.
        address: where the post can be seen.
        system, text, sources: the response; its text is empty where the release withholds texts.
        people, judged: mean overall rating by people, and by models and classifiers; None if absent.
        raters: people who rated it.
    """

    id: str
    address: str
    system: str
    text: str
    sources: tuple[str, ...]
    people: float | None
    judged: float | None
    raters: int


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document that is relevant to a query or highly ranked by a system, if its text may be shown.

    Attributes:
        id: in the corpus that is searched.
        title, text: of it; long texts are cut.
    """

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class AddedTable:
    """A table of another package, named by an entry point of `hellofresh.tables`; absent, pages find no rows.

    Attributes:
        table: the type of its rows, which no other table has, with `SPLIT_KEYS` or `RELEASE_KEYS`.
        rows: makes the rows of a split (`hellofresh.results.split.open.BoardSplit`).
        files: names what rows depend on, besides releases, scores and runs, in a workspace and edition.
    """

    table: Table[Any]
    rows: Callable[[Any], Iterable[object]]
    files: Callable[[Any, Any], Iterable[Path]] = lambda workspace, edition: ()


TABLES: Mapping[str, Table[Any]] = {
    "scores": Table(Score, {"split": str}),
    "periods": Table(PeriodBalance, RELEASE_KEYS),
    "funnels": Table(FunnelStep, RELEASE_KEYS),
    "due_ids": Table(DueId, SPLIT_KEYS),
    "quarters": Table(Dates, SPLIT_KEYS),
    "standings": Table(Standing, SPLIT_KEYS),
    "pairs": Table(Pair, SPLIT_KEYS),
    "fixed": Table(OverQuartersRow, {"task": str, "split": str, "bundled": bool}),
    "systems": Table(SystemFacts, SPLIT_KEYS),
    "participants": Table(Participant, SPLIT_KEYS),
    "shares": Table(AnswerShare, SPLIT_KEYS),
    "agreement": Table(AgreementRow, SPLIT_KEYS),
    "receipts": Table(ReceiptRow, SPLIT_KEYS),
    "calibration": Table(CalibrationRow, SPLIT_KEYS),
    "reliability": Table(ReliabilityBin, SPLIT_KEYS),
    "mistakes": Table(Mistakes, SPLIT_KEYS),
    "confusion": Table(ConfusionCell, SPLIT_KEYS),
    "conduct": Table(ConductRow, SPLIT_KEYS),
    "samples": SAMPLES,
    "answers": Table(AnswerRow, SPLIT_KEYS),
    "transcripts": Table(TranscriptStep, SPLIT_KEYS),
    "prompts": Table(PromptRow, SPLIT_KEYS),
    "questions": Table(QuestionRow, SPLIT_KEYS),
    "distributions": Table(Distribution, SPLIT_KEYS),
    "dates": Table(PeriodDates, SPLIT_KEYS),
    "labels": Table(LabelCount, SPLIT_KEYS),
    "licenses": Table(License, SPLIT_KEYS),
    "releases": Table(ReleaseFacts, SPLIT_KEYS),
    "files": Table(FileEntry, SPLIT_KEYS),
    "sources": Table(SourceRow, SPLIT_KEYS),
    "prospective": Table(Prospect, SPLIT_KEYS),
    "datasets": Table(DatasetFacts, SPLIT_KEYS),
    "ratings": Table(RatedRow, SPLIT_KEYS),
    "people": Table(PeopleRow, SPLIT_KEYS),
    "ceilings": Table(CeilingRow, SPLIT_KEYS),
    "card": Table(CardRow, SPLIT_KEYS),
    "judges": Table(JudgeRow, SPLIT_KEYS),
    "responses": Table(RatedResponse, SPLIT_KEYS),
    "documents": Table(ShownDocument, SPLIT_KEYS),
}
"""This package's tables of the board, by the name of its file; each has rows of its own."""


@cache
def added_tables() -> Mapping[str, AddedTable]:
    """The tables of other packages, loaded on use, since their modules import this one."""
    added: dict[str, AddedTable] = plugins("hellofresh.tables")
    if taken := TABLES.keys() & added.keys():
        what = f"the table {min(taken)!r} of another package has the name of one of ours"
        raise UsageError(what, expected="an entry point with another name", code="table-exists")
    return added


@cache
def all_tables() -> Mapping[str, Table[Any]]:
    """Every table of the board, by the name of its file."""
    return {**TABLES, **{name: one.table for name, one in added_tables().items()}}
