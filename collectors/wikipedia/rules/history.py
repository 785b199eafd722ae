"""What the rule sees of a wiki, wherever it comes from: pages, each with its revisions from the oldest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


class Revision(NamedTuple):
    """One state of a page.

    Attributes:
        id: the wiki's number of the revision.
        parent: number of the revision it was made on, 0 for the first of a page, None where the source is silent.
        timestamp: when it was saved, UTC.
        user: name or address of who saved it, None where hidden; never leaves the collector.
        text: the wikitext, None where hidden.
    """

    id: int
    parent: int | None
    timestamp: datetime
    user: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class WikiPage:
    """An article and its history.

    Attributes:
        id: the wiki's number of the page.
        title: as a reader sees it, without a namespace.
        revisions: can be read once, and only until the next page is asked for.
    """

    id: int
    title: str
    revisions: Iterator[Revision]


def collapse_runs(revisions: Iterable[Revision]) -> Iterator[Revision]:
    """Make one revision of each unbroken run of revisions by one user: the last state, made on what preceded the run.

    A revision whose user is hidden stands alone.
    """
    run: Revision | None = None
    for revision in revisions:
        if run is not None and run.user is not None and run.user == revision.user:
            run = revision._replace(parent=run.parent)
            continue
        if run is not None:
            yield run
        run = revision
    if run is not None:
        yield run
