"""What the columns of a strange table are: which hold scores, in which form, and which of them are systems.

The rule: a guess that contradicts another guess asks. A column of another scale is left out only if its name says, too,
that it is not a score; else an error lists both readings. Whatever is left out is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import polars as pl

from hellofresh.core.errors import DataError, UnknownNameError

# Cells, in small letters, that say that there is no score; each is a reason of its own.
_MISSING = ("n/a", "n.a.", "<na>", "na", "#n/a", "#div/0!", "#value!", "#ref!", "none", "null", "missing", "error",
            "timeout", "failed to run", "oom", *"-?\u2013\u2014")  # fmt: skip
_PAIRS = ("true/false pass/fail passed/failed yes/no right/wrong resolved/unresolved y/n ja/nein wahr/falsch oui/non "
          "vrai/faux")  # fmt: skip
_WORDS: tuple[Mapping[str, float], ...] = (
    *({good: 1.0, bad: 0.0} for good, _, bad in (pair.partition("/") for pair in _PAIRS.split())),
    {"correct": 1.0, "incorrect": 0.0, "wrong": 0.0},
    {"success": 1.0, "failure": 0.0, "fail": 0.0},
    {**dict.fromkeys("✓✔✅", 1.0), **dict.fromkeys("✗✘❌", 0.0)},
    {"win": 1.0, "tie": 0.5, "loss": 0.0},
    {"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0},
)
# Names of columns that describe an item or a run.
_NO_SCORE = re.compile(
    r"(^|[_\W])(n|num|count|counts|tokens?|duration|time|seconds|secs|ms|latency|iterations?|steps?|difficulty|length|len|"
    r"cost|price|year|month|date|timestamp|index|idx|level|fold|turn|position|age|size|words|chars|characters|labels?|"
    r"target|gold|truth|answer|choice|weight|row|line|split|seed|std|stdev|stddev|stderr|sem|variance|ci)s?($|[_\W])|"
    r"^(is|has)_(?!correct)|^std_|__(min|max)$|standard[_\W](error|deviation)"
)
_ID = re.compile(r"(^|[_\W])(id|ids|uid|uuid|key|hash|number|no|nr)($|[_\W])")
_REPEATS = re.compile(
    r"(?<![^\W_])(run|seed|trial|rep|repeat|repetition|sample|resample|boot|bootstrap|iter|iteration|fold|epoch|"
    r"attempt|draw|split)[\W_]*\d+$", re.IGNORECASE,
)  # fmt: skip
_TOTALS = re.compile(
    r"(grand |macro |micro |weighted |overall )?(average|avg|mean|total|overall|sum|all|aggregate|median|std|score|"
    r"mittelwert|durchschnitt|gesamt|summe|moyenne|promedio)\.?"
)
_SUBTOTALS = r"(^|[\W_])(average|avg|mean|total|subtotal|overall|sum|aggregate)([\W_]|$)"
_MOST, _UNLIKE, _SHOWN, _LONGEST_TOTAL = 1e100, 30.0, 6, 40


def quoted(names: Sequence[str]) -> str:
    """Names for a sentence, the first few."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"`{name[:60]}`" for name in names[:_SHOWN]) + more


def numbers_of(score: pl.Series, long: pl.DataFrame) -> list[pl.Series]:
    """The scores as numbers, and why one is missing: two columns, `score` and `why`.

    Each column of a wide table has its own form; all cells of a long one have one.

    Raises:
        DataError: if a cell is neither in the form of the others nor known to say that there is no score.
    """
    none = pl.repeat(None, len(score), dtype=pl.String, eager=True)
    why = long["why"].cast(pl.String) if "why" in long.columns else none
    if score.dtype == pl.String:
        text = cells_of(score)
        small = score.set(text.is_not_null(), None).str.strip_chars().str.to_lowercase()
        why = pl.select(pl.when(small.is_in(_MISSING)).then(small).otherwise(why).alias("why")).to_series()
        made = text.cast(pl.Float64, strict=False)
        if made.null_count() > text.null_count():
            parts = pl.DataFrame({"system": long["system"], "text": text}).with_row_index("row").partition_by("system")
            read = [part.select("row", read_form(part["text"]).alias("score")) for part in parts]
            made = pl.concat(read).sort("row")["score"]
        bad = long.with_columns(score.alias("read")).filter(text.is_not_null() & made.is_null())
        for row in bad.head(1).iter_rows(named=True):
            where, expected = f"item {row['item']}, system {row['system']}", "numbers; an empty cell is missing"
            raise DataError(f"the score {str(row['read'])[:40]!r} is not a number", where=where, expected=expected,
                            fix="Or name the column of scores: --score COLUMN", code="bad-score")  # fmt: skip
        score = made
    score = score.cast(pl.Float64)
    if beyond := int((~(score.abs() <= _MOST)).sum()):
        what, fix = f"scores that are NaN, infinite or above {_MOST:g}: {beyond}", "Leave a cell without one empty."
        raise DataError(what, expected="numbers", fix=fix, code="bad-score")
    return [score.alias("score"), why.alias("why")]


def cells_of(column: pl.Series) -> pl.Series:
    """Texts in small letters; null where one marks a missing score."""
    text = column.str.strip_chars().str.to_lowercase()
    return text.set(text.is_in([*_MISSING, ""]), None)


def read_form(text: pl.Series) -> pl.Series:
    """Texts in small letters as numbers, if all are of one form; what is not of the form of most is null."""
    found = text.cast(pl.Float64, strict=False)
    if found.null_count() == text.null_count():
        return found
    there = text.drop_nulls()
    if there.len() and there.str.ends_with("%").all():
        return read_form(text.str.strip_suffix("%").str.strip_chars()) / 100
    decimals = text.str.replace(",", ".", literal=True)
    commas = there.filter(there.str.contains(","))
    if commas.len() and commas.str.contains(r"^[-+]?[1-9]\d{0,2}(,\d{3})+$").all():
        return found  # 1,220 may be 1.22 or 1220
    if there.len() and there.str.contains(r"^[-+]?\d*,\d+$|^[-+]?\d+$").all():
        return decimals.cast(pl.Float64, strict=False)
    for words in _WORDS:
        if there.is_in([*words, "1", "0"]).all():
            every = {**words, "1": 1.0, "0": 0.0}
            return text.replace_strict([*every], [*every.values()], default=None, return_dtype=pl.Float64)
    return found


def numeric_columns(frame: pl.DataFrame) -> list[str]:
    """Columns of numbers, or of another form that is read as such; a text among more numbers is a mistake."""
    found = []
    for column in frame:
        if column.dtype.is_numeric() or column.dtype == pl.Boolean:
            found.append(column.name)
        elif column.dtype == pl.String:
            there = cells_of(column).drop_nulls()
            if there.len() and 2 * read_form(there).count() > there.len():
                found.append(column.name)
    return found


def scales_of(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, tuple[float, float, bool]]:
    """Of each column its lowest and highest number, and whether all are whole."""
    found = {}
    for name in names:
        column = frame[name]
        column = read_form(cells_of(column)) if column.dtype == pl.String else column
        numbers = column.cast(pl.Float64, strict=False).drop_nulls().drop_nans()
        if numbers.len():
            low, high = (float(one) for one in (numbers.min(), numbers.max()))  # type: ignore[arg-type]
            if max(abs(low), abs(high)) <= _MOST:
                found[name] = (low, high, bool((numbers == numbers.floor()).all()))
    return found


def unlike(spans: Mapping[str, tuple[float, float, bool]]) -> bool:
    """Whether columns are of scales that cannot be one: some within 0 to 1 and some not, or 30 times as wide."""
    widest = [max(abs(low), abs(high)) for low, high, _ in spans.values()]
    within = [low >= 0 and high <= 1 for low, high, _ in spans.values()]
    if not widest or all(within):
        return False
    return (any(within) and max(widest) > 2) or max(widest) > _UNLIKE * max(min(widest), 1e-12)


def systems_of(frame: pl.DataFrame, index: Sequence[str], asked: Sequence[str], said: list[str]) -> list[str]:
    """The columns of a wide table that are systems.

    Raises:
        DataError: if none is of numbers, or the guesses contradict each other.
        UnknownNameError: if a requested system is not a column.
    """
    for name in asked:
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    every = [name for name in frame.columns if name not in index]
    numeric = [name for name in numeric_columns(frame) if name in every]
    systems = list(asked) or numeric
    if not systems:
        fix = "Name the columns of a long table: --item, --system, --score."
        where = ", ".join(
            f"{name}: {cells[0]!r}" if len(cells := frame[name].head(1)) else name for name in frame.columns
        )
        raise DataError("no column of numbers", where=where[:200], fix=fix, code="missing-column")
    if not asked:
        systems = _alike(frame, systems, said)
        _no_repeats(systems)
    empty = [
        name for name in every if (cells_of(frame[name].cast(pl.String, strict=False))).null_count() == frame.height
    ]
    ignored = [name for name in every if name not in systems and name not in empty]
    said += [f"columns left out: {quoted(ignored)}"] if ignored else []
    said += [f"columns without any score left out: {quoted(empty)}"] if empty else []
    return systems


def _alike(frame: pl.DataFrame, systems: list[str], said: list[str]) -> list[str]:
    """The columns of the common scale; one of another is left out if its name, too, says that it is not a score."""
    spans = scales_of(frame, systems)
    named = [name for name in systems if _NO_SCORE.search(name.lower()) or _ID.search(name.lower())]
    rows = [name for name in spans if name not in named and counts_rows(frame[name])]
    others = {name: span for name, span in spans.items() if name not in named and name not in rows}
    totals = [name for name in others if _TOTALS.fullmatch(name.strip().lower())]
    if len(others) - len(totals) >= 2 and not unlike(others):
        low, high = min(span[0] for span in others.values()), max(span[1] for span in others.values())
        whole = all(span[2] for span in others.values())
        for name in named:
            if name in spans and low <= spans[name][0] and spans[name][1] <= high and (spans[name][2] or not whole):
                _asked([*others], [name], "its name suggests that it is not a score, but its numbers that it is")
        if totals:
            _asked([one for one in others if one not in totals], totals, "a total of the others is not a system")
        return [name for name in systems if name in others or name not in spans]
    if len(others) < 2 and len(spans) >= 2 and not unlike(spans):
        if not named:
            return systems  # one that happens to count up
        _asked([name for name in systems if name not in named], named, "their names suggest that they are not scores")
    if others and unlike(others):
        wide = {name for name, (low, high, _) in others.items() if not (low >= 0 and high <= 1)}
        some = [name for name in others if name not in wide] or [*others][:-1]
        _asked(some, [name for name in others if name not in some], "columns have different scales")
    return [name for name in systems if name in others or name not in spans] or systems


def _asked(some: Sequence[str], rest: Sequence[str], why: str) -> None:
    what = f"which columns are systems is unclear ({quoted(rest)}: {why})"
    fix = f"--without {','.join(rest[:_SHOWN])} or --systems {','.join([*some, *rest][:_SHOWN])}"
    expected = f"either {quoted(some)}, or {quoted([*some, *rest])}"
    raise DataError(what, expected=expected, fix=fix, code="unclear-columns")


def counts_rows(column: pl.Series) -> bool:
    """Whether a column numbers the rows."""
    if not column.dtype.is_numeric() and column.dtype != pl.String:
        return False
    numbers = column.cast(pl.Float64, strict=False)
    return len(numbers) > 2 and numbers.to_list() in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])


def _no_repeats(systems: Sequence[str]) -> None:
    stems = {_REPEATS.sub("", name.strip()) for name in systems if _REPEATS.search(name.strip())}
    if len(systems) > 1 and all(_REPEATS.search(name.strip()) for name in systems) and len(stems) < len(systems):
        what = f"the columns {quoted(systems)} read as repetitions of one system, not as systems"
        fix = f"--systems {','.join(systems[:2])},... if they are; else average them into a column for each system"
        raise DataError(what, expected="one column per system", fix=fix, code="unclear-columns")


def without_totals(long: pl.DataFrame, said: list[str]) -> pl.DataFrame:
    """Without an item that is named as the total of the others and is their mean or sum.

    Raises:
        DataError: if an item is named so and has other numbers; or one has a word of totals in its name, and a score
            that is broken among whole ones or above all others.
    """
    items = long["item"].unique(maintain_order=True)
    short = items.filter(items.str.len_chars() <= _LONGEST_TOTAL)
    named = short.filter(short.str.to_lowercase().str.contains(f"^({_TOTALS.pattern})$|{_SUBTOTALS}")).to_list()
    score, is_named = pl.col("score"), pl.col("item").is_in(named)
    others = long.filter(~is_named).group_by("system")
    rest = others.agg(mean=score.mean(), sum=score.sum(), high=score.max(), broken=(score % 1 != 0).any())
    scored = long.filter(is_named).drop_nulls("score").join(rest, on="system").drop_nulls("mean")
    for part in scored.partition_by("item", maintain_order=True):
        name, rows = part["item"][0], part.to_dicts()
        total = _TOTALS.fullmatch(re.sub(r"\W*\(.*\)$", "", name.strip().lower()))
        if total and all(any(_close(row[kind], row["score"]) for kind in ("mean", "sum")) for row in rows):
            long = long.filter(pl.col("item") != name)
            said.append(f"the item `{name}` left out: a total of the others")
        elif total or any(row["score"] > row["high"] or (row["score"] % 1 and not row["broken"]) for row in rows):
            fix = f"--without {','.join(named)} if they are totals; else rename them"
            raise DataError(f"the item {name!r} looks like a total, but is not that of the others", fix=fix,
                            expected="items", code="unclear-items")  # fmt: skip
    kept = [name for name in named if name in long["item"]]
    said += [f"read as items: {quoted(kept)}"] if kept else []
    return long


def _close(value: float, total: float) -> bool:
    """Whether a total is a value, but for rounding to two places."""
    return abs(value - total) <= 0.006 * max(abs(value), abs(total), 1.0)
