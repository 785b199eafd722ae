"""Draw a frozen quarterly split from candidates: public samples and commitments, private labels.

First, one candidate per lineage (`Task.lineage`) is kept, the one with the smallest hash, without looking at labels.
Then each period gives the same number of samples of each label, those with the smallest values of another hash.

What the draw reveals. The larger class gives only its smallest hashes, the smaller class all of them. With the hashes,
a drawn sample with a large hash would be seen to belong to the smaller class. The hashes therefore use a key that is
secret until the labels are public (`Escrow.draw_key`). Without the key they are independent random numbers, and each
class gives a uniformly random subset. With P and N candidates of the two labels and k of each drawn, a set has
probability 1 / (C(P, k) C(N, k)) if it has k of each label, else 0: the same for all labellings that balance the set.
A set thus shows that it is balanced, but not which samples have which label, even to a reader who knows all candidates.

No rule without a secret can do that. Take candidates a, b, c with one positive, and draw one of each label. Suppose
that exchanging the labels within a set never changes the set. If a is positive the set is, say, {a, b}, so it is {a, b}
if b is positive. If c is positive it is {a, c} or {b, c}, so that set is also drawn if a or b is positive: a
contradiction. If a period gives all of both classes, the set is the same for every permutation of its labels. The same
holds with more classes: each gives a uniformly random subset of the same size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from hellofresh import __version__
from hellofresh.core.calendar import Calendar, CalendarRule
from hellofresh.core.clock import now
from hellofresh.core.errors import ReleaseError, UsageError
from hellofresh.core.files import canonical_json, sha256_file, sha256_text, write_bytes, write_json, write_jsonl
from hellofresh.core.folders import FileEntry
from hellofresh.core.makers import makers
from hellofresh.core.quarters import Quarter
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import CROWDED, EXPOSED, LINEAGE
from hellofresh.releases.collection import CollectionAccount, read_account, read_account_file, read_candidates
from hellofresh.releases.draw.escrow import SAMPLE_KEY, Escrow
from hellofresh.releases.exposure import (
    ExposureLedger,
    Place,
    beyond,
    named_texts,
    record,
    repeated,
    sketch_released,
    withdraw,
)
from hellofresh.releases.life.manifest import (
    BUNDLED,
    COUNTS,
    DRAW_KEY,
    FORMAT,
    MANIFEST,
    PREVIOUS,
    REVEALED,
    TOMBSTONES,
    Draw,
    Manifest,
    PeriodCounts,
    SelectionFacts,
    Tombstone,
    file_entry,
    read_manifest,
    read_tombstones,
    tombstone_rows,
    write_manifest,
)
from hellofresh.releases.life.record import name_of, read_record, refuse_another, was_opened
from hellofresh.tasks import Task, task_makers
from hellofresh.tasks.samples import MAIN, Candidate, Sample, to_json


@dataclass(frozen=True, slots=True)
class PeriodSelection:
    """Candidates of a period by label, and how many of each label were taken."""

    offered: tuple[int, ...]
    taken_per_class: int

    @property
    def by_name(self) -> dict[str, int | tuple[int, ...]]:
        """The numbers of candidates with the field names of `LabelCounts`; a task without classes has one label."""
        counts: dict[str, int | tuple[int, ...]] = {"negatives": self.offered[0]}
        if len(self.offered) > 1:
            counts["positives"] = self.offered[1]
        return counts | ({"others": self.offered[2:]} if len(self.offered) > 2 else {})


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen candidates, sorted by id, and the counts of every period."""

    chosen: tuple[Candidate, ...]
    periods: Mapping[str, PeriodSelection]


def select(candidates: Iterable[Candidate], *, seed: str, cap: int, classes: int = 2) -> Selection:
    """Balance candidates by period.

    In a period, every class gives as many samples as the smallest class has, at most `cap`: those with the smallest
    SHA-256 of `<seed>:<id>`. The selection depends only on the seed and on the ids and labels of the period, not on
    order, source files, or other periods.

    Args:
        candidates: in any order.
        seed: the key of the draw.
        cap: most samples per class and period.
        classes: number of classes.
    """
    by_class: dict[str, list[list[Candidate]]] = defaultdict(lambda: [[] for _ in range(classes)])
    for item in candidates:
        by_class[item.sample.period][item.label.label].append(item)
    chosen: list[Candidate] = []
    periods = {}
    for period in sorted(by_class):
        offered = tuple(map(len, by_class[period]))
        take = min(cap, *offered)
        periods[period] = PeriodSelection(offered, take)
        for members in by_class[period]:
            chosen += sorted(members, key=lambda item: sha256_text(f"{seed}:{item.sample.id}"))[:take]
    return Selection(tuple(sorted(chosen, key=lambda item: item.sample.id)), periods)


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a build.

    Attributes:
        samples: number of samples released.
        periods: number of periods with at least one sample.
        empty: periods whose candidates all have one label, so that none of them is in the release.
        skipped: True if nothing has changed since the last build, or the release is frozen.
        frozen: True if inputs have changed since the quarter was opened; the release stays as it is.
        left_out: candidates left out because another release has their group (`hellofresh.releases.exposure`).
        withdrawn: unopened releases that share a group with this one and must be built again.
        unseen: samples of other releases of which neither texts nor sketches are here: only equal texts were left out.
        why: what has changed since the last build, if there was one.
    """

    task: str
    quarter: Quarter
    samples: int
    periods: int
    skipped: bool
    frozen: bool = False
    left_out: int = 0
    withdrawn: tuple[str, ...] = ()
    unseen: int = 0
    why: str = ""
    empty: tuple[str, ...] = ()


def build_release(
    workspace: Workspace,
    quarter: Quarter,
    task: Task,
    *,
    seed: str,
    cap: int,
    per_group: int | None = None,
    texts: bool = False,
    calendar: Calendar | None = None,
    moment: datetime | None = None,
) -> Built:
    """Write samples, commitments and manifest (public) and labels with salts (private, mode 0600).

    Unless `texts` is set or the bundled sample sources were used, texts that the task withholds are replaced by hashes
    in the public samples, and private copies keep the texts. Candidates whose group is in another release are left out,
    by the ledger of exposure. Once a release was opened or published, it is frozen, since predictions and commitments
    refer to it. (Releases of the bundled sample are never frozen: their labels are public.)

    Args:
        seed: decides which samples are drawn.
        cap: most samples per class and period.
        per_group: most samples of a post or claim; None for all, as of the bundled sample in any case.
        texts: whether withheld texts may be published.
        calendar: times of opening, deadline and reveal; the standard rule's by default.

    Raises:
        UsageError: if the cap is less than one.
        DataError: if there are no candidates.
        ReleaseError: if no period has candidates of all labels, the candidates do not match their account, or another
            version is published (`other-publication`).
    """
    if cap < 1:
        raise UsageError(f"a cap of {cap} samples a class and period", expected="at least 1", code="bad-cap")
    moment, calendar = moment or now(), calendar or CalendarRule().of(quarter)
    refuse_another(workspace, workspace.release(quarter, task.name))
    plan = _planned(
        workspace, quarter, task, seed, cap, per_group=per_group, texts=texts, calendar=calendar, moment=moment
    )
    made_by = {**makers(__name__), **task_makers(task)}
    stage = Stage.of(workspace, f"release/{quarter}/{task.name}", plan.inputs(), made_by)
    exposed = Stage.of(workspace, f"{stage.name}/exposed", plan.ledger.key(), {})
    frozen = _is_frozen(workspace, plan.folder)
    changes = stage.changes(of_code=not frozen)
    if changes == [] and (frozen or exposed.is_current()):
        return _built(task, quarter, read_manifest(plan.folder), skipped=True)
    if frozen:
        return _built(task, quarter, read_manifest(plan.folder), skipped=True, frozen=True)
    chosen, written = _write(plan)
    gone = [] if plan.bundled else _withdraw_others(plan, chosen, moment)
    exposed.record([])
    stage.record(written)
    built = _built(task, quarter, read_manifest(plan.folder), skipped=False)
    names, unseen = tuple(f"{name} {edition}" for edition, name, _ in gone), 0 if plan.bundled else plan.ledger.blind()
    return replace(built, why="; ".join(changes or ()), withdrawn=names, unseen=unseen)


def _withdraw_others(plan: _Plan, chosen: Sequence[Candidate], moment: datetime) -> list[Place]:
    """Enter a drawn release into the ledger of exposure; the unopened splits that share a group with it."""
    place: Place = (plan.quarter, plan.task.name, MAIN)
    samples, taken_down = [item.sample for item in chosen], {item.id for item in read_tombstones(plan.folder)}
    gone = withdraw(plan.workspace, place, samples, moment)
    sketch_released(plan.workspace, place, samples, named_texts(plan.task, chosen), taken_down)
    record(plan.workspace)
    return gone


@dataclass(frozen=True, slots=True)
class _Plan:
    """The inputs of a build, and the groups that other splits expose."""

    workspace: Workspace
    quarter: Quarter
    task: Task
    collection: CollectionAccount
    escrow: Escrow
    seed: str
    cap: int
    per_group: int | None
    calendar: Calendar
    withheld: bool
    draw_key: str
    ledger: ExposureLedger

    @property
    def bundled(self) -> bool:
        """Whether the candidates are from the bundled sample."""
        return self.collection.source == BUNDLED

    @property
    def folder(self) -> Path:
        """The public folder."""
        return self.workspace.release(self.quarter, self.task.name)

    @property
    def candidates(self) -> Path:
        """The file of candidates."""
        return self.workspace.candidates(self.task.name, self.quarter)

    def line(self, sample: Sample) -> dict[str, object]:
        """A sample in its published form."""
        row: dict[str, object] = to_json(self.task.public(sample) if self.withheld else sample)
        return row

    def inputs(self) -> dict[str, object]:
        """Everything that the written files depend on."""
        return {
            "format": 1,
            "withheld": self.withheld,
            "candidates": sha256_file(self.candidates),
            "collection": self.collection.model_dump(mode="json", exclude={"files"}, exclude_unset=True),
            "seed": self.seed,
            "cap": self.cap,
            **({} if self.per_group is None else {"per_group": self.per_group}),
            "escrow": self.escrow.salt("which key is this?"),
            "calendar": self.calendar.to_json(),
            "draw": sha256_text(self.draw_key),
        }


def _planned(
    workspace: Workspace,
    quarter: Quarter,
    task: Task,
    seed: str,
    cap: int,
    *,
    per_group: int | None,
    texts: bool,
    calendar: Calendar,
    moment: datetime,
) -> _Plan:
    """Read the inputs of a release; raises ReleaseError without candidates."""
    candidates = workspace.candidates(task.name, quarter)
    if not candidates.is_file():
        raise ReleaseError(
            f"no candidates of {task.name} for {quarter}",
            where=str(candidates),
            fix=f"Collect them first: hellofresh collect {task.name} --quarter {quarter} --dump ...",
            code="no-candidates",
        )
    collection = read_account_file(workspace.collection(task.name, quarter))
    bundled = collection.source == BUNDLED
    # The labels of the bundled sample are public, and so is its draw.
    escrow = Escrow(SAMPLE_KEY) if bundled else Escrow.of_workspace(workspace)
    draw_key = seed if bundled else escrow.draw_key(quarter, task.name, seed)
    withheld = task.public_type is not None and not texts and not bundled
    if _is_frozen(workspace, workspace.release(quarter, task.name)):  # releases that opened later leave out its groups
        moment = min(moment, calendar.opens)
    ledger = ExposureLedger.before(workspace, (quarter, task.name, MAIN), moment, bundled=bundled)
    limit = None if bundled or not task.groups_tell else per_group
    return _Plan(workspace, quarter, task, collection, escrow, seed, cap, limit, calendar, withheld, draw_key, ledger)


def _write(plan: _Plan) -> tuple[Sequence[Candidate], list[Path]]:
    """Choose the samples and write all files; returns both."""
    selection, left_out = _choose(plan)
    chosen = {item.sample.id for item in selection.chosen}
    # Samples that were taken down never return.
    taken_down = tuple(item for item in read_tombstones(plan.folder) if item.id in chosen)
    gone = {item.id for item in taken_down}
    kept = [item.sample for item in selection.chosen if item.sample.id not in gone]
    private = _write_private(plan, selection, kept)
    files = _write_public(plan, selection, kept, taken_down)
    entries = tuple(file_entry(plan.folder, path, rows) for path, rows in files)
    manifest = _manifest(plan, selection, left_out, entries)
    if taken_down:
        whole = "".join(f"{canonical_json(plan.line(item.sample))}\n" for item in selection.chosen)
        manifest = manifest.amended(samples_at_opening=sha256_text(whole), takedowns=taken_down)
    written = write_manifest(plan.folder, manifest)
    for name in REVEALED:  # left over from an earlier release
        (plan.folder / name).unlink(missing_ok=True)
    for path in (plan.folder / PREVIOUS).glob("*.json"):
        path.unlink()
    return selection.chosen, [*(path for path, _ in files), written, *private]


def _choose(plan: _Plan) -> tuple[Selection, Mapping[str, Sequence[Sample]]]:
    """The balanced selection, and the candidates left out before it, by reason; raises ReleaseError."""
    read_account(plan.workspace, plan.task, plan.quarter)
    candidates = read_candidates(plan.candidates, plan.task)
    named = named_texts(plan.task, candidates)
    known = plan.ledger.known(plan.task, [item.sample for item in candidates], named)
    again = repeated(plan.task, [item.sample for item in candidates if item.sample.id not in known], plan.draw_key)
    fresh = [item for item in candidates if item.sample.id not in known | again]
    crowded = beyond(plan.task, [item.sample for item in fresh], plan.draw_key, plan.per_group)
    fresh = [item for item in fresh if item.sample.id not in crowded]
    selection = select(fresh, seed=plan.draw_key, cap=plan.cap, classes=_labels(plan.task))
    if not selection.chosen:
        raise ReleaseError(
            f"no period of {plan.quarter} has candidates of every label"
            + (f"; {len(known)} were left out, because another release has their group" if known else ""),
            where=str(plan.candidates),
            expected=f"at least one {' and one '.join(reversed(plan.task.classes)) or 'sample'} in a "
            f"{plan.task.period_kind}",
            fix="Look at the collection's funnel for what was dropped.",
            code="empty-release",
        )
    left_out = {EXPOSED: known, LINEAGE: again, CROWDED: crowded}
    return selection, {
        reason: [item.sample for item in candidates if item.sample.id in ids] for reason, ids in left_out.items()
    }


def _labels(task: Task) -> int:
    """The number of labels to balance; a task without classes has one."""
    return max(1, len(task.classes))


def _is_frozen(workspace: Workspace, folder: Path) -> bool:
    """Whether a release from real sources exists that was opened; the date alone freezes nothing.

    Raises:
        ReleaseError: if it was opened and is damaged: nothing that others refer to is drawn again.
    """
    if not (folder / MANIFEST).is_file():
        changed = [folder / MANIFEST]
        opened = name_of(workspace, folder) in read_record(workspace).opened
    else:
        manifest = read_manifest(folder)
        changed = [folder / one.path for one in manifest.files if not one.is_in(folder)]
        opened = was_opened(workspace, folder, manifest)
    if not (opened and changed):
        return opened
    raise ReleaseError(
        "is missing or has been changed, and the quarter has opened",
        where=str(changed[0]),
        expected="the file that was opened",
        fix="Restore it from where it was published: hellofresh quarter restore --from TARGET",
        code="damaged-release",
    )


def _write_private(plan: _Plan, selection: Selection, kept: Sequence[Sample]) -> list[Path]:
    """Write labels, the key of the draw, counts by label and, if texts are withheld, the samples with their texts."""
    folder, escrow = plan.workspace.private(plan.quarter, plan.task.name), plan.escrow
    labels, samples, draw = folder / "labels.jsonl", folder / "samples.jsonl", folder / DRAW_KEY
    rows = (
        {"id": item.label.id, "label": item.label.label, "salt": escrow.salt(item.label.id), **item.label.facts}
        for item in selection.chosen
    )
    write_jsonl(labels, rows, mode=0o600)
    write_bytes(draw, f"{plan.draw_key}\n".encode(), mode=0o600)
    counts = folder / COUNTS
    write_json(counts, {name: period.by_name for name, period in selection.periods.items()}, mode=0o600)
    if not plan.withheld:
        samples.unlink(missing_ok=True)
        return [labels, draw, counts]
    write_jsonl(samples, map(to_json, kept), mode=0o600)
    return [labels, draw, counts, samples]


def _write_public(
    plan: _Plan, selection: Selection, kept: Sequence[Sample], taken_down: Sequence[Tombstone]
) -> Sequence[tuple[Path, int]]:
    samples, commitments = plan.folder / "samples.jsonl", plan.folder / "commitments.jsonl"
    rows = ({"id": item.label.id, "commitment": plan.escrow.commitment(item.label)} for item in selection.chosen)
    files = [(samples, write_jsonl(samples, map(plan.line, kept))), (commitments, write_jsonl(commitments, rows))]
    if taken_down:
        tombstones = plan.folder / TOMBSTONES
        files.append((tombstones, write_jsonl(tombstones, tombstone_rows(taken_down))))
    return files


def _manifest(
    plan: _Plan, selection: Selection, left_out: Mapping[str, Sequence[Sample]], files: tuple[FileEntry, ...]
) -> Manifest:
    return Manifest(
        format=FORMAT,
        version=1,
        task=plan.task.name,
        edition=str(plan.quarter),
        code=f"hellofresh {__version__}",
        source=plan.collection.source,
        collection=plan.collection.facts_without(left_out),
        selection=SelectionFacts(
            seed=plan.seed,
            cap_per_class_and_period=plan.cap,
            period=str(plan.task.period_kind),
            rule="per period and label, the smallest SHA-256 of '<draw key>:<id>'" + _first(plan.per_group),
            periods={
                name: PeriodCounts(taken_per_class=period.taken_per_class) for name, period in selection.periods.items()
            },
            **({"classes": _labels(plan.task)} if _labels(plan.task) != 2 else {}),
        ),
        draw=Draw(commitment=sha256_text(plan.draw_key)),
        commitments="SHA-256 of the canonical JSON (sorted keys, no spaces) of {id, label, salt}",
        calendar=plan.calendar.to_json(),
        texts="withheld" if plan.withheld else "included",
        files=files,
    )


def _first(per_group: int | None) -> str:
    """What the draw does before it balances, for the rule in the manifest."""
    return "" if per_group is None else f"; before, of a group the {per_group} smallest of '<draw key>:group:<id>'"


def _built(task: Task, quarter: Quarter, manifest: Manifest, *, skipped: bool, frozen: bool = False) -> Built:
    selection, drops = manifest.selection, manifest.collection.funnel.drops
    taken = [period.taken_per_class for period in selection.periods.values()] if selection else []
    return Built(
        task=task.name,
        quarter=quarter,
        samples=selection.samples if selection else 0,
        periods=sum(1 for number in taken if number),
        skipped=skipped,
        frozen=frozen,
        left_out=sum(drop.count for drop in drops if drop.reason == EXPOSED),
        empty=tuple(name for name, one in selection.periods.items() if not one.taken_per_class) if selection else (),
    )
