"""What a page is, and the seam between it and whoever draws it: a live visit, or a static copy.

A page is one function. It is given a visit, asks it what the visitor chose, and shows HTML. A live visit draws controls
and answers with what was chosen there; the static copy draws none, and answers with what is usual, or with all of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, TypedDict, Unpack

from leaderboard.components.labels import EVERY, Links
from leaderboard.components.markup import Html
from leaderboard.components.tables import Row
from leaderboard.data.analyses import BoardAnalysis
from leaderboard.data.board import Board, SplitKey

Choices = Mapping[str, str]


class Control(TypedDict, total=False):
    """How a control looks and begins.

    Attributes:
        width: in pixels; 200 unless said otherwise.
        default: the option that leaves no trace in the address; without it every one does.
        first: what is chosen where nothing else says; else the default, or the first of the options.
    """

    width: int
    default: str
    first: str


@dataclass(slots=True, eq=False)
class Visit(ABC):
    """Somebody's visit to a page; as it stands here, one without controls.

    Attributes:
        board: what there is to see.
        links: the ways to other pages.
        moment: as seen from when; None on a page that must not depend on the time.
        choices: what is chosen where there are no controls, by name.
        live: whether there are controls, so that what is long can wait until somebody asks for it.
    """

    board: Board
    links: Links
    moment: datetime | None = None
    choices: Choices = field(default_factory=dict)
    live: ClassVar[bool] = False

    @abstractmethod
    def header(self, title: str, lede: str) -> None:
        """Show the page's title and the sentence that says what it is."""

    def subject(self, title: Html | str, *lede: Html | str) -> None:  # noqa: B027 - showing nothing is usual
        """Show what a page about one thing is about; on the live site, the controls say so."""

    @abstractmethod
    def show(self, *parts: Html | str | None) -> None:
        """Show parts of the page, strings escaped, None left out."""

    @abstractmethod
    def split(self, *, every_quarter: bool = False, lanes: bool = True) -> SplitKey:
        """A task and one of its quarters.

        Args:
            every_quarter: whether all quarters together, `all`, can be chosen too.
            lanes: whether a quarter's prospective samples can be chosen in place of its main ones.
        """

    def split_among(self, name: str, label: str, splits: Sequence[SplitKey]) -> SplitKey:
        """One of these splits; there is at least one."""
        return self.split()

    def row(self) -> AbstractContextManager[object]:
        """Controls within stand side by side."""
        return nullcontext()

    def one(self, name: str, label: str, titles: Mapping[str, str], **control: Unpack[Control]) -> str:
        """One of the options.

        Args:
            name: in the page's address.
            label: over the control.
            titles: how each option is shown; at least one.
            control: how it looks and begins.
        """
        wanted = (self.choices.get(name), control.get("first"), control.get("default"))
        return next((option for option in wanted if option is not None and option in titles), next(iter(titles)))

    def each(
        self,
        name: str,
        label: str,
        titles: Mapping[str, str],
        *,
        copied: Sequence[str] | None = None,
        **control: Unpack[Control],
    ) -> Sequence[str]:
        """One of the options, as `one`; in a copy all of them, or those that are `copied`."""
        if self.live:
            return [self.one(name, label, titles, **control)]
        return list(titles) if copied is None else copied

    def many(
        self,
        name: str,
        label: str,
        titles: Mapping[str, str],
        *,
        default: Sequence[str],
        most: int,
        about: str,
    ) -> list[str]:
        """Several of the options, those that are usual in a copy.

        Args:
            name, label, titles: as of `one`.
            default: the options that leave no trace in the address.
            most: how many can be chosen.
            about: what the choice is about; one about something else is forgotten, unless the address brings it anew.
        """
        return list(default)

    def search(self, name: str, label: str) -> str:
        """A line to search for; empty in a copy."""
        return ""

    def asked(self, name: str) -> str:
        """What the address asks of a choice; empty where it says nothing."""
        return self.choices.get(name, "")

    def address_with(self, name: str, value: str) -> str | None:
        """This page with another value of a choice, and all else as it is; None in a copy."""
        return None

    @abstractmethod
    def offer(self, rows: Callable[[], Sequence[Row]], name: str) -> None:
        """Hand out rows of the same columns as files; the name, without ending, is that of the live site's files."""

    def button(self, label: str, content: bytes | Callable[[], bytes], name: str, mime: str) -> None:  # noqa: B027 - showing nothing is usual
        """A control that hands out a file of this name; a copy has none, see `attach`."""

    def attach(self, name: str, content: bytes) -> str:
        """Lay a file beside a page of a copy, which links to it at this address."""
        raise NotImplementedError(f"a live page has buttons, and no file {name}")

    def figure(self, analysis: BoardAnalysis, about: str) -> None:  # noqa: B027 - showing nothing is usual
        """Draw the figure of an analysis, if it has one; `about` tells choices in it apart from those in others."""


def _one_copy(board: Board, split: SplitKey) -> Iterable[Choices]:
    return [] if split.edition == EVERY else [{}]


def no_copy(board: Board, split: SplitKey) -> Iterable[Choices]:
    """For pages whose contents are not copied."""
    return []


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the site.

    Attributes:
        title: as in the navigation.
        path: as in the live site's addresses; the first page's is only its other name.
        compose: draws the page; a HelloFreshError that it raises is shown in place of the rest.
        about: one sentence, for search engines and previews of links.
        copies: the pages that a static copy has of a split, or of all quarters of a task, each by what is chosen on it;
            those with choices are about one thing, and stand in no navigation.
        file: of a split's page in the copy, without ending.
        once: whether it is about the whole board, not about a split.
    """

    title: str
    path: str
    compose: Callable[[Visit], None]
    about: str
    copies: Callable[[Board, SplitKey], Iterable[Choices]] = _one_copy
    file: str = ""
    once: bool = False
