"""`hellofresh submission`: submit predictions of your own system, and see their state."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.cli._show import show_scored
from hellofresh.core.clock import now
from hellofresh.core.editions import Edition, parse_edition
from hellofresh.core.errors import SubmissionError, UsageError
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.judging.references import about_copied_responses
from hellofresh.results.scoring.scores import ScoredSplit, score_submission
from hellofresh.submissions.changes import check_changes, merged_at
from hellofresh.submissions.check import Due, Submission, SubmissionCheck, check_predictions, inspect_submission
from hellofresh.submissions.format import FILES, Fault, Prediction, has_split, predictions_file, read_predictions
from hellofresh.submissions.inbox import VARIABLE, ArrivalReport, Inbox, collect_inbox
from hellofresh.submissions.receipts import (
    Receipt,
    add_submission,
    known_teams,
    look_alike,
    read_receipt,
    withdraw_submission,
)
from hellofresh.submissions.released import due_in, edition_with, fetch_due, record_accepted
from hellofresh.submissions.standings import EntryOutcome, SubmissionStanding, copied_from, standings
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Split, to_json

# Lines of a file that is read at all, and those by whose ids its edition is known.
_MOST_LINES, _FIRST_LINES = 1_000_000, 2_000


def find_due(samples: str | None, edition: Edition, split: Split = MAIN) -> Due:
    """The samples due in a quarter and split, from the place in `--samples`.

    Raises:
        ReleaseError: if that place has no release of the quarter.
    """
    if samples is None:
        return due_in(Workspace.from_environment(), edition, split)
    return fetch_due(samples, edition, split) if "://" in samples else due_in(Path(samples), edition, split)


def _split_of(options: argparse.Namespace, path: Path | None = None) -> Split:
    """The named split; else the prospective one if a folder has only that, or a file has its name."""
    if options.split is not None:
        return Split(options.split)
    if path is None:
        return MAIN
    if not path.is_dir():
        return PROSPECTIVE if path.name in FILES[PROSPECTIVE] else MAIN
    return PROSPECTIVE if has_split(path, PROSPECTIVE) and not has_split(path, MAIN) else MAIN


def _show_other(output: CommandOutput, folder: Path, split: Split) -> None:
    """List the splits of the folder that this command did not read."""
    for other in Split:
        if other is not split and has_split(folder, other):
            output.text(f"This is the {split} split; for the other use --split {other}.")


def _refuse_other_edition(options: argparse.Namespace, path: Path, due: Due) -> None:
    """Refuse ids of another edition with one error, instead of one fault per id."""
    if options.samples is not None:
        return
    ids = _ids_in(path, due.split)
    if not ids or len(ids & due.taken_down.union(*due.ids.values())) * 2 > len(ids):
        return
    other = edition_with(Workspace.from_environment(), ids, due.split)
    if other is not None and other != due.edition:
        raise SubmissionError(
            f"these ids are of {other}, not of {due.edition}",
            where=str(path),
            fix=f"Check it with --edition {other}, or fill in the samples of {due.edition}.",
            code="other-edition",
        )


def _ids_in(path: Path, split: Split) -> frozenset[str]:
    """The readable ids in a file of predictions, or in a folder's file."""
    ignored: list[Fault] = []  # the check itself reports them
    file = predictions_file(path, ignored, split) if path.is_dir() else path
    read = read_predictions(file, _MOST_LINES, ignored, first=_FIRST_LINES)
    if read is None:
        return frozenset()
    return frozenset(line.prediction.id for line in read.lines) | (read.faulty or frozenset())


def _edition_of(options: argparse.Namespace, path: Path, split: Split = MAIN) -> Edition:
    """The named edition, else the one in the folder's path, else the one that has the ids."""
    if options.edition is not None:
        named: Edition = options.edition
        return named
    if not path.exists():
        fix = "Make one: hellofresh submission new --edition E --name N --team T --contact C"
        raise SubmissionError("no such file or folder", where=str(path.absolute()), fix=fix, code="missing-file")
    folder = path.absolute() if path.is_dir() else path.absolute().parent
    with suppress(UsageError):
        return parse_edition(folder.parent.parent.name)
    if getattr(options, "samples", None) is None and (
        found := edition_with(Workspace.from_environment(), _ids_in(path, split), split)
    ):
        return found
    raise UsageError(
        "the edition cannot be read from the folder",
        where=str(path),
        expected="<edition>/<team>/<system>",
        fix="Name it with --edition, such as --edition 2026Q3.",
        code="no-quarter",
    )


def check(options: argparse.Namespace, output: CommandOutput) -> int:
    """Check a submission or a file; returns 1 if it has a fault."""
    path: Path = options.path
    if options.against is not None:
        return _check_changes(options, output)
    if options.score:
        return _score(options, output)
    split = _split_of(options, path)
    edition = _edition_of(options, path, split)
    due = find_due(options.samples, edition, split)
    _refuse_other_edition(options, path, due)
    if not path.is_dir():
        found = check_predictions(path, due, [])
        _show_findings(output, found, due)
        if not found.faults:
            output.text(f"{path}: no faults. A submission also needs a system.toml beside it.")
            _show_due(output, due, found.predictions)
        return 1 if found.faults else 0
    checked = inspect_submission(path, due)
    submission = checked.submission
    if submission is not None:
        checked = _beside_others(checked, submission, path, options.submissions, due)
    _show_findings(output, checked, due)
    if submission is None or checked.faults:
        return 1
    output.text(f"{submission.info.name} by {submission.info.team}: no faults.")
    _show_due(output, due, submission.predictions)
    output.text(f"SHA-256 of the content: {submission.sha256}")
    output.text(_about_receipt(submission, read_receipt(path, [], due.split)))
    _show_other(output, path, due.split)
    return 0


def _about_receipt(submission: Submission, receipt: Receipt | None) -> str:
    if receipt is None:
        late = " before the deadline" if submission.edition.is_living else ""
        return f"No receipt: it counts only once 'hellofresh submission add' has accepted it{late}."
    if receipt.sha256 != submission.sha256:
        return "Its receipt is for other content: submit it again with 'hellofresh submission add'."
    return f"Received {utc_text(receipt.received)}."


def _beside_others(
    checked: SubmissionCheck, submission: Submission, path: Path, submissions: Path, due: Due
) -> SubmissionCheck:
    """The check, extended by a fault for a confusable team name and warnings about answers equal to others'."""
    copied = about_copied_responses(Workspace.from_environment(), due.edition, due.ids, submission.predictions, path)
    flags = copied_from(submission, standings(submissions, due), due)
    copies = [Fault("copy", str(path), flag, "It will be flagged; explain this in the notes.") for flag in flags]
    alike = look_alike(submission.team, submission.info.team, known_teams(submissions), str(path))
    return replace(checked, faults=tuple(alike), warnings=(*checked.warnings, *copies, *copied))


def _show_findings(output: CommandOutput, checked: SubmissionCheck, due: Due) -> None:
    output.result(
        {
            "ok": not checked.faults,
            "faults": [to_json(fault) for fault in checked.faults],
            "warnings": [to_json(fault) for fault in checked.warnings],
            "scored": {} if checked.faults else _scored(due, checked.predictions),
        }
    )
    for before, findings in (("", checked.faults), ("warning: ", checked.warnings)):
        kinds: dict[tuple[str, str], list[Fault]] = {}
        for fault in findings:
            kinds.setdefault((fault.code, fault.fix), []).append(fault)
        for first, *others in kinds.values():
            output.text(f"{before}{first}{f' ({len(others)} more like this)' if others else ''}")
    if checked.faults:
        output.text(f"{len(checked.faults)} fault(s): this submission would not be scored.")


def _scored(due: Due, predictions: Sequence[Prediction]) -> dict[str, dict[str, int]]:
    """By task, the number of samples that would be scored, and of unanswered ones."""
    answers = {item.id: item.answer for item in predictions if item.repetition == 1}
    repetitions = Counter(item.id for item in predictions)
    return {
        task: {
            "samples": len(due.ids[task]),
            "without_answer": sum(1 for key in due.ids[task] if answers.get(key) is None),
            "repetitions": max(repetitions[key] for key in due.ids[task]),
        }
        for task in due.tasks_of(answers)
    }


def _show_due(output: CommandOutput, due: Due, predictions: Sequence[Prediction]) -> None:
    for task, numbers in _scored(due, predictions).items():
        often = f", {numbers['repetitions']} times" if numbers["repetitions"] > 1 else ""
        rated = get_task(task).output is Response
        until = "its labels are public, so it is scored at once"
        if task in due.calendars:
            until = f"accepted until {utc_text(due.calendars[task].deadline)}" + (
                ", scored once people have rated it" if rated else ""
            )
        elif rated:
            until = "scored once people have rated it"
        output.text(
            f"It would be scored on {task} {due.edition}{_named(due)}: {numbers['samples']} samples{often}, "
            f"{numbers['without_answer']} without answer; {until}."
        )


def _named(due: Due) -> str:
    return "" if due.split is MAIN else f", {due.split}"


def add(options: argparse.Namespace, output: CommandOutput) -> int:
    """Accept a submission or, with `--inbox`, arrivals; returns 1 if one has a fault."""
    if (options.folder is None) == (options.inbox is None):
        expected = "the folder of a submission, or --inbox"
        raise UsageError("neither a folder nor --inbox is given, or both are", expected=expected, code="no-folder")
    if options.inbox is not None:
        return _collect(options, output)
    edition = _edition_of(options, options.folder)
    due = due_in(Workspace.from_environment(), edition, _split_of(options, options.folder))
    moment = merged_at(options.folder) if options.from_git else now()
    checked = inspect_submission(options.folder, due, moment)
    if checked.faults:
        _show_findings(output, checked, due)
        return 1
    added = add_submission(options.folder, due, options.submissions, moment)
    record_accepted(Workspace.from_environment(), added.receipt, due.split)
    flags = copied_from(added.submission, standings(options.submissions, due), due)
    output.result(
        {
            "folder": str(added.folder),
            "state": added.state,
            "receipt": added.receipt.to_json(),
            "warnings": [to_json(fault) for fault in added.warnings],
            "flags": flags,
        }
    )
    output.text(f"{added.folder}: {added.state}.")
    output.text(f"Received {utc_text(added.receipt.received)}, SHA-256 {added.receipt.sha256}.")
    for line in [str(fault) for fault in added.warnings] + flags:
        output.text(f"warning: {line}")
    _show_due(output, due, added.submission.predictions)
    _show_other(output, options.folder, due.split)
    return 0


def _check_changes(options: argparse.Namespace, output: CommandOutput) -> int:
    found = check_changes(
        options.path,
        options.against,
        lambda edition, split: find_due(options.samples, edition, split),
        author=options.author,
    )
    entries = [
        {
            "entry": item.place,
            "action": item.action,
            "system": item.info.model_dump(mode="json") if item.info is not None else None,
            "tasks": list(item.tasks),
            "flags": list(item.flags),
        }
        for item in found.entries
    ]
    faults, warnings = ([to_json(fault) for fault in some] for some in (found.faults, found.warnings))
    output.result({"ok": not faults, "entries": entries, "faults": faults, "warnings": warnings})
    for item in found.entries:
        said = f": {item.info.name} by {item.info.team}" if item.info is not None else ""
        output.text(f"{item.action}: {item.place}{said}")
        for line in (*item.tasks, *item.flags):
            output.text(f"  {line}")
    for fault in found.faults:
        output.text(f"fault: {fault}")
    for warning in found.warnings:
        output.text(f"warning: {warning}")
    output.text(f"{len(faults)} fault(s): do not merge." if faults else "No fault.")
    return 1 if faults else 0


def _score(options: argparse.Namespace, output: CommandOutput) -> int:
    edition = _edition_of(options, options.path)
    workspace = Workspace.from_environment()
    due = due_in(workspace, edition)
    checked = inspect_submission(options.path, due)
    if checked.submission is None:
        _show_findings(output, checked, due)
        return 1
    scores = score_submission(workspace, checked.submission, private=options.private)
    show_scored(output, ScoredSplit(edition, scores), private=True)
    return 0


def _entry_row(item: SubmissionStanding, counts: str) -> tuple[str, str, str, str]:
    info, received = item.submission.info if item.submission else None, item.receipt and item.receipt.received
    outcomes = [(task, counts if how is EntryOutcome.COUNTS else how) for task, how in item.tasks.items()]
    return (
        item.origin,
        f"{info.name} by {info.team}" if info else "",
        utc_text(received) if received else "-",
        f"{len(item.faults)} fault(s)" if item.faults else "; ".join(f"{task}: {how}" for task, how in outcomes),
    )


def list_entries(options: argparse.Namespace, output: CommandOutput) -> int:
    """List the submissions of an edition, or show the workspace's folder of them."""
    if options.record is not None:
        return _show_folder(options, output)
    if options.edition is None:
        raise UsageError("no edition is named", fix="Add --edition E.", code="no-quarter")
    due = due_in(Workspace.from_environment(), options.edition, _split_of(options))
    found = standings(options.submissions, due)
    said = {"passed_over": list(found.passed_over), "ledger": to_json(found.ledger)}
    output.result({"entries": [_as_json(item) for item in found.entries], **said})
    counts = "counts so far" if due.takes(now()) else "counts"
    rows = [_entry_row(item, counts) for item in found.entries]
    output.table(f"Submissions to {due.edition}{_named(due)}", ("entry", "name", "received", "state"), rows)
    if not options.submissions.is_dir():
        output.text(f"The folder {options.submissions.absolute()} does not exist yet.")
    for item in found.entries:
        for line in (*map(str, item.faults), *item.flags):
            output.text(f"{item.origin}: {line}")
    for line in found.passed_over:
        output.text(line)
    output.say(str(found.ledger))
    end = due.deadline and f"until {utc_text(due.deadline)}"
    output.text(f"Predictions are accepted {end or 'at any time: the labels of a frozen data set are public'}.")
    return 0


def _as_json(item: SubmissionStanding) -> dict[str, object]:
    return {
        "entry": item.origin,
        "system": to_json(item.submission.info.model_dump(mode="json")) if item.submission is not None else None,
        "receipt": item.receipt.to_json() if item.receipt is not None else None,
        "tasks": {task: str(outcome) for task, outcome in item.tasks.items()},
        "faults": [to_json(fault) for fault in item.faults],
        "warnings": [to_json(fault) for fault in item.warnings],
        "flags": list(item.flags),
    }


def withdraw(options: argparse.Namespace, output: CommandOutput) -> int:
    due = due_in(Workspace.from_environment(), options.edition, _split_of(options))
    folder = withdraw_submission(options.submissions, due, options.team, options.system)
    output.result({"folder": str(folder), "state": "withdrawn"})
    output.text(f"{folder}: withdrawn.")
    return 0


def _show_folder(options: argparse.Namespace, output: CommandOutput) -> int:
    """Show or set the workspace's folder of submissions."""
    workspace = Workspace.from_environment()
    if options.record != Path():
        if not options.record.is_dir():
            raise UsageError("no such folder", where=str(options.record), code="no-folder")
        workspace.record_submissions(options.record)
    place = workspace.submissions()
    output.result({"folder": str(place), "recorded": workspace.has_recorded_submissions})
    state = "" if workspace.has_recorded_submissions else " (not on record yet)"
    output.text(f"{place.absolute()}{state if place.is_dir() else ' (does not exist yet)'}")
    return 0


def _configured_inbox(options: argparse.Namespace) -> Inbox:
    folder = options.inbox if options.inbox != Path() else Path(os.environ.get(VARIABLE, ""))
    if folder == Path() or not folder.is_dir():
        raise UsageError(
            "no inbox is configured" if folder == Path() else "the folder does not exist",
            where="" if folder == Path() else str(folder),
            fix=f"Name the site's inbox, here or with {VARIABLE}.",
            code="no-inbox",
        )
    return Inbox(folder)


def _collect(options: argparse.Namespace, output: CommandOutput) -> int:
    """Move visitors' uploads into the folder of submissions; returns 1 if one is refused or unreadable."""
    inbox = _configured_inbox(options)
    found, faults = collect_inbox(
        inbox,
        cache(partial(due_in, Workspace.from_environment())),
        options.submissions,
        edition=options.edition,
        accepted=options.accept,
        rehearse=options.list,
    )
    for item in found:
        if item.state in ("added", "replaced") and not options.list:
            record_accepted(Workspace.from_environment(), item.arrival.receipt, item.arrival.split)
    output.result(
        {"arrivals": [_arrival_as_json(item) for item in found], "unreadable": [to_json(fault) for fault in faults]}
    )
    title = "What would happen to each arrival" if options.list else "Arrivals"
    rows = [
        (_entry(item), item.arrival.hash, utc_text(item.arrival.receipt.received), item.state, item.contact)
        for item in found
    ]
    output.table(title, ("entry", "hash", "received", "state", "contact"), rows)
    for item in found:
        for line in ([str(item.fault)] if item.fault else []) + list(item.remarks):
            output.text(f"{_entry(item)} {item.arrival.hash}: {line}")
    for fault in faults:
        output.text(str(fault))
    if options.clear and not options.list:
        inbox.remove([item.arrival for item in found if item.state != "refused"])
    return 1 if faults or any(item.fault for item in found) else 0


def _entry(item: ArrivalReport) -> str:
    edition, split, team, system = item.arrival.entry
    return f"{edition}/{team}/{system}" + ("" if split == MAIN else f" ({split})")


def _arrival_as_json(item: ArrivalReport) -> dict[str, object]:
    return {
        "arrival": item.arrival.folder.name,
        "hash": item.arrival.hash,
        **dict(zip(("edition", "split", "team", "system"), item.arrival.entry, strict=True)),
        "receipt": item.arrival.receipt.to_json(),
        "state": item.state,
        "fault": to_json(item.fault) if item.fault else None,
        "contact": item.contact,
        "remarks": list(item.remarks),
    }
