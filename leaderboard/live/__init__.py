"""The live site: pages drawn by Streamlit for each visit, and the page that takes submissions, which no copy has."""

from __future__ import annotations

import streamlit as st

from hellofresh.core.errors import HelloFreshError
from leaderboard.components.pieces import problem, project_links
from leaderboard.live.session import LiveVisit, current_board, page_title
from leaderboard.live.submit import PAGE as SUBMIT
from leaderboard.views import PAGES as COPIED
from leaderboard.views import Page

__all__ = ["PAGES", "show_page"]

PAGES: tuple[Page, ...] = (*COPIED[:-1], SUBMIT, COPIED[-1])


def show_page(page: Page) -> None:
    """Draw a page, or what is wrong and what to do."""
    try:
        visit = LiveVisit.begin()
        page.compose(visit)
        visit.show(project_links(visit.board.addresses))
        st.set_page_config(page_title=page_title(current_board(), page.title, st.query_params.to_dict()))
    except HelloFreshError as error:
        st.html(str(problem(error)))
