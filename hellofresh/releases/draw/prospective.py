"""The prospective split: samples that were undecided at publication, so that no system can have seen a label.

They are undecided candidates of a collection (`--pending`), published at once with a deadline a few days later. No
commitments are made, as the labels do not exist yet. A later collection decides them; undecided ones are dropped with a
reason. `releases/<quarter>/<task>/prospective/` has `samples.jsonl` and `manifest.json` and, once resolved,
`outcomes.jsonl`: each sample's `label` (no salt), or the `reason` why it has no label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from hellofresh import __version__
from hellofresh.core.calendar import Calendar
from hellofresh.core.editions import Edition
from hellofresh.core.errors import ReleaseError, UsageError
from hellofresh.core.files import as_model, canonical_json, read_ids, read_jsonl, sha256_text, write_jsonl
from hellofresh.core.folders import FileEntry
from hellofresh.core.quarters import Quarter, parse_utc, utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.releases.collection import CollectionAccount, read_account, read_candidates
from hellofresh.releases.exposure import ExposureLedger, places, record, repeated, sketch_released, waits
from hellofresh.releases.life.load import facts_of, load_release
from hellofresh.releases.life.manifest import (
    BUNDLED,
    FORMAT,
    MANIFEST,
    DrawnPeriod,
    Manifest,
    ProspectiveDraw,
    Resolution,
    ResolvedFrom,
    amend_manifest,
    calendar_of,
    file_entry,
    read_manifest,
    write_manifest,
)
from hellofresh.releases.life.record import refuse_another
from hellofresh.tasks import Task
from hellofresh.tasks.samples import PROSPECTIVE, Label, Sample, to_json

OUTCOMES = "outcomes.jsonl"
"""File with the outcome of each sample."""
REASONS = {
    "undecided": "still undecided when the split was resolved",
    "no-label": "decided neither way, or gone from the source",
    "early": "a decision could be seen before the deadline",
}


@dataclass(frozen=True, slots=True)
class Prospective:
    """The result of a draw: numbers of undecided and drawn samples, the deadline, and whether it existed already."""

    task: str
    quarter: Quarter
    pending: int
    samples: int
    deadline: datetime
    skipped: bool


@dataclass(frozen=True, slots=True)
class ResolutionReport:
    """The result of resolving a prospective split: samples labelled, dropped by reason, and still undecided.

    Attributes:
        labels: number of decided samples.
        dropped: number of undecidable samples, by reason.
        waiting: samples that may still be decided; while there are any, only `final` resolves the split.
        skipped: True if it was resolved before.
        waits_until: deadline of another split with a group of this one; no labels are published before it.
    """

    task: str
    quarter: Quarter
    labels: int
    dropped: Mapping[str, int]
    waiting: int = 0
    skipped: bool = False
    waits_until: datetime | None = None


def build_prospective(
    workspace: Workspace,
    quarter: Quarter,
    task: Task,
    *,
    seed: str,
    cap: int,
    days: int,
    moment: datetime,
    texts: bool = False,
    least: int = 1,
    resolved_after: timedelta = timedelta(),
) -> Prospective:
    """Draw undecided samples and publish them, once for each quarter and task.

    If a task's decisions take a known minimum time, only samples that cannot be decided before the deadline are drawn.
    In each period the samples with the smallest SHA-256 of `<seed>:<id>` are taken, at most twice the cap of a class.

    Args:
        seed: decides which samples are drawn.
        cap: most samples of one class and period in a release.
        days: days from now to the deadline.
        texts: whether texts that the task withholds may be published.
        least: fewest samples to draw.
        resolved_after: time from the deadline to the last day, which the manifest's calendar states.

    Raises:
        ReleaseError: if no undecided sample is young enough (`no-pending`), or too few are (`few-pending`).
        UsageError: if the cap or the days are less than one.
    """
    if cap < 1 or days < 1:
        raise UsageError(f"a cap of {cap} and {days} days", expected="at least 1 of both", code="bad-cap")
    folder = workspace.release(quarter, task.name, PROSPECTIVE)
    refuse_another(workspace, folder)
    if (folder / MANIFEST).is_file():
        return _as_published(folder, quarter, task)
    deadline = (moment + timedelta(days=days)).replace(microsecond=0)
    account, young, exposed = _pending(workspace, quarter, task, moment, deadline)
    bundled = account.source == BUNDLED
    chosen, drawn = _draw(task, young, seed, 2 * cap, exposed)
    if len(chosen) < least:
        what = f"{len(chosen)} undecided samples of {task.name} {quarter}, a split needs at least {least}"
        raise ReleaseError(what, fix="It is tried again with the next collection.", code="few-pending")
    withheld = task.public_type is not None and not texts and not bundled
    rows = _write_samples(workspace, quarter, task, chosen, withheld=withheld)
    calendar = Calendar(moment, deadline, deadline + resolved_after)
    entry = file_entry(folder, folder / "samples.jsonl", rows)
    write_manifest(folder, _manifest(account, calendar, drawn, entry, withheld=withheld))
    if not bundled:
        sketch_released(workspace, (quarter, task.name, PROSPECTIVE), chosen, {})
        record(workspace)
    offered = sum(period.pending for period in drawn.periods.values())
    return Prospective(task.name, quarter, offered, rows, deadline, skipped=False)


def _as_published(folder: Path, quarter: Quarter, task: Task) -> Prospective:
    before = read_manifest(folder)
    counts = before.prospective.periods.values() if before.prospective else ()
    offered, taken = sum(period.pending for period in counts), sum(period.taken for period in counts)
    return Prospective(task.name, quarter, offered, taken, calendar_of(before, folder).deadline, skipped=True)


def _manifest(
    account: CollectionAccount, calendar: Calendar, drawn: ProspectiveDraw, entry: FileEntry, *, withheld: bool
) -> Manifest:
    return Manifest(
        format=FORMAT,
        version=1,
        task=account.task,
        edition=account.quarter,
        split=PROSPECTIVE,
        code=f"hellofresh {__version__}",
        source=account.source,
        collection=account.facts_without({}),
        calendar=calendar.to_json(),
        commitments="none: the labels did not exist when this was published",
        texts="withheld" if withheld else "included",
        prospective=drawn,
        files=(entry,),
    )


def _write_samples(
    workspace: Workspace, quarter: Quarter, task: Task, chosen: Sequence[Sample], *, withheld: bool
) -> int:
    """Write the public samples, and private copies with texts if these are withheld; returns the number of samples."""
    if withheld:
        private = workspace.private(quarter, task.name, PROSPECTIVE) / "samples.jsonl"
        write_jsonl(private, map(to_json, chosen), mode=0o600)
    public = (task.public(sample) if withheld else sample for sample in chosen)
    return write_jsonl(workspace.release(quarter, task.name, PROSPECTIVE) / "samples.jsonl", map(to_json, public))


def _pending(
    workspace: Workspace, quarter: Quarter, task: Task, moment: datetime, deadline: datetime
) -> tuple[CollectionAccount, list[Sample], int]:
    """The undecided samples that cannot be decided before the deadline, and the number left out for another split."""
    path = workspace.pending(task.name, quarter)
    if not path.is_file():
        raise ReleaseError(
            f"no undecided samples of {task.name} for {quarter}",
            where=str(path),
            fix=f"Collect them first: hellofresh collect {task.name} --quarter {quarter} --pending ...",
            code="no-pending",
        )
    account, place = read_account(workspace, task, quarter), (quarter, task.name, PROSPECTIVE)
    ledger = ExposureLedger.before(workspace, place, moment, bundled=account.source == BUNDLED)
    rows = (task.parse_sample(canonical_json(row), where=str(path)) for row in read_jsonl(path))
    wait = task.decides_after
    young = {s.id: s for s in rows if wait is None or s.date + wait > deadline}
    known = ledger.known(task, list(young.values()))
    if not young.keys() - known:
        raise ReleaseError(
            f"every undecided sample of {task.name} may be decided before {utc_text(deadline)}"
            + (f", or is of a group that another release has ({len(known)})" if known else ""),
            where=str(path),
            fix="Collect from a newer snapshot.",
            code="no-pending",
        )
    return account, [sample for sample in young.values() if sample.id not in known], len(known)


def _draw(
    task: Task, young: Sequence[Sample], seed: str, cap: int, exposed: int
) -> tuple[list[Sample], ProspectiveDraw]:
    """The drawn samples, sorted by id, and the account of the draw."""
    again = repeated(task, young, seed)
    by_period: dict[str, list[Sample]] = defaultdict(list)
    for sample in young:
        if sample.id not in again:
            by_period[sample.period].append(sample)
    chosen: list[Sample] = []
    periods = {}
    for period, members in sorted(by_period.items()):
        taken = sorted(members, key=lambda sample: sha256_text(f"{seed}:{sample.id}"))[:cap]
        periods[period] = DrawnPeriod(pending=len(members), taken=len(taken))
        chosen += taken
    drawn = ProspectiveDraw(
        seed=seed,
        cap_per_period=cap,
        period=str(task.period_kind),
        periods=periods,
        rule="per period, the smallest SHA-256 of '<seed>:<id>' of what nobody had decided",
        **({"exposed": exposed} if exposed else {}),
        **({"lineage": len(again)} if again else {}),
    )
    return sorted(chosen, key=lambda sample: sample.id), drawn


def resolve(
    workspace: Workspace, quarter: Quarter, task: Task, moment: datetime, *, final: bool = False
) -> ResolutionReport | None:
    """Label a prospective split from a later collection; if `final`, even if some samples may still be decided.

    Returns:
        The result; None if it is too early: before the deadline, or without a later collection.

    Raises:
        ReleaseError: if the split is missing or damaged.
    """
    split = load_release(workspace, quarter, task, PROSPECTIVE)
    folder = workspace.release(quarter, task.name, PROSPECTIVE)
    manifest = read_manifest(folder)
    if manifest.resolved is not None:
        return ResolutionReport(task.name, quarter, manifest.resolved.labels, manifest.resolved.dropped, skipped=True)
    refuse_another(workspace, folder)
    fates = _Fates.of(workspace, quarter, task)
    drawn = [sample.id for sample in split.samples]
    if fates is None or moment < split.days.deadline or not (fates.looked or final):
        return None
    if fates.account.sources == manifest.collection.sources or not (fates.labels.keys() | fates.waiting) & set(drawn):
        return None  # the collection of the draw itself, or one without any of its samples
    until = waits(workspace, quarter, task.name, PROSPECTIVE)
    if until is not None and moment < until:
        return ResolutionReport(task.name, quarter, 0, {}, waits_until=until)
    early = {key for key, shown in fates.shown.items() if shown < split.days.deadline}
    labels = {key: label for key, label in fates.labels.items() if key not in early}
    undecided = {key: "undecided" if key in fates.waiting else "no-label" for key in drawn if key not in labels}
    dropped = {key: "early" if key in early else why for key, why in undecided.items()}
    counts = {reason: list(dropped.values()).count(reason) for reason in REASONS}
    if counts["undecided"] and not final:
        return ResolutionReport(task.name, quarter, len(drawn) - len(dropped), counts, counts["undecided"])
    path = folder / OUTCOMES
    blank: dict[str, object] = {"label": None, "reason": None}
    outcomes = [
        {"id": key, **blank, "label": labels[key].label, **labels[key].facts}
        if key in labels
        else {"id": key, **blank, "reason": dropped[key]}
        for key in drawn
    ]
    files = [file_entry(folder, path, write_jsonl(path, outcomes))]
    decided = len(drawn) - len(dropped)
    account = fates.account
    by = ResolvedFrom(source=account.source, sources=account.sources, parameters=account.parameters)
    facts = Resolution(at=utc_text(moment), labels=decided, dropped=counts, reasons=REASONS, collection=by)
    amend_manifest(folder, manifest.amended(resolved=facts), files)
    record(workspace)
    return ResolutionReport(task.name, quarter, decided, counts)


@dataclass(frozen=True, slots=True)
class _Fates:
    """The current collection's outcomes: labels, ids of undecided samples, and whether it looked for undecided ones.

    `shown` is the time at which a decision first became visible, by id, where known.
    """

    account: CollectionAccount
    labels: Mapping[str, Label]
    shown: Mapping[str, datetime]
    waiting: frozenset[str]
    looked: bool

    @classmethod
    def of(cls, workspace: Workspace, quarter: Quarter, task: Task) -> Self | None:
        """Read the current collection; None if it is missing."""
        path, pending = workspace.collection(task.name, quarter), workspace.pending(task.name, quarter)
        if not path.is_file():
            return None
        found = read_candidates(workspace.candidates(task.name, quarter), task)
        labels = {item.label.id: item.label for item in found}
        times = {item.label.id: item.extras.get(task.first_shown) for item in found}
        shown = {key: parse_utc(text) for key, text in times.items() if isinstance(text, str)}
        looked = pending.is_file()
        waiting = frozenset(read_ids(pending)) if looked else frozenset()
        return cls(read_account(workspace, task, quarter), labels, shown, waiting, looked)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A line of the outcomes file, without its facts."""

    id: str
    label: int | None


def prospective_outcomes(workspace: Workspace, quarter: Edition, task: Task) -> Mapping[str, Label]:
    """The labels of a resolved split with their facts, by sample id; empty before it is resolved."""
    path = workspace.release(quarter, task.name, PROSPECTIVE) / OUTCOMES
    rows = read_jsonl(path) if path.is_file() else ()
    found = [(as_model(_Outcome, row, where=str(path)), facts_of(row, task)) for row in rows]
    return {row.id: Label(row.id, row.label, facts) for row, facts in found if row.label is not None}


def prospective_splits(workspace: Workspace) -> list[tuple[Quarter, str]]:
    """Every quarter and task with a prospective split, in order."""
    found = [(edition, task) for edition, task, split in places(workspace) if split == PROSPECTIVE]
    return [(edition, task) for edition, task in found if isinstance(edition, Quarter)]
