"""What a visitor's session runs: the page that the URL names."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from leaderboard.live import PAGES, show_page

_STYLE = Path(__file__).with_name("style.css")


def main() -> None:
    """Show the page that the visitor's URL names."""
    st.set_page_config(layout="wide")
    st.html(_STYLE)
    first, *others = PAGES
    pages = [
        st.Page(partial(show_page, first), title=first.title, url_path="index", default=True),
        *(st.Page(partial(show_page, page), title=page.title, url_path=page.path) for page in others),
        # The first page stands at the site's root; who guesses its address by its name finds it there too.
        st.Page(partial(show_page, first), title=first.title, url_path=first.path, visibility="hidden"),
    ]
    st.navigation(pages, position="top").run()


if __name__ == "__main__":
    main()
