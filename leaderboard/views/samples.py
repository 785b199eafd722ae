"""What was asked, and who was right: a list to filter, and one sample opened with every system's answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import polars as pl
import streamlit as st

from hellofresh.tasks import TASKS
from leaderboard.markup import DASH, Html, el, join, link, named, visible
from leaderboard.records import Answer, Records, SampleRow, SearchStep
from leaderboard.session import EVERY, choose_one, choose_split, entry_label, open_board, open_records, search_text
from leaderboard.tables import Entry, Split
from leaderboard.views._base import Page, cell, header, heading, notice, table
from leaderboard.words import edit_html, long_text

__all__ = ["PAGE", "sample_list"]

_LEDE = "What systems were asked, what people decided, and what each system said."
_MOST_ROWS = 10
_HARD = {
    "everybody was right": pl.col("right") == pl.col("judged"),
    "some were right": (pl.col("right") > 0) & (pl.col("right") < pl.col("judged")),
    "nobody was right": (pl.col("right") == 0) & (pl.col("judged") > 0),
}
_FACTS = {
    "ratings": "ratings", "status_locked_at": "status locked", "ai_writer": "written by a machine",
    "collaborative": "collaborative", "revert_delay_s": "seconds until reverted", "survived_edits": "edits survived",
    "required_edits": "edits to survive", "distinct_users": "later editors",
    "page_hash_reverted": "whole page restored", "paragraph_kind": "kind of paragraph",
}  # fmt: skip


def _render() -> None:
    header("Samples", _LEDE)
    board, records = open_board(), open_records()
    split = choose_split(board)
    rows = records.samples(split)
    if rows.is_empty():
        st.html(str(el("p", "The board has no samples of this task and quarter. Run: ", el("code", "make release"),
                       class_="hf")))  # fmt: skip
        return
    revealed = bool(rows["revealed"].all())
    st.html(str(el("div", _standing_of(rows, split, records, revealed=revealed), class_="hf")))
    entries = {result.entry.origin: result.entry for result in board.headlines(split)}
    found = _filtered(rows, split, records, entries, revealed=revealed)
    opened = st.query_params.get("sample")
    st.html(str(el("div", el("p", f"{found.height:,} of {rows.height:,} samples."), class_="hf")))
    if found.is_empty():
        return
    page = _page(found.height)
    shown = [SampleRow(**row) for row in found[page * _MOST_ROWS : (page + 1) * _MOST_ROWS].to_dicts()]
    st.html(str(el("div", sample_list(shown, split.task), class_="hf")))
    ids = [row.id for row in shown]
    asked = [opened] if opened and opened not in ids and opened in set(rows["id"]) else []
    chosen = choose_one("sample", "Open a sample", [*asked, *ids], lambda key: _short(rows, key), width=640)
    sample = records.sample(split, chosen)
    if sample is not None:
        answers = [Answer(**row) for row in records.answers(split, sample=chosen).to_dicts()]
        searches = records.searches(split, chosen)
        st.html(str(el("div", _opened(sample, split.task, answers, searches, entries), class_="hf")))


def _standing_of(rows: pl.DataFrame, split: Split, records: Records, *, revealed: bool) -> Html:
    """What may be seen of this quarter, and why."""
    parts: list[Html | None] = []
    if not revealed:
        days = records.days(split)
        when = f" on {days.reveals.day} {days.reveals:%B %Y}" if days else ""
        said = f"Its labels and the systems' answers are shown when the quarter is revealed{when}."
        parts.append(notice("Not revealed.", said))
    if not rows["texts"].any():
        said = "X's terms allow to pass on ids, not texts; each sample links to its post."
        parts.append(notice("Texts withheld.", said))
    return join(parts)


def _filtered(
    rows: pl.DataFrame, split: Split, records: Records, entries: Mapping[str, Entry], *, revealed: bool
) -> pl.DataFrame:
    """The samples that fit what the visitor chose."""
    task = TASKS.get(split.task)
    names = {"1": task.positive if task else "label 1", "0": task.negative if task else "label 0"}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        periods = [EVERY, *rows["period"].unique().sort().to_list()]
        period = choose_one("period", "Period", periods, _every("period"), width=150, default=EVERY)
        text = search_text("search", "Search in texts")
        label = right = wrong = EVERY
        if revealed:
            label = choose_one("label", "Decided", [EVERY, *names], lambda k: names.get(k, "Any label"), width=150,
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
    columns = ("id", "title", "section", "context", "text", "deleted", "added")
    hits = [pl.col(name).str.to_lowercase().str.contains(text.lower(), literal=True) for name in columns]
    return pl.any_horizontal(hits)


def _wrong_ids(rows: pl.DataFrame, records: Records, split: Split, origin: str) -> list[str]:
    said = records.answers(split, origins=[origin]).filter("headline").join(rows.select("id", "label"), on="id")
    right = pl.when(pl.col("label") == 1).then(pl.lit("yes")).otherwise(pl.lit("no"))
    return said.filter(pl.col("verdict") != right)["id"].to_list()


def _page(count: int) -> int:
    """Which part of the list is shown, from 0."""
    last = (count - 1) // _MOST_ROWS
    if not last:
        return 0
    titles = [f"{k * _MOST_ROWS + 1}{DASH}{min(count, (k + 1) * _MOST_ROWS)}" for k in range(last + 1)]
    return titles.index(choose_one("part", "Samples shown", titles, width=150, default=titles[0]))


def _short(rows: pl.DataFrame, key: str) -> str:
    row = rows.row(by_predicate=pl.col("id") == key, named=True)
    text = row["title"] or row["text"] or row["context"]
    return f"{row['id']} \N{MIDDLE DOT} {visible(text, 60)}" if text else str(row["id"])


def sample_list(samples: Sequence[SampleRow], task: str) -> Html:
    """A table of samples."""
    columns = [("name", "Sample"), ("text", "Period"), ("text", "Text"), ("text", "Decided"), ("number", "Right")]
    rows = (
        el(
            "tr",
            cell("Sample", visible(row.id, 40), None, "name"),
            cell("Period", visible(row.period, 12), None, "text"),
            cell("Text", *_gist(row), "text"),
            cell("Decided", _label(row.label, task), None, "text"),
            cell("Right", DASH if row.right is None or not row.judged else f"{row.right} of {row.judged}"),
            role="row",
        )
        for row in samples
    )
    return table("Samples", columns, [el("tbody", *rows, role="rowgroup")], "hf-samples")


def _gist(row: SampleRow) -> tuple[Html, Html | None]:
    if row.title:
        change = [el("del", named(row.deleted, 90)) if row.deleted else None, " " if row.deleted else None,
                  el("ins", named(row.added, 90)) if row.added else None]  # fmt: skip
        return named(row.title, 60), join(change)
    if row.text:
        return named(row.text, 140), named(row.context, 140)
    return el("span", "text withheld"), None


def _label(label: int | None, task: str) -> str:
    known = TASKS.get(task)
    if label is None:
        return "not revealed"
    return (known.positive if label else known.negative) if known else f"label {label}"


def _opened(
    sample: SampleRow,
    task: str,
    answers: Sequence[Answer],
    searches: Sequence[SearchStep],
    entries: Mapping[str, Entry],
) -> Html:
    source = link(sample.link, "See it where it was written") if sample.link else None
    facts = "; ".join(f"{_FACTS.get(k, k)}: {v}" for k, v in sorted(json.loads(sample.facts).items()))
    decided = el("p", "People decided: ", el("strong", _label(sample.label, task)), f". {visible(facts, 400)}")
    said = el("small", f"{sample.id}, {sample.date[:10]}, {visible(sample.license, 40)}. ", source)
    return join(
        [
            heading("The sample", said),
            _body(sample),
            decided if sample.label is not None else None,
            _answers(answers, sample, entries) if answers else None,
            _searches(searches, entries) if searches else None,
        ]
    )


def _body(sample: SampleRow) -> Html:
    if sample.title:
        place = f" \N{MIDDLE DOT} {visible(sample.section, 80)}" if sample.section else ""
        title = el("p", el("strong", named(sample.title, 120)), place)
        return el("article", title, edit_html(sample.context, sample.deleted, sample.added), class_="hf-sample")
    if not sample.texts:
        return el("article", el("p", "The texts of this sample are not published."), class_="hf-sample")
    return el("article", el("small", "Post"), el("p", long_text(sample.context)), el("small", "Note"),
              el("p", long_text(sample.text)), class_="hf-sample")  # fmt: skip


def _answers(answers: Sequence[Answer], sample: SampleRow, entries: Mapping[str, Entry]) -> Html:
    """One row a system: its answer, whether it was right, and what it said in each wording."""
    truth = "yes" if sample.label == 1 else "no"
    by_origin = {key: list(rows) for key, rows in groupby(sorted(answers, key=_origin), key=_origin)}
    rows = []
    for origin, entry in entries.items():
        said = by_origin.get(origin)
        if said is None:
            continue
        verdict = next((a.verdict for a in said if a.headline), said[0].verdict)
        wordings = ", ".join(f"{visible(a.prompt, 24)}: {a.verdict}" for a in said if not a.headline)
        right = el("span", "\N{CHECK MARK} right", class_="hf-right") if verdict == truth else el("span", "wrong")
        rows.append(
            el("tr", cell("System", named(entry.system), named(entry.team, 60), "name"),
               cell("Answer", verdict, None, "text"), cell("", right, None, "text"),
               cell("By prompt", wordings or DASH, None, "text"), role="row")
        )  # fmt: skip
    columns = [("name", "System"), ("text", "Answer"), ("text", ""), ("text", "By prompt")]
    return join([heading("What systems said"),
                 table("Answers", columns, [el("tbody", *rows, role="rowgroup")], "hf-answers")])  # fmt: skip


def _origin(row: Answer | SearchStep) -> str:
    return row.origin


def _searches(steps: Sequence[SearchStep], entries: Mapping[str, Entry]) -> Html:
    parts: list[Html] = [heading("What was searched and read", "Pages and summaries are what runs kept of the web.")]
    for origin, group in groupby(steps, key=_origin):
        entry = entries.get(origin)
        items = [_step(step) for step in group]
        parts.append(el("details", el("summary", entry_label(entry) if entry else "a run"), el("ol", *items)))
    return join(parts)


def _step(step: SearchStep) -> Html:
    if step.kind == "query":
        problem = f" ({visible(step.problem, 80)})" if step.problem else ""
        return el("li", "Asked for: ", named(step.text, 300), problem)
    fate = f"not used: {visible(step.problem, 60)}" if step.problem else "summarised:"
    title = visible(step.title, 160) or visible(step.url, 160)
    return el("li", link(step.url, title), el("small", f" {visible(step.url, 120)} "), el("p", fate, " ",
              named(step.text, 1500)))  # fmt: skip


PAGE = Page("Samples", "samples", _render)
