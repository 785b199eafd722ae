"""A workspace with many systems on one quarter of edits: synthetic answers, with all else written by the real code.

The release is built and revealed as any other. A simple model makes the answers: a system has a skill, a sample a
difficulty, a prompt its own noise. Scores of all systems, prompts and weeks are computed from the answers at once;
their intervals are Wilson's, which suffice for a figure and save the minutes that scoring 500 systems takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.clock import now
from hellofresh.core.parquet import write_parquet
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.candidates import Collection, Funnel
from hellofresh.releases.collection import CollectionJob, collect_quarter
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.load import load_labels
from hellofresh.releases.life.state import reveal
from hellofresh.results.split.judgements import judgements_file
from hellofresh.results.split.panel import ALL_PERIODS, MAJORITY
from hellofresh.results.split.tables import JUDGEMENTS, SCORES
from hellofresh.runs.evaluation import Evaluation
from hellofresh.runs.record import JournalFacts, ModelIdentity, PromptSetIdentity, RegimeIdentity, RunRecord
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Candidate, Label
from hellofresh.tasks.wikipedia_edits import Edit, EditRevision

__all__ = ["QUARTER", "TASK", "make_workspace"]

QUARTER = Quarter(2024, 1)
TASK = get_task("wikipedia-edits")
_WORDS = [
    "river", "bridge", "station", "school", "church", "museum", "castle", "market", "village", "harbour", "island",
    "valley", "forest", "theatre", "engine", "council", "survey", "railway", "mountain", "parish", "election", "treaty",
    "dialect", "orchard", "quarry", "mill", "library", "garden", "court", "province",
]  # fmt: skip
_REGIMES = ("zero-shot", "web-search", "other")
_LIMIT = 1.96


@dataclass(frozen=True, slots=True)
class _Answers:
    """The answers of all systems.

    Attributes:
        ids, periods: shape (n,), samples in the order of ids.
        labels: shape (n,), 0 or 1.
        said: shape (systems, prompts, n), 1, 0 or -1 for no answer; the first prompt is the majority vote.
    """

    ids: Sequence[str]
    periods: NDArray[np.str_]
    labels: NDArray[np.int8]
    said: NDArray[np.int8]


def make_workspace(workspace: Workspace, *, systems: int, samples: int, prompts: int, seed: int = 0) -> None:
    """Fill a workspace with all that `hellofresh board build` needs.

    Args:
        workspace: an empty one.
        systems: number; half are runs with a record, half are submissions, and two are baselines.
        samples: number per week, half of each label.
        prompts: number per system, besides the majority vote.
        seed: the same seed gives the same files.
    """
    random = np.random.default_rng(seed)
    _release(workspace, samples, random)
    answers = _answers(workspace, systems, prompts, random)
    names = [MAJORITY, "manual", *(f"rephrased-{k}" for k in range(1, prompts))]
    entries = [_entry(k, systems, random) for k in range(systems)]
    for entry in entries:
        if entry["provenance"] == "run":
            _record(workspace, entry, len(answers.ids) * prompts, names[1:])
    write_parquet(workspace.scores(QUARTER), _scores(answers, entries, names))
    write_parquet(judgements_file(workspace, QUARTER), _judgements(answers, entries, names, random))


def _release(workspace: Workspace, samples: int, random: np.random.Generator) -> None:
    found = []
    for week, period in enumerate(QUARTER.periods(TASK.period_kind)):
        for k in range(samples):
            number = 10_000 * (week + 1) + k
            found.append(Candidate(_edit(number, period, random), Label(f"we-{number}-0", k % 2, {})))
    kept = Funnel.count_kept(found)
    collection = Collection(found, Funnel("edits", len(found), (), kept), {"seed": "made up"}, [])
    job = CollectionJob(TASK, QUARTER, "dump", [], {"seed": "made up"}, lambda _: collection)
    collect_quarter(workspace, job, force=True, progress=lambda _: None)
    build_release(workspace, QUARTER, TASK, seed="made-up", cap=samples, moment=QUARTER.start)
    reveal(workspace, QUARTER, TASK, now())


def _edit(number: int, period: str, random: np.random.Generator) -> Edit:
    year, week = period.split("-W")
    date = datetime.fromisocalendar(int(year), int(week), 4).replace(tzinfo=UTC) + timedelta(minutes=number % 1000)
    words = random.choice(_WORDS, 160)
    return Edit(
        id=f"we-{number}-0", task=TASK.name, edition=str(QUARTER), period=period, date=date,
        group=f"w-{number // 2}", license="CC-BY-SA-4.0", host="en.wikipedia.org",
        lineage=(f"{number}.0",), article=f"{words[0].title()} {number // 2}", section="History",
        paragraph=f"The {' '.join(words[:120])}.", deleted=" ".join(words[40:44]), added=" ".join(words[120:]),
        revision=EditRevision(number),
    )  # fmt: skip


def _answers(workspace: Workspace, systems: int, prompts: int, random: np.random.Generator) -> _Answers:
    truth = load_labels(workspace, QUARTER, TASK)
    release = pl.read_ndjson(workspace.release(QUARTER, TASK.name) / "samples.jsonl").select("id", "period").sort("id")
    ids = release["id"].to_list()
    labels = np.array([truth[key].label for key in ids], dtype=np.int8)
    skill, difficulty = random.normal(0.9, 0.5, (systems, 1, 1)), random.normal(0, 1, len(ids))
    wobble = random.normal(0, 0.6, (systems, prompts, len(ids)))
    right = skill - 0.9 * difficulty + wobble > 0
    said = np.where(right, labels, 1 - labels).astype(np.int8)
    said[random.random(said.shape) < 0.01] = -1
    votes = np.where(2 * (said == 1).sum(axis=1) > prompts, 1, np.where(2 * (said == 0).sum(axis=1) > prompts, 0, -1))
    every = np.concatenate([votes[:, None].astype(np.int8), said], axis=1)
    return _Answers(ids, release["period"].to_numpy().astype(np.str_), labels, every)


def _entry(number: int, systems: int, random: np.random.Generator) -> dict[str, Any]:
    rule = number >= systems - 2
    provenance = "run" if rule or number % 2 else "uploaded"
    name = f"{_WORDS[number % len(_WORDS)]}-{1 + number % 7}B-{number:03d}"
    return {
        "edition": str(QUARTER), "task": TASK.name, "system": name, "team": f"Team {_WORDS[number * 7 % len(_WORDS)]}",
        "provenance": provenance,
        "kind": "baseline" if rule else "language-model" if provenance == "run" else "submission",
        "regime": "none" if rule else _REGIMES[number % 3], "bundled": False, "smoke_test": False,
        "knowledge_cutoff": "none" if rule else f"202{random.integers(2, 5)}-0{random.integers(1, 10)}-01",
        "about": "" if rule else f"A model of the {name} family, asked as its makers advise.",
        "origin": f"run-{number:03d}" if provenance == "run" else f"team-{number % 40:02d}/{name}",
        "maker": "" if rule else f"{_WORDS[number % 11].title()} Labs", "weights": ("open", "closed")[number % 2],
        "size_billions": float(1 + number % 7), "released": "2024-01",
    }  # fmt: skip


def _record(workspace: Workspace, entry: Mapping[str, Any], calls: int, prompts: Sequence[str]) -> None:
    """A run's record of typical length."""
    tokens, hashes = 420 * calls, {f"prompt-{k}_sha256": f"{k:064x}" for k in range(12)}
    folder = workspace.runs / str(entry["origin"])
    folder.mkdir(parents=True, exist_ok=True)
    RunRecord(
        evaluation=Evaluation(QUARTER, TASK, str(entry["system"]), prompts=",".join(prompts), limit=calls),
        samples_sha256="0" * 64,
        model=ModelIdentity(name=str(entry["system"]), parameters={}),
        regime=RegimeIdentity(name=str(entry["regime"]), version=1, parameters=hashes),
        prompt_set=PromptSetIdentity(name="paper", sha256="0" * 64), judged=calls, failed=0, of=calls,
        tokens_in=tokens, tokens_out=2 * calls, cost_usd=tokens / 1e6,
        about=str(entry["about"]), kind=str(entry["kind"]), knowledge_cutoff=str(entry["knowledge_cutoff"]),
        smoke_test=False, files=[], journal=JournalFacts(answers=calls, sha256="0" * 64),
    ).write(folder)  # fmt: skip


def _scores(answers: _Answers, entries: Sequence[Mapping[str, Any]], prompts: Sequence[str]) -> pl.DataFrame:
    """One row a system, prompt, period and metric, with the columns of `hellofresh.results.split.tables.Score`."""
    periods = [ALL_PERIODS, *sorted(set(answers.periods.tolist()))]
    member = np.stack([np.ones(len(answers.ids), dtype=bool), *(answers.periods == name for name in periods[1:])])
    cells = {
        name: (hit.astype(np.float32) @ member.T.astype(np.float32)).round().astype(np.int64).ravel()
        for name, hit in _hits(answers).items()
    }
    size = np.broadcast_to(member.sum(axis=1), (len(entries), len(prompts), len(periods))).ravel()
    shape = (len(entries), len(prompts), len(periods))
    row, column, part = (index.ravel() for index in np.indices(shape))
    same = pl.DataFrame(list(entries))[row.tolist()].with_columns(
        prompt=pl.Series(np.array(prompts)[column]), period=pl.Series(np.array(periods)[part]),
        headline=pl.Series(column == 0), n=pl.Series(size), n_split=pl.Series(size), clusters=pl.Series(size // 2),
        effective_clusters=pl.Series(size / 2), none=pl.Series(cells["none"]), blocked=pl.Series(cells["blocked"]),
        settings=pl.lit(""), method=pl.lit("cluster Wilson"), place=pl.int_range(len(size)),
    )  # fmt: skip
    values = _metrics(cells)
    ends = {"value": "", "low": "_low", "high": "_high", "bootstrap_low": "_low", "bootstrap_high": "_high"}
    each = [
        same.with_columns(
            metric=pl.lit(metric.name), **{end: pl.Series(values[f"{metric.name}{more}"]) for end, more in ends.items()}
        )
        for metric in TASK.metrics
    ]
    none = [pl.lit(None, pl.Float64).alias(name) for name in ("mean", "mean_low", "mean_high")]
    whole = pl.concat(each).with_columns(pl.lit(1, pl.Int64).alias("repetitions"), *none)
    return whole.sort("place", maintain_order=True).select(SCORES.schema.names())


def _hits(answers: _Answers) -> dict[str, NDArray[np.bool_]]:
    yes, said = answers.labels == 1, answers.said
    return {
        "tp": (said == 1) & yes, "fp": (said == 1) & ~yes, "tn": (said == 0) & ~yes, "fn": (said != 1) & yes,
        "none": said == -1, "blocked": np.zeros_like(said, dtype=bool),
    }  # fmt: skip


def _metrics(cells: Mapping[str, NDArray[np.int64]]) -> dict[str, NDArray[np.float64]]:
    tp, fp, tn, fn = (cells[name].astype(np.float64) for name in ("tp", "fp", "tn", "fn"))
    n = tp + fp + tn + fn
    shares = {
        "precision": (tp, tp + fp), "recall": (tp, tp + fn), "f1": (2 * tp, 2 * tp + fp + fn), "accuracy": (tp + tn, n),
    }  # fmt: skip
    found = {}
    for name, (part, whole) in shares.items():
        value = part / np.maximum(whole, 1)
        weight = np.maximum(whole, 1) / 2
        middle = (value + _LIMIT**2 / (2 * weight)) / (1 + _LIMIT**2 / weight)
        half = _LIMIT * np.sqrt(value * (1 - value) / weight + _LIMIT**2 / (4 * weight**2)) / (1 + _LIMIT**2 / weight)
        found |= {
            name: value,
            f"{name}_low": np.clip(middle - half, 0, 1),
            f"{name}_high": np.clip(middle + half, 0, 1),
        }
    return found


def _judgements(
    answers: _Answers, entries: Sequence[Mapping[str, Any]], prompts: Sequence[str], random: np.random.Generator
) -> pl.DataFrame:
    """All answers; submissions state a probability with their headline answer."""
    row, column, sample = (index.ravel() for index in np.indices(answers.said.shape, dtype=np.uint32))
    said = answers.said.ravel()
    handed_in = np.array([entry["provenance"] == "uploaded" for entry in entries])[row] & (column == 0)
    chances = random.beta(4, 2, len(row)).round(2)
    chances = np.where(said == 1, chances, 1 - chances)
    both = pl.select(pl.concat_list(pl.Series(1 - chances), pl.Series(chances))).to_series()
    stated = pl.select(pl.when(pl.Series(handed_in)).then(both).otherwise(pl.lit([], pl.List(pl.Float64)))).to_series()
    origins = pl.Series([str(entry["origin"]) for entry in entries])
    found = pl.DataFrame(
        {
            "task": pl.repeat(TASK.name, len(row), eager=True), "origin": origins.gather(pl.Series(row)),
            "prompt": pl.Series(list(prompts)).gather(pl.Series(column)), "headline": column == 0,
            "id": pl.Series(list(answers.ids)).gather(pl.Series(sample)),
            "status": np.where(said < 0, "none", "answered"),
            "label": pl.Series(said.astype(np.int64)).replace(-1, None), "probabilities": stated, "rationale": "",
        }
    )  # fmt: skip
    empty = {name: pl.lit([] if name == "sources" else None, kind) for name, kind in JUDGEMENTS.schema.items()}
    return found.with_columns(**{name: cell for name, cell in empty.items() if name not in found.columns}).select(
        pl.col(name).cast(kind) for name, kind in JUDGEMENTS.schema.items()
    )
