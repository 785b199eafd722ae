"""Pages of rated responses: systems by criterion and kind of judge, and the judges. Responses' texts are not copied."""

from __future__ import annotations

from collections.abc import Iterator

from leaderboard.components.labels import task_title
from leaderboard.components.markup import Html, el, join
from leaderboard.components.pieces import page_header
from leaderboard.components.ratings import JUDGES, JUDGES_LEDE, RATED_LEDE, judge_tables, rated_table
from leaderboard.data.tables import SplitKey
from leaderboard.export.frame import Site, StaticPage, chooser, split_title

__all__ = ["rated_pages"]


def rated_pages(site: Site, split: SplitKey) -> Iterator[StaticPage]:
    """The pages Responses and Judges of a split whose responses were rated; none of others."""
    if not site.records.ratings(split):
        return
    tables = judge_tables(site.records.judges(split))
    yield _page(site, split, "Responses", RATED_LEDE, _standings(site, split))
    yield _page(site, split, "Judges", JUDGES_LEDE, tables)


def _page(site: Site, split: SplitKey, section: str, lede: str, shown: Html) -> StaticPage:
    rated = [one for one in site.layout.splits if site.records.ratings(one)]
    address = site.layout.responses if section == "Responses" else site.layout.judges
    path = address(split)
    choices = chooser(path, site, split, [(one, address(one)) for one in rated])
    title = f"{section}: {task_title(split.task)}, {split_title(site.board, split)} · HelloFresh"
    return StaticPage(path, title, lede, section, split, join([page_header(section, lede), choices, shown]))


def _standings(site: Site, split: SplitKey) -> Html:
    """Each criterion on all samples, by each kind of judge."""
    rows = [row for row in site.records.ratings(split) if not row.part]
    parts: list[Html] = []
    for judges in dict.fromkeys(row.judges for row in rows):
        mine = [row for row in rows if row.judges == judges]
        parts.append(el("h2", f"Judged by {JUDGES.get(judges, judges).lower()}"))
        parts += [
            rated_table([row for row in mine if row.criterion == criterion])
            for criterion in dict.fromkeys(row.criterion for row in mine)
        ]
    return join(parts)
