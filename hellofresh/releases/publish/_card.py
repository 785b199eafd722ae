"""The dataset card: what is in the publication, where it comes from, what it cannot show, and how to check it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from hellofresh.core.files import read_jsonl
from hellofresh.releases.life.manifest import calendar_of
from hellofresh.releases.publish._corpora import SearchedCorpus, licences_in
from hellofresh.releases.publish._front import front_matter, title_of
from hellofresh.releases.publish._parts import PublishedPart
from hellofresh.releases.publish._texts import DataStatement, card_texts, has_statement, statement_on
from hellofresh.tasks import Task

__all__ = ["card", "licences_of"]

_BALANCED = (
    "In each period of a quarter all labels are equally frequent, which they are not in the world: rates cannot be "
    "read off."
)


def card(parts: Sequence[PublishedPart], corpora: Sequence[SearchedCorpus], rows: Mapping[PurePosixPath, int]) -> str:
    """The text of README.md.

    Args:
        parts: what is published.
        corpora: what its queries are searched in, whether it is published or not.
        rows: samples of each part, by its place.
    """
    texts = card_texts()
    tasks = {part.task.name: part.task for part in parts}
    statements = {part.task.name: _statement(part) for part in parts}
    bundled = [part.bundled for part in parts]
    first = parts[0]
    about = texts.about.format(folder="path/to/this/folder", config=first.config, split=first.split)
    sections = [
        f"# {title_of(parts)}",
        *([texts.bundled] if all(bundled) else [texts.partly] if any(bundled) else []),
        about,
        "## What is in it",
        "\n".join(_on_task(task) for task in tasks.values()),
        _quarters(parts, rows),
        *([_corpora(corpora)] if corpora else []),
        *([texts.prospective] if any(part.prospective for part in parts) else []),
        "## Data statement",
        *(f"**{tasks[name].title}.** {said.source}\n\n{said.people}" for name, said in statements.items()),
        "## Limits",
        _limits(parts, statements),
        "## Licences",
        *(f"**{tasks[name].title}.** {said.licence}" for name, said in statements.items()),
        "What the project adds (the choice of samples, labels, commitments, manifests and tables) is under Apache-2.0.",
        "## What was left out",
        "Every row of the sources is accounted for.",
        *(_funnel(part) for part in parts if not part.prospective),
        texts.checking,
        texts.taking_down,
    ]
    passed_on = [one for one in corpora if one.is_published]
    return front_matter(parts, passed_on, rows, licences_of(parts, passed_on)) + "\n" + "\n\n".join(sections) + "\n"


def licences_of(parts: Iterable[PublishedPart], corpora: Iterable[SearchedCorpus] = ()) -> list[str]:
    """The licences that samples and corpora name, sorted."""
    phrases = {str(row["license"]) for part in parts for row in read_jsonl(part.folder / "samples.jsonl")}
    named = {name for phrase in phrases for name in licences_in(phrase)}
    return sorted(named.union(*(one.licences for one in corpora)))


def _on_task(task: Task) -> str:
    labels = ", ".join(f"{label}: {name}" for label, name in reversed([*enumerate(task.classes)]))
    return f"- **{task.name}**: {task.question}{f' Label {labels}.' if labels else ''}"


def _corpora(corpora: Sequence[SearchedCorpus]) -> str:
    """What the queries are searched in, with the reason where a corpus is not in here."""
    rows = [(one.name, f"`{one.sha256[:12]}`", " AND ".join(one.licences) or "unknown", _where(one)) for one in corpora]
    return "Queries are searched in these corpora:\n\n" + _table(("corpus", "content", "licence", "documents"), rows)


def _where(one: SearchedCorpus) -> str:
    if one.is_published:
        return f"configuration `{one.config}`, split `documents`"
    if one.corpus is None:
        return "not in here: the corpus was not at hand"
    return "not in here: not every licence lets us pass them on (hellofresh corpus import)"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|").replace("\n", " ")


def _quarters(parts: Sequence[PublishedPart], rows: Mapping[PurePosixPath, int]) -> str:
    head = ("configuration", "split", "samples", "state", "opened", "last prediction", "labels", "texts", "source")
    lines = []
    for part in parts:
        source = "bundled sample" if part.bundled else part.manifest.source
        place = (f"`{part.config}`", f"`{part.split}`", rows[part.place], str(part.phase))
        lines.append((*place, *_times(part), part.manifest.texts, source))
    return _table(head, lines)


def _times(part: PublishedPart) -> tuple[str, str, str]:
    """When it opened, until when predictions are taken, and when labels are public."""
    if not part.edition.is_living:
        return f"{part.opened:%Y-%m-%d}", "at any time", "public"
    days = calendar_of(part.manifest, part.folder)
    labels = "public" if part.has_labels else "open" if part.prospective else f"on {days.reveals:%Y-%m-%d}"
    return f"{days.opens:%Y-%m-%d}", f"{days.deadline:%Y-%m-%d %H:%M} UTC", labels


def _limits(parts: Sequence[PublishedPart], statements: Mapping[str, DataStatement]) -> str:
    balanced = any(part.edition.is_living for part in parts)
    own = [f"- {name}: {limit}" for name, statement in statements.items() for limit in statement.limits]
    return "\n".join([*([f"- {_BALANCED}"] if balanced else []), *own])


def _statement(part: PublishedPart) -> DataStatement:
    """The statement on a task's data; for a data set that has none, what its manifest says."""
    dataset = part.manifest.dataset
    if dataset is None or has_statement(part.task.name):
        return statement_on(part.task.name)
    return DataStatement(
        source=f"{dataset.name}, from {dataset.address}.",
        people="Nothing is known here of who wrote it.",
        licence=dataset.licence,
        limits=[f"Labels have been public since {dataset.published}: models may have been trained on them."],
    )


def _funnel(part: PublishedPart) -> str:
    funnel, selection = part.manifest.collection.funnel, part.manifest.selection
    taken = selection.samples if selection else 0
    rows: list[tuple[str, object]] = [(f"{funnel.unit} found", funnel.rows_in)]
    rows += [(f"left out: {drop.meaning}", drop.count) for drop in funnel.drops if drop.count]
    drawn = [("samples drawn, all labels in equal numbers", taken)] if part.edition.is_living else []
    rows += [("candidates", funnel.total_kept), *drawn]
    source = " (bundled sample)" if part.bundled else ""
    return f"### {part.task.name} {part.edition}{source}\n\n" + _table(("", funnel.unit), rows)
