"""`hellofresh dataset`: import frozen data sets and ratings of publishers, and show them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from collectors.datasets import DATASETS, DataSet, ImportRequest, fetch_dataset, get_dataset, import_dataset
from hellofresh.cli._output import CommandOutput
from hellofresh.core.editions import Frozen
from hellofresh.core.errors import UsageError
from hellofresh.core.workspace import Workspace
from hellofresh.evidence.publishers import COLUMNS, PRIORITIES, import_publishers
from hellofresh.judging.muse import MUSE_EDITION, import_muse, read_muse
from hellofresh.judging.study import RatingPhase
from hellofresh.releases.draw.frozen import FrozenRelease
from hellofresh.tasks import get_task

# Contents of the authors' files at the commit that names the edition.
_MUSE_RELEASED = {
    "posts": 247,
    "counting posts": 232,
    "responses": 1_062,
    "rated responses": 1_280,
    "rated links": 2_040,
}


def imported_editions(workspace: Workspace, dataset: DataSet) -> list[tuple[Frozen, str]]:
    """Every version of a data set in the workspace with its task, in order."""
    return [
        (edition, task)
        for edition, task in workspace.released()
        if isinstance(edition, Frozen) and edition.name == dataset.name and task in dataset.tasks
    ]


def _show_all(output: CommandOutput) -> int:
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
    if options.name is None:
        return _show_all(output)
    dataset = get_dataset(options.name)
    versions = [(str(edition), task) for edition, task in imported_editions(Workspace.from_environment(), dataset)]
    files = [(file.name, file.rows, file.url, file.sha256) for file in dataset.files]
    output.result(
        {
            **{name: getattr(dataset, name) for name in ("name", "title", "home", "licence")},
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
    if options.name == "publishers":
        return _import_ratings(options, output)
    lists = [f"--{name}" for name in ("priority", "column") if getattr(options, name)]
    if lists:
        raise UsageError(f"{lists[0]} with {options.name!r}", expected="it with publishers", code="other-option")
    if options.name == "muse":
        return _import_muse(options, output)
    chosen = _named(options.set, ("labels", "language", "seed"), "bad-setting")
    request = ImportRequest(**chosen, size=options.sample, part=options.part, version=options.version)
    workspace, dataset = Workspace.from_environment(), get_dataset(options.name)
    output.say(f"{dataset.title}. Licence: {dataset.licence}. Published at {dataset.home}")
    folder: Path = options.path or workspace.raw(dataset.name, "original")
    if options.path is None:
        with output.progress(f"download {dataset.name}") as bar:
            fetch_dataset(dataset, folder, progress=bar.line)
    done, found = import_dataset(workspace, dataset, folder, request)
    for warning in found.warnings:
        output.say(f"note: {warning}")
    output.say(str(found.funnel.ledger()))
    _show_imported(done, output)
    return 0


def _show_imported(done: FrozenRelease, output: CommandOutput) -> None:
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


def _import_ratings(options: argparse.Namespace, output: CommandOutput) -> int:
    """Import ratings of publishers; they replace earlier ones."""
    _check_plain(options, "FILE, --column, --priority")
    columns = _named(options.column, COLUMNS, "bad-column")
    said = _named(options.priority, PRIORITIES, "bad-priority")
    lists = {name: Path(said[name]) for name in PRIORITIES if name in said}
    if options.path is None and not lists:
        fix = "Name a file of ratings, or a list of domains: --priority high=FILE."
        raise UsageError("nothing to import", where="publishers", fix=fix, code="no-file")
    publishers = import_publishers(Workspace.from_environment(), options.path, columns, lists)
    rated = publishers.rated.values()
    counts = {name: sum(getattr(item, name) not in (None, "") for item in rated) for name in COLUMNS[1:]}
    priorities = {name: sum(item.priority == name for item in rated) for name in PRIORITIES}
    found = {"domains": len(publishers.rated), **counts, "priorities": priorities}
    output.result({**found, "left_out": list(publishers.left_out)})
    listed = ", ".join(f"{count:,} with {name}" for name, count in counts.items())
    sources = ", ".join(f"{count:,} {name}" for name, count in priorities.items())
    output.say(f"{len(publishers.rated):,} domains: {listed}. Priority as a source: {sources}.")
    if publishers.left_out:
        first = ", ".join(publishers.left_out[:3])
        output.say(f"note: {len(publishers.left_out)} rows name no domain and are left out, such as {first}.")
    return 0


def _named(said: Sequence[str], known: Sequence[str], code: str) -> dict[str, str]:
    """The values of `NAME=VALUE` arguments, by name."""
    found = {}
    for text in said:
        name, _, value = text.partition("=")
        if name not in known or not value:
            raise UsageError(f"{text!r}", expected=f"NAME=VALUE, NAME among {', '.join(known)}", code=code)
        found[name] = value
    return found


def _check_plain(options: argparse.Namespace, expected: str) -> None:
    """Refuse options of statement data sets for data that are imported as a whole."""
    if options.set or options.sample is not None or options.part or options.version:
        what = f"an option of data sets of statements with {options.name!r}"
        raise UsageError(what, expected=expected, code="other-option")


def _import_muse(options: argparse.Namespace, output: CommandOutput) -> int:
    _check_plain(options, "PATH")
    if options.path is None:
        fix = "Name the folder of the authors' repository, or its packed data: hellofresh dataset import muse PATH"
        raise UsageError("nothing to import", where="muse", fix=fix, code="no-file")
    study = read_muse(options.path)
    kept = import_muse(Workspace.from_environment(), study)
    rows = study.ratings
    found = {
        "posts": len(study.posts),
        "counting posts": sum(post.phase is RatingPhase.MAIN for post in study.posts),
        "responses": len(study.responses),
        "rated responses": rows.filter(rows["criterion"] == kept.rubric.overall).height,
        "rated links": rows.filter(rows["criterion"] == "reachability").height,
    }
    output.result({"edition": str(MUSE_EDITION), "ratings": str(kept.files.ratings), **found})
    output.table(
        f"{MUSE_EDITION}: imported", ("", "found", "released"), [(k, v, _MUSE_RELEASED[k]) for k, v in found.items()]
    )
    if found != _MUSE_RELEASED:
        output.say("warning: these are not the files that the edition is named after; its figures will differ.")
    output.say(f"{rows.height:,} ratings: {kept.files.ratings}")
    return 0
