"""What tests without a browser share: a page of the site, and what it says."""

from __future__ import annotations

import json
import pickle
import re
from html import unescape
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from leaderboard.data.board import load_board
from leaderboard.export.copy import Site, drawn_page
from leaderboard.live import AddressLinks, LiveVisit
from leaderboard.serving import board_folder
from leaderboard.views import all_pages
from leaderboard.views.visit import Visit


def opened(path: str, **query: str) -> Visit:
    """The page of this path: of the task, edition and kind that the query names, or of those that open the site.

    It is composed for the app too, where it must say the same of itself.
    """
    site = Site.of(load_board(board_folder()), "0" * 12)
    free = "edition" not in query
    wanted = site.home._replace(**{key: query.pop(key) for key in ("task", "edition", "kind") if key in query})
    if free and (path, wanted, tuple(query.items())) not in site.paths:
        wanted = next((one for name, one, _ in site.paths if (name, one.task) == (path, wanted.task)), wanted)
    key = (path, wanted, tuple(query.items()))
    assert key in site.paths, f"there is no such page: {key}"
    drawn, page = drawn_page(site, key, site.paths[key]), next(page for page in all_pages() if page.path == path)
    live = LiveVisit(site.board, AddressLinks(site.paths, ""), page, wanted, dict(key[2]))
    page.compose(live)
    pickle.dumps(live.body)
    assert re.findall("<h1>.*?</h1>", html(live)) == re.findall("<h1>.*?</h1>", html(drawn))
    return drawn


def app(path: str = "leaderboard", **query: str) -> AppTest:
    """The app after its first run at the address of a page."""
    test = AppTest.from_file(Path(__file__).parents[2] / "leaderboard/app.py", default_timeout=300)
    for name, value in query.items():
        test.query_params[name] = value
    if path:
        test._page_hash = calc_hash(path)  # which st.navigation gives the page; the test's own way knows files only
    test.run()
    assert not test.exception
    return test


def shown(test: AppTest) -> str:
    """All HTML that the app shows, without its style."""
    bodies = (element.proto.body for element in test.get("html"))
    return "".join(body for body in bodies if not body.startswith("<style"))


def paths() -> set[str]:
    """The pages that the board has, of any split."""
    return {name for name, _, _ in Site.of(load_board(board_folder()), "0" * 12).paths}


def html(page: Visit) -> str:
    """All HTML that a page shows."""
    return page.html.source


def text(shown: Visit | str) -> str:
    """A page, or HTML, without its tags and without what it hides."""
    source = shown if isinstance(shown, str) else html(shown)
    source = re.sub(r'<span[^>]* hidden(="")?>.*?</span>', "", source)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", source)).split())


def data_of(page: Visit, name: str) -> Any:
    """The data of this name beside a page."""
    (content,) = (content for path, content in page.files.items() if path.endswith(f"/{name}.js"))
    return json.loads(content.decode().removeprefix("hfLoaded=").removesuffix(";\n"))
