"""The pages of the site. A new page is a file here with a `PAGE`, and a line in `PAGES`; the first opens the site."""

from __future__ import annotations

from leaderboard.pages import about, analyses, compare, data, leaderboard, samples, submit, system
from leaderboard.pages._base import Page

__all__ = ["PAGES", "Page"]

PAGES: tuple[Page, ...] = (
    leaderboard.PAGE,
    compare.PAGE,
    system.PAGE,
    samples.PAGE,
    analyses.PAGE,
    data.PAGE,
    submit.PAGE,
    about.PAGE,
)
