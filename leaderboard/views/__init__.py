"""The pages of the site: a new one is a file here, and a line in `PAGES`; the first opens the site.

The folder is not called `pages`: beside `app.py`, Streamlit would take each file of such a folder for a page of its own
and never run `app.py`.
"""

from __future__ import annotations

from leaderboard.views import (
    about,
    analyses,
    compare,
    data,
    forecasts,
    leaderboard,
    note_writers,
    responses,
    retrieval,
    samples,
    submit,
    system,
)
from leaderboard.views.visit import Page, Visit

__all__ = ["PAGES", "Page", "Visit"]

PAGES: tuple[Page, ...] = (
    leaderboard.PAGE,
    compare.PAGE,
    system.PAGE,
    samples.PAGE,
    responses.PAGE,
    responses.JUDGES_PAGE,
    retrieval.PAGE,
    forecasts.PAGE,
    note_writers.PAGE,
    analyses.PAGE,
    data.PAGE,
    submit.PAGE,
    about.PAGE,
)
