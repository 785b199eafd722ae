"""The pages of the copy, one function a kind; what they show is made in `leaderboard.components`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leaderboard.components.about import about_benchmark, about_board, about_changes
from leaderboard.components.analyses import analysis_section, picture, questions
from leaderboard.components.comparison import comparison
from leaderboard.components.dataset import contamination_notice, dataset_introduction, dataset_section
from leaderboard.components.entry import EntryRecord, entry_page
from leaderboard.components.getting import get_samples
from leaderboard.components.labels import EVERY, entry_label, is_frozen, task_title
from leaderboard.components.markup import Html, el, join, named, visible
from leaderboard.components.open_quarter import open_quarter
from leaderboard.components.periods import period_figures, periods_heading
from leaderboard.components.pieces import LEDE, heading, notice, page_header
from leaderboard.components.prospective import prospective_hint, prospective_introduction
from leaderboard.components.quarters import every_quarter, fixed_rows, introduction, next_days, too_few
from leaderboard.components.release import release_sections
from leaderboard.components.scale import plain_scale, scale_of
from leaderboard.components.source import balance_of, funnel
from leaderboard.components.standings import (
    GROUPS,
    Line,
    View,
    by_rank,
    group_of,
    lines_of,
    shown_columns,
    standings_table,
)
from leaderboard.components.tools import table_tools
from leaderboard.components.verdict import verdict
from leaderboard.data.analyses_table import BoardAnalysis
from leaderboard.data.changes import read_changelog
from leaderboard.data.tables import MAIN, PROSPECTIVE, SplitKey
from leaderboard.export.addresses import ABOUT, HOME, StaticLinks, folder_of
from leaderboard.export.columns import columns_class
from leaderboard.export.frame import Site, StaticPage, chooser, split_title
from leaderboard.export.rated import rated_pages
from leaderboard.export.retrieval import retrieval_pages

__all__ = ["all_lines", "pages_of"]

_ABOUT = "How the benchmark is made, and what its numbers can and cannot say."
_DATA = "Where the samples come from, how they are spread, what is released, and how to verify it."
_ANALYSES = "What a quarter shows beyond a score: one question at a time, with figure and table."
_PANELS = 3


def pages_of(site: Site) -> Iterator[StaticPage]:
    """All pages, one after the other."""
    yield _leaderboard(site, site.home, HOME)
    yield _about(site)
    for split in site.layout.splits:
        yield _leaderboard(site, split, site.layout.board(split))
        yield _data(site, split)
        yield from rated_pages(site, split)
        yield from retrieval_pages(site, split)
        yield from _lead(site, split)
        yield from _systems(site, split)
    for split in site.layout.analyses:
        yield _analyses(site, split)
    for task in over_quarters(site):
        yield _every(site, task)


def over_quarters(site: Site) -> list[str]:
    """The tasks with enough quarters for one scale."""
    tasks = sorted({split.task for split in site.board.splits if site.board.has_quarters(split.task)})
    return [task for task in tasks if not too_few(fixed_rows(site.records, task))]


def all_lines(site: Site, split: SplitKey) -> list[Line]:
    """The table's rows, the best first; the bundled sample ranks nobody."""
    standings = {} if site.board.is_bundled(split) else site.records.standings(split)
    return lines_of(site.board.headlines(split), standings, site.records.systems(split))


def _title(site: Site, split: SplitKey) -> str:
    return f"{task_title(split.task)}, {split_title(site.board, split)}"


def _choices(site: Site, path: str, split: SplitKey) -> Html:
    """Leaderboards of the other tasks and quarters; all quarters come last."""
    splits = [*site.layout.splits, *(SplitKey(EVERY, task) for task in over_quarters(site))]
    return chooser(path, site, split, [(one, site.layout.board(one)) for one in splits])


def _leaderboard(site: Site, split: SplitKey, path: str) -> StaticPage:
    board, links = site.board, StaticLinks(site.layout, path)
    lines = all_lines(site, split)
    parts: list[Html | None] = [page_header("HelloFresh leaderboard", LEDE), _choices(site, path, split)]
    if split.kind == PROSPECTIVE:
        parts.append(prospective_introduction(site.records, split))
    else:
        parts.append(dataset_introduction(site.records, split) or introduction(board, split))
    if lines:
        parts.append(
            verdict(lines, site.records, split, scale_of(site.records, split), links, bundled=board.is_bundled(split))
        )
    elif board.is_open(split):
        parts.append(open_quarter(board, site.records, split, links))
    else:
        parts.append(el("p", "No system has been scored on this task and quarter yet."))
    parts.append(None if site.records.dataset(split) else _days(site, split.task))
    if board.has_scores(split._replace(kind=PROSPECTIVE)) and split.kind != PROSPECTIVE:
        parts.append(prospective_hint(board, site.records, split, links))
    if lines:
        parts += [
            *_table(site, split, lines, links),
            *(() if is_frozen(split.edition) else _periods(site, split, lines)),
        ]
    return StaticPage(path, f"{_title(site, split)} · HelloFresh leaderboard", LEDE, "Leaderboard", split, join(parts),
                script=bool(lines), lean=bool(lines))  # fmt: skip


def _days(site: Site, task: str) -> Html | None:
    """The calendar as the board knows it: whether a quarter was revealed when the board was built."""
    ours = [split for split in site.board.splits if split.task == task]
    dated = [(days, split) for split in ours if (days := site.records.days(split))]
    if not dated:
        return None
    days, split = max(dated, key=lambda item: item[0].opens)
    release = site.records.release(split)
    return next_days(site.board, site.records, task, days.reveals if release and release.revealed else days.opens)


def _table(site: Site, split: SplitKey, lines: Sequence[Line], links: StaticLinks) -> Iterator[Html]:
    scale = scale_of(site.records, split)
    columns = shown_columns(scale)
    ordered = sorted(lines, key=by_rank(scale))
    ties = any(line.standing for line in lines)
    yield table_tools(columns)
    view = View(split, site.board.is_bundled(split), scale, columns, ties, links=links)
    yield el("div", standings_table(ordered, view), class_=f"hf-ranked {columns_class(scale)}")
    yield _downloads(split, links)


def _periods(site: Site, split: SplitKey, lines: Sequence[Line]) -> Iterator[Html]:
    """The first systems' scores by period."""
    groups = {line.result.entry: kind for kind in GROUPS for line in lines if group_of(line.result) == kind}
    first = list(groups)[:_PANELS]
    results = site.board.by_period(split, first)
    periods = [balance.period for balance in site.board.balance(split) if balance.taken_per_class]
    if split.kind == PROSPECTIVE:
        periods = sorted({result.period for theirs in results.values() for result in theirs})
    scale = scale_of(site.records, split)
    title, said = periods_heading(scale, "the others here")
    yield heading(title, f"The first in the table. {said}")
    yield period_figures(results, periods, groups, scale)


def _downloads(split: SplitKey, links: StaticLinks) -> Html:
    csv, json = (
        el("a", kind, href=links.to(links.layout.download(split, kind.lower())), download="")
        for kind in ("CSV", "JSON")
    )
    return el("p", "Download the table: ", csv, ", ", json, class_="hf-downloads")


def _every(site: Site, task: str) -> StaticPage:
    """All quarters on one scale."""
    split = SplitKey(EVERY, task)
    path = site.layout.board(split)
    rows = fixed_rows(site.records, task)
    bundled, few = not site.records.fixed(task, bundled=False), too_few(rows)
    table = (
        [table_tools([]), every_quarter(rows, task, bundled=bundled), _downloads(split, StaticLinks(site.layout, path))]
        if few is None
        else [few]
    )
    body = [page_header("HelloFresh leaderboard", LEDE), _choices(site, path, split), _days(site, task), *table]
    return StaticPage(path, f"{_title(site, split)} · HelloFresh leaderboard", LEDE, "Leaderboard", split, join(body),
                script=few is None)  # fmt: skip


def _lead(site: Site, split: SplitKey) -> Iterator[StaticPage]:
    """The first two of a split, compared, where the board can compare them."""
    both = site.layout.leads.get(split)
    if both is None:
        return
    results = {result.entry.origin: result.entry for result in site.board.headlines(split)}
    one, two = (results[origin] for origin in both)
    path = site.layout.lead(split)
    title = f"{visible(one.name, 40)} and {visible(two.name, 40)}"
    about = f"The first two on {_title(site, split)}, compared sample by sample."
    links = StaticLinks(site.layout, path)
    names = [el("a", named(entry.name), href=links.system(split, entry.origin)) for entry in (one, two)]
    lede = el("p", names[0], " and ", names[1], ", the first two on ", _back(site, split, path), class_="hf-lede")
    body = [
        el("header", el("h1", "Is the lead real?"), lede),
        comparison(
            (one, two), site.records.pairs(split, *both), plain_scale(split.task), bundled=site.board.is_bundled(split)
        ),
    ]
    yield StaticPage(path, f"{title} · {_title(site, split)} · HelloFresh", about, "", split, join(body))


def _back(site: Site, split: SplitKey, path: str) -> Html:
    return el("a", _title(site, split), href=StaticLinks(site.layout, path).board(split))


def _systems(site: Site, split: SplitKey) -> Iterator[StaticPage]:
    """A page for each entry."""
    for result in {result.entry.origin: result for result in site.board.headlines(split)}.values():
        entry = result.entry
        path = f"{folder_of(split)}/systems/{site.layout.systems[split][entry.origin]}.html"
        record = EntryRecord.of(site.board, site.records, split, result)
        where = el("p", "On ", _back(site, split, path), class_="hf-lede")
        body = [
            el("header", el("h1", named(entry.name, 60)), where),
            contamination_notice(site.records, split),
            entry_page(result, record, StaticLinks(site.layout, path)),
        ]
        title = f"{visible(entry.name, 60)} · {_title(site, split)} · HelloFresh"
        yield StaticPage(path, title, f"{entry_label(entry)} on {_title(site, split)}.", "", split, join(body))


def _analyses(site: Site, split: SplitKey) -> StaticPage:
    """All questions of a split on one page, with their figures' files beside it."""
    path = site.layout.analysis(split)
    analyses = site.analyses[split]
    title = f"Analyses of {_title(site, split)}"
    body = [
        page_header("Analyses", _ANALYSES),
        chooser(
            path, site, split, [(one, site.layout.analysis(one)) for one in site.board.splits if one in site.analyses]
        ),
        notice("Bundled sample.", "This quarter was written for the project, to try it out. It ranks nobody.")
        if site.board.is_bundled(split)
        else None,
        questions(analyses, lambda name: f"./index.html#{name}"),
        *(_analysis(one) for one in analyses),
    ]
    return StaticPage(path, f"{title} · HelloFresh", _ANALYSES, "Analyses", split, join(body))


def _analysis(analysis: BoardAnalysis) -> Html:
    """One question, with its figure and its whole table in files beside the page."""
    whole = el("p", el("a", "The whole table as CSV", href=f"./{analysis.name}.csv", download=""))
    figure = picture(analysis, f"./{analysis.name}.svg") if analysis.svg() else None
    return analysis_section(analysis, figure, whole)


def _data(site: Site, split: SplitKey) -> StaticPage:
    board, path = site.board, site.layout.data(split)
    links = StaticLinks(site.layout, path)
    files = {name: links.to(site.layout.released(split, name)) for name in board.released(split)}
    bundled = notice("Bundled sample.", "These rows were written for the project. They show the machinery only.")
    body = [
        page_header("Data", _DATA),
        chooser(path, site, split, [(one, site.layout.data(one)) for one in site.layout.splits]),
        bundled if board.is_bundled(split) else None,
        *(
            [dataset]
            if (dataset := dataset_section(site.records, split))
            else [funnel(board.funnel(split)), balance_of(split, board.balance(split))]
            if split.kind == MAIN
            else []
        ),
        get_samples(board, split, files),
        release_sections(site.records, split),
    ]
    return StaticPage(path, f"Data of {_title(site, split)} · HelloFresh", _DATA, "Data", split, join(body))


def _about(site: Site) -> StaticPage:
    body = [page_header("About", _ABOUT), about_benchmark(), about_board(site.board), about_changes(read_changelog())]
    return StaticPage(ABOUT, "About · HelloFresh", _ABOUT, "About", site.home, join(body))
