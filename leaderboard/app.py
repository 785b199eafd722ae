"""The site, started by `make leaderboard` or `streamlit run leaderboard/app.py`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from leaderboard.views import PAGES

_STYLE = Path(__file__).with_name("style.css")


def main() -> None:
    """Show the page that the visitor's URL names."""
    st.set_page_config(page_title="HelloFresh leaderboard", layout="wide")
    st.html(_STYLE)
    pages = [st.Page(page.show, title=page.title, url_path=page.path, default=page is PAGES[0]) for page in PAGES]
    st.navigation(pages, position="top").run()


if __name__ == "__main__":
    main()
