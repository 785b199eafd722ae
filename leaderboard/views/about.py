"""Methods of the benchmark, for readers who check before they trust; the prose is in `about.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from hellofresh.tasks import TASKS
from leaderboard.components.labels import task_order, track_title
from leaderboard.components.markup import Html, el, join, link
from leaderboard.components.scale import constant_answer
from leaderboard.data.board import Board
from leaderboard.views.visit import Page, Visit

_LEDE = "How the benchmark is made, and what its numbers can and cannot say."
_PROSE = Path(__file__).resolve().parents[1] / "about.md"
# Beside the code; missing if only the package is installed.
_CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
_LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


def _compose(visit: Visit) -> None:
    visit.header("About", _LEDE)
    changelog = _CHANGELOG.read_text(encoding="utf-8") if _CHANGELOG.is_file() else ""
    visit.show(_benchmark(), _this_board(visit.board), about_changes(changelog))


def _benchmark() -> Html:
    """Questions, ranking metrics, and the origin of labels and scores."""
    parts = []
    for track, names in groupby(sorted(TASKS, key=task_order), key=track_title):
        tasks = [TASKS[name] for name in names]
        answers = {task.name: f" Answers: {', '.join(task.classes)}." if task.classes else None for task in tasks}
        asked = (el("div", el("dt", task.title), el("dd", task.question, answers[task.name])) for task in tasks)
        parts += [el("h3", track), el("dl", *asked)]
    ranked: dict[str, list[str]] = {}
    for task in TASKS.values():
        metric = task.headline
        meaning = f", {metric.meaning}" if metric.meaning else ""
        ranked.setdefault(f"{metric.title or metric.name}{meaning}", []).append(task.title)
    scores = [el("p", f"Systems are ranked by {by}, on: {', '.join(titles)}.") for by, titles in ranked.items()]
    constant: dict[str, list[str]] = {}
    for task in TASKS.values():
        if task.track == "decisions":
            label, value = constant_answer(task.headline, [1] * len(task.classes))
            always = f"On balanced samples, always answering “{task.classes[label]}” gives"
            constant.setdefault(f"{always} {task.headline.title} {value:.3f}", []).append(task.title)
    said = (f"{always} ({', '.join(titles)}). " for always, titles in constant.items())
    scores.append(el("p", *said, "Only a score above that shows any skill."))
    prose = _sections(_PROSE.read_text(encoding="utf-8"))
    return el("article", el("h2", "What is asked"), *parts, el("h2", "Scores"), *scores, *prose, class_="hf hf-prose")


def _sections(markdown: str) -> Iterator[Html]:
    """Headings of the second level, paragraphs and links: the prose uses no other markup."""
    for block in markdown.strip().split("\n\n"):
        text = " ".join(block.split())
        if text.startswith("## "):
            yield el("h2", text.removeprefix("## "))
            continue
        plain, *linked = _LINK.split(text)
        links = zip(linked[::3], linked[1::3], linked[2::3], strict=True)
        yield el("p", plain, *(join([link(address, name), after]) for name, address, after in links))


def _this_board(board: Board) -> Html:
    """The code version of the board, its contents, and its citation."""
    editions = ", ".join(sorted({split.edition for split in board.splits}))
    version = board.code.rpartition(" ")[2]
    entry = (
        "@software{hellofresh,\n"
        "  title   = {{HelloFresh}: a living benchmark of fresh decisions of people},\n"
        "  author  = {{The HelloFresh project}},\n"
        f"  version = {{{version}}},\n"
        "}"
    )
    cited = (
        "Name the task, the quarter and the version: scores of different quarters come from different samples. To "
        "cite the benchmark:"
    )
    return el(
        "article",
        el("h2", "This board"),
        el("p", f"Built by {board.code}. Editions on it: {editions}."),
        el("h2", "How to cite"),
        el("p", cited),
        el("pre", entry),
        class_="hf hf-prose",
    )


def about_changes(changelog: str) -> Html | None:
    """Changes by version.

    Args:
        changelog: Markdown with a heading for each version and lists with headings below; empty if unknown.
    """
    versions = [part.partition("\n") for part in f"\n{changelog}".split("\n## ")[1:]]
    if not versions:
        return None
    folded = (el("details", el("summary", title), *_groups(body)) for title, _, body in versions)
    return el("article", el("h2", "Changes"), *folded, class_="hf hf-prose")


def _groups(body: str) -> Iterator[Html]:
    """The lists of a version, each after its heading, if any."""
    for part in f"\n{body}".split("\n### "):
        title, _, points = part.partition("\n")
        if title:
            yield el("h3", title)
        if found := f"\n{points}".split("\n- ")[1:]:
            # Text between backticks is code.
            texts = (" ".join(point.split()).split("`") for point in found)
            yield el("ul", *(el("li", *(el("code", one) if k % 2 else one for k, one in enumerate(t))) for t in texts))


PAGE = Page("About", "about", _compose, _LEDE, once=True)
