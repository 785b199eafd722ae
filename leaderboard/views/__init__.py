"""The pages of the site: a new one is a file here, and a line in `PAGES`; the first opens the site.

Other packages add pages by entry points of the group `hellofresh.pages`.

The folder is not called `pages`: beside `app.py`, Streamlit would treat each file of such a folder as a page
and never run `app.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from hellofresh.core.editions import is_edition
from hellofresh.core.plugins import plugins, refuse_taken
from hellofresh.tasks.samples import MAIN, PROSPECTIVE
from leaderboard.components.labels import EVERY, PageKey, is_frozen, task_order
from leaderboard.data.board import Board, SplitKey
from leaderboard.views import (
    about,
    analyses,
    check,
    compare,
    data,
    forecasts,
    guess,
    home,
    leaderboard,
    responses,
    retrieval,
    samples,
    submit,
    system,
)
from leaderboard.views.visit import Page, Visit, foot

__all__ = ["PAGES", "Page", "Visit", "all_pages", "foot", "home_of", "page_keys"]

PAGES: tuple[Page, ...] = (
    home.PAGE,
    leaderboard.PAGE,
    compare.PAGE,
    system.PAGE,
    samples.PAGE,
    responses.PAGE,
    responses.JUDGES_PAGE,
    retrieval.PAGE,
    forecasts.PAGE,
    analyses.PAGE,
    guess.PAGE,
    check.PAGE,
    data.PAGE,
    submit.PAGE,
    about.PAGE,
)


@cache
def all_pages() -> tuple[Page, ...]:
    """All pages, in the order of the navigation; those of other packages on use, since these import pages' types.

    Raises:
        UsageError: if two have one path.
    """
    pages = list(PAGES)
    for page in plugins("hellofresh.pages", of=Page).values():
        paths = [one.path for one in pages]
        refuse_taken("page", page.path, paths, "[a-z][a-z0-9-]*")
        pages.insert(paths.index(page.before) if page.before in paths else len(pages), page)
    return tuple(pages)


def page_keys(board: Board) -> Iterator[PageKey]:
    """All pages about splits of a board: the newest quarter first, all quarters last."""
    both = ((split, split._replace(kind=PROSPECTIVE)) for split in board.splits)
    splits = [one for pair in both for one in pair if one.kind == MAIN or board.has_scores(one)]
    living = {split.task for split in splits if is_edition(split.edition) and not is_frozen(split.edition)}
    for split in [*splits, *(SplitKey(EVERY, task) for task in sorted(living))]:
        for page in all_pages():
            for choices in [] if page.once else page.copies(board, split):
                yield page.path, split, tuple(choices.items())


def home_of(board: Board) -> SplitKey:
    """The board's default split: the newest with results, living ones before frozen ones and the bundled sample."""
    newest = sorted(
        sorted(board.splits, key=lambda one: task_order(one.task)), key=lambda one: one.edition, reverse=True
    )

    def least(one: SplitKey) -> tuple[bool, ...]:
        return not board.entries(one), board.is_bundled(one), is_frozen(one.edition), not board.standings(one)

    return min(newest, key=least)
