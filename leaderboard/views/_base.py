"""What a page is, and the pieces that all pages are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import streamlit as st

from hellofresh.errors import HelloFreshError
from leaderboard.markup import Html, el, join, visible

__all__ = ["Page", "cell", "header", "heading", "notice", "table"]

_TITLES = {"no-board": "There is no board yet", "damaged-board": "The board cannot be read"}


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the site.

    Attributes:
        title: as in the navigation.
        path: as in the URL; the first page's is only its other name.
        render: draws the page; a HelloFreshError that it raises is shown in place of the rest.
    """

    title: str
    path: str
    render: Callable[[], None]

    def show(self) -> None:
        """Draw the page, or what is wrong and what to do."""
        try:
            self.render()
        except HelloFreshError as error:
            _show_problem(error)


def header(title: str, lede: str) -> None:
    """The page's title and the sentence that says what it is."""
    st.html(str(el("header", el("h1", title), el("p", lede, class_="hf-lede"), class_="hf")))


def heading(title: str, *explained: Html | str) -> Html:
    """A section's title with what is to be known before reading on."""
    return el("div", el("h2", title), el("p", *explained) if explained else None, class_="hf-heading")


def notice(title: str, *text: Html | str) -> Html:
    """A box that must not be overlooked."""
    return el("div", el("strong", title), " ", *text, class_="hf-notice", role="note")


def cell(label: str, value: Html | str, small: Html | str | None = None, kind: str = "number") -> Html:
    """A table cell; `small` stands under the value, and `label` before it where the table becomes cards (phones)."""
    below = el("small", small) if small is not None else None
    return el("td", el("span", value), below, class_=f"hf-{kind}", data_label=label, role="cell")


def table(caption: str, columns: Iterable[tuple[str, Html | str]], bodies: Iterable[Html], kind: str) -> Html:
    """A table.

    Args:
        caption: what it holds, for screen readers.
        columns: class and title of each column.
        bodies: its `tbody` elements.
        kind: class that decides its layout.
    """
    heads = (el("th", title, scope="col", class_=f"hf-{name}", role="columnheader") for name, title in columns)
    head = el("thead", el("tr", *heads, role="row"), role="rowgroup")
    return el("table", el("caption", caption), head, join(bodies), class_=f"hf-table {kind}", role="table")


def _show_problem(error: HelloFreshError) -> None:
    """Say in place of a page what is wrong, where, and which command helps."""
    what = visible(error.what, 300)
    known = error.code in _TITLES
    command = (
        el("p", "Build it in the project's folder, then reload this page:"),
        el("pre", "make release"),
        el("p", "If that is running just now, wait until it has finished."),
    )
    body = el(
        "div",
        el("h2", _TITLES.get(error.code, "This page cannot be shown")),
        el("p", f"{what[:1].upper()}{what[1:]}: ", el("code", visible(error.where, 300))) if error.where
        else el("p", f"{what[:1].upper()}{what[1:]}."),
        *(command if known else [el("p", visible(error.fix, 300))]),
        class_="hf hf-problem",
        role="alert",
    )  # fmt: skip
    st.html(str(body))
