"""The systems that a quarter's scores are about: finished runs and checked submissions, in one form.

A run stands for its system if it judged the samples that are released now; of several runs of one system the one that
judged most stands, the newest among equals. What is left out is named with the reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from hellofresh.errors import RunError
from hellofresh.outputs import Verdict, majority
from hellofresh.releases import Release
from hellofresh.results.panel import MAJORITY, SINGLE
from hellofresh.runs.record import RunRecord, read_predictions, read_record
from hellofresh.submissions import Due, EntryOutcome, Receipt, Submission, SubmissionStanding, standings
from hellofresh.workspace import Workspace

__all__ = ["DESCRIBED", "Entry", "Lane", "entries_of_runs", "entries_of_submissions", "of_submission"]

DESCRIBED = (
    "system", "team", "lane", "kind", "regime", "settings", "smoke_test", "knowledge_cutoff", "about", "origin",
)  # fmt: skip
"""The fields of an entry that its scores repeat."""

Lane = Literal["harness", "submitted", "prospective"]
"""Our own evaluator asked (`harness`), predictions were handed in (`submitted`), or nobody knew yet (`prospective`)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A system's verdicts on the samples of one release, and how the board names it.

    Attributes:
        system, team, lane, kind, regime, smoke_test, knowledge_cutoff, about: as on the board.
        origin: the run's folder, or the submission's below its quarter; unique.
        verdicts: by prompt, then by sample id; the first prompt is the one that stands for the system.
        confidences: by prompt, then by sample id: the stated probability that the label is 1, where one was stated.
        cost_usd, tokens_in, tokens_out: of the whole run, None where not known.
        settings: of the regime, such as who answered its searches; empty where there are none.
        receipt: of a submission that was handed in.
    """

    system: str
    team: str
    lane: Lane
    kind: str
    regime: str
    smoke_test: bool
    knowledge_cutoff: str
    about: str
    origin: str
    verdicts: Mapping[str, Mapping[str, Verdict]] = field(repr=False)
    confidences: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    receipt: Receipt | None = None
    settings: str = ""


def _run_records(workspace: Workspace, release: Release, split: str) -> tuple[list[tuple[Path, RunRecord]], list[str]]:
    """Finished runs on this release: for each system the one that judged most samples, the newest among equals."""
    best: dict[tuple[str, ...], tuple[tuple[int, int], Path, RunRecord]] = {}
    notes = []
    here = (release.task.name, str(release.edition), split)
    for folder in sorted(workspace.runs.glob("*")):
        record = read_record(folder)
        if record is None or (record.task, record.edition, record.split) != here:
            continue
        if record.samples_sha256 != release.samples_sha256:
            notes.append(f"{folder.name} was run on other samples than are released now, and is left out")
            continue
        key = record.system
        rank = (record.judged, record.number)
        if key in best:
            worse = folder if rank <= best[key][0] else best[key][1]
            notes.append(f"{worse.name} is superseded by another run of the same system, and is left out")
        if key not in best or rank > best[key][0]:
            best[key] = (rank, folder, record)
    return [(folder, record) for _, folder, record in best.values()], notes


def entries_of_runs(workspace: Workspace, release: Release, *, split: str = "main") -> tuple[list[Entry], list[str]]:
    """The runs on a split that stand for their systems, and sentences about those that do not.

    Raises:
        RunError: if a file of a run is damaged.
    """
    records, notes = _run_records(workspace, release, split)
    return [_of_run(folder, record) for folder, record in records], notes


def _of_run(folder: Path, record: RunRecord) -> Entry:
    verdicts, confidences = _read_predictions(folder, record.judged)
    name = record.model.name
    if record.prompt_set.name != "standard":
        name += f" ({record.prompt_set.name} prompts)"
    baseline = record.kind == "baseline"
    return Entry(
        system=name,
        team="HelloFresh",
        lane="harness",
        kind=record.kind,
        regime="none" if baseline else record.regime.name,
        smoke_test=record.smoke_test,
        knowledge_cutoff=record.knowledge_cutoff,
        about=f"{record.about} It searched with: {record.search_provider}." if record.search_provider else record.about,
        origin=folder.name,
        verdicts={SINGLE: next(iter(verdicts.values()))} if baseline else _with_majority(verdicts),
        confidences={} if baseline else confidences,
        cost_usd=record.cost_usd,
        tokens_in=record.tokens_in,
        tokens_out=record.tokens_out,
        settings=record.search_provider,
    )


_Verdicts = Mapping[str, Mapping[str, Verdict]]
_VERDICTS = (Verdict.NO, Verdict.YES)
_Confidences = Mapping[str, Mapping[str, float]]


def _read_predictions(folder: Path, judged: int) -> tuple[_Verdicts, _Confidences]:
    verdicts: dict[str, dict[str, Verdict]] = defaultdict(dict)
    confidences: dict[str, dict[str, float]] = defaultdict(dict)
    for row in read_predictions(folder):
        if row.repetition > 1:  # the others show how much answers vary, and count in no score
            continue
        verdicts[row.prompt][row.id] = Verdict(row.status) if row.label is None else _VERDICTS[row.label]
        if row.probabilities:
            confidences[row.prompt][row.id] = row.probabilities[1]
    found = len({sample for of_prompt in verdicts.values() for sample in of_prompt})
    if not found or found < judged:  # more are there where a run that goes on was stopped between its two files
        raise RunError(
            f"predictions of {found} samples",
            where=str(folder / "predictions.jsonl"),
            expected=f"those of {judged}, as run.json says",
            fix="Run the same evaluation again: the journal still has the answers.",
            code="damaged-run",
        )
    return verdicts, confidences


def _with_majority(verdicts: Mapping[str, Mapping[str, Verdict]]) -> Mapping[str, Mapping[str, Verdict]]:
    """The prompts' verdicts and, over the samples that every prompt judged, their vote."""
    everywhere = set.intersection(*(set(by_sample) for by_sample in verdicts.values()))
    vote = {key: majority(by_sample[key] for by_sample in verdicts.values()) for key in sorted(everywhere)}
    return {MAJORITY: vote, **verdicts}


def entries_of_submissions(
    root: Path, due: Due, moment: datetime, truth: Mapping[str, Mapping[str, int]]
) -> tuple[Mapping[str, Sequence[Entry]], list[str]]:
    """The submissions that count, by the tasks that they take part in, and sentences about the others.

    Args:
        root: the folder of all submissions.
        due: what is due in the quarter.
        moment: the time that counts as now.
        truth: label by sample id, by task, to find copies by their errors; empty while nothing may be scored.
    """
    found: dict[str, list[Entry]] = {task: [] for task in due.ids}
    known = {task: set(samples) for task, samples in due.ids.items()}
    standing = standings(root, due, moment, truth)
    for item in standing.entries:
        for task, outcome in item.tasks.items():
            if outcome is EntryOutcome.COUNTS and item.submission is not None:
                found[task].append(of_submission(item.submission, known[task], item.flags, item.receipt))
    return found, [*_about(standing.entries), *standing.passed_over]


def _about(entries: Iterable[SubmissionStanding]) -> Iterator[str]:
    """Sentences about what does not count, and about what is flagged."""
    for item in entries:
        if item.faults:
            more = f" (and {len(item.faults) - 1} more)" if len(item.faults) > 1 else ""
            yield f"the submission {item.origin} is left out: {item.faults[0]}{more}"
        for task, outcome in item.tasks.items():
            if outcome is not EntryOutcome.COUNTS:
                yield f"the submission {item.origin} is not scored on {task}: {outcome}"
        for flag in item.flags:
            yield f"the submission {item.origin} is flagged: {flag}"


def of_submission(
    submission: Submission, ids: set[str], flags: Sequence[str] = (), receipt: Receipt | None = None
) -> Entry:
    """A submission as an entry on the task with these samples; what it is flagged for stands with what it says."""
    verdict = {1: Verdict.YES, 0: Verdict.NO, None: Verdict.NONE}
    info = submission.info
    given = submission.predictions
    stated = {item.id: item.confidence for item in given if item.confidence is not None and item.id in ids}
    return Entry(
        system=info.name,
        team=info.team,
        lane="submitted",
        kind="submission",
        regime=info.regime,
        smoke_test=False,
        knowledge_cutoff=str(info.knowledge_cutoff),
        about=" ".join([info.notes, *(f"Flagged: {flag}." for flag in flags)]).strip(),
        origin=f"{submission.team}/{submission.system}",
        verdicts={SINGLE: {key: verdict[label] for key, label in submission.labels.items() if key in ids}},
        confidences={SINGLE: stated} if stated else {},
        receipt=receipt,
    )
