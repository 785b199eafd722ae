"""The pieces that all pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hellofresh.core.errors import HelloFreshError
from leaderboard.components.markup import DASH, Html, el, join, visible
from leaderboard.data.tables import MetricValue

__all__ = ["LEDE", "cell", "heading", "metric_cell", "notice", "page_header", "preview_tags", "problem", "table"]

LEDE = "How well do language models predict people's decisions, judge statements, correct posts and find evidence?"
"""What the leaderboard is, in one sentence."""
_TITLES = {"no-board": "There is no board yet", "damaged-board": "The board cannot be read"}


def page_header(title: str, lede: str) -> Html:
    """The page's title and the sentence that says what it is."""
    return el("header", el("h1", title), el("p", lede, class_="hf-lede"), class_="hf")


def preview_tags(title: str, about: str) -> Html:
    """What a page's head says of it: to the window, to search engines and to programs that preview a link."""
    said = {"og:title": title, "og:description": about, "og:type": "website", "og:site_name": "HelloFresh"}
    metas = (el("meta", property=name, content=text) for name, text in said.items())
    return join([el("title", title), el("meta", name="description", content=about), *metas])


def heading(title: str, *explained: Html | str) -> Html:
    """A section's title with what is to be known before reading on."""
    return el("div", el("h2", title), el("p", *explained) if explained else None, class_="hf-heading")


def notice(title: str, *text: Html | str) -> Html:
    """A box that must not be overlooked."""
    return el("div", el("strong", title), " ", *text, class_="hf-notice", role="note")


def cell(label: str, value: Html | str, small: Html | str | None = None, kind: str = "number") -> Html:
    """A table cell; `small` stands under the value, and `label` before it where the table becomes cards (phones)."""
    below = el("small", small) if small is not None else None
    # Every element and attribute of a table is checked in the browser: numbers, which are the most, need no class.
    return el("td", value, below, class_=None if kind == "number" else f"hf-{kind}", data_label=label, role="cell")


def metric_cell(label: str, metric: MetricValue | None) -> Html:
    """A cell with a metric's value over its interval; a dash where it is not known."""
    if metric is None:
        return cell(label, DASH)
    return cell(label, f"{metric.value:.3f}", f"{metric.low:.2f}{DASH}{metric.high:.2f}")


def table(
    caption: str,
    columns: Iterable[tuple[str, Html | str]],
    bodies: Iterable[Html],
    kind: str,
    tracks: Sequence[str] | None = None,
) -> Html:
    """A table.

    Args:
        caption: what it holds, for screen readers.
        columns: class and title of each column.
        bodies: its `tbody` elements.
        kind: class that decides its layout.
        tracks: widths of the columns as in a CSS grid, for a long table whose rows the browser lays out when they come
            into view; by default it looks at all rows first.
    """
    heads = (
        el("th", _unseen(name, title), title, scope="col", class_=f"hf-{name}", role="columnheader")
        for name, title in columns
    )
    head = el("thead", el("tr", *heads, role="row"), role="rowgroup")
    style, kinds = (f"--tracks:{' '.join(tracks)}", f"{kind} hf-long") if tracks else (None, kind)
    return el(
        "table", el("caption", caption), head, join(bodies), class_=f"hf-table {kinds}", role="table", style=style
    )


def _unseen(name: str, title: Html | str) -> Html | None:
    """A title for screen readers, where what stands there for the eye is nothing or a scale."""
    spoken = {"drawn": "Drawn", "rank": "Rank"}.get(name, "")
    return el("span", spoken, class_="hf-unseen") if spoken and (name == "drawn" or not title) else None


def problem(error: HelloFreshError) -> Html:
    """Say in place of a page what is wrong, where, and which command helps."""
    what = visible(error.what, 300)
    known = error.code in _TITLES
    command = (
        el("p", "Build it in the project's folder, then reload this page:"),
        el("pre", "make release"),
        el("p", "If it is already running, wait until it has finished."),
    )
    return el(
        "div",
        el("h2", _TITLES.get(error.code, "This page cannot be shown")),
        el("p", f"{what[:1].upper()}{what[1:]}: ", el("code", visible(error.where, 300))) if error.where
        else el("p", f"{what[:1].upper()}{what[1:]}."),
        *(command if known else [el("p", visible(error.fix, 300))]),
        class_="hf hf-problem",
        role="alert",
    )  # fmt: skip
