"""Scored splits, each opened once: samples, labels, systems, their outputs, facts of runs, and ratings of a study.

The board's tables are functions of such a value; only here a release, a run or a study is read for them. The main split
is a release; the prospective one holds samples that were undecided at publication, and counts once it is resolved, with
the decided samples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, get_args

import polars as pl

from hellofresh.core.clock import now
from hellofresh.core.editions import Edition
from hellofresh.core.errors import DataError
from hellofresh.core.files import atomic_path, sha256_file
from hellofresh.core.parquet import BadTableError
from hellofresh.core.quarters import Quarter
from hellofresh.core.stages import Stage
from hellofresh.core.systems import IDENTITY
from hellofresh.core.workspace import Workspace
from hellofresh.judging.predicting import PersonAnswer, is_prediction_study, people_answers
from hellofresh.judging.study import StudyFiles
from hellofresh.releases import exposure
from hellofresh.releases.draw.prospective import prospective_outcomes
from hellofresh.releases.life.load import Published, load_labels
from hellofresh.releases.life.manifest import MANIFEST, LabelCounts, read_counts
from hellofresh.releases.publish._parts import SearchedCorpus, searched_corpus
from hellofresh.releases.publish.folder import copy_file
from hellofresh.results.split.arrays import arranged_outputs, panel_of
from hellofresh.results.split.entries import Entry, lenient_entries
from hellofresh.results.split.judgements import Part, entry_numbers, entry_outputs, judgements_file, scan_kept
from hellofresh.results.split.panel import EntrySection, Panel, section_of
from hellofresh.results.split.rated import Study, read_study_of
from hellofresh.results.split.tables import SCORES, WITHOUT_LABELS, score_command, score_stage
from hellofresh.runs.plan import read_plan
from hellofresh.runs.prompts import SLOT, Prompt, PromptSet
from hellofresh.runs.record import (
    PROMPTS,
    RESPONSES,
    RunRecord,
    StoredPrompts,
    StoredResponse,
    read_prompts,
    read_record,
    read_responses,
)
from hellofresh.runs.regimes.agents import AGENT
from hellofresh.submissions.released import due_of
from hellofresh.tasks import TASKS, EvidenceQuery, Task, get_task, task_makers
from hellofresh.tasks.samples import MAIN, PROSPECTIVE, Label, Sample, Split
from hellofresh.tasks.transcripts import TRANSCRIPTS, Transcript, read_transcripts

_KEYS = ("edition", "task", "split")  # the key columns of scores
_SIDES = (False, True)  # the public side of a workspace, and the private one


def places(workspace: Workspace) -> list[Published]:
    """All splits of a workspace, in order, each with its manifest, which is read only here.

    Raises:
        ReleaseError: if a manifest is damaged.
    """
    known = exposure.places(workspace)
    return sorted(Published.open(workspace, *place) for place in known)


@dataclass(frozen=True, slots=True)
class ScoredSplits:
    """All splits of a workspace with their scores, before one after the other is opened.

    Attributes:
        workspace: where they are.
        private: whether they are for the maintainers' own board.
        places: their names and manifests.
        opened: those of them whose samples are public by now.
        every, scores: all scores, and those by metrics that an installed package computes.
        notes: on each metric whose scores are left out, and on each file among the judgements that is of no split.
        files: what the scores and the opened splits rest on; some may be absent.
    """

    workspace: Workspace
    private: bool
    places: Sequence[Published]
    opened: Sequence[Published]
    every: pl.LazyFrame = field(repr=False)
    scores: pl.LazyFrame = field(repr=False)
    notes: Sequence[str]
    files: Sequence[Path] = field(repr=False)


def scored_splits(workspace: Workspace, *, private: bool = False) -> ScoredSplits:
    """The splits of a workspace as they are now, for the maintainers' own board or the public one.

    Raises:
        DataError, ReleaseError: if a manifest or scores are damaged, or not as `hellofresh score` wrote them.
    """
    found, moment = places(workspace), now()
    opened = [place for place in found if place.has_opened(workspace, moment)]
    judged = _judged(workspace, {place.edition for place in found})
    strays = _refuse_strays(workspace, found, judged)
    older = dict[str, None]()
    for place in found:  # before a table is read, so that figures of other bytes reach no board
        made_by = task_makers(TASKS[place.task]) if place.task in TASKS else {}
        stage, again = score_stage(place.edition, place.split), score_command(place.edition, place.split)
        Stage.hold(workspace, stage, again)
        older |= dict.fromkeys(Stage.older(workspace, stage, made_by, again))  # another task has the same
    every = scan_scores(workspace, found)
    scores, notes = _of_known_metrics(every)
    files = [*(path for _, path in score_files(workspace)), *judged, *_files_of(workspace, found)]
    return ScoredSplits(workspace, private, found, opened, every, scores, [*notes, *older, *strays], files)


def _judged(workspace: Workspace, editions: Collection[Edition]) -> list[Path]:
    """The files of judgements that editions may have."""
    return [judgements_file(workspace, one, kind, part, private=side)
            for one in sorted(editions) for kind in Split for part in get_args(Part) for side in _SIDES]  # fmt: skip


def _refuse_strays(workspace: Workspace, splits: Sequence[Published], judged: Sequence[Path]) -> list[str]:
    """Refuse scores that are of no split, and return a sentence on each file among the judgements that is of none."""
    editions = {place.edition for place in splits}
    scores = {workspace.scores(one, kind, private=side) for one in editions for kind in Split for side in _SIDES}
    for _, path in score_files(workspace):
        if path not in scores:
            fix = "Remove it, or move it elsewhere."
            raise DataError("scores of an edition that was not released", where=str(path), fix=fix, code="stray-scores")
    there = {path for folder in {path.parent for path in judged} for path in folder.glob("*") if path.is_file()}
    names = sorted(path.relative_to(workspace.root).as_posix() for path in there.difference(judged))
    return [f"{name} belongs to no released edition, so it is not read" for name in names]


def open_each(splits: ScoredSplits) -> Iterator[BoardSplit]:
    """Open one split after the other; raises DataError if a file of one is damaged."""
    for place in splits.places:
        opened = place in splits.opened
        yield open_split(splits.workspace, place, splits.scores, opened=opened, private=splits.private)


def _of_known_metrics(scores: pl.LazyFrame) -> tuple[pl.LazyFrame, list[str]]:
    """Scores without metrics that a package brought which is no longer installed, and a sentence on each."""
    there = scores.select("edition", "task", "metric").unique().sort(pl.all()).collect(engine="streaming")
    known = {task: {one.name for kind in Split for one in its.on(kind).every_metric} for task, its in TASKS.items()}
    gone = [row for row in there.rows() if row[2] not in known.get(row[1], row)]
    notes = [
        f"scores of {task} {edition} by {metric} are left out, since no installed package computes it. "
        f"To remove them, run: hellofresh score --edition {edition}"
        for edition, task, metric in gone
    ]
    left_out = pl.LazyFrame(gone, there.schema, orient="row")
    return scores.join(left_out, on=["edition", "task", "metric"], how="anti", maintain_order="left"), notes


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a finished run; its long files are read anew for each question.

    Attributes:
        record: the record.
        started: when it started (ISO 8601, UTC), empty if unknown.
        prompts: reads its wordings.
        transcripts: reads what happened on the way to each answer.
        responses: reads the raw answers.
        lenient: reads its entry with answers that are stated elsewhere than the rule looks, if there are any.
    """

    record: RunRecord
    started: str = ""
    prompts: Callable[[], StoredPrompts | None] = lambda: None
    transcripts: Callable[[], Sequence[Transcript]] = tuple
    responses: Callable[[], Iterable[StoredResponse]] = tuple
    lenient: Callable[[], Sequence[Entry]] = tuple

    @classmethod
    def read(cls, folder: Path) -> RunFacts | None:
        """The run in a folder, None if it is not finished; raises RunError if its record or plan is damaged."""
        record = read_record(folder)
        if record is None:
            return None
        plan = read_plan(folder)
        files = (partial(read, folder) for read in (read_prompts, read_transcripts, read_responses, lenient_entries))
        return cls(record, plan.started if plan else "", *files)  # type: ignore[arg-type]  # one reader a field


@dataclass(frozen=True, slots=True)
class BoardSplit:
    """The data of a split.

    Attributes:
        workspace: where it was opened; for tables of other packages, which have files of their own.
        place: its names and manifest.
        systems: the rows of the scores that stand for a system, for the whole quarter; of a split that is not shown
            only what no label decides.
        said: the judgements of its samples, millions of rows that are read anew for each question.
        numbers: what metrics are means of.
        receipts: of submissions.
        waiting: who submitted predictions, which are not used before the deadline.
        samples: as they are published; of a resolved prospective split those that were decided.
        full: the same with their texts, where these are available.
        labels: by sample id, where they are shown.
        shown: whether labels are public, or the board is the maintainers' own.
        withheld: whether texts are.
        private: whether the board is the maintainers' own.
        panel: the judgements with labels as arrays; None without labels or judgements.
        runs: by origin, the facts of the systems that are runs.
        manifest_sha256: hash of the manifest.
        counts: by period, its candidates by label, where these are public, or the board is the maintainers' own.
        corpora: the corpora that its samples search.
        study: the closed study of its responses, None if there is none or labels are secret.
        people: what people predicted, None if people were not asked.
    """

    workspace: Workspace
    place: Published
    systems: Sequence[Mapping[str, Any]] = field(repr=False)
    said: pl.LazyFrame = field(repr=False)
    numbers: pl.DataFrame = field(repr=False)
    receipts: pl.DataFrame = field(repr=False)
    waiting: pl.DataFrame = field(repr=False)
    samples: Sequence[Sample] = field(default=(), repr=False)
    full: Sequence[Sample] = field(default=(), repr=False)
    labels: Mapping[str, Label] = field(default_factory=dict, repr=False)
    shown: bool = False
    withheld: bool = False
    private: bool = False
    panel: Panel | None = field(default=None, repr=False)
    runs: Mapping[str, RunFacts] = field(default_factory=dict, repr=False)
    manifest_sha256: str = ""
    counts: Mapping[str, LabelCounts] = field(default_factory=dict, repr=False)
    corpora: Sequence[SearchedCorpus] = field(default=(), repr=False)
    study: Study | None = field(default=None, repr=False)
    people: Sequence[PersonAnswer] | None = field(default=None, repr=False)

    @property
    def known_since(self) -> datetime:
        """The time from which outcomes may have been known: the quarter's first day, or the data set's publication."""
        if isinstance(self.place.edition, Quarter):
            return self.place.edition.start
        dataset = self.place.manifest.dataset
        return datetime.fromisoformat(dataset.published if dataset else "0001-01-01").replace(tzinfo=UTC)

    @property
    def is_bundled(self) -> bool:
        """Whether its samples were written for the project."""
        return self.place.manifest.bundled or any(row["bundled"] for row in self.systems)

    @property
    def agents(self) -> list[str]:
        """The origins of the agents that we ran."""
        return [str(row["origin"]) for row in self.systems if row["regime"] == AGENT and row["kind"] != "submission"]

    @property
    def ranked(self) -> dict[str, bool]:
        """By origin, whether an entry is ranked."""
        return {
            row["origin"]: section_of(row["kind"], row["regime"], smoke_test=row["smoke_test"]) is EntrySection.SYSTEM
            for row in self.systems
        }


def open_split(
    workspace: Workspace, place: Published, scores: pl.LazyFrame, *, opened: bool, private: bool = False
) -> BoardSplit:
    """Read a split.

    Args:
        workspace: where everything lives.
        place: which split.
        scores: all scores, from `scan_scores`.
        opened: whether its samples are public.
        private: whether labels that are not public may be shown.

    Raises:
        DataError: if a file of it is damaged.
    """
    manifest = place.manifest
    shown = manifest.has_labels or private
    systems = systems_of(scores, place.keys, shown=shown)
    parts: tuple[Part, ...] = ("", "numbers", "receipts", "waiting")
    said, *others = (scan_kept(workspace, place.edition, place.split, part, place.task) for part in parts)
    numbers, receipts, waiting = (rows.collect() for rows in others)
    bare = BoardSplit(
        workspace,
        place,
        systems,
        said,
        numbers,
        receipts,
        waiting,
        private=private,
        runs=_runs(workspace, systems),
        manifest_sha256=sha256_file(place.folder / MANIFEST),
        counts=_counts(workspace, place, private=private),
    )
    dated = manifest.calendar is not None or manifest.dataset is not None
    if place.task not in TASKS or manifest.file("samples.jsonl") is None or not dated:
        return bare
    if place.split == MAIN and not private and not opened:
        return bare
    files = StudyFiles(workspace, place.edition, place.task)
    found = _with_samples(bare, files, shown=shown)
    if not (found.labels and found.said.head(1).collect(engine="streaming").height):
        return found
    asked = place.split == MAIN and is_prediction_study(files)
    return replace(found, panel=_panel(found), people=people_answers(files) if asked else None)


def _with_samples(bare: BoardSplit, files: StudyFiles, *, shown: bool) -> BoardSplit:
    """The split with its samples, what they search, and the labels and the study that may be shown."""
    workspace, place, manifest = bare.workspace, bare.place, bare.place.manifest
    edition, task = place.edition, get_task(place.task)
    samples: Sequence[Sample]
    full: Sequence[Sample]
    if place.split == MAIN:
        labels = load_labels(workspace, edition, task, manifest) if shown else {}
        samples, withheld = place.samples(task), manifest.withheld
        full = place.release(workspace, task).samples if withheld else samples
    else:
        labels = prospective_outcomes(workspace, edition, task)
        shown, withheld = manifest.resolved is not None, manifest.withheld
        drawn = place.release(workspace, task).samples
        samples = full = [sample for sample in drawn if sample.id in labels or not shown]
        published = task.public_type or task.sample_type  # as it is already without texts
        if withheld:
            samples = [sample if isinstance(sample, published) else task.public(sample) for sample in full]
    # Outputs on samples that were taken down or never decided do not count.
    said = bare.said.filter(pl.col("id").is_in([sample.id for sample in samples]))
    searched = {(query.corpus, query.corpus_sha256) for query in samples if isinstance(query, EvidenceQuery)}
    return replace(
        bare,
        said=said,
        samples=samples,
        full=full,
        labels=labels,
        shown=shown,
        withheld=withheld,
        corpora=[searched_corpus(workspace, *named) for named in sorted(searched)],
        study=read_study_of(files, task) if place.split == MAIN and shown else None,
    )


def _runs(workspace: Workspace, systems: Sequence[Mapping[str, Any]]) -> Mapping[str, RunFacts]:
    origins = [str(row["origin"]) for row in systems if row["kind"] != "submission"]
    read = {origin: RunFacts.read(workspace.runs / origin) for origin in origins}
    return {origin: facts for origin, facts in read.items() if facts is not None}


def _counts(workspace: Workspace, place: Published, *, private: bool) -> Mapping[str, LabelCounts]:
    manifest = place.manifest
    counts = (manifest.counts or {}) if manifest.revealed or private else {}
    if private and not counts and manifest.selection is not None and place.split == MAIN:
        counts = read_counts(workspace.private(place.edition, place.task)) or {}
    return counts


def question_before(frame: str, task: Task, sample: Sample) -> str:
    """The text before the instruction in a run's frame, for a sample; findings of the regime stay as slots."""
    slots = task.slots(sample)
    findings = {name: f"{{{name}}}" for name in SLOT.findall(frame) if name not in slots}
    asked = PromptSet("", task.name, "", frame, ())
    return asked.message(Prompt("", "", ""), slots, **findings).parts[0]


def due_ids(
    splits: Sequence[Published], opened: Sequence[Published]
) -> Iterator[tuple[dict[str, str], Sequence[str], bool]]:
    """The ids that predictions must have: keys, ids, and whether these were taken down; of all splits that take or
    took predictions.

    With them and the days of each split the site checks submissions by the same rules as the command line,
    without the releases. Ids are there from the opening on; quarters of early versions say nothing of their days.

    Raises:
        DataError: if a release is damaged.
    """
    for edition in sorted({place.edition for place in splits}):
        for split in Split:
            own = [
                one for task in TASKS for one in splits if (one.edition, one.split, one.task) == (edition, split, task)
            ]
            if not own or not all(one.manifest.calendar or one.manifest.dataset for one in own):
                continue
            due, keys = due_of(own), {"edition": str(edition), "split": split}
            shown = {one.task for one in own if one in opened}
            for task, ids in due.ids.items():
                if task in shown:
                    yield {**keys, "task": task}, sorted(ids), False
            yield {**keys, "task": ""}, sorted(due.taken_down), True


def _files_of(workspace: Workspace, splits: Sequence[Published]) -> list[Path]:
    """The files, besides scores and judgements, that opened splits rest on; some may be absent."""
    files = [path for place in splits for path in (place.folder / MANIFEST, *place.texts(workspace))]
    studies = (StudyFiles(workspace, edition, task) for edition, task in workspace.released())
    files += [path for study in studies for path in (study.ratings, study.key, study.responses)]
    for name in ("run.json", "plan.json", PROMPTS, RESPONSES, TRANSCRIPTS):
        files += sorted(workspace.runs.glob(f"*/{name}"))
    return files


def copy_released(opened: Sequence[Published], folder: Path, mode: int) -> list[Path]:
    """Copy what releases list into a folder, and return the copies.

    Raises:
        ReleaseError: if a file does not match its manifest (`bad-hash`).
    """
    made = []
    for place in opened:
        name = place.task if place.split == MAIN else f"{place.task}-{place.split}"
        for entry in place.manifest.files:
            copy = folder / str(place.edition) / name / entry.path
            with atomic_path(copy, mode=mode) as new:
                copy_file(place.folder / entry.path, entry.sha256, new)
            made.append(copy)
    return made


def _panel(split: BoardSplit) -> Panel:
    """All systems' outputs as arrays, from the scores' rows and the judgements."""
    task, place = get_task(split.place.task), split.place
    given = set(split.said.select(pl.col("origin").unique()).collect(engine="streaming")["origin"])
    known = (row for row in split.systems if row["origin"] in given)
    entries = [Entry(**{name: row[name] for name in IDENTITY}, outputs={}) for row in known]
    said = None
    if task.classes:
        ids = [sample.id for sample in split.samples if sample.id in split.labels]
        said = arranged_outputs(split.said, ids, len(task.classes))
    else:
        outputs = split.said.collect().partition_by("origin", as_dict=True)
        numbers = {str(origin): entry_numbers(rows) for (origin,), rows in split.numbers.group_by("origin")}
        entries = [
            replace(entry, outputs=entry_outputs(outputs[entry.origin,]), numbers=numbers.get(entry.origin, {}))
            for entry in entries
        ]
    bundled = any(row["bundled"] for row in split.systems)
    return panel_of(
        task, place.edition, split.samples, split.labels, entries, split=place.split, bundled=bundled, said=said
    )


def score_files(workspace: Workspace) -> list[tuple[str, Path]]:
    """The files of scores with the split that each is about, in order."""
    folders = [workspace.side(private=private) / "scores" for private in (False, True)]
    main = [path for folder in folders for path in folder.glob("*.parquet")]
    others = [path for folder in folders for path in (folder / PROSPECTIVE).glob("*.parquet")]
    both: tuple[tuple[str, list[Path]], ...] = ((MAIN, main), (PROSPECTIVE, others))
    return [(split, path) for split, paths in both for path in sorted(paths, key=lambda path: (path.name, path))]


def scan_scores(workspace: Workspace, splits: Sequence[Published] = ()) -> pl.LazyFrame:
    """All scores, with the columns `split` and `public`: whether labels of the row's split are, of these splits.

    Files are checked now; rows are read when they are asked for.

    Raises:
        DataError: if a file is damaged, an earlier version wrote it, or a task had another headline metric then.
    """
    tables = [SCORES.schema.to_frame().lazy().with_columns(split=pl.lit(MAIN, pl.String))]
    for split, path in score_files(workspace):
        fix = f"Recreate it: {score_command(path.stem, split)}"
        try:
            rows = SCORES.scan(path)
        except BadTableError as error:
            what = f"{error}; an earlier version may have written it"
            raise DataError(what, where=str(path), fix=fix, code="damaged-scores") from error
        first = rows.group_by("task", maintain_order=True).agg(pl.col("metric").first()).collect()
        for task, metric in first.filter(pl.col("task").is_in(list(TASKS))).iter_rows():
            if metric != (headline := TASKS[task].on(split).headline.name):
                what = f"{task} was scored with {metric} as its headline metric, which is {headline} now"
                raise DataError(what, where=str(path), fix=fix, code="other-headline")
        tables.append(rows.with_columns(split=pl.lit(split)))
    found = pl.concat(tables)
    public = [tuple(place.keys.values()) for place in splits if place.manifest.has_labels]
    known = pl.DataFrame(public, schema=dict.fromkeys(_KEYS, pl.String), orient="row").lazy()
    found = found.join(known.with_columns(public=pl.lit(True)), on=_KEYS, how="left", maintain_order="left")
    return found.with_columns(pl.col("public").fill_null(False))


def systems_of(scores: pl.LazyFrame, keys: Mapping[str, str], *, shown: bool) -> Sequence[Mapping[str, Any]]:
    """One row for each system of a split, of its headline metric in the whole quarter.

    Of a split that is not shown it has only what no label decides.
    """
    mine = [pl.col(name) == value for name, value in keys.items()]
    rows = scores.filter("headline", pl.col("period") == "all", *mine).collect(engine="streaming")
    rows = rows.unique("origin", keep="first", maintain_order=True)
    return (rows if shown else rows.select(WITHOUT_LABELS)).to_dicts()
