"""What a page is, and the seam between it and whoever draws it.

A page is one function. It is given a visit, which says what the page is about, and shows HTML. What visitors choose is
the browser's work: links lead to other pages, and scripts narrow what a page has or load more of it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hellofresh.leaderboard.components.labels import EVERY, Links
from hellofresh.leaderboard.components.markup import Html
from hellofresh.leaderboard.components.tables import Row
from hellofresh.leaderboard.data.board import Board, SplitKey

Choices = Mapping[str, str]
MOST_BYTES = 200_000
"""About so much does a script file of data hold: what one click has to load."""


@dataclass(slots=True, eq=False)
class Visit(ABC):
    """A page while it is drawn.

    Attributes:
        board: what there is to see.
        links: the ways to other pages.
        choices: what the page is about besides task and edition, by name.
    """

    board: Board
    links: Links
    choices: Choices = field(default_factory=dict)

    @abstractmethod
    def header(self, title: str, lede: str) -> None:
        """Show the page's title and the sentence that says what it is."""

    @abstractmethod
    def subject(self, title: Html | str, *lede: Html | str) -> None:
        """Show what a page about one thing is about."""

    @abstractmethod
    def show(self, *parts: Html | str | None) -> None:
        """Show parts of the page, strings escaped, None left out."""

    @abstractmethod
    def split(self) -> SplitKey:
        """The page's task and edition; shows the ways to the others, except on a page about one thing."""

    @abstractmethod
    def offer(self, rows: Callable[[], Sequence[Row]], name: str) -> None:
        """Hand out rows of the same columns as files of this name, without ending."""

    @abstractmethod
    def attach(self, name: str, content: bytes) -> str:
        """Lay a file beside the page, which links to it at this address."""

    def attach_data(self, name: str, content: object) -> str:
        """Lay data beside the page for its script, which loads them when they are needed; see `data_script`."""
        return self.attach(f"{name}.js", data_script(content))


def data_script(content: object) -> bytes:
    """Data as a script file: a page that is opened from disk may load scripts from beside it, but no JSON."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f"hfLoaded={text};\n".encode()


def _one_copy(board: Board, split: SplitKey) -> Iterable[Choices]:
    return [] if split.edition == EVERY else [{}]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the site.

    Attributes:
        title: as in the navigation.
        path: names it in links, and its file unless `file` does.
        compose: draws the page.
        about: one sentence, for search engines and previews of links.
        copies: the pages that there are of a split, or of all quarters of a task, each by what is chosen on it; none
            where there is nothing to show. Those with choices are about one thing, and stand in no navigation.
        file: of a split's page, without ending.
        once: whether it is about the whole board, not about a split.
    """

    title: str
    path: str
    compose: Callable[[Visit], None]
    about: str
    copies: Callable[[Board, SplitKey], Iterable[Choices]] = _one_copy
    file: str = ""
    once: bool = False
