"""How to take part: open tasks and deadlines, templates, the check's findings, and a preview of the board."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from statistics import median

from hellofresh.core.editions import Edition
from hellofresh.core.quarters import Quarter, utc_text
from hellofresh.submissions.check import Due, Submission, blank_info, blank_predictions, place_of
from hellofresh.submissions.format import ANSWERS, SYSTEM, Fault, Prediction
from hellofresh.submissions.receipts import Receipt
from hellofresh.tasks import TASKS
from hellofresh.tasks.outputs import Response
from hellofresh.tasks.samples import MAIN
from leaderboard.components.labels import day, model_said, task_title
from leaderboard.components.markup import (
    DASH,
    Html,
    el,
    heading,
    inner_link,
    join,
    link,
    named,
    notice,
    visible,
)
from leaderboard.components.parts import UploadForm
from leaderboard.components.tables import Cell, Marked, facts, table
from leaderboard.data.uploads import Review, load_dues
from leaderboard.views.visit import Page, Visit

_LEDE = "How to take part with your own system."
_MOST_FINDINGS = 100
_FIRST_LINES = 5
_PLACE = re.compile(
    r"(?P<file>predictions\.(?:jsonl|csv)|prospective\.(?:jsonl|csv)|system\.toml)"
    r"(?: lines? (?P<line>\d+)(?:, \d+)*)?(?:, (?P<field>.*))?",
    re.DOTALL,
)


_PROVES = (
    "An upload proves that its answers were there when they were received, but not how they were made. "
    "Statuses of notes and histories of edits are public, so anybody can look up the answers of a main split: such "
    "uploads are marked as hollow, and never carry a headline. The answers of a prospective split exist nowhere "
    "before its deadline, so uploads to it count like runs of our own."
)


def _compose(visit: Visit) -> None:
    visit.header("Submit", _LEDE)
    visit.handle(lambda: _without_server(visit), UploadForm)


def _without_server(visit: Visit) -> Html:
    """Open tasks, the templates, and the commands that check and submit."""
    every = load_dues(visit.board.folder)
    dues = [due for due in reversed(every) if any(due.ids.values())]
    waiting = [due for due in dues if due.calendars and due.revealed < due.ids.keys()]
    frozen = [due for due in dues if not due.edition.is_living]
    shown: list[Html] = [el("p", _PROVES)]
    then = (f" {_name(due)} opens on {_time(_opens(due))}." for due in every if due.calendars and due not in dues)
    shown += [] if waiting else [el("p", "No quarter accepts predictions at the moment.", *then)]
    for due in waiting:
        # Pages do not depend on the time of rendering: unrevealed quarters are shown as on their first day.
        shown += [opening([due], _opens(due)), what_is_due(due, _opens(due)), _templates(visit, due), _commands(due)]
    if frozen:
        about = "Predictions are accepted at any time; responses are scored once people have rated them."
        shown.append(heading("Frozen data sets", about))
        for due in frozen:
            parts = what_is_due(due, datetime.max.replace(tzinfo=UTC)), _templates(visit, due), _commands(due)
            shown.append(el("details", el("summary", str(due.edition)), *parts))
    return join(shown)


def _templates(visit: Visit, due: Due) -> Html:
    """The two templates, with every id."""
    ways = [
        inner_link(
            visit.attach(f"{due_key(due)}/{task}/{due.files.jsonl}", blank_predictions(due, [task])),
            f"{due.files.jsonl} of {task_title(task)}",
        )
        for task in due.ids
    ]
    ways.append(inner_link(visit.attach(SYSTEM, blank_info()), SYSTEM))
    return el("p", "Templates, with every id: ", *[part for way in ways for part in (", ", way)][1:], ".")


def _commands(due: Due) -> Html:
    """The commands that check and submit the two files."""
    split = "" if due.split is MAIN else f" --split {due.split}"
    folder = f"submissions/{due.edition}/TEAM/SYSTEM"
    return join(
        [
            el(
                "p",
                "Put both files into ",
                el("code", folder),
                " of a clone of the project, check them, and get the receipt:",
            ),
            el("pre", f"hellofresh submission check {folder}{split}\nhellofresh submission add {folder}{split}"),
            el("p", "Then send the folder with its receipt as a pull request."),
        ]
    )


def due_key(due: Due) -> str:
    """Its value in an address: `2026Q3`, or `2026Q3-prospective`."""
    return str(due.edition) if due.split is MAIN else f"{due.edition}-{due.split}"


def due_label(due: Due, moment: datetime) -> str:
    """One plain line for a select box."""
    return f"{_name(due)} ({'open' if due.takes(moment) else 'check only'})"


def next_opening(dues: Iterable[Due], moment: datetime) -> tuple[datetime, Edition] | None:
    """When the next quarter opens, and which: an existing one, or the one that opens when the latest is revealed."""
    coming: list[tuple[datetime, Edition]] = []
    for due in dues:
        for calendar in due.calendars.values() if due.split is MAIN else ():
            coming.append((calendar.opens, due.edition))
            coming += [(calendar.reveals, due.edition.next())] if isinstance(due.edition, Quarter) else []
    return min((one for one in coming if one[0] > moment), default=None)


def opening(dues: Sequence[Due], moment: datetime) -> Html:
    """Quarters open for predictions and their deadlines; or the next opening if none is open."""
    taken = [due for due in dues if due.takes(moment)]
    if taken:
        return join(
            el("p", el("strong", _name(due)), f" accepts predictions {_until(due)}{_resolved(due)}.") for due in taken
        )
    coming = next_opening(dues, moment)
    then = f"{coming[1]} opens on {_time(coming[0])}. " if coming else ""
    return notice("No quarter accepts predictions at the moment.", f"{then}Until then you can check files here.")


def _resolved(due: Due) -> str:
    """The last day on which a prospective split is resolved, if its calendar states one."""
    last = max((days.reveals for days in due.calendars.values() if days.reveals > days.deadline), default=None)
    return f"; outcomes are published by {_time(last)}" if last and due.split is not MAIN else ""


def _answers_due(due: Due) -> list[str | Html]:
    """The fields of an answer to the tasks, each with what it holds."""
    classes = {task: known.classes for task in due.ids if (known := TASKS.get(task))}
    # Classes are listed if there are more than two.
    labels = [
        f"of {task_title(task)} " + ", ".join(f"{label} for {names[label]}" for label in reversed(range(len(names))))
        for task, names in classes.items()
        if len(names) > 2
    ]
    fields = [ANSWERS[known.output] if (known := TASKS.get(task)) else "label" for task in due.ids]
    said = "; ".join([*(["1 or 0"] if len(labels) < fields.count("label") else []), *labels])
    meant = {"label": said, "text": "the response", "documents": "a list of their ids, the best first"}
    asked = [
        part
        for name in dict.fromkeys(fields)
        for part in (" or ", el("code", name), f" ({meant[name]}, or null for no answer)")
    ][1:]
    if due.split is not MAIN and "label" in fields:
        asked += [" and ", el("code", "probabilities"), " (one for each class)"]
    return asked


def what_is_due(due: Due, moment: datetime) -> Html:
    """The content of a submission, and the number of its samples."""
    counts = ", ".join(f"{len(ids):,} of {task_title(task)}" for task, ids in due.ids.items())
    one = " One task is enough; within a task every sample is due." if len(due.ids) > 1 else " Every sample is due."
    steps = (
        el("li", el("code", due.files.jsonl), f" (or {due.files.csv}): a line with ", el("code", "id"), " and ",
           *_answers_due(due), f" for each sample, {counts}.{one}"),
        el("li", el("code", SYSTEM), ": the names of system and team, how models were asked, and their cutoff."),
    )  # fmt: skip
    closed = None
    if not due.takes(moment):
        why = f"accepted predictions {_until(due)}. You can still check files against it, but not submit them."
        why = f"opens on {_time(_opens(due))}." if moment < _opens(due) else why
        closed = notice("Check only.", f"{_name(due)} {why}")
    about = (
        f"Two files. Start from the templates: they hold every id of {_name(due)}, without labels. The samples "
        "themselves are in its public release."
    )
    return join([closed, heading("What to submit", about), el("ol", *steps)])


def _opens(due: Due) -> datetime:
    return min(calendar.opens for calendar in due.calendars.values())


def _name(due: Due) -> str:
    return str(due.edition) if due.split is MAIN else f"{due.edition}, {due.split} split"


def _until(due: Due) -> str:
    """The deadline, or that of each task if they differ."""
    if not due.calendars:
        rated = any(known.output is Response for task in due.ids if (known := TASKS.get(task)))
        return "at any time; " + ("scored once people have rated it" if rated else "its labels are public")
    deadlines = {task: _time(calendar.deadline) for task, calendar in due.calendars.items()}
    if len(set(deadlines.values())) == 1:
        return f"until {next(iter(deadlines.values()))}"
    return "until " + ", ".join(f"{when} ({task_title(task)})" for task, when in deadlines.items())


def _time(moment: datetime) -> str:
    return f"{day(moment)}, {moment:%H:%M} UTC"


def check_result(review: Review) -> Html:
    """The check's result in a sentence, then every finding."""
    warnings = _counted(len(review.warnings), "warning")
    noted = f" {warnings}: allowed, but perhaps unintended." if review.warnings else ""
    said = "No fault."
    if review.faults:
        said = f"{_counted(len(review.faults), 'fault')}: not ready to submit yet."
    elif review.missing:
        said = f"No fault so far; {' and '.join(review.missing)} is still missing."
    return join([el("p", el("strong", said), noted), findings_table(review.faults, review.warnings)])


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def findings_table(faults: Sequence[Fault], warnings: Sequence[Fault]) -> Html | None:
    """Every finding with its place; quotes of the upload are sanitised."""
    rows = []
    for number, fault in enumerate((*faults, *warnings)[:_MOST_FINDINGS]):
        found = _PLACE.fullmatch(fault.where)
        file, line, field = found.group("file", "line", "field") if found else (None, None, None)
        place = f"{visible(field, 60)}: " if field else ""
        is_fault = number < len(faults)
        cells: list[Cell] = [
            file or DASH,
            f"{int(line):,}" if line else DASH,
            join([el("code", fault.code), None if is_fault else el("small", "warning")]),
            el("bdi", f"{place}{visible(fault.what, 300)}"),
            el("bdi", visible(fault.fix, 300)) if fault.fix else DASH,
        ]
        rows.append(Marked(None if is_fault else "hf-warning", cells))
    if not rows:
        return None
    columns = [
        ("text", "File"),
        ("number", "Line"),
        ("text", "Code"),
        ("said", "What is wrong"),
        ("said", "What to do"),
    ]
    more = len(faults) + len(warnings) - _MOST_FINDINGS
    rest = el("p", f"And {_counted(more, 'finding')} more, which the command line shows.") if more > 0 else None
    return join([table("What the check found", columns, rows, "hf-faults"), rest])


def preview(submission: Submission, due: Due) -> Html:
    """The future entry on the board and its answers to samples; never a score."""
    info, cutoff = submission.info, submission.info.knowledge_cutoff
    models = join([part for model in info.models for part in (", ", named(model))][1:])
    contact = join([named(info.contact), " (not on the board, but in the public folder of submissions)"])
    about = facts(
        [
            ("System", named(info.name)),
            ("Team", named(info.team)),
            ("Regime", info.regime),
            ("Models", models if info.models else "none"),
            ("Main model", model_said(info)),
            ("Cutoff", cutoff.isoformat() if isinstance(cutoff, date) else cutoff),
            ("Page", link(info.url, visible(info.url, 120)) if info.url else None),
            ("In its makers' words", named(info.notes, 2000) if info.notes else None),
            ("Contact", contact),
            ("Place", el("code", f"submissions/{place_of(submission)}/")),
        ]
    )
    columns = [("name", "Task"), ("number", "Samples"), ("said", "Answers"), ("number", "No answer")]
    rows = (_task_row(task, due.ids[task], submission) for task in due.tasks_of(submission.labels))
    said = "This is how the board will show it after the deadline. Nothing is scored earlier, not even here."
    return join(
        [
            heading("Preview", said),
            about,
            table("Answers by task", columns, rows, "hf-given"),
            _first_lines(submission),
            el("p", "SHA-256 of the content: ", el("code", submission.sha256), class_="hf-hash"),
        ]
    )


def _task_row(task: str, ids: Sequence[str], submission: Submission) -> list[Cell]:
    known = frozenset(ids)
    mine = [item for item in submission.predictions if item.id in known]
    given = [item for item in mine if item.repetition == 1]
    often = max((item.repetition for item in mine), default=1)
    silent = sum(item.answer is None for item in given)
    samples = f"{len(ids):,}", f"{often} times" if often > 1 else None
    return [
        task_title(task),
        samples,
        _answers(task, given),
        (f"{silent:,}", f"{silent / len(ids):.0%} counts as wrong"),
    ]


def _answers(task: str, given: Sequence[Prediction]) -> str:
    """The frequency of each class, or the lengths of texts and rankings."""
    answers = [item.answer for item in given if item.answer is not None]
    labels = [answer for answer in answers if isinstance(answer, int)]
    if not answers:
        return DASH
    if not labels:
        texts = [answer for answer in answers if not isinstance(answer, int)]
        sizes = [len(answer.split()) if isinstance(answer, str) else len(answer) for answer in texts]
        unit = "words" if given[0].field == "text" else "documents"
        return f"{len(answers):,}, of {median(sizes):g} {unit} in the median"
    known = TASKS.get(task)
    names = known.classes if known is not None else ()
    counts = {label: labels.count(label) / len(given) for label in sorted(set(labels), reverse=True)}
    titles = {label: names[label] if label < len(names) else f"label {label}" for label in counts}
    return ", ".join(f"{share:.0%} {titles[label]}" for label, share in counts.items())


def _first_lines(submission: Submission) -> Html:
    columns = [("name", "Sample"), ("said", "Answer"), ("number", "Stated"), ("number", "Sources")]
    rows: list[list[Cell]] = []
    for item in submission.predictions[:_FIRST_LINES]:
        answer = ", ".join(item.answer) if isinstance(item.answer, tuple) else item.answer
        number = item.confidence if item.confidence is not None else item.certainty
        stated = DASH if number is None else f"{number:g}"
        stated = " ".join(f"{chance:.2g}" for chance in item.probabilities) if item.probabilities else stated
        rows.append(
            [
                el("code", visible(item.id, 40)),
                el("bdi", visible("null" if answer is None else str(answer), 160)),
                stated,
                f"{len(item.sources):,}",
                el("bdi", visible(item.rationale, 160)) if item.rationale else DASH,
            ]
        )
    said = el("p", f"The first {len(rows)} of {_counted(len(submission.predictions), 'line')}, by id:")
    return join([said, table("First lines", [*columns, ("said", "Rationale")], rows, "hf-lines")])


def otherwise(submission: Submission, due: Due) -> Html:
    """Ways to send the package without the site."""
    split = "" if due.split is MAIN else f" --split {due.split}"
    command = f"hellofresh submission add submissions/{place_of(submission)}{split}"
    return el(
        "p",
        "To submit it by a pull request, unpack the package in the folder ",
        el("code", "submissions"),
        " of a clone of the project and run ",
        el("code", command),
        ".",
    )


def received(receipt: Receipt, *, new: bool) -> Html:
    """The receipt, in words."""
    return notice(
        "Submitted." if new else "This was submitted before.",
        f"Received {utc_text(receipt.received)} by {visible(receipt.code, 40)}; SHA-256 ",
        el("code", receipt.sha256),
        ". Keep the receipt: it proves what was received, and when. The submission counts once the maintainers "
        "have accepted it.",
    )


PAGE = Page("Submit", "submit", _compose, _LEDE, once=True)
