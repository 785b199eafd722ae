"""Handing in predictions: what is due and until when, what the check found, what would come onto the board."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from statistics import median

from hellofresh.core.calendar import Calendar
from hellofresh.core.editions import Edition
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.submissions.check import Due, Submission, place_of
from hellofresh.submissions.format import SYSTEM, Prediction
from hellofresh.submissions.receipts import Receipt
from hellofresh.tasks import TASKS
from hellofresh.tasks.samples import MAIN
from leaderboard.components.labels import day, task_title
from leaderboard.components.markup import DASH, Html, el, join, link, named, visible
from leaderboard.components.pieces import heading, notice
from leaderboard.components.tables import Cell, Marked, facts, table
from leaderboard.data.uploads import Review, UploadFinding

_MOST_FINDINGS = 100
_FIRST_LINES = 5


def due_key(due: Due) -> str:
    """What stands for it in an address: `2026Q3`, or `2026Q3-prospective`."""
    return str(due.edition) if due.split is MAIN else f"{due.edition}-{due.split}"


def due_label(due: Due, moment: datetime) -> str:
    """One plain line for a select box."""
    name = _name(due)
    return f"{name} (open)" if is_open(due, moment) else f"{name} (check only)"


def is_open(due: Due, moment: datetime) -> bool:
    """Whether some task takes predictions at the moment."""
    return due.takes(moment)


def next_opening(dues: Iterable[Due], moment: datetime) -> tuple[Edition, datetime] | None:
    """The next quarter to open, and when: one that is built, or the one that opens as the latest is revealed."""
    main = [due for due in dues if due.split is MAIN]
    built = [(calendar.opens, due.edition) for due in main for calendar in due.calendars.values()]
    after = [(calendar.reveals, due.edition.next()) for due in main for calendar in due.calendars.values()
             if isinstance(due.edition, Quarter)]  # fmt: skip
    coming = min(((at, edition) for at, edition in (*built, *after) if at > moment), default=None)
    return (coming[1], coming[0]) if coming else None


def opening(dues: Sequence[Due], moment: datetime) -> Html:
    """Which quarters take predictions and until when; or that none does, and when the next one opens."""
    taken = [el("p", el("strong", _name(due)), f" accepts predictions {_until(due)}.")
             for due in dues if is_open(due, moment)]  # fmt: skip
    if taken:
        return join(taken)
    coming = next_opening(dues, moment)
    then = f" {coming[0]} opens on {_time(coming[1])}." if coming else ""
    return notice(
        "No quarter accepts predictions at the moment.", f"{then} Until then you can check files here.".strip()
    )


def what_is_due(due: Due, moment: datetime) -> Html:
    """What is submitted, and for how many samples."""
    counts = " and ".join(f"{len(ids):,} of {task_title(task)}" for task, ids in due.ids.items())
    one = " One task is enough; within a task every sample is due." if len(due.ids) > 1 else " Every sample is due."
    steps = (
        el("li", el("code", due.files.jsonl), f" (or {due.files.csv}): a line with ", el("code", "id"), " and ",
           el("code", "label"), f" ({_labels(list(due.ids))} for no answer) for each sample, {counts}.{one}"),
        el("li", el("code", SYSTEM), ": the names of system and team, how models were asked, and their cutoff."),
    )  # fmt: skip
    closed = None if is_open(due, moment) else notice("Check only.", f"{_name(due)} {_why_closed(due, moment)}")
    said = (
        f"Two files. Start from the templates: they hold every id of {_name(due)}, without labels. The samples "
        "themselves are in the quarter's public release."
    )
    return join([closed, heading("What to submit", said), el("ol", *steps)])


def _labels(tasks: Sequence[str]) -> str:
    """What stands for the classes, and for no answer; classes are named where there are more than two."""
    classes = {task: known.classes for task in tasks if (known := TASKS.get(task))}
    many = [
        f"of {task_title(task)} " + ", ".join(f"{label} for {names[label]}" for label in reversed(range(len(names))))
        for task, names in classes.items()
        if len(names) > 2
    ]
    two = ["1, 0"] if len(many) < len(tasks) else []
    return "; ".join([*two, *many]) + ", or null"


def _why_closed(due: Due, moment: datetime) -> str:
    opens = min(calendar.opens for calendar in due.calendars.values())
    if moment < opens:
        return f"opens on {_time(opens)}."
    return f"accepted predictions {_until(due)}. You can still check files against it, but not submit them."


def _name(due: Due) -> str:
    return str(due.edition) if due.split is MAIN else f"{due.edition}, {due.split} split"


def _until(due: Due) -> str:
    """Until when: the deadline, or that of each task where they differ."""
    if not due.calendars:
        return "at any time: its labels are public, and submissions are scored at once"
    deadlines = {calendar.deadline for calendar in due.calendars.values()}
    if len(deadlines) == 1:
        return f"until {_time(deadlines.pop())}"

    def one(task: str, calendar: Calendar) -> str:
        return f"{_time(calendar.deadline)} ({task_title(task)})"

    return "until " + ", ".join(one(task, calendar) for task, calendar in due.calendars.items())


def _time(moment: datetime) -> str:
    return f"{day(moment)}, {moment:%H:%M} UTC"


def summary(review: Review) -> Html:
    """In a sentence, what the check came to."""
    faults, warnings = len(review.faults), len(review.findings) - len(review.faults)
    noted = f" {_counted(warnings, 'warning')}: allowed, but perhaps unintended." if warnings else ""
    if faults:
        return el("p", el("strong", f"{_counted(faults, 'fault')}: not ready to submit yet."), noted)
    if review.missing:
        still = " and ".join(review.missing)
        return el("p", el("strong", f"No fault so far; {still} is still missing."), noted)
    return el("p", el("strong", "No fault."), noted)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def findings_table(findings: Sequence[UploadFinding]) -> Html | None:
    """Every finding with its place; texts that quote what was uploaded are disarmed."""
    if not findings:
        return None
    columns = [
        ("text", "File"),
        ("number", "Line"),
        ("text", "Code"),
        ("said", "What is wrong"),
        ("said", "What to do"),
    ]
    listed = table("What the check found", columns, map(_finding_row, findings[:_MOST_FINDINGS]), "hf-faults")
    more = len(findings) - _MOST_FINDINGS
    rest = el("p", f"And {_counted(more, 'finding')} more, which the command line shows.") if more > 0 else None
    return join([listed, rest])


def _finding_row(finding: UploadFinding) -> Marked:
    place = f"{visible(finding.place, 60)}: " if finding.place else ""
    cells: list[Cell] = [
        finding.file or DASH,
        f"{finding.line:,}" if finding.line else DASH,
        join([el("code", finding.code), el("small", "warning") if not finding.fault else None]),
        el("bdi", f"{place}{visible(finding.what, 300)}"),
        el("bdi", visible(finding.fix, 300)) if finding.fix else DASH,
    ]
    return Marked(None if finding.fault else "hf-warning", cells)


def preview(submission: Submission, due: Due) -> Html:
    """What would come onto the board, and what is said of the samples; never a score."""
    return join(
        [
            heading(
                "Preview", "As the board will show it after the deadline. Nothing is scored earlier, not even here."
            ),
            _system(submission),
            _by_task(submission, due),
            _first_lines(submission),
            el("p", "SHA-256 of the content: ", el("code", submission.sha256), class_="hf-hash"),
        ]
    )


def _system(submission: Submission) -> Html:
    info, cutoff = submission.info, submission.info.knowledge_cutoff
    models = join([part for model in info.models for part in (", ", named(model))][1:])
    contact = join([named(info.contact), " (not on the board, but in the public folder of submissions)"])
    return facts(
        [
            ("System", named(info.name)),
            ("Team", named(info.team)),
            ("Regime", info.regime),
            ("Models", models if info.models else "none"),
            ("Cutoff", cutoff.isoformat() if isinstance(cutoff, date) else cutoff),
            ("Page", link(info.url, visible(info.url, 120)) if info.url else None),
            ("In its makers' words", named(info.notes, 2000) if info.notes else None),
            ("Contact", contact),
            ("Place", el("code", f"submissions/{place_of(submission)}/")),
        ]
    )


def _by_task(submission: Submission, due: Due) -> Html:
    columns = [("name", "Task"), ("number", "Samples"), ("said", "Answers"), ("number", "No answer")]
    rows = (_task_row(task, due.ids[task], submission) for task in due.tasks_of(submission.labels))
    return table("Answers by task", columns, rows, "hf-given")


def _task_row(task: str, ids: Sequence[str], submission: Submission) -> list[Cell]:
    known = frozenset(ids)
    given = [item for item in submission.predictions if item.id in known and item.repetition == 1]
    often = max((item.repetition for item in submission.predictions if item.id in known), default=1)
    silent = sum(item.answer is None for item in given)
    samples = f"{len(ids):,}", f"{often} times" if often > 1 else None
    return [
        task_title(task),
        samples,
        _answers(task, given),
        (f"{silent:,}", f"{silent / len(ids):.0%} counts as wrong"),
    ]


def _answers(task: str, given: Sequence[Prediction]) -> str:
    """How often each class is given, or how long texts and rankings are."""
    answers = [item.answer for item in given if item.answer is not None]
    labels = [answer for answer in answers if isinstance(answer, int)]
    if not answers:
        return DASH
    if not labels:
        sizes = [len(answer.split()) if isinstance(answer, str) else len(answer) for answer in answers
                 if not isinstance(answer, int)]  # fmt: skip
        return f"{len(answers):,}, of {median(sizes):g} {_UNITS[given[0].field]} in the median"
    known = TASKS.get(task)
    names = known.classes if known is not None else ()
    counts = ((names[label] if label < len(names) else f"label {label}", labels.count(label))
              for label in sorted(set(labels), reverse=True))  # fmt: skip
    return ", ".join(f"{number / len(given):.0%} {name}" for name, number in counts)


_UNITS = {"text": "words", "documents": "documents"}


def _first_lines(submission: Submission) -> Html:
    columns = [
        ("name", "Sample"),
        ("said", "Answer"),
        ("number", "Stated"),
        ("number", "Sources"),
        ("said", "Rationale"),
    ]
    rows = (
        [
            el("code", visible(item.id, 40)),
            el("bdi", visible(_answer(item), 160)),
            _stated(item),
            f"{len(item.sources):,}",
            el("bdi", visible(item.rationale, 160)) if item.rationale else DASH,
        ]
        for item in submission.predictions[:_FIRST_LINES]
    )
    shown = min(_FIRST_LINES, len(submission.predictions))
    said = el("p", f"The first {shown} of {_counted(len(submission.predictions), 'line')}, by id:")
    return join([said, table("First lines", columns, rows, "hf-lines")])


def _answer(item: Prediction) -> str:
    answer = item.answer
    if isinstance(answer, tuple):
        return ", ".join(answer)
    return "null" if answer is None else str(answer)


def _stated(item: Prediction) -> str:
    """The probabilities that it states, or how certain it is."""
    if item.probabilities:
        return " ".join(f"{chance:.2g}" for chance in item.probabilities)
    number = item.confidence if item.confidence is not None else item.certainty
    return DASH if number is None else f"{number:g}"


def otherwise(submission: Submission, due: Due) -> Html:
    """How the package gets to the maintainers without the site."""
    split = "" if due.split is MAIN else f" --split {due.split}"
    command = f"hellofresh submission add submissions/{place_of(submission)}{split}"
    return el(
        "p", "To submit it by a pull request, unpack the package in the folder ", el("code", "submissions"),
        " of a clone of the project and run ", el("code", command), ".",
    )  # fmt: skip


def received(receipt: Receipt, *, new: bool) -> Html:
    """The receipt, in words."""
    said = "Submitted." if new else "This was submitted before."
    return notice(
        said,
        f"Received {utc_text(receipt.received)} by {visible(receipt.code, 40)}; SHA-256 ",
        el("code", receipt.sha256),
        ". Keep the receipt: it proves what was received, and when. The submission counts once the maintainers "
        "have accepted it.",
    )
