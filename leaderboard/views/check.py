"""Check a table: anybody's scores, compared as those of the board are; tables of our own to try it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from leaderboard.components.markup import Html, el, join
from leaderboard.components.parts import TableForm
from leaderboard.views.visit import Page, Visit

LEDE = "Is first place real? Drop a table of scores, item by item, of any benchmark."


@dataclass(frozen=True, slots=True)
class Example:
    """A made-up table: its file, and how its scores are read."""

    name: str
    content: bytes
    options: Mapping[str, str | bool]


def examples() -> Mapping[str, Example]:
    """By the text of its button: made of fixed random numbers, so that each is the same for all."""
    random = np.random.default_rng(59)
    names = [f"model-{letter}" for letter in "abcde"]
    text = np.repeat(np.arange(60), 4)
    ease = (random.normal(size=60)[text] + random.normal(size=240))[:, None] + [1.1, 0.7, 0.6, 0.1, 0.0]
    right = pl.DataFrame((random.random(ease.shape) < 1 / (1 + np.exp(-ease))).astype(int), names)
    asked = pl.DataFrame({"question": [f"q{k:03}" for k in range(240)], "text": [f"text {k}" for k in text]})
    stars = np.clip(np.round(random.normal([7.4, 7.1, 6.2, 5.9], 1.4, (120, 4)) + random.normal(size=(120, 1))), 1, 10)
    stars[random.random(stars.shape) < 0.12] = np.nan
    rated = pl.DataFrame({"post": [f"post {k}" for k in range(120)]}).hstack(pl.DataFrame(stars, names[:4]))
    took = random.lognormal([2.6, 2.9, 3.0], 1.0, (90, 3)).round(2)
    timed = pl.DataFrame(took, names[:3]).select(
        pl.when(pl.all() > 150).then(pl.lit("timeout")).otherwise(pl.all().cast(pl.String)).name.keep()
    )
    timed = pl.DataFrame({"task": [f"task {k}" for k in range(90)]}).hstack(timed)
    tables: dict[str, tuple[str, pl.DataFrame, Mapping[str, str | bool]]] = {
        "Right or wrong, four questions a text": ("benchmark", asked.hstack(right), {"cluster": "text"}),
        "Ratings, some missing": ("ratings", rated.fill_nan(None), {}),
        "Seconds, with a timeout": ("seconds", timed, {"lower_is_better": True}),
    }
    return {
        title: Example(f"{name}.csv", table.write_csv().encode(), options)
        for title, (name, table, options) in tables.items()
    }


def _compose(visit: Visit) -> None:
    visit.header("Check a table", LEDE)
    visit.handle(_without_server, TableForm)


def _without_server() -> Html:
    said = (
        "In the app a table can be dropped here. This copy has no server; the command needs none, nor an account or a "
        "network. It guesses the columns, and says what was taken for what."
    )
    command = "hellofresh compare scores.csv --card --out compared.html"
    return join([el("p", said), el("pre", command)])


PAGE = Page("Check a table", "check", _compose, LEDE, once=True)
