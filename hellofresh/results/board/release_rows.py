"""Rows of the board on a release as a whole: its dates, sources, periods, labels and texts."""

from __future__ import annotations

from dataclasses import dataclass


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
class Dates:
    """Times of a split's opening, deadline and reveal (UTC, ISO 8601)."""

    opens: str
    deadline: str
    reveals: str


@dataclass(frozen=True, slots=True)
class DueId:
    """A sample that submissions must cover. One that was `taken_down` is optional; its task is empty."""

    id: str
    taken_down: bool


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
class License:
    """How many samples are under a licence."""

    license: str
    samples: int


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
