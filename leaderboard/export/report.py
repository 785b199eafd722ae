"""One page with all analyses of a quarter: a single HTML file that needs nothing else, in the frame of the copy.

Figures are pictures within the file, which can run nothing; there is no script, and the page's own policy forbids it to
load anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hellofresh import __version__
from leaderboard.components.markup import Html, bundled_notice, el, inline_picture, named, page_header
from leaderboard.data.analyses import BoardAnalysis
from leaderboard.export.copy import document, style
from leaderboard.views.analyses import analysis_section, questions

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_LEDE = (
    "All intervals are at 95%; samples of one post or article form one cluster. No answer counts as a wrong "
    "answer. Figures show the leading systems, tables all of them."
)
_FILES = "The whole table is in the CSV and Parquet files beside this page."


@dataclass(frozen=True, slots=True)
class ReportTask:
    """A task in a report.

    Attributes:
        name, title, question: of the task.
        size: how many samples, groups and systems, a sentence.
        analyses: in order.
    """

    name: str
    title: str
    question: str
    size: str
    analyses: Sequence[BoardAnalysis]


def report_page(edition: str, tasks: Sequence[ReportTask]) -> str:
    """The page.

    Args:
        edition: which.
        tasks: at least one.

    Raises:
        DataError: if a table or figure is not the one that was made (`damaged-board`).
    """
    title = f"HelloFresh {edition}: analyses"
    bundled = any(analysis.text.bundled for task in tasks for analysis in task.analyses)
    body = el(
        "main",
        page_header(title, _LEDE),
        bundled_notice(bundled),
        *(_task(task) for task in tasks),
        el("footer", el("p", f"Made by hellofresh {__version__}."), class_="hf-foot"),
        class_="hf",
    )
    return document(
        title, _LEDE, _POLICY, [el("style", Html(f"{style()}\nmain {{ padding-top: 1.25rem; }}"))], el("body", body)
    )


def _task(task: ReportTask) -> Html:
    """The task's questions, then each with its figure; what is to be known of all is said once."""
    texts = [one.text for one in task.analyses]
    common = [note for note in texts[0].notes if all(note in text.notes for text in texts)]
    own = [
        replace(
            one, text=one.text.model_copy(update={"notes": [note for note in one.text.notes if note not in common]})
        )
        for one in task.analyses
    ]
    return el(
        "section",
        el("h2", task.title),
        el("p", f"{task.question} {task.size}"),
        el("ul", *(el("li", named(note, 1000)) for note in common), class_="hf-notes") if common else None,
        questions(own, lambda name: f"./report.html#{task.name}-{name}"),
        *(
            analysis_section(one, inline_picture(one.svg()), el("p", _FILES), anchor=f"{task.name}-{one.text.name}")
            for one in own
        ),
        id=task.name,
    )
