"""The dataset card: what is in the publication, where it comes from, what it cannot show, and how to check it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from hellofresh.files import read_jsonl
from hellofresh.releases.life.manifest import calendar_of
from hellofresh.releases.publish._front import front_matter, title_of
from hellofresh.releases.publish._parts import PublishedPart
from hellofresh.releases.publish._texts import card_texts, statement_on
from hellofresh.tasks import Task, get_task

__all__ = ["card", "licences_of"]


def card(parts: Sequence[PublishedPart], rows: Mapping[PurePosixPath, int]) -> str:
    """The text of README.md.

    Args:
        parts: what is published.
        rows: samples of each part, by its place.
    """
    texts = card_texts()
    tasks = [get_task(name) for name in dict.fromkeys(part.task.name for part in parts)]
    bundled = [part.bundled for part in parts]
    first = parts[0]
    about = texts.about.format(folder="path/to/this/folder", config=first.config, split=first.split)
    sections = [
        f"# {title_of(parts)}",
        *([texts.bundled] if all(bundled) else [texts.partly] if any(bundled) else []),
        about,
        "## What is in it",
        "\n".join(_on_task(task) for task in tasks),
        _quarters(parts, rows),
        *([texts.prospective] if any(part.prospective for part in parts) else []),
        "## Data statement",
        *(f"**{task.title}.** {statement_on(task.name).source}\n\n{statement_on(task.name).people}" for task in tasks),
        "## Limits",
        _limits(tasks),
        "## Licences",
        *(f"**{task.title}.** {statement_on(task.name).licence}" for task in tasks),
        "What the project adds (the choice of samples, labels, commitments, manifests and tables) is under Apache-2.0.",
        "## What was left out",
        "Every row of the sources is accounted for.",
        *(_funnel(part) for part in parts if not part.prospective),
        texts.checking,
        texts.taking_down,
    ]
    return front_matter(parts, rows, licences_of(parts)) + "\n" + "\n\n".join(sections) + "\n"


def licences_of(parts: Iterable[PublishedPart]) -> list[str]:
    """The licences that samples name, sorted."""
    return sorted({str(row["license"]) for part in parts for row in read_jsonl(part.folder / "samples.jsonl")})


def _on_task(task: Task) -> str:
    return f"- **{task.name}**: {task.question} Label 1: {task.positive}, 0: {task.negative}."


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|").replace("\n", " ")


def _quarters(parts: Sequence[PublishedPart], rows: Mapping[PurePosixPath, int]) -> str:
    head = ("configuration", "split", "samples", "state", "opened", "last prediction", "labels", "texts", "source")
    lines = []
    for part in parts:
        days = calendar_of(part.manifest, part.folder)
        labels = "public" if part.has_labels else "open" if part.prospective else f"on {days.reveals:%Y-%m-%d}"
        source = "bundled sample" if part.bundled else part.manifest.source
        place = (f"`{part.config}`", f"`{part.split}`", rows[part.place], str(part.phase))
        times = (f"{days.opens:%Y-%m-%d}", f"{days.deadline:%Y-%m-%d %H:%M} UTC", labels)
        lines.append((*place, *times, part.manifest.texts, source))
    return _table(head, lines)


def _limits(tasks: Iterable[Task]) -> str:
    common = (
        "In each period both labels are equally frequent, which they are not in the world: rates cannot be read off."
    )
    own = [f"- {task.name}: {limit}" for task in tasks for limit in statement_on(task.name).limits]
    return "\n".join([f"- {common}", *own])


def _funnel(part: PublishedPart) -> str:
    funnel, selection = part.manifest.collection.funnel, part.manifest.selection
    taken = selection.samples if selection else 0
    rows: list[tuple[str, object]] = [(f"{funnel.unit} found", funnel.rows_in)]
    rows += [(f"left out: {drop.meaning}", drop.count) for drop in funnel.drops if drop.count]
    rows += [("candidates", funnel.total_kept), ("samples drawn, both labels in equal numbers", taken)]
    source = " (bundled sample)" if part.bundled else ""
    return f"### {part.task.name} {part.edition}{source}\n\n" + _table(("", funnel.unit), rows)
