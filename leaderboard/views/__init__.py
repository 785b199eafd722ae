"""The pages of the site. A new page is a file here with a `PAGE`, and a line in `PAGES`; the first opens the site.

The folder is not called `pages`: beside `app.py`, Streamlit would take each file of such a folder for a page of its own
and never run `app.py`.
"""

from __future__ import annotations

from leaderboard.views import (
    about,
    analyses,
    compare,
    data,
    judges,
    leaderboard,
    responses,
    retrieval,
    samples,
    submit,
    system,
)
from leaderboard.views._base import SitePage

__all__ = ["PAGES", "SitePage"]

PAGES: tuple[SitePage, ...] = (
    leaderboard.PAGE,
    compare.PAGE,
    system.PAGE,
    samples.PAGE,
    responses.PAGE,
    judges.PAGE,
    retrieval.PAGE,
    analyses.PAGE,
    data.PAGE,
    submit.PAGE,
    about.PAGE,
)
