"""All systems' outputs on one split with labels, groups and periods, as arrays.

Scores, standings, calibration, analyses and board tables are functions of a panel. It holds no path and reads no file;
`hellofresh.results.split.arrays` makes one of entries.
Names chosen by others are made displayable: one line, visible characters only, bounded length, all different.
"""

from __future__ import annotations

import unicodedata
from calendar import monthrange
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hellofresh.core.editions import Edition
from hellofresh.core.errors import UnknownNameError
from hellofresh.core.files import canonical_json, sha256_text
from hellofresh.core.systems import Provenance, SystemId
from hellofresh.stats.clusters import cluster_tables
from hellofresh.stats.intervals import Interval, metric_interval
from hellofresh.stats.metrics import NO_ANSWER, Metric
from hellofresh.tasks import TASKS, Task
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Fact, Sample, to_json

ALL_PERIODS = "all"
"""Name in place of a period for all samples of the split."""
MAJORITY = "majority"
"""Prompt name of the majority vote of all prompts."""
SINGLE = "single"
"""Prompt name of baselines and submissions, which have one prediction per sample."""
BLOCKED = -2
"""Code of a refusal among answers; `hellofresh.stats.metrics.NO_ANSWER` is that of other missing answers."""
NOT_ASKED = -3
"""Code among answers for samples that the system was not asked about."""
CONTROLS = frozenset({"placebo"})
"""Regimes that are only controls for comparisons."""
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MOST_MARKS = 2


class EntrySection(StrEnum):
    """Role of an entry in the ranking. Systems are ranked; the others are compared with them."""

    SYSTEM = "system"
    CONTROL = "control"
    BASELINE = "baseline"
    PEOPLE = "people"
    SMOKE_TEST = "smoke-test"


def section_of(kind: str, regime: str, *, smoke_test: bool) -> EntrySection:
    """The section of an entry of this kind and regime."""
    if smoke_test:
        return EntrySection.SMOKE_TEST
    if kind == "baseline":
        return EntrySection.BASELINE
    return EntrySection.CONTROL if regime in CONTROLS else EntrySection.SYSTEM


def is_hollow(provenance: str, task: str, split: str) -> bool:
    """Whether an upload's answers may have been looked up; responses are rated here, and decided nowhere else."""
    decided = task in TASKS and TASKS[task].output is not Response
    return provenance == Provenance.UPLOADED and split == MAIN and decided


@dataclass(frozen=True, slots=True)
class PromptOutputs:
    """One system's outputs with one prompt.

    Attributes:
        prompt: the prompt, `majority` or `single`.
        answers: shape (n,), the class that was chosen (0 for other outputs), `NO_ANSWER`, `BLOCKED` or
            `NOT_ASKED`.
        probabilities: shape (n, classes), as stated, nan where none were.
        certainty: shape (n,), stated chance that the answer is right, nan where none was.
        numbers: by metric, shape (n, 2): the value of each output, nan where it is missing, and its weight.
        repeated: outputs of further repetitions.
    """

    prompt: str
    answers: NDArray[np.int8]
    probabilities: NDArray[np.float64]
    certainty: NDArray[np.float64]
    numbers: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    repeated: Sequence[PromptOutputs] = ()

    @classmethod
    def of(cls, prompt: str, answers: NDArray[np.int8], classes: int = 2) -> PromptOutputs:
        """Answers without probabilities."""
        n = answers.size
        return cls(prompt, answers.astype(np.int8), np.full((n, classes), np.nan), np.full(n, np.nan))

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Shape (n,), where there is an answer or a silence."""
        found: NDArray[np.bool_] = self.answers != NOT_ASKED
        return found

    @property
    def forecasts(self) -> NDArray[np.float64]:
        """Shape (n, classes), probabilities as stated, else the stated chance of being right for the chosen class and
        equal parts of the rest for the others, else 1 for the chosen class; nan where nothing is stated or chosen.
        """
        sure = np.where(np.isnan(self.certainty), 1.0, self.certainty)[:, None]
        classes = self.probabilities.shape[1]
        is_chosen = self.answers[:, None] == np.arange(classes)
        chosen = np.where(is_chosen, sure, (1 - sure) / (classes - 1))
        chosen[self.answers < 0] = np.nan
        return np.where(np.isnan(self.probabilities), chosen, self.probabilities)

    @property
    def chances(self) -> NDArray[np.float64]:
        """Shape (n,), the chance of class 1, see `forecasts`; nan without a choice."""
        return np.where(self.answers < 0, np.nan, self.forecasts[:, 1])

    @property
    def too_early(self) -> NDArray[np.bool_]:
        """Shape (n,), where it said that it is too early to tell: no class, and all with the same probability."""
        even = (self.probabilities == self.probabilities[:, :1]).all(axis=1)
        found: NDArray[np.bool_] = even & (self.answers == NO_ANSWER)
        return found

    def predictions(self, where: NDArray[np.bool_]) -> NDArray[np.int8]:
        """Answers on some samples as statistics take them: blocked counts as silence."""
        return np.where(self.answers[where] < 0, NO_ANSWER, self.answers[where]).astype(np.int8)


@dataclass(frozen=True, slots=True)
class System(SystemId):
    """A system under one regime, with displayable names.

    Attributes:
        name: the short name, without control and bidi characters; no two systems of a panel share one.
        label: name of the model in figures and tables, the same for all its regimes.
        model: the same for one system under several regimes, different for different systems.
        said: outputs by prompt; the first is the headline.
        cost_usd, tokens_in, tokens_out: of the whole run, None if unknown.
    """

    name: str
    label: str
    model: str
    said: Sequence[PromptOutputs] = field(repr=False)
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def headline(self) -> PromptOutputs:
        """The outputs that represent the system."""
        return self.said[0]

    @property
    def prompts(self) -> Sequence[PromptOutputs]:
        """The single prompts, without their vote."""
        return [said for said in self.said if said.prompt != MAJORITY]

    @property
    def plain(self) -> System:
        """The system without its outputs."""
        return replace(self, said=())

    @property
    def section(self) -> EntrySection:
        """Its role in the ranking."""
        return section_of(self.kind, self.regime, smoke_test=self.smoke_test)


@dataclass(frozen=True, slots=True)
class QuarterScore:
    """A ranked system's headline metric in one quarter.

    Attributes:
        edition: the edition.
        system: whose, without its outputs.
        value, variance: with the square of its standard error.
    """

    edition: str
    system: System
    value: float
    variance: float

    @property
    def key(self) -> tuple[str, ...]:
        """Identity of a system across quarters."""
        return self.system.model, self.system.regime, self.system.settings


@dataclass(frozen=True, slots=True)
class Panel:
    """One release with its labels and all systems' answers; n samples in the order of their ids.

    Attributes:
        task, edition, split, bundled: of the release; the task as it is scored on the split.
        samples: the samples, with texts where they are available.
        without_texts: shape (n,), where they are not.
        labels: shape (n,), the class of each sample; 0 where the task has no classes.
        facts: facts of labels, one mapping per sample.
        periods: shape (n,), names of months or weeks.
        groups: shape (n,), equal for samples that belong together.
        systems: in the order of label and regime.
        notes: sentences about what was left out.
        past: scores of earlier quarters.
        private: whether it contains secret labels, so that results made from it must stay private.
    """

    task: Task
    edition: Edition
    split: str
    bundled: bool
    samples: Sequence[Sample] = field(repr=False)
    without_texts: NDArray[np.bool_] = field(repr=False)
    labels: NDArray[np.int8] = field(repr=False)
    facts: Sequence[Mapping[str, Fact]] = field(repr=False)
    periods: NDArray[np.str_] = field(repr=False)
    groups: NDArray[np.int64] = field(repr=False)
    systems: Sequence[System] = field(repr=False)
    notes: Sequence[str] = ()
    past: Sequence[QuarterScore] = ()
    private: bool = False

    @property
    def metrics(self) -> list[Metric]:
        """The task's, with those of facts that are known of two samples at least."""
        known = {metric: int(np.isfinite(self.known(metric.fact)).sum()) for metric in self.task.fact_metrics}
        return [*self.task.metrics, *(metric for metric, samples in known.items() if samples > 1)]

    def known(self, fact: str) -> NDArray[np.float64]:
        """Shape (n,), a fact that is a number, nan where it is not known."""
        values = [facts.get(fact) for facts in self.facts]
        numbers = [float(v) if isinstance(v, int | float) and not isinstance(v, bool) else np.nan for v in values]
        return np.array(numbers, dtype=np.float64)

    @property
    def period_names(self) -> list[str]:
        """Periods with samples, in order of time; a frozen edition is not divided."""
        return [] if not self.edition.is_living else sorted(set(self.periods.tolist()))

    @property
    def models(self) -> Sequence[Sequence[System]]:
        """The systems grouped by model."""
        found: dict[str, list[System]] = {}
        for system in self.systems:
            found.setdefault(system.model, []).append(system)
        return list(found.values())

    def statistics(self, said: PromptOutputs, where: NDArray[np.bool_], metric: Metric) -> NDArray[np.float64]:
        """A metric's statistics of some samples, shape (samples, k)."""
        if metric.fact:  # ranks are those among the samples that are asked for
            return metric.statistics(self.known(metric.fact)[where], said.chances[where])
        if metric.of_forecasts:
            return metric.statistics(self.labels[where], said.forecasts[where])
        if not metric.of_numbers:
            return metric.statistics(self.labels[where], said.predictions(where))
        found = said.numbers.get(metric.name)
        values, weights = (np.full(len(self.labels), np.nan), np.ones(len(self.labels))) if found is None else found.T
        return metric.statistics(weights[where], values[where])

    def table(self, said: PromptOutputs, where: NDArray[np.bool_], metric: Metric | None = None) -> NDArray[np.float64]:
        """A metric's sums by cluster on some samples, shape (g, k); of the headline metric if none is named."""
        return cluster_tables(self.statistics(said, where, metric or self.task.headline), self.groups[where])

    def measured(
        self, said: PromptOutputs, where: NDArray[np.bool_], metric: Metric | None = None
    ) -> tuple[float, Interval]:
        """A metric on some samples with its interval; of the headline metric if none is named."""
        metric = metric or self.task.headline
        table = self.table(said, where, metric)
        return float(metric.value(table.sum(axis=0))), metric_interval(table, metric, n=int(where.sum()))

    def tables(
        self, said: Sequence[PromptOutputs], where: NDArray[np.bool_], metric: Metric | None = None
    ) -> NDArray[np.float64]:
        """Tables of several systems or prompts, shape (number of them, g, k)."""
        return np.stack([self.table(one, where, metric) for one in said])

    def part(self, said: PromptOutputs, where: NDArray[np.bool_], part: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The headline's sums over a part of some samples, by cluster of all of them, shape (g, k)."""
        statistics = self.statistics(said, where, self.task.headline) * part[where][:, None]
        return cluster_tables(statistics, self.groups[where])

    def is_one_class(self, where: NDArray[np.bool_]) -> bool:
        """Whether all these samples are of one class, so that the headline is meaningless."""
        return bool(self.task.classes) and np.unique(self.labels[where]).size < 2

    def only(self, names: Sequence[str]) -> Panel:
        """The panel with only these systems.

        Raises:
            UnknownNameError: if a name is unknown.
        """
        known = {system.label for system in self.systems}
        for name in names:
            if name not in known:
                raise UnknownNameError("system", name, known)
        kept = [system for system in self.systems if system.label in names]
        return replace(self, systems=kept)

    @property
    def sha256(self) -> str:
        """Hash of all inputs of analyses."""

        def described(said: PromptOutputs) -> object:
            stated = [part.tolist() for part in (said.probabilities, said.certainty)]
            numbers = {name: values.tolist() for name, values in said.numbers.items()}
            return [said.prompt, said.answers.tolist(), repr(stated), repr(sorted(numbers.items()))]

        plain = to_json([system.plain for system in self.systems])
        of_systems = [[described(said) for said in system.said] for system in self.systems]
        parts = [[self.labels.tolist(), self.groups.tolist(), plain, of_systems], to_json(self.past)]
        samples = [to_json(self.samples), to_json(self.facts), self.without_texts.tolist(), list(self.notes)]
        where = [self.task.name, str(self.edition), self.bundled]
        return sha256_text(canonical_json([where, samples, parts]))


class Exposure(StrEnum):
    """Whether outcomes may be in a system's training data."""

    POSSIBLE = "possible"
    UNLIKELY = "unlikely"
    UNKNOWN = "unknown"
    IMPOSSIBLE = "impossible"


def cutoff_end(text: str) -> datetime | None:
    """The first moment after a cutoff given as a day, a month or a year; None otherwise."""
    parts = text.split("-")
    try:
        year, *rest = (int(part) for part in parts)
        month = rest[0] if rest else 12
        day = rest[1] if len(rest) > 1 else monthrange(year, month)[1]
        last = date(year, month, day)
        return datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1) if len(parts) <= 3 else None
    except (ValueError, OverflowError):
        return None


def exposure(cutoff: str, since: datetime, split: str) -> Exposure:
    """Exposure to a split's outcomes by a knowledge cutoff: knowledge from after `since` may include them.

    The outcomes of a prospective split cannot be known; `none` is the cutoff of systems without knowledge.
    """
    if split == PROSPECTIVE:
        return Exposure.IMPOSSIBLE
    end = cutoff_end(cutoff)
    if end is None:
        return Exposure.UNLIKELY if cutoff == "none" else Exposure.UNKNOWN
    return Exposure.POSSIBLE if end > since else Exposure.UNLIKELY


def clean_name(text: str, most: int = 80) -> str:
    """The text in NFC without control, bidi and zero-width characters and without heaps of combining marks.

    Args:
        text: anything.
        most: longest name in characters; what is beyond becomes an ellipsis.
    """
    kept, marks = [], 0
    for char in unicodedata.normalize("NFC", text[: 20 * most]):
        category = unicodedata.category(char)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if category in _INVISIBLE:
            kept.append(" " if char in "\t\n\r" else "")
        elif marks <= _MOST_MARKS:
            kept.append(char)
    return cut_name(" ".join("".join(kept).split()), most) or "(no name)"


def cut_name(text: str, most: int) -> str:
    """The text, cut in its middle where it is longer: beginnings and ends tell names apart."""
    if len(text) <= most:
        return text
    tail = max(1, most // 3)
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def short_names(systems: Sequence[SystemId]) -> list[str]:
    """A name for each system, no two alike.

    It is the system's own name; where two share one, the regime stands with it if it differs, then settings, then the
    team. What is still alike is numbered in the order of origins.
    """
    names = [clean_name(item.system) for item in systems]
    for part, pattern in (("regime", "{} \N{MIDDLE DOT} {}"), ("settings", "{}, {}"), ("team", "{} ({})")):
        for numbers in _alike(names):
            values = {number: getattr(systems[number], part) for number in numbers}
            for number, value in values.items() if len(set(values.values())) > 1 else ():
                if value not in {"", "none"}:
                    names[number] = pattern.format(names[number], clean_name(value))
    taken: set[str] = set()
    for number in sorted(range(len(systems)), key=lambda place: systems[place].origin):
        name, count = names[number], 2
        while names[number].casefold() in taken:
            names[number], count = f"{name} ({count})", count + 1
        taken.add(names[number].casefold())
    return names


def _alike(names: Sequence[str]) -> list[list[int]]:
    """Groups of positions whose names are equal except for case."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        found[name.casefold()].append(number)
    return [numbers for numbers in found.values() if len(numbers) > 1]
