"""Check a table: a visitor's scores, compared as those of the board are; tables of our own to try it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from leaderboard.components.markup import Html, el, join
from leaderboard.components.parts import TableForm
from leaderboard.views.visit import Page, Visit

LEDE = "Is first place real? Drop a table of scores, item by item, of any benchmark."


EXAMPLES: Mapping[str, tuple[Path, Mapping[str, str | bool]]] = {
    title: (Path(__file__).parents[1] / "examples" / name, options)
    for title, name, options in (
        ("Right or wrong, four questions per text", "benchmark.csv", {"cluster": "text"}),
        ("Ratings, some missing", "ratings.csv", {}),
        ("Seconds, with a timeout", "seconds.csv", {"lower_is_better": True}),
    )
}
"""Tables made of random numbers for this page, and how their scores are read, by the texts of their buttons."""


def _compose(visit: Visit) -> None:
    visit.header("Check a table", LEDE)
    visit.handle(_without_server, TableForm)


def _without_server() -> Html:
    said = (
        "In the app a table can be dropped here. This copy has no server; the command needs none, nor an account or a "
        "network. It guesses the columns, and says how it read each of them."
    )
    command = "hellofresh compare scores.csv --card --out compared.html"
    return join([el("p", said), el("pre", command)])


PAGE = Page("Check a table", "check", _compose, LEDE, once=True)
