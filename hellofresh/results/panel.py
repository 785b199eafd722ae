"""All systems' outputs on one split with labels, groups and periods, as arrays.

Scores, standings, calibration, analyses and board tables are functions of a panel. It holds no path and reads no file;
`hellofresh.results.build` makes one of entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hellofresh.editions import Edition
from hellofresh.errors import UnknownNameError
from hellofresh.files import canonical_json, sha256_text
from hellofresh.samples import Fact, Sample, to_json
from hellofresh.stats import NO_ANSWER, cluster_tables
from hellofresh.tasks import Task

__all__ = [
    "ALL_PERIODS",
    "CONTROLS",
    "MAJORITY",
    "NOT_ASKED",
    "SINGLE",
    "EntrySection",
    "Panel",
    "PromptOutputs",
    "QuarterScore",
    "System",
    "section_of",
]  # fmt: skip

ALL_PERIODS = "all"
"""Stands where a period's name would, for all samples of the split."""
MAJORITY = "majority"
"""Prompt name of the majority vote of all prompts."""
SINGLE = "single"
"""Prompt name where there is one prediction a sample and no choice of prompts: baselines and submissions."""
NOT_ASKED = -3
"""Stands in a row of answers where the system was not asked about the sample."""
CONTROLS = frozenset({"placebo"})
"""Regimes that exist to be compared with: what they gain is no gain of a system."""


class EntrySection(StrEnum):
    """What an entry is to the ranking. Systems are ranked; the others are compared with them."""

    SYSTEM = "system"
    CONTROL = "control"
    BASELINE = "baseline"
    SMOKE_TEST = "smoke-test"


def section_of(kind: str, regime: str, *, smoke_test: bool) -> EntrySection:
    """The section of an entry of this kind and regime."""
    if smoke_test:
        return EntrySection.SMOKE_TEST
    if kind == "baseline":
        return EntrySection.BASELINE
    return EntrySection.CONTROL if regime in CONTROLS else EntrySection.SYSTEM


@dataclass(frozen=True, slots=True)
class PromptOutputs:
    """What one system said with one prompt.

    Attributes:
        prompt: the prompt, `majority` or `single`.
        verdicts: shape (n,), 1, 0, -1 for no answer, -2 for blocked, `NOT_ASKED`.
        confidences: shape (n,), stated probability that the label is 1, nan where none was stated.
    """

    prompt: str
    verdicts: NDArray[np.int8]
    confidences: NDArray[np.float64]

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Shape (n,), where there is an answer or a silence."""
        found: NDArray[np.bool_] = self.verdicts != NOT_ASKED
        return found

    def predictions(self, where: NDArray[np.bool_]) -> NDArray[np.int8]:
        """Answers on some samples as statistics take them: blocked is no answer."""
        return np.where(self.verdicts[where] < 0, NO_ANSWER, self.verdicts[where]).astype(np.int8)


@dataclass(frozen=True, slots=True)
class System:
    """A system under one regime.

    Attributes:
        name: the short name, without control and bidi characters; no two systems of a panel share one.
        label: what figures and tables call all of its regimes; different for different models.
        model: the same for one system under several regimes, different for different systems.
        regime, team, lane, kind, settings, smoke_test, knowledge_cutoff, origin: as on the board.
        said: by prompt; the first stands for the system.
        cost_usd, tokens_in, tokens_out: of the whole run, None where not known.
    """

    name: str
    label: str
    model: str
    regime: str
    team: str
    lane: str
    kind: str
    settings: str
    smoke_test: bool
    knowledge_cutoff: str
    origin: str
    said: Sequence[PromptOutputs] = field(repr=False)
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def headline(self) -> PromptOutputs:
        """What stands for the system."""
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
        """What it is to the ranking."""
        return section_of(self.kind, self.regime, smoke_test=self.smoke_test)


@dataclass(frozen=True, slots=True)
class QuarterScore:
    """A ranked system's F1 in one quarter.

    Attributes:
        edition: the edition.
        system: whose, without its outputs.
        f1, variance: with the square of its standard error.
    """

    edition: str
    system: System
    f1: float
    variance: float

    @property
    def key(self) -> tuple[str, ...]:
        """The same for one system in several quarters."""
        return self.system.model, self.system.regime, self.system.settings


@dataclass(frozen=True, slots=True)
class Panel:
    """One release with its labels and all systems' answers; n samples in the order of their ids.

    Attributes:
        task, quarter, split, bundled: of the release.
        samples: the samples, with texts where they are at hand.
        without_texts: shape (n,), where they are not.
        labels: shape (n,), 0 or 1.
        facts: what only the label side knows, one mapping a sample.
        periods: shape (n,), names of months or weeks.
        groups: shape (n,), equal for samples that belong together.
        systems: in the order of label and regime.
        notes: what was left out.
        past: scores of the quarters before.
        private: whether labels that are not public are in it: what is made of it stays in private.
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
    def period_names(self) -> list[str]:
        """Periods with samples, in order of time."""
        return sorted(set(self.periods.tolist()))

    @property
    def models(self) -> Sequence[Sequence[System]]:
        """The systems, those of one model under its several regimes together."""
        found: dict[str, list[System]] = {}
        for system in self.systems:
            found.setdefault(system.model, []).append(system)
        return list(found.values())

    def tables(self, systems: Sequence[System], where: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The systems' confusion tables by cluster on some samples, shape (systems, g, 4)."""
        rows = [cluster_tables(self.labels[where], s.headline.predictions(where), self.groups[where]) for s in systems]
        return np.stack(rows)

    def only(self, names: Sequence[str]) -> Panel:
        """The same with these systems alone.

        Raises:
            UnknownNameError: if there is no system of such a name.
        """
        known = {system.label for system in self.systems}
        for name in names:
            if name not in known:
                raise UnknownNameError("system", name, known)
        kept = [system for system in self.systems if system.label in names]
        return replace(self, systems=kept)

    @property
    def sha256(self) -> str:
        """Hash of all that analyses are made from."""
        parts = [self._described(self.labels, self.groups, self.systems), to_json(self.past)]
        samples = [to_json(self.samples), to_json(self.facts), self.without_texts.tolist(), list(self.notes)]
        where = [self.task.name, str(self.edition), self.bundled]
        return sha256_text(canonical_json([where, samples, parts]))

    @staticmethod
    def _described(labels: NDArray[np.int8], groups: NDArray[np.int64], systems: Sequence[System]) -> object:
        def row(said: PromptOutputs) -> object:
            stated = ["" if np.isnan(value) else repr(value) for value in said.confidences.tolist()]
            return [said.prompt, said.verdicts.tolist(), stated]

        plain = [system.plain for system in systems]
        return [labels.tolist(), groups.tolist(), to_json(plain), [[row(s) for s in system.said] for system in systems]]
