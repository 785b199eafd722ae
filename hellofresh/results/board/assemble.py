"""The board's tables on systems, their order, samples and data, besides scores, periods and funnels.

`hellofresh.results.board.schema` says what each holds. `standings` and `pairs` say who is ahead of whom (see
`hellofresh.results.standings`) and `fixed` brings systems that met different quarters onto one scale; `systems`,
`receipts`, `calibration`, `reliability` and `mistakes` are about single entries
(`hellofresh.results.board.tables.systems`); `samples`, `answers` and `transcripts` have what was asked and said; the
rest is about data (`hellofresh.results.board.tables.data`). The column `split` tells the main split from the
prospective one, whose samples are others: nothing compares the two. Labels and what follows from labels are there for
revealed quarters only, and texts only as far as the release publishes them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

import polars as pl

from hellofresh.core.editions import Edition
from hellofresh.core.files import canonical_json, sha256_file
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.judging.table import StudyFiles
from hellofresh.releases import Phase, phase_of
from hellofresh.releases.life.manifest import MANIFEST, read_manifest
from hellofresh.results.board.rows import BoardRows
from hellofresh.results.board.schema import OverQuartersRow, SampleRow, TranscriptStep
from hellofresh.results.board.splits import BoardSplit, open_split, places
from hellofresh.results.board.tables import conduct as board_conduct
from hellofresh.results.board.tables import data as board_data
from hellofresh.results.board.tables import participants as board_participants
from hellofresh.results.board.tables import ratings as board_ratings
from hellofresh.results.board.tables import retrieval as board_retrieval
from hellofresh.results.board.tables import systems as board_systems
from hellofresh.results.judgements import judgements_file, receipts_file, waiting_file
from hellofresh.results.names import SystemName, short_names
from hellofresh.results.over_quarters import over_quarters, quarter_scores
from hellofresh.results.panel import QuarterScore
from hellofresh.results.standings import standings_of
from hellofresh.stats.metrics import Metric
from hellofresh.tasks import TASKS, get_task
from hellofresh.tasks.samples import MAIN, Label, Sample
from hellofresh.tasks.transcripts import (
    TRANSCRIPTS,
    AskedEvent,
    Event,
    NotedEvent,
    QuotedEvent,
    ReadEvent,
    SearchedEvent,
    read_transcripts,
)

__all__ = ["add_splits", "split_inputs"]

VERSION = 6
"""Raised whenever the same inputs would give other tables."""
_OF_PICTURES = ("number", "image", "source", "unsure", "problem")
"""What may be known of a post's picture."""


def split_inputs(workspace: Workspace, moment: datetime) -> object:
    """What decides these tables besides scores and release manifests."""
    splits = places(workspace)
    files = [place.folder(workspace) / MANIFEST for place in splits if place.split != MAIN]
    files += [path for place in splits for path in place.texts(workspace)]
    for edition, split in sorted({(place.edition, place.split) for place in splits}):
        for private in (False, True):
            files += [of(workspace, edition, split, private=private) for of in (judgements_file, receipts_file)]
        files.append(waiting_file(workspace, edition))
    studies = (StudyFiles(workspace, edition, task) for edition, task in workspace.released())
    files += [path for study in studies for path in (study.ratings, study.key, study.responses)]
    for name in ("run.json", "plan.json", TRANSCRIPTS):
        files += sorted(workspace.runs.glob(f"*/{name}"))
    hashes = [[path.relative_to(workspace.root).as_posix(), sha256_file(path)] for path in files if path.is_file()]
    shown = [_shown(workspace, *released, moment) for released in workspace.released()]
    return {"version": VERSION, "files": hashes, "shown": shown}


def _shown(workspace: Workspace, edition: Edition, task: str, moment: datetime) -> str:
    """How much of an edition may be seen; nothing of a quarter whose manifest has no calendar."""
    if task not in TASKS:
        return ""
    if edition.is_living and read_manifest(workspace.release(edition, task)).calendar is None:
        return ""
    phase = phase_of(workspace, edition, get_task(task), moment)
    return {Phase.COLLECTING: "nothing", Phase.REVEALED: "everything"}.get(phase, "samples")


def add_splits(
    rows: BoardRows, workspace: Workspace, scores: pl.DataFrame, moment: datetime, *, private: bool = False
) -> None:
    """Add the rows of every split, from what was scored.

    Args:
        rows: where to.
        workspace: where everything lives.
        scores: all scores, from `hellofresh.results.board.scores.read_scores`.
        moment: the time that counts as now.
        private: whether labels that are not public may be shown.

    Raises:
        DataError: if a file that they are made of is damaged.
    """
    over: dict[tuple[str, bool], list[QuarterScore]] = defaultdict(list)
    for place in places(workspace):
        split = open_split(workspace, place, scores, moment, private=private)
        _add_split(rows, split)
        if split.panel is not None and place.split == MAIN and place.edition.is_living:
            over[place.task, split.panel.bundled] += quarter_scores(split.panel)
    for (task, bundled), its in sorted(over.items()):
        rows.add("fixed", {"task": task, "bundled": bundled}, _fixed(its, get_task(task).headline))


def _add_split(rows: BoardRows, split: BoardSplit) -> None:
    """All tables' rows of one split."""
    keys = split.place.keys
    for table, of_split in (
        ("quarters", board_data.dates),
        ("distributions", board_data.distributions),
        ("dates", board_data.period_dates),
        ("labels", board_data.labels),
        ("licenses", board_data.licenses),
        ("releases", board_data.releases),
        ("files", board_data.files),
        ("sources", board_data.sources),
        ("prospective", board_data.prospects),
        ("datasets", board_data.datasets),
        ("systems", board_systems.facts),
        ("participants", board_participants.participants),
        ("shares", board_participants.shares),
        ("agreement", board_participants.agreements),
        ("receipts", board_systems.receipts),
        ("mistakes", board_systems.mistakes),
        ("confusion", board_systems.confusion),
        ("conduct", board_conduct.conduct),
        ("samples", _samples),
        ("ratings", board_ratings.rated),
        ("judges", board_ratings.judges),
        ("responses", board_ratings.responses),
        ("documents", board_retrieval.documents),
    ):
        rows.add(table, keys, of_split(split))
    for calibrated, bins in board_systems.calibrations(split):
        rows.add("calibration", keys, [calibrated])
        rows.add("reliability", keys, bins)
    _add_ranks(rows, split)
    if split.shown:
        rows.add("transcripts", keys, _transcripts(split))
        known = split.said.filter(pl.col("origin").is_in([row["origin"] for row in split.systems]))
        if split.withheld:  # they may quote the sample
            known = known.with_columns(rationale=pl.lit(""), text=pl.lit(None, pl.String))
        if split.withheld:  # what a system says of a sample may quote its texts
            known = known.with_columns(rationale=pl.lit(""))
        rows.add_frame("answers", keys, known.sort("id", "origin", maintain_order=True))


def _add_ranks(rows: BoardRows, split: BoardSplit) -> None:
    """Who is ahead of whom."""
    if split.panel is not None:
        standings = standings_of(split.panel)
        rows.add("standings", split.place.keys, standings.ranked)
        rows.add("pairs", split.place.keys, standings.pairs)


def _samples(split: BoardSplit) -> Iterator[SampleRow]:
    tally = board_systems.tallies(split)
    for sample in split.samples:
        label = split.labels[sample.id] if split.shown else None
        yield _sample_row(split, sample, label, tally[sample.id])


def _sample_row(split: BoardSplit, sample: Sample, label: Label | None, tally: tuple[int, int]) -> SampleRow:
    facts = {} if label is None else {name: value for name, value in label.facts.items() if value is not None}
    task = get_task(split.place.task)
    page = task.page_of(sample)
    return SampleRow(
        id=sample.id,
        period=sample.period,
        date=utc_text(sample.date),
        group=sample.group,
        license=sample.license,
        revealed=label is not None,
        published=not split.withheld,
        label=None if label is None or not task.classes else label.label,
        facts=canonical_json(facts),
        title=page.title,
        parts=tuple(part.name for part in page.parts),
        kinds=tuple(part.kind for part in page.parts),
        texts=tuple(part.text for part in page.parts),
        link="" if split.is_bundled else page.link,
        judged=tally[0],
        right=None if label is None or not task.classes else tally[1],
    )


def _transcripts(split: BoardSplit) -> Iterator[TranscriptStep]:
    """What happened on the way to each answer, in order."""
    known = {sample.id for sample in split.samples}
    for row in split.systems:
        folder = split.workspace.runs / str(row["origin"])
        if row["kind"] == "submission" or not row["origin"]:
            continue
        for transcript in read_transcripts(folder):
            if transcript.repetition == 1 and transcript.id in known:
                for place, event in enumerate(transcript.events):
                    yield _step(transcript.id, str(row["origin"]), place, event)


def _step(sample: str, origin: str, place: int, event: Event) -> TranscriptStep:
    step = TranscriptStep(sample, origin, place, event.kind, prompt=event.prompt)
    match event:
        case AskedEvent():
            return replace(step, name=event.step, role=event.role, model=event.model, text=event.text,
                           tokens_in=event.tokens_in, tokens_out=event.tokens_out, cost_usd=event.cost_usd)  # fmt: skip
        case SearchedEvent():
            return replace(step, number=event.number, text=event.query, problem=event.problem or event.fallback)
        case ReadEvent():
            return replace(step, number=event.number, text=event.summary, url=event.url, title=event.title,
                           problem=event.dropped)  # fmt: skip
        case QuotedEvent():
            return replace(step, text="\n".join([*event.refuting, *event.context]), url=event.url,
                           problem=event.problem)  # fmt: skip
        case NotedEvent(name="picture"):
            # What stands in a post's picture is the post's, and who is in it is nobody's business.
            shown = {name: event.values[name] for name in _OF_PICTURES if name in event.values}
            return replace(step, name=event.name, text=canonical_json(shown))
        case NotedEvent():
            return replace(step, name=event.name, text=canonical_json(dict(event.values)))


def _fixed(scores: Sequence[QuarterScore], metric: Metric) -> Iterator[OverQuartersRow]:
    """A task's systems over its quarters."""
    found = over_quarters(scores, metric)
    systems = [adjusted.latest.system for adjusted in found.systems]
    names = short_names([SystemName(s.label, s.team, s.regime, s.settings, s.origin) for s in systems])
    for adjusted, system, name in zip(found.systems, systems, names, strict=True):
        yield OverQuartersRow(
            **{part: getattr(system, part) for part in ("origin", "team", "lane", "kind", "regime")},
            system=name,
            quarters=adjusted.quarters,
            of_quarters=len(found.effects),
            latest=adjusted.latest.edition,
            score=adjusted.score,
            low=adjusted.low,
            high=adjusted.high,
            reason=adjusted.reason,
            additivity_p=found.excess_p,
        )
