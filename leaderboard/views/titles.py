"""What the window of a page is called: which system or sample, on which task and edition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hellofresh.core.editions import is_edition
from hellofresh.tasks import TASKS
from leaderboard.components.labels import EVERY, entry_label, task_title
from leaderboard.components.markup import visible
from leaderboard.data.tables import MAIN, PROSPECTIVE, Board, SplitKey
from leaderboard.views.session import current_board

__all__ = ["page_title"]

_DOT = " \N{MIDDLE DOT} "


def page_title(page: str, query: Mapping[str, str]) -> str:
    """Such as `gpt-x · Team · zero-shot · Community Notes, 2026Q2 · System · HelloFresh`.

    Args:
        page: its title.
        query: of its address; texts that are no task, edition or entry of the board are left out.

    Raises:
        DataError: if there is no board or it is damaged.
    """
    task, edition = query.get("task", ""), query.get("edition", "")
    parts = list(_about(query)) if task in TASKS and edition else []
    if task in TASKS and (is_edition(edition) or edition == EVERY):
        more = f", {PROSPECTIVE}" if query.get("lane") == PROSPECTIVE else ""
        parts.append(f"{task_title(task)}, {'all quarters' if edition == EVERY else edition}{more}")
    return _DOT.join([*parts, page, "HelloFresh"])


def _about(query: Mapping[str, str]) -> Iterator[str]:
    """The entries or the sample that the page is about."""
    kind = PROSPECTIVE if query.get("lane") == PROSPECTIVE else MAIN
    split = SplitKey(query["edition"], query["task"], kind)
    named = [query[key] for key in ("system", "one", "two") if key in query]
    names = _names(current_board(), split) if named else {}
    both = [names[origin] for origin in named if origin in names]
    if both:
        yield " and ".join(both)
    if "sample" in query:
        yield visible(query["sample"], 60)


def _names(board: Board, split: SplitKey) -> Mapping[str, str]:
    return {result.entry.origin: entry_label(result.entry) for result in board.headlines(split)}
