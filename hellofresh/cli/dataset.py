"""`hellofresh dataset`: import frozen data sets of statements, and list them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from collectors.datasets import DATASETS, DataSet, ImportRequest, fetch_dataset, get_dataset, import_dataset
from hellofresh.cli._output import CommandOutput
from hellofresh.core.editions import Frozen
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.frozen import FrozenRelease
from hellofresh.tasks import get_task


def imported_editions(workspace: Workspace, dataset: DataSet) -> list[tuple[Frozen, str]]:
    """Every version of a data set in the workspace with its task, in order."""
    return [
        (edition, task)
        for edition, task in workspace.released()
        if isinstance(edition, Frozen) and edition.name == dataset.name and task in dataset.tasks
    ]


def show_all(_: argparse.Namespace, output: CommandOutput) -> int:
    workspace = Workspace.from_environment()
    rows = []
    for dataset in DATASETS.values():
        versions = sorted({str(edition) for edition, _ in imported_editions(workspace, dataset)})
        classes = " or ".join(str(len(get_task(task).classes)) for task in dataset.tasks)
        rows.append((dataset.name, classes, dataset.licence, "yes" if dataset.texts else "no", ", ".join(versions)))
    names = ("name", "classes", "licence", "texts_public", "imported")
    output.result([dict(zip(names, row, strict=True)) for row in rows])
    output.table("Data sets", ("name", "classes", "licence", "texts may be passed on", "imported"), rows)
    return 0


def show(options: argparse.Namespace, output: CommandOutput) -> int:
    dataset = get_dataset(options.name)
    versions = [(str(edition), task) for edition, task in imported_editions(Workspace.from_environment(), dataset)]
    files = [(file.name, file.rows, file.url, file.sha256) for file in dataset.files]
    output.result(
        {
            "name": dataset.name,
            "title": dataset.title,
            "home": dataset.home,
            "licence": dataset.licence,
            "published": dataset.published.isoformat(),
            "languages": list(dataset.languages),
            "tasks": {task: list(get_task(task).classes) for task in dataset.tasks},
            "files": [dict(zip(("name", "rows", "url", "sha256"), file, strict=True)) for file in files],
            "imported": [{"edition": edition, "task": task} for edition, task in versions],
        }
    )
    output.text(f"{dataset.title}\n{dataset.home}\nlicence: {dataset.licence}\n")
    shown = [(name, "not known" if rows is None else rows, "yes" if url else "no") for name, rows, url, _ in files]
    output.table("Files", ("name", "rows", "can be downloaded"), shown)
    output.table("Tasks", ("task", "classes"), [(task, ", ".join(get_task(task).classes)) for task in dataset.tasks])
    output.table("Imported", ("edition", "task"), versions)
    return 0


def import_one(options: argparse.Namespace, output: CommandOutput) -> int:
    request = ImportRequest(
        labels=_labels(options.set),
        language=options.language,
        size=options.sample,
        seed=options.seed,
        part=options.part,
        version=options.version,
    )
    done = run_import(Workspace.from_environment(), get_dataset(options.name), request, output, options.path)
    classes = get_task(done.task).classes
    output.result(
        {
            "edition": str(done.edition),
            "task": done.task,
            "samples": done.samples,
            "labels": dict(zip(classes, done.labels, strict=True)),
            "folder": str(done.folder),
            "skipped": done.skipped,
        }
    )
    output.table("Samples by class", ("class", "samples"), list(zip(classes, done.labels, strict=True)))
    state = "unchanged, skipped" if done.skipped else "imported"
    output.text(f"{done.edition}, {done.task}: {done.samples:,} samples: {state}. Now, for example:")
    output.text(f"  hellofresh evaluate --edition {done.edition} --task {done.task} --model MODEL")
    return 0


def run_import(
    workspace: Workspace, dataset: DataSet, request: ImportRequest, output: CommandOutput, path: Path | None = None
) -> FrozenRelease:
    """Import a data set from a path, or download it first."""
    output.say(f"{dataset.title}. Licence: {dataset.licence}. Published at {dataset.home}")
    folder = path or workspace.raw(dataset.name, "original")
    if path is None:
        with output.progress(f"download {dataset.name}") as bar:
            fetch_dataset(dataset, folder, progress=bar.line)
    done, read = import_dataset(workspace, dataset, folder, request)
    for warning in read.warnings:
        output.say(f"note: {warning}")
    return done


def _labels(settings: Sequence[str]) -> str:
    """What `--set labels=...` says."""
    value = "full"
    for text in settings:
        name, _, value = text.partition("=")
        if name != "labels" or not value:
            raise UsageError(f"the setting {text!r}", expected="labels=binary or labels=full", code="bad-setting")
    return value
