"""What tests without a browser share: a page of the site, and what it says."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

from leaderboard.data.board import load_board
from leaderboard.export.copy import Site, drawn_page
from leaderboard.serving import board_folder
from leaderboard.views.visit import Visit


def opened(path: str, **query: str) -> Visit:
    """The page of this path: of the task, edition and kind that the query names, or of those that open the site."""
    site = Site.of(load_board(board_folder()), "0" * 12)
    free = "edition" not in query
    wanted = site.home._replace(**{key: query.pop(key) for key in ("task", "edition", "kind") if key in query})
    if free and (path, wanted, tuple(query.items())) not in site.paths:
        wanted = next((one for name, one, _ in site.paths if (name, one.task) == (path, wanted.task)), wanted)
    key = (path, wanted, tuple(query.items()))
    assert key in site.paths, f"there is no such page: {key}"
    return drawn_page(site, key, site.paths[key])


def paths() -> set[str]:
    """The pages that the board has, of any split."""
    return {name for name, _, _ in Site.of(load_board(board_folder()), "0" * 12).paths}


def html(page: Visit) -> str:
    """All HTML that a page shows."""
    return "".join(str(part) for part in page.body if part is not None)


def text(shown: Visit | str) -> str:
    """A page, or HTML, without its tags."""
    source = shown if isinstance(shown, str) else html(shown)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", source)).split())


def data_of(page: Visit, name: str) -> Any:
    """The data of this name beside a page."""
    (content,) = (content for path, content in page.files.items() if path.endswith(f"/{name}.js"))
    return json.loads(content.decode().removeprefix("hfLoaded=").removesuffix(";\n"))
