"""The append-only file of a rater's submissions, one line per step.

A line is a submission or its undoing. For each
response the line with the latest time counts, since lines may arrive in any order, from several devices. A partial line
at the end, from a killed process, is counted as unreadable, and the next line starts anew.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from hellofresh.core.errors import SubmissionError, WorkspaceError
from hellofresh.core.files import BadJsonError, as_model, canonical_json, strict_json
from hellofresh.core.intake import Intake
from hellofresh.core.net.lock import locked
from hellofresh.judging.rubric import Rubric
from hellofresh.judging.study import RatingPhase
from hellofresh.tasks.samples import to_json

MOST_COMMENT = 4_000
"""Characters of an explanation."""
_PATIENCE_S = 30.0  # another window of the same rater writes for an instant
_LINE_ID = re.compile(r"[0-9a-f]{32}")
_LINE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)
_MOST_SECONDS = 10**7  # four months; a larger number is not a time on a page
_MOST_LINE = 1 << 20  # a comment's limit in its longest encoding is far below


class Step(StrEnum):
    """Kind of a line."""

    SUBMITTED = "submitted"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class SubmittedAnswers:
    """A rater's answers about one response, without criteria that were not asked; None means undecided.

    Attributes:
        values: by criterion.
        links: by address, then by criterion.
        comment: the explanation.
    """

    values: Mapping[str, int | None] = field(default_factory=dict)
    links: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    comment: str = ""

    @property
    def count(self) -> int:
        """How many questions are answered."""
        return len(self.values) + sum(map(len, self.links.values()))


@dataclass(frozen=True, slots=True)
class SubmittedRating:
    """A line of the file.

    Attributes:
        response: which response it is about.
        answers: empty where a submission is undone.
        seconds: since the response was shown.
        at: when (ISO 8601, UTC).
        id: of the line, so that it counts once however often it is sent; empty in older files.
    """

    step: Step
    response: str
    answers: SubmittedAnswers
    seconds: float
    at: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class SheetState:
    """The current state of a file.

    Attributes:
        submitted: the counting line of each response, in order of submission.
        ledger: of its lines.
        twice: responses submitted twice with different answers without undoing; the later one counts.
    """

    submitted: Mapping[str, SubmittedRating]
    ledger: Intake
    twice: tuple[str, ...] = ()


class RaterSheet:
    """One rater's file, made when something is appended; lines about responses other than `asked` do not count."""

    def __init__(self, path: Path, asked: Container[str] | None = None) -> None:
        self._path, self._asked = path, asked

    def append(self, line: SubmittedRating) -> None:
        """Add a line, as `extend`."""
        self.extend([line])

    def extend(self, lines: Sequence[SubmittedRating]) -> None:
        """Add lines; they are on the disk when this returns; raises WorkspaceError if they cannot be written."""
        content = b"".join(canonical_json(to_json(line)).encode() + b"\n" for line in lines)
        if not content:
            return
        try:
            with self._open() as file:
                size = os.fstat(file).st_size
                if size and os.pread(file, 1, size - 1) != b"\n":
                    content = b"\n" + content
                left = content
                while left:
                    left = left[os.write(file, left) :]
                os.fsync(file)
        except OSError as error:
            raise WorkspaceError(
                f"what was submitted cannot be kept: {error.strerror or error}",
                where=self._path.name,
                fix="Submit it again once there is room.",
                code="unwritable",
            ) from error

    @contextmanager
    def _open(self) -> Iterator[int]:
        """Open the file for appending, locked against other processes."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = self._path.with_name(f"{self._path.name}.lock")
        with locked(lock, what="writing answers of the same rater", wait_s=_PATIENCE_S):
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                yield file
            finally:
                os.close(file)

    def lines(self) -> Iterator[SubmittedRating]:
        """All readable lines; raises DataError for JSON that is not a submitted rating."""
        for number, line in self._written():
            with suppress(BadJsonError):  # a partial line of a killed process, which `state` counts
                value = strict_json(line[:_MOST_LINE])
                where, fix = f"{self._path.name} line {number}", "Restore the file, or take out the line."
                yield as_model(SubmittedRating, value, where=where, fix=fix, code="damaged-rating")

    def _written(self) -> list[tuple[int, bytes]]:
        content = self._path.read_bytes() if self._path.is_file() else b""
        return [(number, line) for number, line in enumerate(content.split(b"\n"), start=1) if line.strip()]

    def state(self) -> SheetState:
        """The current state, by the latest line about each response."""
        submitted: dict[str, SubmittedRating] = {}
        twice: dict[str, None] = {}
        lines, came_in = list(self.lines()), len(self._written())
        left = Counter({"unreadable": came_in - len(lines)})
        for line in sorted(lines, key=lambda line: (line.at.removesuffix("Z"), line.id)):
            if self._asked is not None and line.response not in self._asked:
                left["not-asked"] += 1
                continue
            before = submitted.pop(line.response, None)
            left["replaced"] += before is not None
            left["undone"] += line.step is not Step.SUBMITTED
            if line.step is Step.SUBMITTED:
                submitted[line.response] = line
                if before is not None and before.answers != line.answers:
                    twice[line.response] = None
        return SheetState(submitted, Intake("lines", came_in, len(submitted), left), tuple(twice))


def check_line(rubric: Rubric, line: SubmittedRating, links: tuple[str, ...], phase: str) -> None:
    """Check a line that a page sends; raises SubmissionError for the first fault."""
    if not _LINE_ID.fullmatch(line.id) or not _LINE_TIME.fullmatch(line.at):
        expected = "a step submitted or undone, an id of 32 hexadecimal digits, and a time in UTC"
        raise SubmissionError("not a line of the page", where=line.response, expected=expected, code="bad-line")
    if not 0 <= line.seconds < _MOST_SECONDS:
        raise SubmissionError(f"{line.seconds} seconds", where=line.response, expected="0 or more", code="bad-line")
    if line.step is Step.SUBMITTED:
        check_answers(rubric, line.answers, links, phase)


def check_answers(rubric: Rubric, answers: SubmittedAnswers, links: tuple[str, ...], phase: str) -> None:
    """Check that exactly the required criteria of a response were rated.

    Args:
        rubric: what is rated by.
        answers: what was said.
        links: the addresses that the response cites.
        phase: in the onboarding an explanation is required.

    Raises:
        SubmissionError: for the first fault, in words for the rater.
    """
    _check_part(rubric, answers.values, {}, "response")
    for link in links:
        _check_part(rubric, answers.links.get(link, {}), answers.values, "link", link)
    if set(answers.links) - set(links):
        raise SubmissionError("a link that the response does not cite", code="unknown-link")
    if len(answers.comment) > MOST_COMMENT:
        expected = f"at most {MOST_COMMENT:,} characters"
        raise SubmissionError("the explanation is too long", expected=expected, code="long-comment")
    if phase == RatingPhase.ONBOARDING and not answers.comment.strip():
        raise SubmissionError("an explanation is required in the onboarding", code="no-comment")


def _check_part(
    rubric: Rubric, values: Mapping[str, int | None], above: Mapping[str, int | None], unit: str, where: str = ""
) -> None:
    known = {**above, **values}
    seen: set[str] = set()
    for criterion in rubric.criteria:
        if criterion.unit != unit:
            continue
        seen.add(criterion.id)
        asked = rubric.asked(criterion, known)
        if asked and criterion.id not in values:
            raise SubmissionError(f"{criterion.title}: no answer yet", where=where, code="no-answer")
        if not asked and criterion.id in values:
            raise SubmissionError(f"{criterion.title}: must not be answered", where=where, code="not-asked")
        value = values.get(criterion.id)
        if asked and (not criterion.undecided if value is None else not criterion.accepts(value)):
            raise SubmissionError(f"{criterion.title}: not on its scale", where=where, code="bad-value")
    if set(values) - seen:
        raise SubmissionError(f"unknown criterion {min(set(values) - seen)[:40]!r}", where=where, code="unknown-name")
