"""Plain texts without markup: names of tasks, quarters and entries, days, sums of money, and addresses of pages."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from urllib.parse import urlencode

from hellofresh.core.editions import is_edition
from hellofresh.core.quarters import utc_text
from hellofresh.core.systems import ModelFacts
from hellofresh.tasks import TASKS, Track
from leaderboard.components.markup import Html, el, join, visible
from leaderboard.data.board import Board, BoardEntry, SplitKey

_TRACKS: Mapping[Track, str] = {
    "decisions": "Decisions",
    "statements": "Statements",
    "responses": "Responses",
    "retrieval": "Retrieval",
}
NO_REGIME = ("none", "not stated")
"""Regimes of rules, and of systems of published studies: nothing to show."""
_UNTIL = re.compile(r'<time datetime="([^"]+)" data-hf="until">[^<]*</time>')
_OVER = re.compile(r'data-hf="over" data-from="([^"]+)" data-to="([^"]+)" style="width:0%')
_STATE = re.compile(r'<span data-hf="(before|after)" data-at="([^"]+)"(?: hidden="")?>')
_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
FACTS: Mapping[str, str] = {
    "ratings": "Ratings of the note",
    "sampled_ratings": "Ratings among those sampled",
    "decided_by": "Decided by X's model",
    "ai_writer": "Written by",
    "collaborative": "Collaborative note",
    "status_locked_at": "Status locked on",
    "intercept": "Intercept of the note",
    "intercept_low": "Lower limit of the intercept",
    "intercept_high": "Upper limit of the intercept",
    "voters": "Ratings behind the intercept",
    "smaller_camp": "Share of the smaller camp",
    "chance": "Helpful to voters who decide",
    "chance_error": "Error of that",
    "revert_delay_s": "Time until reverted",
    "survived_edits": "Later revisions survived",
    "required_edits": "Revisions to survive",
    "distinct_users": "Different later editors",
    "page_hash_reverted": "Whole page restored",
    "paragraph_kind": "Kind of paragraph",
    "flip_cost": "Accounts or editors who could flip the label",
}
"""Readers' names for the facts that come with labels, in the order of display."""
PageKey = tuple[str, SplitKey, tuple[tuple[str, str], ...]]
"""The path of a page, its split, and its choices."""
EVERY = "all"
"""The value of a choice that narrows nothing, and of the quarter that means all of them."""


def model_said(facts: ModelFacts) -> str | None:
    """What is stated about a system's model; None if nothing is."""
    size = facts.size_billions
    parts = (
        facts.maker and visible(facts.maker), facts.weights and f"{facts.weights} weights",
        f"{size:g} billion parameters" if size else None, facts.released and f"released {visible(facts.released, 10)}",
    )  # fmt: skip
    return ", ".join(filter(None, parts)) or None


def task_title(task: str) -> str:
    """The task's title, or its bare name if this version does not know it."""
    return TASKS[task].title if task in TASKS else visible(task)


def question_of(task: str) -> str:
    """The task's question; its title if this version does not know it."""
    return TASKS[task].question if task in TASKS else task_title(task)


def task_order(task: str) -> tuple[int, int, str]:
    """Sorts tasks by track, known ones first, in their own order."""
    known, tracks = list(TASKS), list(_TRACKS)
    if task not in TASKS:
        return len(tracks), 0, task
    return tracks.index(TASKS[task].track), known.index(task), task


def track_title(task: str) -> str:
    """The task's heading."""
    return _TRACKS[TASKS[task].track] if task in TASKS else "Other tasks"


def is_frozen(edition: str) -> bool:
    """Whether an edition is a version of a data set, not a quarter."""
    return "@" in edition and is_edition(edition)


def quarter_title(board: Board, split: SplitKey, closed: str = "") -> str:
    """The edition, marked if it is open, a frozen data set or of the bundled sample, and by `closed` if revealed."""
    if split.edition == EVERY:
        return "All quarters"
    state = "open" if board.is_open(split) else "frozen data set" if is_frozen(split.edition) else closed
    marks = ", ".join(filter(None, (state, "bundled sample" if board.is_bundled(split) else "")))
    return f"{split.edition} ({marks})" if marks else split.edition


def edition_choice(board: Board, split: SplitKey) -> str:
    """The edition as in menus; a quarter is marked as revealed."""
    return quarter_title(board, split, "revealed")


@lru_cache(maxsize=4096)
def has_team(entry: BoardEntry) -> bool:
    """Whether an entry's name says its team, as names do that are otherwise alike."""
    return entry.name.endswith(f"({entry.team})")


def entry_label(entry: BoardEntry) -> str:
    """One plain line: system, team and regime, each once, with a number if several are alike."""
    parts = [visible(entry.name, 48), *([] if has_team(entry) else [visible(entry.team, 32)])]
    parts += [visible(entry.regime, 20)] if entry.regime not in NO_REGIME and entry.regime not in entry.name else []
    return " · ".join(parts) + (f" ({entry.number + 1})" if entry.number else "")


def day(moment: date) -> str:
    """Such as `15 January 2027`."""
    return f"{moment.day} {moment:%B %Y}"


def until(moment: datetime) -> Html:
    """A day; a script adds its distance from the visitor's day."""
    return el("time", day(moment), datetime=utc_text(moment), data_hf="until")


def by_state(moment: datetime, before: Iterable[Html | str], after: Iterable[Html | str]) -> Html:
    """A text that holds before a moment, and the one that holds after it; a script, or `dated`, hides one of them."""
    at = utc_text(moment)
    return join([
        el("span", *before, data_hf="before", data_at=at), el("span", *after, data_hf="after", data_at=at, hidden="")
    ])  # fmt: skip


def dated(html: str, moment: datetime) -> str:
    """Fit HTML to a moment: distances in days, texts by state, progress of open quarters, as the copy's script does."""

    def of_state(found: re.Match[str]) -> str:
        hides = (moment < datetime.fromisoformat(found[2])) == (found[1] == "after")
        return f'<span data-hf="{found[1]}" data-at="{found[2]}"{" hidden" if hides else ""}>'

    def with_distance(found: re.Match[str]) -> str:
        days = (datetime.fromisoformat(found[1]).date() - moment.date()).days  # of the calendar: on the day it is today
        away = "passed" if days < 0 else "today" if days == 0 else f"in {days} day{'' if days == 1 else 's'}"
        return f"{found[0]} ({away})"

    def drawn(found: re.Match[str]) -> str:
        start, end = (datetime.fromisoformat(found[at]) for at in (1, 2))
        share = min(max((moment - start) / (end - start), 0), 1) if end > start else 0
        return f"{found[0][: -len('0%')]}{100 * share:.1f}%"

    return _STATE.sub(of_state, _OVER.sub(drawn, _UNTIL.sub(with_distance, html)))


def duration(seconds: float) -> str:
    """A duration, rounded down, in the largest unit that gives two or more: "36 hours", "5 days"."""
    unit, size = next((named for named in _UNITS if seconds >= 2 * named[1]), _UNITS[-1])
    number = int(seconds // size)
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def fact_name(name: str) -> str:
    """The reader's name of a fact; its own name if this version does not know it."""
    return FACTS.get(name) or visible(name.replace("_", " ").capitalize(), 60)


def fact_text(name: str, value: str | float | bool) -> str:
    """The value of a fact in words: durations with their unit, days without the hour."""
    if isinstance(value, bool):
        yes, no = ("a machine", "a person") if name == "ai_writer" else ("yes", "no")
        return yes if value else no
    if isinstance(value, str):
        return visible(value[:10] if name.endswith("_at") else value, 200)
    return duration(value) if name.endswith("_s") else f"{round(value, 3):,}".replace("-", "\N{MINUS SIGN}")


def money(dollars: float) -> str:
    """US dollars; two significant digits of small sums, so that only free use costs $0.00."""
    if dollars == 0 or dollars >= 1:
        return f"${dollars:,.2f}"
    return f"${dollars:.{1 - math.floor(math.log10(dollars))}f}"


def relative(here: str, there: str) -> str:
    """The address of one file on the page of another; both paths start at the copy's folder."""
    address = posixpath.relpath(there, posixpath.dirname(here) or ".")
    return address if address.startswith("../") else f"./{address}"


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Addresses of pages, relative to the present page.

    Attributes:
        paths: of the file of each existing page.
        here: of the present page.
    """

    paths: Mapping[PageKey, str]
    here: str

    def to(self, page: str, split: SplitKey, **choices: str) -> str | None:
        """The page of this path, for a split and choices; None if it does not exist.

        Choices without a page of their own are applied by the script of the page without choices.
        """
        path = self.paths.get((page, split, tuple(choices.items())))
        if path is None and (path := self.paths.get((page, split, ()))):
            return f"{relative(self.here, path)}#{urlencode(choices)}"
        return relative(self.here, path) if path else None
