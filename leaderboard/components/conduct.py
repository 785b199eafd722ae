"""What an entry did that it should not, as far as the evaluator can see it."""

from __future__ import annotations

from collections.abc import Sequence

from hellofresh.results.board.schema import ConductRow
from leaderboard.components.links import Links
from leaderboard.components.markup import Html, el, inner_link, join, visible
from leaderboard.components.pieces import cell, heading, table
from leaderboard.data.tables import SplitKey

__all__ = ["conduct_section"]

_SAID = {
    "blocked-page": "Asked for pages of blocked sources, which were withheld",
    "later-page": "Read pages that say they are from after the day before which it searched",
    "cited-blocked": "Rests on blocked sources",
    "copied-labels": "Is right on samples on which no other ranked system is",
}
_ABOUT = (
    "What can be seen of how answers came about. A line is a reason to look, and no proof: what an agent does outside "
    "its tools is not seen."
)


def conduct_section(rows: Sequence[ConductRow], split: SplitKey, links: Links) -> Html | None:
    """A line for each kind of act; None where there is nothing to list."""
    if not rows:
        return None
    body = el("tbody", *(_row(row, split, links) for row in rows), role="rowgroup")
    columns = [("name", "What"), ("number", "Samples"), ("number", "Times"), ("name", "Such as")]
    listed = table("What it did that it should not", columns, [body], "hf-confusion")
    return join([heading("Conduct", _ABOUT), el("div", listed, class_="hf-scroll")])


def _row(row: ConductRow, split: SplitKey, links: Links) -> Html:
    examples = join(
        [
            el("div", inner_link(links.sample(split, key), visible(key, 60)), f" {visible(url, 120)}" if url else "")
            for key, url in zip(row.examples, row.urls, strict=True)
        ]
    )
    return el(
        "tr",
        cell("What", _SAID.get(row.kind, visible(row.kind, 40)), None, "name"),
        cell("Samples", f"{row.samples:,} of {row.of:,}"),
        cell("Times", f"{row.times:,}"),
        cell("Such as", examples, None, "name"),
        role="row",
    )
