"""Votes of people on items: a plain table `rater,item,vote`, fitted like ratings of notes.

A vote is -1, 0 or 1 (against, neither, for), or 0, 0.5 or 1. A rater's last vote on an item counts: by a column
`timestamp` (a number) if there is one, else by the order of rows. Exports of Polis (`voter-id`, `comment-id`, `vote`,
`timestamp`) are such tables too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from hellofresh.core.errors import SourceError
from hellofresh.core.parquet import Table
from hellofresh.stats.bridging import Ratings, Round, draw_raters, fit_round

_NAMES = {"voter-id": "rater", "comment-id": "item"}
_DRAWS = 40  # enough for a spread within about a tenth of itself


@dataclass(frozen=True, slots=True)
class VotedItem:
    """Results of the votes on an item.

    Attributes:
        item: its name in the table.
        votes, against, neither, in_favour: how many of each kind.
        intercept, factor: of one round of the fit; None with fewer than 5 votes by raters with at least 10 votes.
        error: the standard deviation of the intercept over fits of resampled raters; None if too few fits have one.
    """

    item: str
    votes: int
    against: int
    neither: int
    in_favour: int
    intercept: float | None
    factor: float | None
    error: float | None


VOTED_ITEMS = Table(VotedItem)


def read_votes(path: Path) -> tuple[list[str], Ratings]:
    """The items by name and the votes on them; without times, the order of rows decides between repetitions.

    Raises:
        SourceError: if the file is not such a table, or a vote is on neither scale (`bad-votes`).
    """

    def bad(what: str) -> SourceError:
        expected = "columns rater, item and vote; votes -1, 0, 1, or 0, 0.5, 1"
        return SourceError(what, where=str(path), expected=expected, fix="Correct the table.", code="bad-votes")

    try:
        rows = pl.read_csv(path, infer_schema=False, separator="\t" if path.suffix == ".tsv" else ",")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise bad(f"the table cannot be read ({type(error).__name__})") from None
    rows = rows.rename(_NAMES, strict=False)
    if missing := [name for name in ("rater", "item", "vote") if name not in rows.columns]:
        raise bad(f"no column {missing[0]}")
    votes = rows.select("rater", "item", pl.col("vote").str.strip_chars().cast(pl.Float64, strict=False))
    scale = [-1.0, 0.0, 1.0] if (votes["vote"] == -1).any() else [0.0, 0.5, 1.0]
    wrong = ~votes["vote"].is_in(scale).fill_null(False) | votes["rater"].is_null() | votes["item"].is_null()
    if wrong.any():
        raise bad(f"row {(wrong.arg_max() or 0) + 1:,} of {votes.height:,} has a vote, rater or item that cannot be")
    if "timestamp" in rows.columns:
        times = rows["timestamp"].str.strip_chars().cast(pl.Float64, strict=False)
        if times.is_null().any():
            raise bad(
                f"row {(times.is_null().arg_max() or 0) + 1:,} of {votes.height:,} has a timestamp that is not a number"
            )
        votes = votes.with_columns(times).sort("timestamp", "vote")  # of two votes at once the higher one counts
    kept = votes.unique(["rater", "item"], keep="last", maintain_order=True).sort("item", "rater")
    item, rater = (kept[name].rank("dense").to_numpy().astype(np.int32) - 1 for name in ("item", "rater"))
    level = np.searchsorted(scale, kept["vote"].to_numpy()).astype(np.int8)
    return kept["item"].unique().sort().to_list(), Ratings(item, rater, level, np.ones(item.size, np.bool_))


def fit_votes(path: Path) -> tuple[pl.DataFrame, Round]:
    """A row of `VotedItem` for each item of a table, and the fit; raises as `read_votes`, and for too few votes."""
    items, votes = read_votes(path)
    raters = int(votes.rater.max(initial=-1)) + 1
    try:
        fit = fit_round(votes, len(items), raters)
    except ValueError as error:
        raise SourceError(f"too little to fit: {error}", where=str(path), code="too-few-ratings") from error
    redrawn = np.array(
        [fit_round(votes, len(items), raters, drawn=draw_raters(raters, s)).note_intercept for s in range(_DRAWS)]
    )
    known = np.isfinite(redrawn).sum(axis=0) > _DRAWS / 2
    spread = np.full(len(items), np.nan)
    spread[known] = np.nanstd(redrawn[:, known], axis=0, ddof=1)
    kinds = np.bincount(votes.note * 3 + votes.level, minlength=3 * len(items)).reshape(-1, 3)
    numbers = [
        [None if np.isnan(value) else round(value, 9) for value in side.tolist()]
        for side in (fit.note_intercept, fit.note_factor, spread)
    ]
    rows = zip(items, kinds.sum(axis=1).tolist(), *kinds.T.tolist(), *numbers, strict=True)
    return VOTED_ITEMS.frame(VotedItem(*row) for row in rows), fit
