"""The board's tables on systems, their order, and samples.

`quarters` has the days of each quarter, `standings` and `pairs` say who is ahead of whom (see
`hellofresh.board_ranks`), `fixed` brings systems that met different quarters onto one scale, `systems` has what is
known of each entry, `samples` what was asked, `answers` what every system said of it, and `searches` what the web
search of a run came to. Labels and answers are there for revealed quarters only, and texts only as far as the release
publishes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hellofresh.board_ranks import ALL_PERIODS, Field, pairs_of, standings_of
from hellofresh.clock import now
from hellofresh.files import Json, canonical_json, read_json, read_jsonl, sha256_file
from hellofresh.judgements import judgements_file, read_judgements
from hellofresh.quarters import Quarter, utc_text
from hellofresh.releases import Phase, load_labels, state_of
from hellofresh.releases.load import load_public
from hellofresh.samples import Label, Sample
from hellofresh.stats import connected_parts, two_way
from hellofresh.tasks import TASKS, get_task
from hellofresh.tasks.wikipedia_edits import Edit
from hellofresh.tasks.x_notes import Note, PublicNote
from hellofresh.workspace import Workspace

__all__ = ["TABLES", "more_inputs", "more_tables"]

VERSION = 1
"""Raised whenever the same inputs would give other tables."""

_PREDICTION = {"yes": 1, "no": 0}
_SPLIT = {"quarter": pl.String, "task": pl.String}
_SYSTEM = dict.fromkeys(("origin", "system", "team", "lane", "kind", "regime"), pl.String)

TABLES: Mapping[str, pl.Schema] = {
    "quarters": pl.Schema({**_SPLIT, **dict.fromkeys(("opens", "deadline", "reveals"), pl.String)}),
    "standings": pl.Schema({
        **_SPLIT, "origin": pl.String, "rank": pl.Int64, "low": pl.Int64, "high": pl.Int64, "first": pl.Float64,
        "tie_group": pl.Int64, "n": pl.Int64, "clusters": pl.Int64, "few_clusters": pl.Boolean,
    }),
    "pairs": pl.Schema({
        **_SPLIT, "one": pl.String, "two": pl.String, "period": pl.String, "n": pl.Int64,
        **dict.fromkeys(("difference", "low", "high", "p_value", "adjusted"), pl.Float64),
        **dict.fromkeys(("both_right", "one_right", "two_right", "same"), pl.Int64),
    }),
    "fixed": pl.Schema({
        "task": pl.String, "bundled": pl.Boolean, **_SYSTEM, "smoke_test": pl.Boolean, "part": pl.Int64,
        "quarters": pl.Int64, "of_quarters": pl.Int64, "latest": pl.String,
        **dict.fromkeys(("score", "low", "high", "additivity_p"), pl.Float64),
    }),
    "systems": pl.Schema({
        **_SPLIT, **_SYSTEM, "smoke_test": pl.Boolean, "about": pl.String, "knowledge_cutoff": pl.String,
        "contamination": pl.String, "prompts": pl.String,
        **dict.fromkeys(("judged", "failed", "tokens_in", "tokens_out"), pl.Int64), "cost_usd": pl.Float64,
        "manifest": pl.String,
    }),
    "samples": pl.Schema({
        **_SPLIT, **dict.fromkeys(("id", "period", "date", "group", "license"), pl.String), "revealed": pl.Boolean,
        "texts": pl.Boolean, "label": pl.Int8, "facts": pl.String,
        **dict.fromkeys(("title", "section", "context", "text", "deleted", "added", "link"), pl.String),
        "judged": pl.Int64, "right": pl.Int64,
    }),
    "answers": pl.Schema({
        **_SPLIT, **dict.fromkeys(("id", "origin", "prompt"), pl.String), "headline": pl.Boolean, "verdict": pl.String,
    }),
    "searches": pl.Schema({
        **_SPLIT, "id": pl.String, "origin": pl.String, "place": pl.Int64,
        **dict.fromkeys(("kind", "text", "url", "title", "problem"), pl.String),
    }),
}  # fmt: skip
"""The columns of each table. In `systems` an empty count means that it is not known; `contamination` is possible,
unlikely or unknown, by the knowledge cutoff and the quarter's first day; `manifest` is a run's record, empty for
submissions. In `samples`, `label` and `facts` are empty before the reveal, `text` is a note, `context` the post or the
paragraph; `right` of `judged` systems (without baselines and smoke tests) were right, empty before the reveal."""


def more_inputs(workspace: Workspace, moment: datetime | None = None) -> Json:
    """What decides these tables besides scores and release manifests."""
    files = [judgements_file(workspace, quarter) for quarter in _quarters(workspace)]
    files += sorted(workspace.runs.glob("*/run.json")) + sorted(workspace.runs.glob("*/traces.jsonl"))
    phases = [_is_revealed(workspace, quarter, task, moment or now()) for quarter, task in workspace.released()]
    hashes = [[path.relative_to(workspace.root).as_posix(), sha256_file(path)] for path in files if path.is_file()]
    return {"version": VERSION, "files": hashes, "revealed": phases}


def more_tables(workspace: Workspace, scores: pl.DataFrame, moment: datetime | None = None) -> dict[str, pl.DataFrame]:
    """All tables of `TABLES`, from what was scored.

    Raises:
        DataError: if a file that they are made of is damaged.
    """
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    frames: dict[str, list[pl.DataFrame]] = {name: [] for name in TABLES}
    released = {(str(quarter), task): quarter for quarter, task in workspace.released()}
    headlines = scores.filter(pl.col("headline"), pl.col("period") == ALL_PERIODS)
    rows["fixed"] = list(_fixed(headlines))
    for (name, task), quarter in released.items():
        systems = headlines.filter(pl.col("quarter") == name, pl.col("task") == task).to_dicts()
        said = read_judgements(judgements_file(workspace, quarter)).filter(pl.col("task") == task)
        rows["quarters"] += _calendar(workspace, quarter, task)
        rows["systems"] += (_system(workspace, quarter, row) for row in systems)
        split = _Split(workspace, quarter, task, systems, said, moment or now())
        if said.height:
            _add_split(split, rows, frames)
    return {
        name: pl.concat([pl.DataFrame(rows[name], schema=schema), *frames[name]]) for name, schema in TABLES.items()
    }


@dataclass(frozen=True, slots=True)
class _Split:
    workspace: Workspace
    quarter: Quarter
    task: str
    systems: Sequence[Mapping[str, Any]]
    said: pl.DataFrame
    moment: datetime

    @property
    def names(self) -> dict[str, str]:
        return {"quarter": str(self.quarter), "task": self.task}

    @property
    def ranked(self) -> dict[str, bool]:
        return {row["origin"]: row["kind"] != "baseline" and not row["smoke_test"] for row in self.systems}

    def headlines(self) -> dict[str, dict[str, int]]:
        """Predictions by system, the best F1 first, then by sample."""
        found: dict[str, dict[str, int]] = {
            row["origin"]: {} for row in sorted(self.systems, key=lambda row: (-row["f1"], row["origin"]))
        }
        rows = self.said.filter("headline").select("origin", "id", "verdict").iter_rows()
        for origin, key, verdict in rows:
            if origin in found:
                found[origin][key] = _PREDICTION.get(verdict, -1)
        return found


def _add_split(split: _Split, rows: dict[str, list[dict[str, Any]]], frames: dict[str, list[pl.DataFrame]]) -> None:
    task = get_task(split.task)
    labels = load_labels(split.workspace, split.quarter, task)
    samples, withheld = load_public(split.workspace, split.quarter, task)
    said = split.headlines()
    known = {sample.id: (labels[sample.id].label, sample.group, sample.period) for sample in samples}
    field = Field.of(said, split.ranked, known)
    if field is not None:
        standings, pairs = standings_of(field)
        rows["standings"] += ({**split.names, **asdict(item)} for item in standings)
        rows["pairs"] += ({**split.names, **asdict(item)} for item in (*pairs, *pairs_of(field)))
    revealed = _is_revealed(split.workspace, split.quarter, split.task, split.moment)
    tally = _tally(split, said, labels)
    real = _is_real(split)
    for sample in samples:
        label = labels[sample.id] if revealed else None
        rows["samples"].append(_sample_row(sample, label, tally[sample.id], texts=not withheld, real=real))
    if revealed:
        names = [pl.lit(value).alias(name) for name, value in split.names.items()]
        answers = split.said.filter(pl.col("origin").is_in(list(said))).with_columns(names)
        frames["answers"].append(answers.select(TABLES["answers"].names()).sort("id", "origin", maintain_order=True))
        rows["searches"] += _searches(split)


def _calendar(workspace: Workspace, quarter: Quarter, task: str) -> Iterator[dict[str, str]]:
    days = read_json(workspace.release(quarter, task) / "manifest.json").get("calendar")
    if days is not None:
        yield {"quarter": str(quarter), "task": task, **{name: days[name] for name in ("opens", "deadline", "reveals")}}


def _is_real(split: _Split) -> bool:
    return not any(row["bundled"] for row in split.systems)


def _is_revealed(workspace: Workspace, quarter: Quarter, task: str, moment: datetime) -> bool:
    manifest = workspace.release(quarter, task) / "manifest.json"
    known = task in TASKS and "calendar" in read_json(manifest)
    return known and state_of(workspace, quarter, get_task(task), moment).phase is Phase.REVEALED


def _quarters(workspace: Workspace) -> list[Quarter]:
    return sorted({quarter for quarter, _ in workspace.released()})


def _tally(
    split: _Split, said: Mapping[str, Mapping[str, int]], labels: Mapping[str, Label]
) -> Mapping[str, tuple[int, int]]:
    """By sample, how many of the systems that are ranked judged it, and how many were right."""
    ranked = split.ranked
    found = dict.fromkeys(labels, (0, 0))
    for origin, by_sample in said.items():
        for key, prediction in by_sample.items() if ranked[origin] else ():
            judged, right = found[key]
            found[key] = (judged + 1, right + (prediction == labels[key].label))
    return found


def _sample_row(
    sample: Sample, label: Label | None, tally: tuple[int, int], *, texts: bool, real: bool
) -> dict[str, Any]:
    facts = {} if label is None else {name: value for name, value in label.facts.items() if value is not None}
    return {
        "quarter": sample.quarter,
        "task": sample.task,
        "id": sample.id,
        "period": sample.period,
        "date": utc_text(sample.date),
        "group": sample.group,
        "license": sample.license,
        "revealed": label is not None,
        "texts": texts,
        "label": None if label is None else label.label,
        "facts": canonical_json(facts),
        **_texts(sample, real=real),
        "judged": tally[0],
        "right": None if label is None else tally[1],
    }


def _texts(sample: Sample, *, real: bool) -> dict[str, str]:
    found = dict.fromkeys(("title", "section", "context", "text", "deleted", "added", "link"), "")
    if isinstance(sample, Edit):
        link = f"https://en.wikipedia.org/wiki/Special:Diff/{sample.revision.parent}/{sample.revision.id}"
        found |= {"title": sample.article, "section": sample.section, "context": sample.paragraph}
        found |= {"deleted": sample.deleted, "added": sample.added, "link": link if real else ""}
    elif isinstance(sample, Note):
        found |= {"context": sample.post.text, "text": sample.note.text}
    if isinstance(sample, Note | PublicNote) and real:
        found["link"] = f"https://x.com/i/status/{sample.post.id}"
    return found


def _system(workspace: Workspace, quarter: Quarter, row: Mapping[str, Any]) -> dict[str, Any]:
    record = _record(workspace, row)
    names = ("quarter", "task", *_SYSTEM, "smoke_test", "about", "knowledge_cutoff")
    counts = ("failed", "tokens_in", "tokens_out", "cost_usd")
    return {
        **{name: row[name] for name in names},
        "contamination": _contamination(str(row["knowledge_cutoff"]), quarter),
        "prompts": ", ".join(record.get("prompts") or []),
        "judged": row["n"],
        **{name: record.get(name) for name in counts},
        "manifest": canonical_json(record) if record else "",
    }


def _record(workspace: Workspace, row: Mapping[str, Any]) -> dict[str, Any]:
    """The run's record as it was written; nothing for submissions."""
    path = workspace.runs / str(row["origin"]) / "run.json"
    if row["lane"] != "harness" or not row["origin"] or not path.is_file():
        return {}
    return dict(read_json(path))


def _contamination(cutoff: str, quarter: Quarter) -> str:
    """By texts, of which a cutoff may give the year or the month alone."""
    if not cutoff[:4].isdigit():
        return "unknown" if cutoff != "none" else "unlikely"
    return "possible" if cutoff >= f"{quarter.start:%Y-%m-%d}"[: len(cutoff)] else "unlikely"


def _searches(split: _Split) -> Iterator[dict[str, Any]]:
    """The query and the pages of each sample's search, in their order."""
    for row in split.systems:
        path = split.workspace.runs / str(row["origin"]) / "traces.jsonl"
        if row["lane"] == "harness" and row["origin"] and path.is_file():
            yield from _searches_in(path, {**split.names, "origin": row["origin"]})


def _searches_in(path: Path, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for line in read_jsonl(path):
        for step in line["trace"] if line["repetition"] == 1 else ():
            if step.get("kind") == "query":
                yield {**names, "id": line["id"], "place": 0, "kind": "query", "text": step.get("text", ""), "url": "",
                       "title": "", "problem": step.get("problem") or ""}  # fmt: skip
            elif step.get("kind") == "page":
                yield {**names, "id": line["id"], "place": step["place"], "kind": "page",
                       "text": step.get("summary", ""), "url": step["url"], "title": step["title"],
                       "problem": step["dropped"]}  # fmt: skip


def _fixed(headlines: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Every task's systems over its quarters; bundled quarters apart from real ones."""
    own = pl.when(pl.col("lane") == "harness").then(pl.lit("")).otherwise(pl.col("origin")).alias("own")
    key = ["system", "team", "lane", "kind", "regime", "own"]
    ordered = headlines.with_columns(own).unique(["quarter", "task", *key], keep="first", maintain_order=True)
    for part in ordered.sort("task", "bundled", *key, "quarter").partition_by("task", "bundled", maintain_order=True):
        systems = part.select(pl.struct(key).rank("dense") - 1).to_series().cast(pl.Int64).to_numpy()
        quarters = part.select(pl.col("quarter").rank("dense") - 1).to_series().cast(pl.Int64).to_numpy()
        linked = connected_parts(systems, quarters)
        for number in range(int(linked.max()) + 1):
            yield from _fixed_part(part.filter(pl.Series(linked[systems] == number)), key, number)


def _fixed_part(part: pl.DataFrame, key: Sequence[str], number: int) -> Iterator[dict[str, Any]]:
    """One part of systems that a chain of shared quarters links."""
    systems, quarters = (
        part.select(pl.struct(names).rank("dense") - 1).to_series().cast(pl.Int64).to_numpy()
        for names in (list(key), ["quarter"])
    )
    width = (part["f1_high"] - part["f1_low"]).to_numpy()
    fit = two_way(part["f1"].to_numpy(), systems, quarters, variances=np.maximum(width / 3.92, 1e-6) ** 2)
    for system in range(int(systems.max()) + 1):
        rows = part.filter(pl.Series(systems == system)).to_dicts()
        yield {
            **{name: rows[-1][name] for name in ("task", "bundled", *_SYSTEM, "smoke_test")},
            "part": number,
            "quarters": len(rows),
            "of_quarters": int(quarters.max()) + 1,
            "latest": rows[-1]["quarter"],
            "score": float(fit.system[system]),
            **{name: _number(value[system]) for name, value in (("low", fit.low), ("high", fit.high))},
            "additivity_p": _number(fit.additivity.excess_p_value),
        }


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
