"""What was asked, and who was right: a list to filter, and one sample opened with every system's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

import polars as pl
import streamlit as st

from hellofresh.results.board.schema import SAMPLES
from hellofresh.results.tables import JUDGEMENTS
from leaderboard.components.labels import day, entry_label
from leaderboard.components.links import SiteLinks
from leaderboard.components.markup import DASH, Html, el, inner_link, join, visible
from leaderboard.components.pieces import notice
from leaderboard.components.sample import opened_sample, sample_list
from leaderboard.components.scale import class_names
from leaderboard.data.records import Records
from leaderboard.data.tables import BoardEntry, SplitKey
from leaderboard.views._base import SitePage, header, show
from leaderboard.views.session import EVERY, choose_one, choose_split, open_board, open_records, search_text

__all__ = ["PAGE"]

_LEDE = "What systems were asked, what people decided, and what each system said."
_MOST_ROWS = 10
_HARD = {
    "all were right": pl.col("right") == pl.col("judged"),
    "some were right": (pl.col("right") > 0) & (pl.col("right") < pl.col("judged")),
    "none was right": (pl.col("right") == 0) & (pl.col("judged") > 0),
}


def _render() -> None:
    header("Samples", _LEDE)
    board, records = open_board(), open_records()
    split = choose_split(board, lanes=True)
    rows = records.samples(split)
    if rows.is_empty():
        show(el("p", "The board has no samples of this task and quarter. Run: ", el("code", "make release")))
        return
    revealed = bool(rows["revealed"].all())
    files = inner_link(SiteLinks().data(split), "as files")
    taken = el("p", "All of them ", files, ", on the page Data.") if board.released(split) else None
    show(_standing_of(rows, split, records, revealed=revealed), taken)
    entries = {result.entry.origin: result.entry for result in board.headlines(split)}
    found = _filtered(rows, split, records, entries, revealed=revealed)
    opened = st.query_params.get("sample")
    show(el("p", f"{found.height:,} of {rows.height:,} samples."))
    if found.is_empty():
        return
    page = _page(found.height)
    shown = SAMPLES.rows(found[page * _MOST_ROWS : (page + 1) * _MOST_ROWS])
    show(sample_list(shown, split.task, _address))
    ids = [row.id for row in shown]
    asked = [opened] if opened and opened not in ids and opened in set(rows["id"]) else []
    chosen = choose_one("sample", "Open a sample", [*asked, *ids], lambda key: _short(rows, key), width=640)
    sample = records.sample(split, chosen)
    if sample is not None:
        answers = JUDGEMENTS.rows(records.answers(split, sample=chosen))
        steps = records.transcripts(split, chosen)
        show(opened_sample(sample, split.task, answers, steps, entries))


def _address(sample: str) -> str:
    """This page with another sample opened, and all else as it is."""
    query = {name: st.query_params.get_all(name) for name in st.query_params} | {"sample": [sample]}
    return f"./samples?{urlencode(query, doseq=True)}"


def _standing_of(rows: pl.DataFrame, split: SplitKey, records: Records, *, revealed: bool) -> Html:
    """What may be seen of this quarter, and why."""
    parts: list[Html | None] = []
    if not revealed:
        days = records.days(split)
        when = f" on {day(days.reveals)}" if days else ""
        said = f"Its labels and the systems' answers are shown once the labels are revealed{when}."
        parts.append(notice("Labels are not revealed yet.", said))
    if not rows["published"].any():
        said = "The terms of the source allow sharing ids, not texts; samples link to the original where there is one."
        parts.append(notice("Texts withheld.", said))
    return join(parts)


def _filtered(
    rows: pl.DataFrame, split: SplitKey, records: Records, entries: Mapping[str, BoardEntry], *, revealed: bool
) -> pl.DataFrame:
    """The samples that fit what the visitor chose."""
    names = {str(label): name for label, name in reversed(list(enumerate(class_names(split.task))))}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        periods = [EVERY, *rows["period"].unique().sort().to_list()]
        period = choose_one("period", "Period", periods, _every("period"), width=150, default=EVERY)
        text = search_text("search", "Search in texts")
        label = right = wrong = EVERY
        if revealed:
            label = choose_one("label", "Label", [EVERY, *names], lambda k: names.get(k, "Any label"), width=150,
                               default=EVERY)  # fmt: skip
            right = choose_one("right", "Who was right", [EVERY, *_HARD], lambda k: "Anybody" if k == EVERY else k,
                               width=190, default=EVERY)  # fmt: skip
            wrong = choose_one("wrong", "Where this one was wrong", [EVERY, *entries],
                               lambda k: entry_label(entries[k]) if k in entries else "Any system",
                               width=260, default=EVERY)  # fmt: skip
    kept = rows if period == EVERY else rows.filter(pl.col("period") == period)
    kept = kept if label == EVERY else kept.filter(pl.col("label") == int(label))
    kept = kept if right == EVERY else kept.filter(_HARD[right])
    if wrong != EVERY:
        kept = kept.filter(pl.col("id").is_in(_wrong_ids(rows, records, split, wrong)))
    return kept.filter(_holds(text)) if text else kept


def _every(what: str) -> Callable[[str], str]:
    return lambda name: f"Every {what}" if name == EVERY else visible(name, 20)


def _holds(text: str) -> pl.Expr:
    columns = (pl.col("id"), pl.col("title"), pl.col("texts").list.join("\n"))
    return pl.any_horizontal(column.str.to_lowercase().str.contains(text.lower(), literal=True) for column in columns)


def _wrong_ids(rows: pl.DataFrame, records: Records, split: SplitKey, origin: str) -> list[str]:
    said = records.answers(split, origins=[origin]).filter("headline").join(rows.select("id", truth="label"), on="id")
    return said.filter(~pl.col("label").eq_missing(pl.col("truth")))["id"].to_list()


def _page(count: int) -> int:
    """Which part of the list is shown, from 0."""
    last = (count - 1) // _MOST_ROWS
    if not last:
        return 0
    titles = [f"{k * _MOST_ROWS + 1}{DASH}{min(count, (k + 1) * _MOST_ROWS)}" for k in range(last + 1)]
    return titles.index(choose_one("part", "Samples shown", titles, width=150, default=titles[0]))


def _short(rows: pl.DataFrame, key: str) -> str:
    row = rows.row(by_predicate=pl.col("id") == key, named=True)
    text = row["title"] or next(iter(row["texts"]), "")
    return f"{row['id']} \N{MIDDLE DOT} {visible(text, 60)}" if text else str(row["id"])


PAGE = SitePage("Samples", "samples", _render, _LEDE)
