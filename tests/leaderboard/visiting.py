"""What tests without a browser share: a page of the live site, and what it says."""

from __future__ import annotations

import re
from html import unescape

from streamlit.testing.v1 import AppTest


def _script(path: str) -> None:
    from leaderboard.live import PAGES, show_page  # the script runs alone, as a file of its own

    show_page(next(page for page in PAGES if page.path == path))


def opened(path: str, **query: str | list[str]) -> AppTest:
    """The page after its first run, at an address with this query."""
    test = AppTest.from_function(_script, default_timeout=300, args=(path,))
    for name, value in query.items():
        test.query_params[name] = value
    return test.run()


def html(test: AppTest) -> str:
    """All HTML that a page shows."""
    assert not test.exception
    return "".join(element.proto.body for element in test.get("html"))


def text(shown: AppTest | str) -> str:
    """A page, or HTML, without its tags."""
    source = shown if isinstance(shown, str) else html(shown)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", source)).split())
