"""`hellofresh submission review`: what a pull request does to submissions, for the log and for the page of the run."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hellofresh.cli._output import CommandOutput
from hellofresh.core.editions import Edition, parse_edition
from hellofresh.core.errors import HelloFreshError, UsageError, WorkspaceError
from hellofresh.submissions import MAIN, PROSPECTIVE_SPLIT, SPLITS, Due, Fault, SubmissionSplit
from hellofresh.submissions.review.pull_request import ReviewedEntry, ReviewReport, changes_between, review
from hellofresh.tasks.samples import to_json

__all__ = ["markdown", "run"]

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&:@/])")


FindDue = Callable[[Edition, SubmissionSplit], Due]
"""What is due in a quarter on a split."""


def run(options: argparse.Namespace, output: CommandOutput, find_due: FindDue) -> int:
    """Review a request; exit code 1 where there is a fault."""
    changes = changes_between(options.repository, options.base, options.head)
    dues: dict[SubmissionSplit, dict[Edition, Due]] = {split: {} for split in SPLITS}
    for name in {change.path.split("/")[1] for change in changes if change.path.count("/") >= 2}:
        with suppress(UsageError):
            edition = parse_edition(name)
            # A quarter that is not released is a finding of the review, not a failure of it.
            for split in SPLITS:
                with suppress(_NoRelease):
                    dues[split][edition] = _due(find_due, edition, split)
    reviewed = review(
        options.repository,
        options.base,
        options.head,
        dues[MAIN],
        prospective=dues[PROSPECTIVE_SPLIT],
        author=options.author,
    )
    output.result(_as_json(reviewed))
    for entry in reviewed.entries:
        output.text(f"{entry.action}: {entry.edition}/{entry.team}/{entry.system}")
        for line in (*entry.tasks, *entry.flags):
            output.text(f"  {line}")
    for fault in reviewed.faults:
        output.text(f"fault: {fault}")
    for warning in reviewed.warnings:
        output.text(f"warning: {warning}")
    output.text("No fault." if not reviewed.faults else f"{len(reviewed.faults)} fault(s): do not merge.")
    if options.summary is not None:
        _append(options.summary, markdown(reviewed))
    return 1 if reviewed.faults else 0


class _NoRelease(Exception):  # noqa: N818 - never leaves this module
    pass


def _due(find_due: FindDue, edition: Edition, split: SubmissionSplit) -> Due:
    try:
        return find_due(edition, split)
    except HelloFreshError as error:
        if error.code == "no-release":
            raise _NoRelease from None
        raise


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise WorkspaceError(f"cannot write: {error.strerror}", where=str(path), code="unwritable") from error


def _as_json(reviewed: ReviewReport) -> dict[str, object]:
    entries = [
        {
            "entry": f"{item.edition}/{item.team}/{item.system}",
            "action": item.action,
            "system": item.submission.info.model_dump(mode="json") if item.submission is not None else None,
            "tasks": list(item.tasks),
            "flags": list(item.flags),
        }
        for item in reviewed.entries
    ]
    return {
        "ok": not reviewed.faults,
        "entries": entries,
        "faults": [to_json(fault) for fault in reviewed.faults],
        "warnings": [to_json(fault) for fault in reviewed.warnings],
    }


def markdown(reviewed: ReviewReport) -> str:
    """The review as Markdown in which nothing that was handed in is more than text."""
    lines = ["## Submissions", ""]
    if reviewed.entries:
        lines += ["| entry | | name | team | models | on |", "| --- | --- | --- | --- | --- | --- |"]
        lines += [_row(entry) for entry in reviewed.entries]
    lines += ["", *_list("Faults", reviewed.faults), *_list("Warnings", reviewed.warnings)]
    flags = [
        f"- {_text(f'{item.team}/{item.system}')}: {_text(flag)}" for item in reviewed.entries for flag in item.flags
    ]
    lines += ["### Flags", "", *flags, ""] if flags else []
    lines += ["Do not merge." if reviewed.faults else "No fault.", ""]
    return "\n".join(lines)


def _row(entry: ReviewedEntry) -> str:
    info = entry.submission.info if entry.submission is not None else None
    said = (info.name, info.team, ", ".join(info.models)) if info is not None else ("", "", "")
    place = f"{entry.edition}/{entry.team}/{entry.system}"
    return f"| {' | '.join(_text(cell) for cell in (place, entry.action, *said, '; '.join(entry.tasks)))} |"


def _list(title: str, findings: Sequence[Fault]) -> Iterator[str]:
    if findings:
        yield from (f"### {title}", "", *(f"- {_text(str(finding))}" for finding in findings), "")


def _text(text: str) -> str:
    """A text of any origin on one line, with every sign that Markdown or HTML knows taken as itself."""
    plain = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:500])
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", plain)
