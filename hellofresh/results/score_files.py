"""Scores of systems item by item, as people have them: tables, logs of inspect_ai, sample files of lm-eval, records of
Every Eval Ever.

A table is long (item, system, score) or wide (a column a system), in one file or in one file a system. Which column is
what is guessed by its name, and said. Of repetitions of an item the mean counts: they are nested in it.

Formats: https://inspect.aisi.org.uk/eval-logs.html (a zip of samples), lm-evaluation-harness (`samples_*.jsonl`),
instance_level_eval.schema.json of https://github.com/evaleval/every_eval_ever.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.errors import DataError, UnknownNameError, UsageError
from hellofresh.results.split.panel import clean_name

_NAMES = {
    "item": ("item", "item_id", "sample_id", "sample", "instance_id", "doc_id", "question_id", "post_id", "prompt_id",
             "task_id", "example_id", "query_id", "id"),
    "system": ("system", "system_name", "model", "model_id", "model_name", "method"),
    "score": ("score", "evaluation.score", "value", "correct", "is_correct", "acc", "accuracy", "exact_match",
              "resolved", "rating", "reward"),
    "cluster": ("cluster", "group"),
    "repeat": ("repeat", "repetition", "epoch", "trial", "run", "seed"),
}  # fmt: skip
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What inspect_ai writes for correct, incorrect, partially correct and no answer."""
_SCALES = ((0.0, 1.0), (0.0, 10.0), (0.0, 100.0))
_FEWEST, _MOST, _LONGEST_HEAD = 5, 1e100, 1_000_000
_TABLES = ".csv, .tsv, .parquet, .jsonl, .json or .eval"


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Names of columns; those left out are guessed."""

    item: str = ""
    system: str = ""
    score: str = ""
    cluster: str = ""
    repeat: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """The scores to compare.

    Attributes:
        systems: their names.
        items: names of the items, in order.
        values: shape (systems, items), the mean over repetitions; nan where a system has no score.
        clusters: shape (items,), equal for items that belong together; None if all stand for themselves.
        limits: the ends of the scale, or of what was seen.
        said: how columns were interpreted.
    """

    systems: Sequence[str]
    items: Sequence[str]
    values: NDArray[np.float64] = field(repr=False)
    clusters: NDArray[np.int64] | None = field(repr=False)
    limits: tuple[float, float]
    said: str


def read_scores(paths: Sequence[Path], names: ColumnNames) -> ItemScores:
    """Read files of one comparison; a file without a column of systems is one system's, if there are several files.

    Raises:
        UsageError: if a file cannot be read, or a column is not there.
        DataError: if it is of no known kind, or the scores cannot be compared.
    """
    stems = [path.stem for path in paths]
    alone = stems if len(set(stems)) == len(stems) else [path.parent.name for path in paths]
    frames = []
    for path, name in zip(paths, alone, strict=True):
        try:
            frames.append(_long(_read(path), names, name if len(paths) > 1 else ""))
        except OSError as error:
            raise UsageError(f"cannot be read: {error.strerror}", where=str(path), code="missing-file") from None
        except (pl.exceptions.PolarsError, ValueError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
            what = f"not a table ({str(error).splitlines()[0][:200]})"
            raise DataError(what, where=str(path), expected=_TABLES, code="bad-table") from None
    return _arranged(pl.concat([frame for frame, _ in frames], how="diagonal"), frames[0][1])


def scores_of(frame: pl.DataFrame, names: ColumnNames) -> ItemScores:
    """The scores of a table, long or wide.

    Raises:
        UsageError: if a column is not there.
        DataError: if the scores cannot be compared.
    """
    return _arranged(*_long(frame, names))


def _read(path: Path) -> pl.DataFrame:
    ending = path.suffix.lower()
    if ending == ".parquet":
        return pl.read_parquet(path)
    if ending in (".csv", ".tsv", ".tab"):
        return _table(path)
    if ending == ".eval":
        with zipfile.ZipFile(path) as file:
            samples = [json.loads(file.read(name)) for name in sorted(file.namelist()) if name.startswith("samples/")]
            rows: Iterable[Mapping[str, object]] = _inspected(json.loads(file.read("header.json")), samples)
    elif ending in (".jsonl", ".ndjson"):
        rows = map(_plain, _lines(path.read_text(encoding="utf-8-sig")))
    elif ending == ".json":
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        is_log = isinstance(content, dict) and "eval" in content
        rows = _inspected(content, content["samples"]) if is_log else map(_plain, content)
    else:
        raise ValueError(f"a file that ends with {ending!r}")
    return pl.DataFrame(list(rows), infer_schema_length=None, strict=False)


def _table(path: Path) -> pl.DataFrame:
    """A table of texts. Its separator is the one that its first line has most of; with semicolons, 0,5 is a half."""
    with path.open("rb") as file:
        head = file.readline(_LONGEST_HEAD)
    if b"\0" in head:
        raise ValueError("not text in UTF-8")
    separator = max(",", ";", "\t", "|", key=lambda sign: head.count(sign.encode()))
    frame = pl.read_csv(path, separator=separator, infer_schema_length=None, decimal_comma=separator == ";")
    if twice := [name for name in frame.columns if re.search(r"_duplicated_\d+$", name)]:
        raise ValueError(f"two columns are called {twice[0].rpartition('_duplicated_')[0]!r}")
    return frame


def _lines(text: str) -> Iterator[object]:
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            if line.strip():
                yield json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None


def _inspected(log: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, object]]:
    """Rows of a log of inspect_ai: one for each sample and epoch; the first scorer's value is the score."""
    for sample in samples:
        values = {name: score["value"] for name, score in (sample.get("scores") or {}).items()}
        values = {
            name: _LETTERS.get(value, value) if isinstance(value, str) else value for name, value in values.items()
        }
        own = {"item": str(sample["id"]), "system": log["eval"]["model"], "epoch": sample.get("epoch", 1)}
        yield {**own, "score": next(iter(values.values()), None), **values}


def _plain(row: object) -> dict[str, object]:
    """A row without what is nested deeper than one level; of lm-eval the first of its metrics is the score."""
    if not isinstance(row, dict):
        raise ValueError("a row that is not an object")
    nested = [(name, inner) for name, inner in row.items() if isinstance(inner, dict)]
    flat = {**row, **{f"{name}.{part}": value for name, inner in nested for part, value in inner.items()}}
    if "doc_id" in row and isinstance(row.get("metrics"), list):
        flat["score"] = row.get(next(iter(row["metrics"]), ""))
    return {name: value for name, value in flat.items() if not isinstance(value, dict | list)}


def _long(frame: pl.DataFrame, names: ColumnNames, alone: str = "") -> tuple[pl.DataFrame, str]:
    """A table with the columns item, system, score and, if there are such, cluster and repeat; and what was taken."""
    taken = {}
    for part, known in _NAMES.items():
        columns = {column.lower(): column for column in reversed(frame.columns)}
        taken[part] = getattr(names, part) or next((columns[name] for name in known if name in columns), "")
        if taken[part] and taken[part] not in frame.columns:
            raise UnknownNameError("column", taken[part], frame.columns)
    if alone and not taken["system"] and taken["score"]:
        frame, taken["system"] = frame.with_columns(pl.lit(alone).alias("system")), "system"
    if {"filter", "doc_id"} <= set(frame.columns):  # lm-eval writes each sample once for each filter
        frame = frame.filter(pl.col("filter") == pl.col("filter").first())
    if not (taken["system"] and taken["score"]):
        frame, taken["system"], taken["score"] = _unpivoted(frame, taken), "system", "score"
    elif not taken["item"]:
        raise UsageError("no column of items", fix="Name it: --item COLUMN", code="missing-column")
    kept = {part: name for part, name in taken.items() if name and name in frame.columns}
    long = frame.select(pl.col(name).alias(part) for part, name in {"item": "item", **kept}.items())
    long = long.with_columns(_numbers(long), pl.all().exclude("score").cast(pl.String)).drop_nulls(["item", "system"])
    return long, ", ".join(f"{part}: `{name}`" for part, name in taken.items() if name)


def _unpivoted(frame: pl.DataFrame, taken: Mapping[str, str]) -> pl.DataFrame:
    """A wide table as a long one. Columns of texts are no systems; one of numbers with a text in it is a mistake."""
    if not taken["item"]:
        frame = frame.with_row_index("item")
    index = [taken["item"] or "item", *(taken[part] for part in ("cluster", "repeat") if taken[part])]
    numbers = frame.select(pl.all().exclude(index).cast(pl.Float64, strict=False))
    systems = [one.name for one in numbers if frame[one.name].dtype != pl.String or 2 * one.count() > frame.height]
    if not systems:
        fix = "Name the columns of a long table: --item, --system, --score."
        raise DataError("no column of numbers", where=", ".join(frame.columns)[:200], fix=fix, code="missing-column")
    if any(frame[name].dtype == pl.String for name in systems):
        frame = frame.with_columns(pl.col(systems).cast(pl.String))
    return frame.unpivot(systems, index=index, variable_name="system", value_name="score")


def _numbers(long: pl.DataFrame) -> pl.Series:
    """The scores as numbers."""
    score = long["score"]
    if score.dtype == pl.String:
        known = score.str.strip_chars().str.to_lowercase().replace({"true": "1", "false": "0", "": None})
        score = known.cast(pl.Float64, strict=False)
        for row in long.filter(known.is_not_null() & score.is_null()).head(1).iter_rows(named=True):
            where, expected = f"item {row['item']}, system {row['system']}", "numbers; an empty cell is missing"
            raise DataError(f"the score {row['score'][:40]!r} is not a number", where=where, expected=expected,
                            fix="Or name the column of scores: --score COLUMN", code="bad-score")  # fmt: skip
    score = score.cast(pl.Float64)
    if bad := int((~(score.abs() <= _MOST)).sum()):
        what, fix = (
            f"scores that are NaN, infinite or above {_MOST:g}: {bad}",
            "Leave a cell empty where there is none.",
        )
        raise DataError(what, expected="numbers", fix=fix, code="bad-score")
    return score.alias("score")


def _arranged(long: pl.DataFrame, taken: str) -> ItemScores:
    """Scores as an array of systems by items, repetitions averaged."""
    different = pl.col("repeat").n_unique() if "repeat" in long.columns else pl.lit(1)
    grouped = long.drop_nulls("score").group_by("system", "item", maintain_order=True)
    cells = grouped.agg(pl.len(), different.alias("different"), pl.col("score").mean())
    for row in cells.filter(pl.col("len") > pl.col("different")).head(1).iter_rows(named=True):
        what = f"{row['len']} scores of the system {row['system']!r} on the item {row['item']!r}"
        fix = "Leave the others out, or name the column that tells repetitions apart: --repeat COLUMN"
        raise DataError(what, expected="one", fix=fix, code="duplicate-score")
    systems, items = (cells[name].unique(maintain_order=True) for name in ("system", "item"))
    names = list(map(clean_name, systems))
    if alike := [name for name in names if names.count(name) > 1]:
        what = f"two systems whose names look alike: {alike[0]!r}"
        raise DataError(what, expected="a name each", code="duplicate-system")
    check_size(len(systems), len(items))
    places = (
        cells[name].replace_strict(known, range(len(known)), return_dtype=pl.Int64).to_numpy()
        for name, known in (("system", systems), ("item", items))
    )
    values = np.full((len(systems), len(items)), np.nan)
    values[tuple(places)] = cells["score"].to_numpy()
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    low, high = next(((a, b) for a, b in _SCALES if a <= low and high <= b), (low, high))
    without = int((~np.isfinite(values)).any(axis=0).sum())
    size = f"{len(systems)} systems, score {low:g} to {high:g}, {len(items):,} items, {without:,} without all"
    clusters = _clusters(long, items) if "cluster" in long.columns else None
    return ItemScores(names, items.to_list(), values, clusters, (low, high), f"{taken}, {size}")


def _clusters(long: pl.DataFrame, items: pl.Series) -> NDArray[np.int64]:
    """The cluster of each item, as a number."""
    pairs = long.select("item", pl.col("cluster").fill_null("")).unique(maintain_order=True)
    if twice := pairs.filter(pl.col("item").is_duplicated())["item"].to_list():
        raise DataError(f"the item {twice[0]!r} is in several clusters", expected="one", code="bad-cluster")
    names = items.replace_strict(pairs["item"], pairs["cluster"]).to_numpy()
    return np.unique(names.astype(str), return_inverse=True)[1].astype(np.int64)


def check_size(systems: int, items: int) -> None:
    """Refuse too few systems or items.

    Raises:
        DataError: if there are fewer than two systems, or fewer than five items.
    """
    if systems < 2:
        fix = "Give a file with a column of systems, a column a system, or a file a system."
        raise DataError(
            f"{systems} system" + "s" * (systems != 1), expected="two or more", fix=fix, code="too-few-systems"
        )
    if items < _FEWEST:
        what = f"two systems share {items} items, too few to say which is better"
        raise DataError(what, expected=f"{_FEWEST} or more", code="too-few-items")
