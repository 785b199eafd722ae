"""Search, filters, order and columns of a table of systems; `table.js` makes them work, without it they do not show."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from leaderboard.components.markup import Html, el

__all__ = ["FIRST", "table_tools"]

FIRST = 5
"""Number of the first column that may be hidden, from 1: rank, system, score and its drawing stand before it."""


def table_tools(columns: Sequence[str], hidden: Collection[str] = ()) -> Html:
    """What stands over a table of systems, in one element with it.

    Args:
        columns: titles of those that may be hidden, from column `FIRST` on.
        hidden: those that are hidden unless they are chosen.
    """
    find = el("input", type="search", id="find", maxlength=100, autocomplete="off", spellcheck="false")
    boxes = (
        el("label", el("input", type="checkbox", checked=None if name in hidden else "", value=number), " ", name)
        for number, name in enumerate(columns, start=FIRST)
    )
    return el(
        "div",
        el("div", el("label", "Find a system or team", for_="find"), find),
        el("button", "Filters", type="button", class_="hf-more", aria_expanded="false"),
        *(_select(name) for name in ("Regime", "Lane", "Order")),
        el("details", el("summary", "Columns"), el("div", *boxes, role="group", aria_label="Columns to show"))
        if columns
        else None,
        el("p", role="status"),
        class_="hf-tools",
        role="search",
    )


def _select(name: str) -> Html:
    key = name.lower()
    every = "As ranked" if name == "Order" else f"Every {key}"
    return el("div", el("label", name, for_=key), el("select", el("option", every, value=""), id=key),
              class_=f"hf-{key}")  # fmt: skip
