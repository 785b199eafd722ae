"""How the benchmark works, for readers who want to know before they trust a number."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from hellofresh.tasks import TASKS, Task
from leaderboard.components.labels import task_order, track_title
from leaderboard.components.markup import Html, el, join, link
from leaderboard.components.scale import constant_answer
from leaderboard.data.board import Board

_NOTES_GUIDE = link("https://communitynotes.x.com/guide/", "Community Notes guide")
_REVERTING = link("https://en.wikipedia.org/wiki/Help:Reverting", "Wikipedia's help on reverting")

_SECTIONS: tuple[tuple[str, tuple[tuple[Html | str, ...], ...]], ...] = (
    (
        "Where the labels come from",
        (
            (
                "Living tasks need no annotators: their labels are decisions that people made when they rated notes "
                "and edited articles. A Community Note is helpful or not helpful according to its status, read once "
                "the status is locked; see the ", _NOTES_GUIDE, ".",
            ),
            (
                "An edit of a Wikipedia paragraph is accepted if the new paragraph stood through the next revisions "
                "of the article, and rejected if somebody else soon put the old one back and that stood; see ",
                _REVERTING, ". An article of L paragraphs asks for 2 + L/10 revisions. Everything less clear is left "
                "out.",
            ),
            (
                "Labels stay private while a quarter is open. A commitment is published with the samples: a hash "
                "of each label and a secret salt. So anyone can check later that no label was changed.",
            ),
            (
                "A frozen data set was labelled by its authors. All of its rows are kept, with the skew that they "
                "have, and its labels are public: models may have seen them, and its pages say since when.",
            ),
            (
                "Quarters marked as bundled sample are different: their rows were written for the project, in the "
                "formats of the real sources, so that everything can be tried without a download. Their scores "
                "mean nothing.",
            ),
        ),
    ),
    (
        "Choice of samples",
        (
            (
                "Each period (a month of notes, a week of edits) gives the same number of each label. Which ones is "
                "decided by the smallest hash of a key, secret until the labels are public, and the sample's id. So "
                "guessing between two labels has an accuracy of one half, "
                "and no period weighs more because one side was busy. The Data page shows what was left out, and why.",
            ),
        ),
    ),
    (
        "How models are asked",
        (
            (
                "Each sample is sent to a model with several prompts. A system's row on the board is the vote of its "
                "prompts, and the scores of every prompt are shown below the table. A tie counts as no answer.",
            ),
            (
                "A regime reads the answer from its model's words. If the text begins with a refusal, or the provider "
                "withholds it, the answer is blocked; an unreadable answer is missing. Both count as wrong, so that a "
                "system gains nothing by not answering where it is unsure.",
            ),
        ),
    ),
    (
        "Intervals",
        (
            (
                "The samples are one draw out of many possible ones. A 95% interval says where the score over all "
                "of them lies. Leaving out one post or article at a time (the jackknife) gives the effective "
                "number of independent samples; Wilson's interval is computed for that number.",
            ),
            (
                "Notes on one post, and edits of one article, are correlated, so they form one cluster. Two "
                "overlapping intervals do not prove that two systems are equal, nor that the better one leads.",
            ),
        ),
    ),
    (
        "Rules",
        (
            (
                "A quarter accepts predictions from its opening until its deadline, one week before its labels are "
                "revealed. The receipt counts: it holds the hash of the submission and the time it was received. "
                "Until the deadline a team may replace or withdraw an entry. An entry that is changed later no "
                "longer matches its receipt and is not scored.",
            ),
            (
                "A team has up to two entries for each task and quarter, answers every sample of a task, and says "
                "which regime it worked under. Copies of other entries and names that look like another team's are "
                "flagged, and a maintainer looks at them.",
            ),
            (
                "Once a quarter is open, its samples do not change. If a sample has to be taken down later, only "
                "its id stays, and no system is scored on it.",
            ),
        ),
    ),
    (
        "Lanes, baselines and the smoke test",
        (
            (
                "Systems in the lane “run by us” were run by this project's harness, which keeps every answer. "
                "Systems in the lane “submitted” sent predictions; they are checked and scored by the same code, "
                "but how they were made is the team's word. Every maker also states the knowledge cutoff.",
            ),
            (
                "Baselines are simple rules. The smoke test is a very small model that runs anywhere and answers "
                "at chance level: it proves that the path from sources to board works, and nothing else.",
            ),
        ),
    ),
)  # fmt: skip


def about_benchmark() -> Html:
    """What is asked, where labels come from, and how scores are made."""
    parts = []
    for track, tasks in groupby(sorted(TASKS, key=task_order), key=track_title):
        asked = (el("div", el("dt", TASKS[name].title), el("dd", *_asked(TASKS[name]))) for name in tasks)
        parts += [el("h3", track), el("dl", *asked)]
    sections = (join([el("h2", title), *(el("p", *text) for text in texts)]) for title, texts in _SECTIONS)
    return el("article", el("h2", "What is asked"), *parts, *_scores(), *sections, class_="hf hf-prose")


def _asked(task: Task) -> Iterator[str]:
    yield task.question
    if task.classes:
        yield f" Answers: {', '.join(task.classes)}."


def _scores() -> Iterator[Html]:
    """What systems are ranked by, and what one answer for every sample would get."""
    yield el("h2", "Scores")
    found: dict[str, list[Task]] = {}
    for task in TASKS.values():
        found.setdefault(task.headline.title or task.headline.name, []).append(task)
    for title, tasks in found.items():
        meaning = f", {tasks[0].headline.meaning}" if tasks[0].headline.meaning else ""
        yield el("p", f"Systems are ranked by {title}{meaning}, on: {', '.join(task.title for task in tasks)}.")
    said = (_constant(task) for task in TASKS.values() if task.track == "decisions")
    yield el("p", *said, "A score below is not yet a success.")


def _constant(task: Task) -> str:
    label, value = constant_answer(task.headline, [1] * len(task.classes))
    title = task.headline.title
    return f"On balanced samples, always answering “{task.classes[label]}” gives {title} {value:.3f} ({task.title}). "


def about_board(board: Board) -> Html:
    """Which code built the board, what is on it, and how to cite it."""
    editions = ", ".join(sorted({split.edition for split in board.splits}))
    built = el("p", f"Built by {board.code}. Editions on it: {editions}.")
    version = board.code.rpartition(" ")[2]
    cited = el(
        "p",
        "Name the task, the quarter and the version: scores of different quarters come from different samples. To "
        "cite the benchmark:",
    )
    entry = (
        "@software{hellofresh,\n"
        "  title   = {{HelloFresh}: a living benchmark of fresh decisions of people},\n"
        "  author  = {{The HelloFresh project}},\n"
        f"  version = {{{version}}},\n"
        "}"
    )
    return el("article", el("h2", "This board"), built, el("h2", "How to cite"), cited, el("pre", entry),
              class_="hf hf-prose")  # fmt: skip


def about_changes(changelog: str) -> Html | None:
    """What has changed from version to version.

    Args:
        changelog: Markdown with a heading a version, below it lists with headings of their own; empty if not known.
    """
    versions = [part.partition("\n") for part in f"\n{changelog}".split("\n## ")[1:]]
    if not versions:
        return None
    folded = (el("details", el("summary", title), *_groups(body)) for title, _, body in versions)
    return el("article", el("h2", "Changes"), *folded, class_="hf hf-prose")


def _groups(body: str) -> Iterator[Html]:
    """The lists of a version, each after its heading, if it has one."""
    for part in f"\n{body}".split("\n### "):
        title, _, points = part.partition("\n")
        if title:
            yield el("h3", title)
        if found := f"\n{points}".split("\n- ")[1:]:
            yield el("ul", *map(_change, found))


def _change(text: str) -> Html:
    """A point of the list; what stands between backticks is code."""
    parts = " ".join(text.split()).split("`")
    return el("li", *(el("code", part) if number % 2 else part for number, part in enumerate(parts)))
