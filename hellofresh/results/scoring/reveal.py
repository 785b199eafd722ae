"""Publish all predictions and scores in the release's folder at a reveal.

Of a prospective split they are published as soon as it is resolved, for the samples that were decided.

`predictions.jsonl` has a row for each entry, prompt and sample: `entry` (the run, or the submission's folders),
`system`, `team`, `provenance`, `regime`, `prompt`, `id`, `label` (null: no answer), and if there are such,
`probabilities` and `certainty` of a choice, `documents` and `scores` of a ranking, `text` of a response, `rationale`
and `sources`. Texts and rationales may quote the sample, so they are left out where the release withholds its texts;
rationales and sources of submissions are never published. `scores.jsonl` has the board's rows of the quarter and task.
With samples and labels beside them, anybody can compute every figure of the board (`hellofresh release verify`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from hellofresh.core.editions import Edition
from hellofresh.core.files import canonical_json, read_ids, read_jsonl, sha256_file, sha256_text, write_jsonl
from hellofresh.core.plugins import plugins
from hellofresh.core.stages import Stage
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.prospective import OUTCOMES
from hellofresh.releases.life.load import Published, Release, load_labels
from hellofresh.releases.life.manifest import amend_manifest, file_entry
from hellofresh.results.scoring.people import publish_people
from hellofresh.results.scoring.ratings import publish_ratings
from hellofresh.results.scoring.scores import ScoredSplit
from hellofresh.results.split.arrays import panel_of
from hellofresh.results.split.entries import Entry
from hellofresh.results.split.tables import OVER_REPETITIONS, Score
from hellofresh.tasks import get_task
from hellofresh.tasks.outputs import Choice, Output, Ranking, Response
from hellofresh.tasks.samples import MAIN, Label


@dataclass(frozen=True, slots=True)
class RevealReport:
    """The result of publishing a quarter and task: rows, and the manifest's version that lists them."""

    edition: Edition
    task: str
    predictions: int
    scores: int
    version: int
    split: str = MAIN


def publish_results(workspace: Workspace, scored: ScoredSplit) -> list[RevealReport]:
    """Write predictions and scores of revealed or resolved splits, with a new version of the manifest if they changed.

    The same entries and scores give the same bytes; where those are published already, nothing is written.

    Returns:
        What was written.
    """
    done = []
    for task, entries in scored.entries.items():
        main = scored.split == MAIN
        published = Published.open(workspace, scored.edition, task, scored.split)
        if not published.manifest.has_labels:
            continue
        # The scores of the task by origin, prompt, period and metric, metrics in the task's order.
        order = {metric.name: number for number, metric in enumerate(get_task(task).on(scored.split).every_metric)}
        mine = [score for score in scored.scores if score.task == task]
        mine.sort(key=lambda score: (score.origin, score.prompt, score.period, order[score.metric]))
        names = [item.name for item in fields(Score) if item.name not in OVER_REPETITIONS]
        scores = [{name: getattr(score, name) for name in names} for score in mine]
        released = set(read_ids(published.folder / "samples.jsonl"))  # without samples that were taken down since
        if not main:
            released &= {str(row["id"]) for row in read_jsonl(published.folder / OUTCOMES) if row["label"] is not None}
        rows = list(_prediction_rows(entries, released, quotes=not published.manifest.withheld))
        tables = {"predictions.jsonl": rows, "scores.jsonl": scores}
        if main:
            release = published.release(workspace, get_task(task))
            labels = load_labels(workspace, scored.edition, release.task, published.manifest)
            publish_ratings(workspace, published)
            publish_people(workspace, release, labels, entries)
            publish_ceiling(workspace.root / "releases", release, labels)
        version = _write(workspace, published, f"release/{scored.edition}/{task}" if main else None, tables)
        if version is not None:
            done.append(RevealReport(scored.edition, task, len(rows), len(scores), version, scored.split))
    return done


def publish_ceiling(releases: Path, release: Release, labels: Mapping[str, Label]) -> list[Path]:
    """Write the ceiling of a quarter whose labels are public, where a package knows it; gives the file."""
    panel = panel_of(release.task, release.edition, release.samples, labels, ())
    path = releases / str(release.edition) / "ratings" / f"{release.task.name}.ceiling.jsonl"
    tables = plugins("hellofresh.tables", "ceilings").values()
    if not (rows := [row for table in tables for row in table.of_labels(panel)]):
        return []
    write_jsonl(path, map(asdict, rows))
    return [path]


def _prediction_rows(
    entries: Sequence[Entry], released: AbstractSet[str], *, quotes: bool
) -> Iterator[dict[str, object]]:
    """A run may have judged samples that were taken down since: they are left out.

    `quotes` says whether texts may be published that may quote a sample.
    """
    for entry in sorted(entries, key=lambda item: item.origin):
        common = {name: getattr(entry, name) for name in ("system", "team", "provenance", "regime")}
        common |= {"settings": entry.settings} if entry.settings else {}
        for prompt, outputs in sorted(entry.published.items()):
            for key in sorted(released & outputs.keys()):
                said = _published(outputs[key], quotes=quotes)
                yield {"entry": entry.origin, **common, "prompt": prompt, "id": key, **said}


def _published(output: Output, *, quotes: bool) -> dict[str, object]:
    """What an output says; except for the label, empty fields are left out."""
    said: dict[str, object] = {"sources": list(output.sources)}
    if isinstance(output, Choice):
        said |= {"probabilities": list(output.probabilities), "certainty": output.certainty}
    said |= {"rationale": output.rationale} if quotes else {}
    if isinstance(output, Ranking):
        said |= {"documents": list(output.documents), "scores": list(output.scores)}
    elif isinstance(output, Response) and quotes:
        said["text"] = output.text
    label = output.label if isinstance(output, Choice) else None
    return {"label": label} | {name: value for name, value in said.items() if value not in (None, "", [])}


def _write(
    workspace: Workspace, published: Published, stage: str | None, tables: dict[str, list[dict[str, object]]]
) -> int | None:
    """Write what differs from the manifest; the manifest's new version, or None if nothing differs.

    `stage` built the release; a prospective split is built once, by none.
    """
    folder, manifest = published.folder, published.manifest
    listed = {entry.path: entry.sha256 for entry in manifest.files}
    hashes = {name: sha256_text("".join(f"{canonical_json(row)}\n" for row in rows)) for name, rows in tables.items()}
    for name, rows in tables.items():
        path = folder / name
        if listed.get(name) == hashes[name] != (sha256_file(path) if path.is_file() else None):
            write_jsonl(path, rows)  # as it was published
    other = [name for name in tables if listed.get(name) != hashes[name]]
    if not other:
        return None
    files = [file_entry(folder, folder / name, write_jsonl(folder / name, tables[name])) for name in other]
    written = amend_manifest(folder, manifest, files)
    if stage is not None:
        Stage.amend(workspace, stage, [*(folder / name for name in other), *written])
    return manifest.version + 1
