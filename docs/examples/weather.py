"""A living task of another package (docs/own-task.md): the task, and how its samples are collected."""

import csv
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from hellofresh.core.files import sha256_file
from hellofresh.core.quarters import PeriodKind
from hellofresh.core.strict import Strict
from hellofresh.releases.candidates import Collection, Funnel, SourceFile
from hellofresh.releases.collection import CollectionJob
from hellofresh.tasks import DataStatement, Statement, statement_task
from hellofresh.tasks.samples import Candidate, Label

CLASSES, PREFIX = ("wrong", "right"), "wf-"


class Source(Strict):
    """The table `[sources.weather]` of hellofresh.toml."""

    file: str


TASK = replace(
    statement_task("weather", "Forecasts", prefix=PREFIX, classes=CLASSES, question="Was it right?", living=True),
    source_settings=Source,
    statement=DataStatement(
        source="Forecasts of a village.",
        people="The smith makes them.",
        licence="He gives them to everybody (CC0).",
        limits=["The village is dry."],
    ),
)


def candidate(row, quarter):
    date, key = datetime.fromisoformat(row["time"]), PREFIX + row["number"]
    sample = Statement(
        id=key, task="weather", edition=str(quarter), period=PeriodKind.MONTH.of(date), date=date, group=key,
        license="CC0-1.0", statement=row["text"], language="en", speaker="the smith", context="",
    )  # fmt: skip
    return Candidate(sample, Label(key, CLASSES.index(row["verdict"]), {"original_label": row["verdict"]}), {})


def collect(path, quarter, progress):
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    kept = [candidate(row, quarter) for row in rows if datetime.fromisoformat(row["time"]) in quarter]
    why, dropped = {"other-quarter": "made outside the quarter"}, {"other-quarter": len(rows) - len(kept)}
    return Collection(
        candidates=kept,
        funnel=Funnel.of("forecasts", len(rows), dropped, why, candidates=kept, context={}),
        parameters={},
        sources=[SourceFile(path.name, path.stat().st_size, sha256_file(path))],
        warnings=[],
    )


def jobs(request):
    options, found = request.options, request.settings.sources.added.get("weather")
    if not request.asked and found is None:
        return []
    path = options.file if request.asked else Path(found.file)
    return [CollectionJob(TASK, options.quarter, "dump", [path], {}, partial(collect, path, options.quarter))]
