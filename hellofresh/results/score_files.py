"""Scores of systems item by item, as people have them: one table of items and systems from any of their files.

A table is long (item, system, score) or wide (one column per system), in one file or one per system. Which column is
what is guessed by its name and its numbers, and said; a guess that contradicts another asks. Of repetitions of an item
the mean counts: they are nested in it. Forms of files are in `score_readers`, columns in `score_columns`.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from hellofresh.core.errors import DataError, UnknownNameError, UsageError
from hellofresh.core.intake import Intake
from hellofresh.results.score_columns import (
    counts_rows,
    numbers_of,
    numeric_columns,
    quoted,
    scales_of,
    systems_of,
    unlike,
    without_totals,
)
from hellofresh.results.score_readers import TABLES, read_table
from hellofresh.results.split.panel import clean_name
from hellofresh.stats.arrays import Floats, Ints

_NAMES = {
    "item": ("item", "item_id", "sample_id", "sample", "instance_id", "doc_id", "question_id", "post_id", "input_id",
             "input_idx", "prompt_id", "task_id", "example_id", "query_id", "qid", "dataset_name", "dataset",
             "problem_id", "problem", "question", "instruction", "instance", "query", "prompt", "task", "topic", "id",
             "name"),
    "system": ("system", "system_name", "model", "model_id", "model_name", "model.name", "method", "classifier_name",
               "classifier", "algorithm", "generator", "generator_name", "method_name", "algorithm_name", "solver",
               "agent", "engine", "provider", "approach", "estimator", "team", "run_id"),
    "score": ("score", "evaluation.score", "value", "correct", "is_correct", "acc", "accuracy", "exact_match",
              "resolved", "rating", "reward", "preference", "passed", "pass", "success", "metric_value", "result", "f1",
              "loss", "error_rate", "runtime", "main_score"),
    "cluster": ("cluster", "group"),
    "repeat": ("repeat", "repetition", "epoch", "trial", "run", "run_idx", "attempt", "seed"),
    "human": (),
}  # fmt: skip
_LOWER = re.compile(r"(^|[\W_])(loss|error|error_rate|runtime|latency|rmse|mae|mse|wer|cer|perplexity)([\W_]|$)")
_SCALES = ((0.0, 1.0), (0.0, 10.0), (0.0, 100.0))  # from the narrowest: the first that holds all scores
_TIME = re.compile(r"_\d{4}-\d\d-\d\dT[\d.-]+$")  # what lm-eval adds to the name of a file
_FEWEST, _MOST, _MOST_CELLS = 5, 1e100, 200_000_000  # squares of larger numbers overflow; more cells need over ten GB


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Names of columns; those left out are guessed.

    Attributes:
        item: one column, or several with commas between: together they name an item.
        system, score, cluster, repeat: one column each.
        human: the column of people's labels, of a random part of the rows; never guessed.
        systems: of a wide table, the columns that are systems; of any, the systems to keep.
        without: columns, systems or items to leave out.
        scale: the ends of the scale of all scores.
    """

    item: str = ""
    system: str = ""
    score: str = ""
    cluster: str = ""
    repeat: str = ""
    human: str = ""
    systems: Sequence[str] | str = ""
    without: Sequence[str] | str = ""
    scale: tuple[float, float] | None = None

    def listed(self, part: str) -> list[str]:
        """The names of a part that may have several: a list, or a text with commas."""
        given: Sequence[str] | str = getattr(self, part)
        return [name.strip() for name in given.split(",") if name.strip()] if isinstance(given, str) else list(given)


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
        ranges: the scale of each system's scores, from its own scores unless it is given; None if it has none.
        missing: of each system without some scores, how many by reason.
        ledger: of the cells of its files.
        labels: shape (systems, items), people's labels that correct the values; nan where there is none.
    """

    systems: Sequence[str]
    items: Sequence[str]
    values: Floats = field(repr=False)
    clusters: Ints | None = field(repr=False)
    limits: tuple[float, float]
    said: str
    ranges: Sequence[tuple[float, float] | None] = ()
    missing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ledger: Intake | None = None
    labels: Floats | None = field(default=None, repr=False)


def read_scores(paths: Sequence[Path], names: ColumnNames) -> ItemScores:
    """Read files of one comparison; a file without a column of systems is one system's, if there are several files.

    Raises:
        UsageError: if a file cannot be read, or a column is not there.
        DataError: if it is of no known kind, or the scores cannot be compared.
    """
    return scores_of(read_tables(paths), names)


def read_tables(paths: Sequence[Path]) -> dict[str, pl.DataFrame]:
    """Read files of one comparison, each by the name that its system has if it is one system's.

    Raises:
        UsageError: if a file cannot be read.
        DataError: if it is of no known kind.
    """
    labels, frames = {path: _TIME.sub("", path.stem) for path in paths}, dict[str, pl.DataFrame]()
    named = {path: _name_of(path, [other for other in paths if labels[other] == labels[path]]) for path in paths}
    for path, name in named.items():
        several = list(named.values()).count(name) > 1
        with _as_table(str(path)):
            frames[f"{name}/{labels[path]}" if several else name] = read_table(path, name)
    return frames


def _name_of(path: Path, alike: Sequence[Path]) -> str:
    """A file's own name; of several with one name the nearest folder that distinguishes them."""
    folders = [[other.parts[-depth] for other in alike] for depth in range(2, 1 + min(len(one.parts) for one in alike))]
    apart = [names[alike.index(path)] for names in folders if len(set(names)) == len(alike)]
    return path.stem if len(alike) < 2 else (apart or [path.parent.name])[0]


@contextmanager
def _as_table(where: str) -> Iterator[None]:
    """What a strange file raises, as an error that names it."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=where, code="missing-file") from None
    except (
        pl.exceptions.PolarsError, ValueError, KeyError, TypeError, AttributeError, RecursionError,
        zipfile.BadZipFile, NotImplementedError,
    ) as error:  # fmt: skip
        why = (str(error).splitlines() or [""])[0][:200].replace(
            "defined in 'Schema'", "the first line has column names"
        )
        what = f"not a table ({why})"
        raise DataError(what, where=where, expected=TABLES, code="bad-table") from None


def scores_of(frames: Mapping[str, pl.DataFrame], names: ColumnNames) -> ItemScores:
    """The scores of tables, long or wide; one of several without a column of systems is that of its name.

    Raises:
        UsageError: if a column is not there.
        DataError: if the scores cannot be compared.
    """
    long = []
    for name, frame in frames.items():
        with _as_table(name):
            long.append(_long(frame, names, name if len(frames) > 1 else ""))
    first = long[0][1]
    more = (
        f"{name}: {line}" for name, (_, said) in zip(frames, long, strict=True) for line in said if line not in first
    )
    return _arranged(pl.concat([frame for frame, _ in long], how="diagonal_relaxed"), [*first, *more], names)


def scale_of(text: str) -> tuple[float, float]:
    """A scale as people write it: its ends with a comma between.

    Raises:
        UsageError: if it is not two numbers, the lower first.
    """
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low, high = 0.0, 0.0
    if not -_MOST <= low < high <= _MOST:
        raise UsageError(f"the scale {text!r}", expected="LOW,HIGH, such as 0,10", code="bad-scale")
    return low, high


def _long(frame: pl.DataFrame, names: ColumnNames, alone: str = "") -> tuple[pl.DataFrame, list[str]]:
    """A table with the columns item, system, score, why (a missing one's reason) and, if there are such, cluster and
    repeat; and what was taken for what.
    """
    said: list[str] = []
    if gone := [name for name in names.listed("without") if name in frame.columns]:
        frame = frame.drop(gone)
        said.append(f"left out as asked: {quoted(gone)}")
    frame = _combined(_unindexed(frame, said), names, said)
    taken = taken_of(frame, names)
    if alone and not taken["system"] and taken["score"]:
        system, _, part = alone.partition("/")
        frame, taken["system"] = frame.with_columns(pl.lit(system).alias("system")), "system"
        if part and taken["item"]:
            frame = frame.with_columns(pl.format("{} {}", pl.lit(part), taken["item"]).alias(taken["item"]))
    if {"filter", "doc_id"} <= set(frame.columns):  # lm-eval writes each sample once for each filter
        several = frame["filter"].n_unique()
        frame = frame.filter(pl.col("filter") == pl.col("filter").first())
        said += [f"the first of {several} filters: {frame['filter'][0]!r}"] if several > 1 else []
    if taken["system"] and not taken["score"]:
        frame = _transposed(frame, taken, said)
    elif not (taken["system"] and taken["score"]):
        if names.system or (names.score and not taken["system"]):
            asked = "--system" if not taken["system"] else "--score"
            raise UsageError(f"no column for {asked}", fix=f"Name it: {asked} COLUMN", code="missing-column")
        frame = _unpivoted(frame, taken, names, said, alone=alone)
    elif not taken["item"]:
        raise UsageError("no column of items", fix="Name it: --item COLUMN", code="missing-column")
    return _selected(frame, taken, said)


def _selected(frame: pl.DataFrame, taken: Mapping[str, str], said: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """The columns that were taken, under their parts' names, the others as `other NAME`."""
    kept = {part: part for part in ("item", "system", "score")} | {part: name for part, name in taken.items() if name}
    # long names are texts of prompts
    others = {name: f"other {name}" for name in frame.columns if name not in kept.values() and len(name) < 60}
    long = frame.select(
        *(pl.col(name).alias(part) for part, name in kept.items()),
        *(pl.col(name).alias(other) for name, other in list(others.items())[:20] if other != "other why"),
        *([pl.col("why")] if "why" in frame.columns else []),
    )
    long = long.with_columns(pl.col("item").cast(pl.String).str.strip_chars(), pl.col("system").cast(pl.String))
    scores = numbers_of(long["score"], long)
    scores += [numbers_of(long["human"], long)[0].alias("human")] if taken["human"] else []
    long = long.with_columns(*scores, pl.all().exclude("score", "why", "human").cast(pl.String, strict=False))
    taken_said = [f"{part}: `{name}`" for part, name in taken.items() if name]
    of = [taken["score"]] if taken["score"] not in ("", "score") else long["system"].unique().to_list()
    if all(_LOWER.search(str(name).lower()) for name in of):
        said.append(f"{quoted(sorted(map(str, of)))} reads as lower is better: --lower-is-better, if it is")
    return long, [*taken_said, *said]


def taken_of(frame: pl.DataFrame, names: ColumnNames) -> dict[str, str]:
    """The column of each part: as named, else the first known name, of systems the first with two values."""
    given = {getattr(names, part) for part in _NAMES}
    columns = {column.lower(): column for column in reversed(frame.columns) if column not in given}
    taken = dict.fromkeys(_NAMES, "")
    for part in ("system", "score", "cluster", "repeat", "human", "item"):
        found = [columns[name] for name in _NAMES[part] if name in columns]
        if part == "system":
            found.sort(key=lambda name: frame[name].n_unique() < 2)
        if part in ("item", "score"):
            found = [name for name in found if name not in taken.values()]
        if part == "item" and len(found) > 1:
            found.sort(key=lambda name: not _tells_apart(frame, name, taken))
        taken[part] = getattr(names, part) or next(iter(found), "")
        if taken[part] and taken[part] not in frame.columns:
            raise UnknownNameError("column", taken[part], frame.columns)
    if taken["system"] and not names.system and frame[taken["system"]].dtype.is_float():
        taken["system"] = ""  # a system that is called "method", in a wide table
    return taken


def _tells_apart(frame: pl.DataFrame, name: str, taken: Mapping[str, str]) -> bool:
    """Whether a column could be the items: it has a value once for each system and repetition, and that of several."""
    keys = [name, *(taken[part] for part in ("system", "repeat") if taken[part])]
    shared = not taken["system"] or frame[taken["system"]].n_unique() < 2 or 1.5 * frame[name].n_unique() < frame.height
    return shared and not frame.select(keys).is_duplicated().any()


def _unindexed(frame: pl.DataFrame, said: list[str]) -> pl.DataFrame:
    """Without the numbers of rows that pandas writes."""
    for name in frame.columns:
        if name.strip() and not re.fullmatch(r"Unnamed: \d+|__index_level_\d+__", name):
            continue
        if counts_rows(frame[name]):
            frame = frame.drop(name)
            said.append("the column of row numbers left out")
        elif "item" not in frame.columns:
            frame = frame.rename({name: "item"})
            said.append("items: the column without a name")
    return frame


def _combined(frame: pl.DataFrame, names: ColumnNames, said: list[str]) -> pl.DataFrame:
    """With the columns that options make of others: items or systems of several, scores of two that are to be equal."""
    for part, sign in (("item", ","), ("system", ","), ("score", "=")):
        given = getattr(names, part)
        parts = [name.strip() for name in given.split(sign)]
        if len(parts) < 2 or given in frame.columns:
            continue
        if unknown := [name for name in parts if name not in frame.columns]:
            raise UnknownNameError("column", unknown[0], frame.columns)
        texts = [pl.col(name).cast(pl.String).str.strip_chars() for name in parts]
        joined = pl.concat_str([text.fill_null("") for text in texts], separator=" | ")
        made = joined if sign == "," else (texts[0] == texts[1]).cast(pl.Float64)
        said.append(f"each {part}: {f' {sign} '.join(f'`{name}`' for name in parts)}")
        frame = frame.with_columns(made.alias(given)).drop(parts)
    return frame


def _transposed(frame: pl.DataFrame, taken: dict[str, str], said: list[str]) -> pl.DataFrame:
    """A table with a row for each system and a column for each item as a long one.

    Raises:
        DataError: if a system has several rows, or columns are not of one scale: the score is to be named.
    """
    systems = frame[taken["system"]]
    texts = [taken[part] for part in ("item", "repeat", "cluster", "human") if taken[part]]
    items = [name for name in numeric_columns(frame) if name not in (taken["system"], *texts)]
    spans = scales_of(frame, items)
    if len(items) < _FEWEST or systems.n_unique() < frame.height or unlike(spans) or texts:
        raise DataError(
            f"`{taken['system']}` names systems, and no column is known to be the score",
            expected=f"one of {quoted(items) or 'no column of numbers'}",
            fix="Name it: --score COLUMN. If rows are systems and columns items: --without the other columns",
            code="missing-column",
        )  # fmt: skip
    said.append(f"one row per system, one column per item: {quoted(items)}")
    ignored = [name for name in frame.columns if name not in (*items, taken["system"])]
    said += [f"left out: {quoted(ignored)}"] if ignored else []
    made = frame.with_columns(pl.col(items).cast(pl.String))
    taken["score"], taken["item"] = "score", "item"
    return made.unpivot(items, index=[taken["system"]], variable_name="item", value_name="score")


def _unpivoted(
    frame: pl.DataFrame, taken: dict[str, str], names: ColumnNames, said: list[str], *, alone: str
) -> pl.DataFrame:
    """A wide table as a long one: the columns of one scale are systems, and what else there is is said.

    Raises:
        UsageError: if it is a long table that lacks a column, as its repeated items or its only number show.
    """
    if taken["human"]:
        fix = "Name the columns of a long table: --item, --system, --score (the judge's)."
        raise UsageError("people's labels need a row for each item and system", fix=fix, code="missing-column")
    texts = [name for name in frame.columns if name not in taken.values() and frame[name].dtype == pl.String]
    repeated = [name for name in texts if 1 < frame[name].n_unique() <= frame.height / 5]
    twice = taken["item"] and frame[taken["item"]].is_duplicated().any()
    if taken["score"] and twice and repeated and not names.systems:
        what = f"the column `{taken['score']}` has scores, and no column is known to be the systems"
        raise UsageError(what, expected=f"one of {quoted(repeated)}", fix="--system COLUMN", code="missing-column")
    if not taken["item"]:
        first = frame.columns[0] if frame.width else ""
        named = first in texts and first not in numeric_columns(frame)
        if named and frame[first].n_unique() == frame.height and frame.height and first not in names.listed("systems"):
            taken["item"] = first
        else:
            frame = frame.with_row_index("item") if "item" not in frame.columns else frame
            said.append("items: the rows")
    index = [taken["item"] or "item", *(taken[part] for part in ("cluster", "repeat") if taken[part])]
    systems = systems_of(frame, index, names.listed("systems"), said)
    if alone and len(systems) == 1 and not names.systems:
        raise UsageError(f"`{alone}` is one system's, and no column is known to be its scores", code="missing-column",
                         expected=f"one of {quoted(numeric_columns(frame))}",
                         fix="Name it: --score COLUMN, or --score PREDICTED=ANSWER")  # fmt: skip
    taken["system"] = taken["score"] = ""
    said.append(f"systems: the columns {quoted(systems)}")
    frame = frame.with_columns(pl.col(systems).cast(pl.String))
    return frame.unpivot(systems, index=index, variable_name="system", value_name="score")


def _arranged(long: pl.DataFrame, said: list[str], names: ColumnNames) -> ItemScores:
    """Scores as an array of systems by items, repetitions averaged."""
    asked, without = names.listed("systems"), names.listed("without")
    said, whole = [*said], long
    long = long.drop_nulls(["item", "system"])
    named = long.height
    if asked and set(asked) <= set(long["system"]):
        long = long.filter(pl.col("system").is_in(asked))
    long = long.filter(~pl.col("system").is_in(without), ~pl.col("item").is_in(without))
    chosen = long.height
    long = without_totals(long, said)
    long, said = _scaled(long, names.scale, said)
    different = pl.col("repeat").n_unique() if "repeat" in long.columns else pl.lit(1)
    systems, items = (long[name].unique(maintain_order=True) for name in ("system", "item"))
    places = (pl.col(name).replace_strict(known, range(len(known)), return_dtype=pl.Int64).alias(f"at {name}")
              for name, known in (("system", systems), ("item", items)))  # fmt: skip
    scored = long.drop_nulls("score").with_columns(*places)
    means = [pl.col(name).mean() for name in ("score", "human") if name in scored.columns]
    at, cells = ["at system", "at item"], scored
    if scored.select(pl.col(at[0]) * len(items) + pl.col(at[1])).to_series().n_unique() != scored.height:
        cells = scored.group_by(at, maintain_order=True).agg(pl.len(), different.alias("different"), *means)
        for row in cells.filter(pl.col("len") > pl.col("different")).head(1).iter_rows(named=True):
            system, item = systems[row["at system"]], items[row["at item"]]
            raise DataError(f"{row['len']} scores of the system {system!r} on the item {item!r}", expected="one",
                            fix=_of_duplicates(scored, system, item), code="duplicate-score")  # fmt: skip
    shown = list(map(clean_name, systems))
    if alike := [name for name in shown if shown.count(name) > 1]:
        what = f"two systems whose names look alike: {alike[0]!r}"
        raise DataError(what, expected="a name each", code="duplicate-system")
    check_size(len(systems), len(items), ", ".join(said)[:300])
    arrays = [np.full((len(systems), len(items)), np.nan) for _ in means]
    for array, name in zip(arrays, ("score", "human"), strict=False):
        array[tuple(cells[place].to_numpy() for place in at)] = cells[name].to_numpy()
    values, labels = arrays[0], arrays[-1] if names.human else None
    if bare := [name for name, row in zip(shown, values, strict=True) if not np.isfinite(row).any()]:
        fix = f"Leave it out: --without {bare[0]}"
        raise DataError(f"the system {bare[0]!r} has no score", expected="a score or more", fix=fix, code="no-score")
    every = values if labels is None else np.hstack(arrays)
    if labels is not None and not names.scale and np.isfinite(labels).any() and range_of(values) != range_of(labels):
        what, fix = "the judge's scores and people's labels have different scales", "--scale LOW,HIGH if they share one"
        raise DataError(what, expected="one scale", fix=fix, code="unclear-scale")
    ranges = [names.scale or range_of(row) for row in every]
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    low, high = names.scale or range_of(every) or (low, high)
    lacking = int((~np.isfinite(values)).any(axis=0).sum())
    size = f"{len(systems)} systems, score {low:g} to {high:g}, {len(items):,} items, {lacking:,} incomplete"
    left_out = {
        "without item or system": whole.height - named, "not chosen": named - chosen, "totals": chosen - long.height,
        "without a score": long.height - scored.height, "averaged into others": scored.height - cells.height,
    }  # fmt: skip
    ledger = Intake("cells", whole.height, int(np.isfinite(values).sum()), left_out)
    scales = sorted({"none" if one is None else f"{one[0]:g} to {one[1]:g}" for one in ranges})
    size += f", {ledger}, scale of intervals {'as given' if names.scale else 'by column'}: {', '.join(scales)}"
    clusters = _clusters(long, items) if "cluster" in long.columns else None
    missing = _reasons(long, values, systems.to_list(), shown)
    said.append(size)
    return ItemScores(
        shown, items.to_list(), values, clusters, (low, high), ", ".join(said), ranges, missing, ledger, labels
    )


def _scaled(long: pl.DataFrame, scale: tuple[float, float] | None, said: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """Check scores by the scale; -1 below one that starts at 0 or more marks a missing score."""
    score = long["score"].drop_nulls().to_numpy()
    below, rest = score[score < 0], score[score >= 0]
    if scale is None:
        # harnesses write -1 for a failure, and some metrics reach from -1 to 1: nothing tells which
        if below.size and rest.size and (below == -1).all() and rest.max() >= 1 and set(score.tolist()) != {-1.0, 1.0}:
            what = f"{below.size:,} scores are -1, and the others are {rest.min():g} to {rest.max():g}"
            fix = f"--scale 0,{rest.max():g} if -1 marks a missing score, --scale -1,{rest.max():g} if it is one"
            raise DataError(what, expected="a scale", code="unclear-scale", fix=fix)
        return long, said
    low, high = scale
    if low >= 0 and below.size and (below == -1).all():
        none = pl.col("score") == -1
        why = pl.when(none).then(pl.lit("-1")).otherwise(pl.col("why") if "why" in long.columns else None)
        long = long.with_columns(why.alias("why"), pl.when(none).then(None).otherwise(pl.col("score")).alias("score"))
        said = [*said, f"{below.size:,} scores of -1 taken as missing"]
    if outside := long.filter((pl.col("score") < low) | (pl.col("score") > high)).height:
        raise DataError(f"scores outside the scale: {outside:,}", expected=f"{low:g} to {high:g}", code="bad-score")
    return long, said


def range_of(values: Floats) -> tuple[float, float] | None:
    """The smallest of the usual scales that scores fit; None if they fit none."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return next(((a, b) for a, b in _SCALES if a <= low and high <= b), None)


def _reasons(
    long: pl.DataFrame, values: Floats, systems: Sequence[str], shown: Sequence[str]
) -> dict[str, dict[str, int]]:
    """How many cells each system lacks, by reason."""
    absent = np.isnan(values).sum(axis=1)
    if not absent.any():
        return {}
    gone = long.filter(pl.col("score").is_null())
    why = pl.col("why").fill_null("empty") if "why" in long.columns else pl.lit("empty")
    counts = gone.unique(["system", "item"], maintain_order=True).group_by("system", why.alias("why")).len()
    found: dict[str, dict[str, int]] = {}
    for system, name, count in zip(systems, shown, absent.tolist(), strict=True):
        if count:
            rows = counts.filter(pl.col("system") == system).sort("why").select("why", "len").rows()
            reasons = {reason: min(number, count) for reason, number in rows}
            rest = count - sum(reasons.values())
            found[name] = {**reasons, **({"no row": rest} if rest > 0 else {})}
    return found


def _of_duplicates(scored: pl.DataFrame, system: str, item: str) -> str:
    """What would tell the scores of one cell apart."""
    same = scored.filter(pl.col("system") == system, pl.col("item") == item)
    apart = [
        name for name, text in same.to_dict().items() if name.startswith("other ") and text.n_unique() == same.height
        and not text.str.contains(r"^-?\d+\.\d+$|.{60}").any()
    ]  # fmt: skip
    named = [name.removeprefix("other ") for name in apart]
    pair = f"If an item is two columns: --item {'ITEM,' + named[0] if named else 'A,B'}"
    repeated = f"If they are repetitions: --repeat {named[0] if named else 'COLUMN'}"
    return f"{pair}. {repeated}. If a system is two columns: --system A,B. Else leave the others out."


def _clusters(long: pl.DataFrame, items: pl.Series) -> Ints:
    """The cluster of each item, as a number."""
    pairs = long.select("item", pl.col("cluster").fill_null("")).unique(maintain_order=True)
    if twice := pairs.filter(pl.col("item").is_duplicated())["item"].to_list():
        raise DataError(f"the item {twice[0]!r} is in several clusters", expected="one", code="bad-cluster")
    names = items.replace_strict(pairs["item"], pairs["cluster"]).to_numpy()
    return np.unique(names.astype(str), return_inverse=True)[1].astype(np.int64)


def check_size(systems: int, items: int, where: str = "") -> None:
    """Refuse too few systems or items, and too many.

    Raises:
        DataError: if there are fewer than two systems, fewer than five items, or too many cells.
    """
    if systems * items > _MOST_CELLS:
        what = f"{systems:,} systems on {items:,} items"
        fix = "If these are not systems and items, name the columns: --system, --item."
        raise DataError(what, expected=f"at most {_MOST_CELLS:,} cells", fix=fix, code="too-large")
    if systems < 2:
        fix = "Give a column of systems, one column per system, or one file per system."
        raise DataError(f"systems: {systems}", where=where, expected="two or more", fix=fix, code="too-few-systems")
    if items < _FEWEST:
        what = f"two systems share {items} items, too few to say which is better"
        raise DataError(what, expected=f"{_FEWEST} or more", code="too-few-items")
