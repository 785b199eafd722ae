"""How to take part: what is due until when, the files to begin with, and how predictions are checked and sent."""

from __future__ import annotations

from datetime import UTC, datetime

from hellofresh.leaderboard.components.labels import task_title
from hellofresh.leaderboard.components.markup import Html, el, inner_link, join
from hellofresh.leaderboard.components.pieces import heading
from hellofresh.leaderboard.components.submit import due_key, opening, what_is_due
from hellofresh.leaderboard.data.uploads import load_dues
from hellofresh.leaderboard.views.visit import Page, Visit
from hellofresh.submissions.check import Due, blank_info, blank_predictions
from hellofresh.submissions.format import SYSTEM
from hellofresh.tasks.samples import MAIN

_LEDE = "How to take part with your own system."


def _compose(visit: Visit) -> None:
    visit.header("Submit", _LEDE)
    dues = [due for due in reversed(load_dues(visit.board.folder)) if any(due.ids.values())]
    waiting = [due for due in dues if due.calendars and due.revealed < due.ids.keys()]
    frozen = [due for due in dues if not due.edition.is_living]
    if not waiting:
        visit.show(el("p", "No quarter accepts predictions at the moment."))
    for due in waiting:
        # Pages do not depend on the time at which they are drawn: what is not revealed is shown as on its first day.
        opens = min(calendar.opens for calendar in due.calendars.values())
        visit.show(opening([due], opens), what_is_due(due, opens), _templates(visit, due), _commands(due))
    if frozen:
        about = "Their labels are public: predictions are accepted at any time, and scored at once."
        visit.show(heading("Frozen data sets", about))
        visit.show(*(el("details", el("summary", str(due.edition)), *_of_frozen(visit, due)) for due in frozen))


def _of_frozen(visit: Visit, due: Due) -> tuple[Html, ...]:
    return what_is_due(due, datetime.max.replace(tzinfo=UTC)), _templates(visit, due), _commands(due)


def _templates(visit: Visit, due: Due) -> Html:
    """The two files to begin with, with every id."""
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
    """How the two files are checked and sent."""
    split = "" if due.split is MAIN else f" --split {due.split}"
    folder = f"submissions/{due.edition}/TEAM/SYSTEM"
    return join(
        [
            el(
                "p",
                "Put both files into ",
                el("code", folder),
                " of a clone of the project, check them, and take the receipt:",
            ),
            el("pre", f"hellofresh submission check {folder}{split}\nhellofresh submission add {folder}{split}"),
            el("p", "Then send the folder with its receipt as a pull request."),
        ]
    )


PAGE = Page("Submit", "submit", _compose, _LEDE, once=True)
