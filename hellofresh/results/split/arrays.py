"""Panels of the splits of a workspace: entries and labels arranged as arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl

from hellofresh.core.clock import now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import ReleaseError
from hellofresh.core.quarters import utc_text
from hellofresh.core.systems import Provenance
from hellofresh.core.workspace import Workspace
from hellofresh.releases.life.load import Published, Release, load_labels, load_release
from hellofresh.results.over_quarters import quarter_scores
from hellofresh.results.split.entries import Entry, entries_of_submissions, measured_entry
from hellofresh.results.split.panel import (
    BLOCKED,
    NOT_ASKED,
    Panel,
    PromptOutputs,
    QuarterScore,
    System,
    clean_name,
    short_names,
)
from hellofresh.results.split.rated_entries import counted_entries
from hellofresh.stats.metrics import NO_ANSWER
from hellofresh.submissions.released import due_in
from hellofresh.tasks import Task
from hellofresh.tasks.outputs import Choice, Output, Status
from hellofresh.tasks.samples import MAIN, Label, Sample

_PIECE = 50_000  # judgements that are arranged at once; more of them would not fit in memory as rows
# The class, or a code, of a judgement; as `_answer` gives it of an output.
_SAID = (
    pl.when(pl.col("status") == str(Status.BLOCKED))
    .then(BLOCKED)
    .when(pl.col("status") == str(Status.NONE))
    .then(NO_ANSWER)
    .otherwise(pl.col("label").fill_null(NO_ANSWER))
    .cast(pl.Int8)
    .alias("said")
)


def build_panel(
    workspace: Workspace,
    edition: Edition,
    task: Task,
    submissions: Path,
    moment: datetime | None = None,
    *,
    private: bool = False,
) -> Panel:
    """Read a release, its labels and all outputs on it; submissions only after the deadline.

    Args:
        workspace: the workspace with releases and runs.
        edition, task: those of the release.
        submissions: folder of submissions.
        moment: the time to use as now.
        private: whether secret labels may be used.

    Raises:
        ReleaseError: if the release does not exist, or its labels are not public.
        DataError: if a file of it or of a run is damaged.
    """
    moment = moment or now()
    release = load_release(workspace, edition, task)
    if not (release.revealed or private):
        raise ReleaseError(
            f"the labels of {task.name} {edition} are not revealed",
            expected=f"their reveal, from {utc_text(release.days.reveals)} on",
            fix="Maintainers can add --private; keep the results private.",
            code="not-revealed",
        )
    panel = _read(workspace, release, submissions, moment)
    past: list[QuarterScore] = []
    for earlier, name in workspace.released():
        if name == task.name and edition.is_living and earlier < edition:
            other = Published.open(workspace, earlier, name)
            public, bundled = other.manifest.has_labels, other.manifest.bundled
            if bundled == release.bundled and (public or not release.revealed):
                past += quarter_scores(_read(workspace, other.release(workspace, task), submissions, moment))
    return replace(panel, past=tuple(past), private=not release.revealed)


def _read(workspace: Workspace, release: Release, submissions: Path, moment: datetime) -> Panel:
    task = release.task
    due = due_in(workspace, release.edition)  # a submission may cover several tasks and is checked as a whole
    labels = load_labels(workspace, release.edition, task)
    known = {task.name: {key: label.label for key, label in labels.items()}} if release.is_over(moment) else {}
    handed_in, notes = entries_of_submissions(submissions, due, moment, known)
    scored, _, about = counted_entries(workspace, release, handed_in[task.name], moment)
    return panel_of(task, release.edition, release.samples, labels, scored, bundled=release.bundled,
                    without_texts=release.without_texts, notes=[*about, *notes])  # fmt: skip


def panel_of(
    task: Task,
    edition: Edition,
    samples: Sequence[Sample],
    labels: Mapping[str, Label],
    entries: Sequence[Entry],
    *,
    split: str = MAIN,
    bundled: bool = False,
    without_texts: AbstractSet[str] = frozenset(),
    notes: Sequence[str] = (),
    said: Mapping[str, Sequence[PromptOutputs]] | None = None,
) -> Panel:
    """Arrange samples, their labels and entries as arrays; samples without a label are left out.

    Outputs that are not measured yet, such as submitted rankings, are measured here. `said` has each entry's outputs
    by origin where they are arrays already, in the order of the samples with labels.
    """
    if task.measured is not None and said is None:
        entries = [entry if entry.numbers else measured_entry(entry, labels, task.measured) for entry in entries]
    known = [sample for sample in samples if sample.id in labels]
    place = {sample.id: number for number, sample in enumerate(known)}
    return Panel(
        task=task.on(split),
        edition=edition,
        split=split,
        bundled=bundled,
        samples=known,
        without_texts=np.array([sample.id in without_texts for sample in known], dtype=np.bool_),
        labels=np.array([labels[sample.id].label for sample in known], dtype=np.int8),
        facts=[labels[sample.id].facts for sample in known],
        periods=np.array([sample.period for sample in known], dtype=np.str_),
        groups=np.unique([sample.group for sample in known], return_inverse=True)[1].astype(np.int64),
        systems=_systems(entries, place, len(task.classes), said),
        notes=tuple(clean_name(note, 400) for note in notes),
    )


def _systems(
    entries: Sequence[Entry],
    place: Mapping[str, int],
    classes: int,
    arranged: Mapping[str, Sequence[PromptOutputs]] | None,
) -> tuple[System, ...]:
    """Systems in the order of their labels."""
    names = short_names(entries)
    labels = _labels(entries)
    found = []
    for entry, name in zip(entries, names, strict=True):
        if arranged is not None:
            said = arranged[entry.origin]
        else:
            again = [replace(entry, outputs=outputs) for outputs in entry.repeated]
            said = [
                replace(
                    _outputs(entry, prompt, place, classes),
                    repeated=tuple(_outputs(one, prompt, place, classes) for one in again if prompt in one.outputs),
                )
                for prompt in entry.outputs
            ]
        shown = {part: clean_name(getattr(entry, part)) for part in ("system", "team", "regime", "knowledge_cutoff")}
        shown |= {"settings": clean_name(entry.settings) if entry.settings else ""}
        spent = (entry.cost_usd, entry.tokens_in, entry.tokens_out)
        identity = entry.identity | shown
        found.append(System(name, labels[entry.origin], _model(entry), tuple(said), *spent, **identity))
    return tuple(sorted(found, key=lambda system: (system.label, system.regime, system.origin)))


def _labels(entries: Sequence[Entry]) -> dict[str, str]:
    """By origin, what each model is called whatever its regime; with settings where one regime has several."""
    models: dict[str, Entry] = {}
    several: dict[tuple[str, str], set[str]] = defaultdict(set)
    for entry in sorted(entries, key=lambda item: (item.system, item.provenance, item.origin)):
        models.setdefault(_model(entry), entry)
        several[_model(entry), entry.regime].add(entry.settings)
    names = short_names([replace(entry, regime="", settings="") for entry in models.values()])
    called = dict(zip(models, names, strict=True))
    return {
        e.origin: called[_model(e)] + (f", {clean_name(e.settings)}" if len(several[_model(e), e.regime]) > 1 else "")
        for e in entries
    }


def _model(entry: Entry) -> str:
    return f"run/{entry.system}" if entry.provenance == Provenance.RUN else f"others/{entry.origin}"


def arranged_outputs(said: pl.LazyFrame, ids: Sequence[str], classes: int) -> dict[str, list[PromptOutputs]]:
    """The choices of many entries as arrays, by origin, the prompt that stands for an entry first.

    Millions of judgements, so they are read in pieces, without an object for each.

    Args:
        said: judgements.
        ids: of the samples, in the order of the arrays; judgements of others are left out.
        classes: how many the task has.
    """
    keys = ["origin", "headline", "prompt"]
    states = (pl.col("probabilities").list.len() > 0) | pl.col("certainty").is_not_null()
    entries = said.group_by(keys, maintain_order=True).agg(states.any().alias("states")).collect(engine="streaming")
    # Those that state chances first, so that only they have arrays of them.
    entries = entries.sort("states", "headline", descending=True, maintain_order=True).with_row_index("entry")
    stating = int(entries["states"].sum())
    place = pl.DataFrame({"id": list(ids), "where": range(len(ids))}, schema={"id": pl.String, "where": pl.UInt32})
    rows = said.select(*keys, "id", _SAID, "certainty", "probabilities").join(place.lazy(), on="id")
    answers = np.full((entries.height, len(ids)), NOT_ASKED, dtype=np.int8)
    certainty = np.full((stating + 1, len(ids)), np.nan)
    probabilities = np.full((*certainty.shape, classes), np.nan)
    for piece in rows.join(entries.lazy(), on=keys).collect_batches(chunk_size=_PIECE):
        at = piece["entry"].to_numpy(), piece["where"].to_numpy()
        answers[at] = piece["said"].to_numpy()
        sure = piece.filter(pl.col("certainty").is_not_null())
        certainty[sure["entry"].to_numpy(), sure["where"].to_numpy()] = sure["certainty"].to_numpy()
        stated = piece.filter(pl.col("probabilities").list.len() > 0)
        if stated.height:
            chances = stated["probabilities"].explode().to_numpy().reshape(-1, classes)
            probabilities[stated["entry"].to_numpy(), stated["where"].to_numpy()] = chances
    found: dict[str, list[PromptOutputs]] = {}
    in_order = entries.sort("headline", descending=True, maintain_order=True)
    for number, origin, prompt in in_order.select("entry", "origin", "prompt").iter_rows():
        chance = min(number, stating)
        one = PromptOutputs(clean_name(prompt), answers[number], probabilities[chance], certainty[chance])
        found.setdefault(origin, []).append(one)
    return found


def _outputs(entry: Entry, prompt: str, place: Mapping[str, int], classes: int) -> PromptOutputs:
    """As arrays; what was said of a sample that was taken down since is left out."""
    made = PromptOutputs.of(clean_name(prompt), np.full(len(place), NOT_ASKED, dtype=np.int8), classes)
    for key, output in entry.outputs[prompt].items():
        if (where := place.get(key)) is not None:
            made.answers[where] = _answer(output)
            if isinstance(output, Choice):
                if output.probabilities:
                    made.probabilities[where] = output.probabilities
                if output.certainty is not None:
                    made.certainty[where] = output.certainty
    numbers = {}
    for metric, values in entry.numbers.get(prompt, {}).items():
        numbers[metric] = np.tile([np.nan, 1.0], (len(place), 1))
        for key in values.keys() & place.keys():
            numbers[metric][place[key]] = values[key]
    return replace(made, numbers=numbers)


def _answer(output: Output) -> int:
    """The class that was chosen, 0 for another output, or what stands for silence."""
    if output.status is Status.BLOCKED:
        return BLOCKED
    if output.status is Status.NONE:
        return NO_ANSWER
    if isinstance(output, Choice):
        return NO_ANSWER if output.label is None else output.label
    return 0
