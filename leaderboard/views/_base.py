"""What a page is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from hellofresh.core.errors import HelloFreshError
from leaderboard.components.getting import project_links
from leaderboard.components.markup import Html, el
from leaderboard.components.pieces import page_header, problem
from leaderboard.views.session import current_board, note_link
from leaderboard.views.titles import page_title

__all__ = ["SitePage", "header", "show"]


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page of the site.

    Attributes:
        title: as in the navigation.
        path: as in the URL; the first page's is only its other name.
        render: draws the page; a HelloFreshError that it raises is shown in place of the rest.
        about: one sentence, for search engines and previews of links.
    """

    title: str
    path: str
    render: Callable[[], None]
    about: str

    def show(self) -> None:
        """Draw the page, or what is wrong and what to do."""
        note_link()
        try:
            self.render()
            show(project_links(current_board()))
            st.set_page_config(page_title=page_title(self.title, st.query_params.to_dict()))
        except HelloFreshError as error:
            st.html(str(problem(error)))


def header(title: str, lede: str) -> None:
    """Show the page's title and the sentence that says what it is."""
    st.html(str(page_header(title, lede)))


def show(*parts: Html | str | None) -> None:
    """Show parts of a page, strings escaped, None left out."""
    if any(part is not None for part in parts):
        st.html(str(el("div", *parts, class_="hf")))
