"""From candidates to a frozen quarterly split: samples and commitments in public, labels in private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from hellofresh import __version__
from hellofresh.candidates import read_candidates
from hellofresh.clock import now
from hellofresh.errors import ReleaseError, UsageError
from hellofresh.files import Json, read_json, read_jsonl, sha256_file, write_json, write_jsonl
from hellofresh.quarters import Quarter
from hellofresh.releases.calendar import Calendar, CalendarRule
from hellofresh.releases.escrow import SAMPLE_KEY, Escrow
from hellofresh.releases.manifest import PREVIOUS, calendar_of, file_entry
from hellofresh.releases.selection import Selection, select
from hellofresh.samples import Sample, to_json
from hellofresh.stages import Stage, input_key
from hellofresh.tasks import Task
from hellofresh.workspace import Workspace

__all__ = ["BUNDLED", "FORMAT", "Built", "build_release"]

FORMAT = 1
BUNDLED = "bundled-sample"
"""What a manifest's `source` says where the bundled sample sources were used."""


@dataclass(frozen=True, slots=True)
class Built:
    """What a build did.

    Attributes:
        task: name of the task.
        quarter: the quarter.
        samples: samples released.
        periods: periods with at least one sample.
        skipped: True where nothing had changed since last time, or the release is frozen.
        frozen: True where something has changed since the quarter opened, which the release does not follow.
    """

    task: str
    quarter: Quarter
    samples: int
    periods: int
    skipped: bool
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class _Recipe:
    """All that decides a release besides its candidates."""

    seed: str
    cap: int
    withheld: bool
    calendar: Calendar


def build_release(
    workspace: Workspace,
    quarter: Quarter,
    task: Task,
    *,
    seed: str,
    cap: int,
    texts: bool = False,
    calendar: Calendar | None = None,
    moment: datetime | None = None,
) -> Built:
    """Write samples, commitments and manifest (public) and labels with salts (private, mode 0600).

    Texts that the task withholds are replaced by their hashes in the public samples, and the samples with their texts
    kept in private, unless `texts` says that they may be published or the bundled sample sources were used.
    Once a quarter has opened its release is frozen: predictions and commitments refer to it. (That of the bundled
    sample is not: its labels are no secret.)

    Args:
        workspace: where everything lives.
        quarter, task: of which release.
        seed: decides which samples are drawn.
        cap: most samples a class and period.
        texts: whether withheld texts may be published.
        calendar: when the quarter opens, closes and is revealed; by default as the standard rule says.
        moment: the time that counts as now.

    Raises:
        UsageError: if the cap is less than one.
        DataError: if there are no candidates.
        ReleaseError: if no period has candidates of both labels.
    """
    if cap < 1:
        raise UsageError(f"a cap of {cap} samples a class and period", expected="at least 1", code="bad-cap")
    candidates_file = workspace.candidates(task.name, quarter)
    if not candidates_file.is_file():
        raise ReleaseError(
            f"no candidates of {task.name} for {quarter}",
            where=str(candidates_file),
            fix=f"Collect them first: hellofresh collect {task.name} --quarter {quarter} --dump ...",
            code="no-candidates",
        )
    collection = read_json(workspace.collection(task.name, quarter))
    escrow = Escrow(SAMPLE_KEY) if collection["source"] == BUNDLED else Escrow.of_workspace(workspace)
    withheld = task.public_type is not None and not texts and collection["source"] != BUNDLED
    recipe = _Recipe(seed, cap, withheld, calendar or CalendarRule().of(quarter))
    inputs = {
        "format": FORMAT, "withheld": withheld, "candidates": sha256_file(candidates_file), "collection": collection,
        "seed": seed, "cap": cap, "escrow": escrow.salt("which key is this?"), "calendar": recipe.calendar.to_json(),
    }  # fmt: skip
    asked = _asked_before(folder := workspace.release(quarter, task.name))
    if asked:
        inputs["asked before"] = sorted(asked)
    stage = Stage(workspace, f"release/{quarter}/{task.name}", input_key(inputs))
    if stage.is_current():
        return _built(task, quarter, read_json(folder / "manifest.json"), skipped=True)
    if _is_frozen(folder / "manifest.json", moment or now()) and not stage.has_key():
        return _built(task, quarter, read_json(folder / "manifest.json"), skipped=True, frozen=True)
    candidates = [item for item in read_candidates(candidates_file, task) if item.sample.id not in asked]
    selection = select(candidates, seed=seed, cap=cap)
    if not selection.chosen:
        raise ReleaseError(
            f"no period of {quarter} has candidates of both labels",
            where=str(candidates_file),
            expected=f"at least one {task.positive} and one {task.negative} in a {task.period_kind}",
            fix="Look at the collection's funnel for what was dropped.",
            code="empty-release",
        )
    private = _write_private(workspace.private(quarter, task.name), selection, escrow, withheld=withheld)
    files = _write_public(folder, selection, escrow, task.public if withheld else _whole)
    manifest = _manifest(task, quarter, collection, selection, recipe)
    manifest["files"] = [file_entry(folder, path, rows) for path, rows in files]
    write_json(folder / "manifest.json", manifest)
    _drop_later_files(folder)
    stage.record([*(path for path, _ in files), folder / "manifest.json", *private])
    return _built(task, quarter, manifest, skipped=False)


def _asked_before(folder: Path) -> frozenset[str]:
    """Samples of the prospective split: no sample is asked about twice."""
    path = folder / "prospective" / "samples.jsonl"
    return frozenset(row["id"] for row in read_jsonl(path)) if path.is_file() else frozenset()


def _is_frozen(path: Path, moment: datetime) -> bool:
    """Whether there is a release of real sources whose quarter has opened."""
    if not path.is_file():
        return False
    manifest = read_json(path)
    return manifest.get("source") != BUNDLED and moment >= calendar_of(manifest, path).opens


def _drop_later_files(folder: Path) -> None:
    """Take away what belonged to the release that was here before: its revealed labels and earlier manifests."""
    (folder / "labels.jsonl").unlink(missing_ok=True)
    for path in (folder / PREVIOUS).glob("*.json"):
        path.unlink()


def _whole(sample: Sample) -> Sample:
    return sample


def _write_private(folder: Path, selection: Selection, escrow: Escrow, *, withheld: bool) -> list[Path]:
    """The labels, and the samples with their texts where the public ones have none."""
    labels, samples = folder / "labels.jsonl", folder / "samples.jsonl"
    rows = (
        {"id": item.label.id, "label": item.label.label, "salt": escrow.salt(item.label.id), **item.label.facts}
        for item in selection.chosen
    )
    write_jsonl(labels, rows, mode=0o600)
    if not withheld:
        samples.unlink(missing_ok=True)
        return [labels]
    write_jsonl(samples, (to_json(item.sample) for item in selection.chosen), mode=0o600)
    return [labels, samples]


def _write_public(
    folder: Path, selection: Selection, escrow: Escrow, public: Callable[[Sample], Sample]
) -> Sequence[tuple[Path, int]]:
    samples, commitments = folder / "samples.jsonl", folder / "commitments.jsonl"
    chosen = selection.chosen
    commitment_rows = ({"id": item.label.id, "commitment": escrow.commitment(item.label)} for item in chosen)
    return [
        (samples, write_jsonl(samples, (to_json(public(item.sample)) for item in chosen))),
        (commitments, write_jsonl(commitments, commitment_rows)),
    ]


def _manifest(task: Task, quarter: Quarter, collection: Json, selection: Selection, recipe: _Recipe) -> dict[str, Json]:
    return {
        "format": FORMAT,
        "version": 1,
        "task": task.name,
        "quarter": str(quarter),
        "code": f"hellofresh {__version__}",
        "source": collection["source"],
        "collection": {name: collection[name] for name in ("sources", "parameters", "funnel", "warnings")},
        "selection": {
            "seed": recipe.seed,
            "cap_per_class_and_period": recipe.cap,
            "period": str(task.period_kind),
            "rule": "per period and label, the smallest SHA-256 of '<seed>:<id>'",
            "periods": {name: asdict(period) for name, period in selection.periods.items()},
        },
        "commitments": "SHA-256 of the canonical JSON (sorted keys, no spaces) of {id, label, salt}",
        "calendar": recipe.calendar.to_json(),
        "texts": "withheld" if recipe.withheld else "included",
    }


def _built(task: Task, quarter: Quarter, manifest: Json, *, skipped: bool, frozen: bool = False) -> Built:
    taken = [period["taken_per_class"] for period in manifest["selection"]["periods"].values()]
    return Built(task.name, quarter, 2 * sum(taken), sum(1 for number in taken if number), skipped, frozen)
