"""All systems' answers on one release, as arrays: what every analysis starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hellofresh.analyses._names import clean_name
from hellofresh.clock import now
from hellofresh.errors import ReleaseError, UnknownNameError
from hellofresh.files import canonical_json, sha256_text
from hellofresh.outputs import Verdict
from hellofresh.quarters import Quarter, utc_text
from hellofresh.releases import Release, labels_are_public, load_labels, load_release
from hellofresh.results.entries import MAJORITY, Entry, entries_of_runs, entries_of_submissions
from hellofresh.samples import Fact, Sample, to_json
from hellofresh.stats import BLOCKED, NO_ANSWER
from hellofresh.submissions.intake.released import due_in
from hellofresh.tasks import Task
from hellofresh.workspace import Workspace

__all__ = ["NOT_ASKED", "Panel", "PastScores", "Said", "System", "build_panel", "panel_of"]

NOT_ASKED = -3
"""Stands in a row of answers where the system was not asked about the sample."""
_CODE = {Verdict.YES: 1, Verdict.NO: 0, Verdict.NONE: NO_ANSWER, Verdict.BLOCKED: BLOCKED}


@dataclass(frozen=True, slots=True)
class Said:
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


@dataclass(frozen=True, slots=True)
class System:
    """A system under one regime.

    Attributes:
        label: what figures and tables call it; without control and bidi characters, different for different systems.
        model: the same for one system under several regimes, different for different systems.
        regime, team, lane, kind, smoke_test, knowledge_cutoff, origin: as on the board.
        said: by prompt; the first stands for the system.
        cost_usd, tokens_in, tokens_out: of the whole run, None where not known.
    """

    label: str
    model: str
    regime: str
    team: str
    lane: str
    kind: str
    smoke_test: bool
    knowledge_cutoff: str
    origin: str
    said: Sequence[Said] = field(repr=False)
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def headline(self) -> Said:
        """What stands for the system."""
        return self.said[0]

    @property
    def prompts(self) -> Sequence[Said]:
        """The single prompts, without their vote."""
        return [said for said in self.said if said.prompt != MAJORITY]

    @property
    def name(self) -> str:
        """Label and regime, for lists in which a system stands under several regimes."""
        return f"{self.label} · {self.regime}" if self.regime not in {"none", ""} else self.label


@dataclass(frozen=True, slots=True)
class PastScores:
    """Systems' answers in an earlier quarter, for comparisons over quarters.

    Attributes:
        quarter: the quarter.
        labels, groups: shape (n,), as in a panel.
        systems: as in a panel.
    """

    quarter: str
    labels: NDArray[np.int8]
    groups: NDArray[np.int64]
    systems: Sequence[System] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Panel:
    """One release with its labels and all systems' answers; n samples in the order of their ids.

    Attributes:
        task, quarter, bundled: of the release.
        samples: the samples, with texts where they are at hand.
        without_texts: shape (n,), where they are not.
        labels: shape (n,), 0 or 1.
        facts: what only the label side knows, one mapping a sample.
        periods: shape (n,), names of months or weeks.
        groups: shape (n,), equal for samples that belong together.
        systems: in the order of label and regime.
        notes: what was left out.
        past: the quarters before, oldest first.
        private: whether labels that are not public are in it: what is made of it stays in private.
    """

    task: Task
    quarter: Quarter
    bundled: bool
    samples: Sequence[Sample] = field(repr=False)
    without_texts: NDArray[np.bool_] = field(repr=False)
    labels: NDArray[np.int8] = field(repr=False)
    facts: Sequence[Mapping[str, Fact]] = field(repr=False)
    periods: NDArray[np.str_] = field(repr=False)
    groups: NDArray[np.int64] = field(repr=False)
    systems: Sequence[System] = field(repr=False)
    notes: Sequence[str] = ()
    past: Sequence[PastScores] = ()
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
        parts = [self._described(self.labels, self.groups, self.systems)]
        parts += [self._described(past.labels, past.groups, past.systems) for past in self.past]
        samples = [to_json(self.samples), to_json(self.facts), self.without_texts.tolist(), list(self.notes)]
        where = [self.task.name, str(self.quarter), self.bundled]
        return sha256_text(canonical_json([where, samples, parts]))

    @staticmethod
    def _described(labels: NDArray[np.int8], groups: NDArray[np.int64], systems: Sequence[System]) -> object:
        def row(said: Said) -> object:
            stated = ["" if np.isnan(value) else repr(value) for value in said.confidences.tolist()]
            return [said.prompt, said.verdicts.tolist(), stated]

        plain = [replace(system, said=()) for system in systems]
        return [labels.tolist(), groups.tolist(), to_json(plain), [[row(s) for s in system.said] for system in systems]]


def build_panel(
    workspace: Workspace,
    quarter: Quarter,
    task: Task,
    submissions: Path,
    moment: datetime | None = None,
    *,
    private: bool = False,
) -> Panel:
    """Read a release, its labels and all that was said about it; submissions only after the deadline.

    Args:
        workspace: where releases and runs are.
        quarter, task: of which release.
        submissions: folder of what was handed in.
        moment: the time that counts as now.
        private: whether labels that are not public may be used.

    Raises:
        ReleaseError: if there is no such release, or its labels are not public.
        DataError: if a file of it or of a run is damaged.
    """
    moment = moment or now()
    release = load_release(workspace, quarter, task)
    public = labels_are_public(workspace, quarter, task.name)
    if not (public or private):
        raise ReleaseError(
            f"the labels of {task.name} {quarter} are not revealed",
            expected=f"their reveal, from {utc_text(release.calendar.reveals)} on",
            fix="Maintainers, who hold them: add --private, and keep what it gives.",
            code="not-revealed",
        )
    panel = _read(workspace, release, submissions, moment)
    past = []
    for earlier, name in workspace.released():
        known = labels_are_public(workspace, earlier, name)
        if name == task.name and earlier < quarter and (known or not public):
            other = load_release(workspace, earlier, task)
            if other.bundled == release.bundled:
                before = _read(workspace, other, submissions, moment)
                past.append(PastScores(str(earlier), before.labels, before.groups, before.systems))
    return replace(panel, past=tuple(past), private=not public)


def _read(workspace: Workspace, release: Release, submissions: Path, moment: datetime) -> Panel:
    entries, notes = entries_of_runs(workspace, release)
    task = release.task
    due = due_in(workspace, release.quarter)  # a submission may cover several tasks and is checked as a whole
    labels = load_labels(workspace, release.quarter, task)
    over = release.is_over(moment)
    known = {task.name: {key: label.label for key, label in labels.items()}} if over else {}
    handed_in, about = entries_of_submissions(submissions, due, moment, known)
    waiting = handed_in[task.name]
    if waiting and not over:
        about.append(f"{len(waiting)} handed in: shown after the deadline, {utc_text(release.calendar.deadline)}")
        waiting = ()
    facts = [labels[sample.id].facts for sample in release.samples]
    truth = [labels[sample.id].label for sample in release.samples]
    return panel_of(release, truth, facts, [*entries, *waiting], [clean_name(note, 400) for note in (*notes, *about)])


def panel_of(
    release: Release,
    labels: Sequence[int],
    facts: Sequence[Mapping[str, Fact]],
    entries: Sequence[Entry],
    notes: Sequence[str] = (),
) -> Panel:
    """Arrange a release's labels and systems as arrays; labels and facts in the order of its samples."""
    samples = release.samples
    place = {sample.id: number for number, sample in enumerate(samples)}
    return Panel(
        task=release.task,
        quarter=release.quarter,
        bundled=release.bundled,
        samples=samples,
        without_texts=np.array([sample.id in release.without_texts for sample in samples], dtype=np.bool_),
        labels=np.array(labels, dtype=np.int8),
        facts=facts,
        periods=np.array([sample.period for sample in samples], dtype=np.str_),
        groups=np.unique([sample.group for sample in samples], return_inverse=True)[1].astype(np.int64),
        systems=_systems(entries, place),
        notes=tuple(notes),
    )


def _systems(entries: Sequence[Entry], place: Mapping[str, int]) -> tuple[System, ...]:
    """Systems in order; where two have one name, the team stands with it, else a number."""
    whose: dict[str, set[str]] = {}
    for entry in entries:
        whose.setdefault(clean_name(entry.system), set()).add(_model(entry))
    taken: dict[str, str] = {}
    systems = []
    for entry in sorted(entries, key=lambda item: (item.system, item.lane, item.origin)):
        name, model = clean_name(entry.system), _model(entry)
        label = name if len(whose[name]) == 1 else f"{name} ({clean_name(entry.team)})"
        number = 2
        while taken.setdefault(label, model) != model:
            label, number = f"{name} ({number})", number + 1
        systems.append(_system(entry, label, model, place))
    return tuple(sorted(systems, key=lambda system: (system.label, system.regime, system.origin)))


def _model(entry: Entry) -> str:
    return f"{entry.lane}/{entry.system}" if entry.lane == "harness" else f"{entry.lane}/{entry.origin}"


def _system(entry: Entry, label: str, model: str, place: Mapping[str, int]) -> System:
    """As arrays; what was said of a sample that was taken down since is left out."""
    said = []
    for prompt, by_sample in entry.verdicts.items():
        verdicts = np.full(len(place), NOT_ASKED, dtype=np.int8)
        stated = np.full(len(place), np.nan)
        for key in by_sample.keys() & place.keys():
            verdicts[place[key]] = _CODE[by_sample[key]]
        stating = entry.confidences.get(prompt, {})
        for key in stating.keys() & place.keys():
            stated[place[key]] = stating[key]
        said.append(Said(clean_name(prompt), verdicts, stated))
    return System(
        label=label,
        model=model,
        regime=clean_name(entry.regime),
        team=clean_name(entry.team),
        lane=entry.lane,
        kind=entry.kind,
        smoke_test=entry.smoke_test,
        knowledge_cutoff=clean_name(entry.knowledge_cutoff),
        origin=clean_name(entry.origin, 200),
        said=tuple(said),
        cost_usd=entry.cost_usd,
        tokens_in=entry.tokens_in,
        tokens_out=entry.tokens_out,
    )
