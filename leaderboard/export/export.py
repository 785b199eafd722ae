"""Writes the whole copy: pages, tables to take away, style and script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hellofresh.core.errors import UsageError
from hellofresh.core.files import sha256_file
from leaderboard.components.analyses import plain_rows
from leaderboard.components.formats import Row, as_csv, as_json
from leaderboard.components.labels import EVERY, task_order
from leaderboard.components.quarters import fixed_rows, plain_fixed
from leaderboard.components.scale import plain_scale
from leaderboard.components.standings import lines_of, plain_row
from leaderboard.components.verdict import contenders
from leaderboard.data.analyses_table import BoardAnalysis, load_analyses
from leaderboard.data.records import Records, load_records
from leaderboard.data.tables import MAIN, PROSPECTIVE, Board, SplitKey, load_board
from leaderboard.export.addresses import CopyLayout, file_names
from leaderboard.export.columns import columns_class, columns_css
from leaderboard.export.folder import CopyFile, CopyListing, earlier_copy, put_in_place, written_beside
from leaderboard.export.frame import ICON, SCRIPT, STYLE, Site, framed, style
from leaderboard.export.pages import all_lines, over_quarters, pages_of

__all__ = ["ExportReport", "export_board"]

_HERE = Path(__file__).parent
_SPACE = """\
---
title: HelloFresh leaderboard
sdk: static
app_file: index.html
---

A static copy of the HelloFresh leaderboard, written by `hellofresh board export`.
"""
_SPARED = re.compile(r' (?:data-label="[^"]*"|target="_self")')


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written.

    Attributes:
        folder: where.
        pages, files: how many; pages are files too.
        size: of all files in bytes.
        skipped: whether the same copy was there already.
    """

    folder: Path
    pages: int
    files: int
    size: int
    skipped: bool


def export_board(
    board: Path, folder: Path, *, space: bool = False, progress: Callable[[str], None] = lambda _: None
) -> ExportReport:
    """Write a static copy of a board; an earlier copy in the folder is replaced as a whole.

    The same board always gives the same bytes.

    Args:
        board: the folder with the board's tables.
        folder: where to: missing, empty, or with an earlier copy.
        space: whether to add what makes the folder a static Space of the Hugging Face hub.
        progress: is told each file that was written.

    Raises:
        DataError: if there is no board (`no-board`) or it is damaged (`damaged-board`).
        UsageError: if the board is the maintainers' own, which is not for others.
        WorkspaceError: if the folder holds anything else (`foreign-folder`) or cannot be written (`unwritable`).
    """
    folder = folder.resolve()
    before = earlier_copy(folder)
    site = _site(board)
    with written_beside(folder) as new:
        listed = CopyListing(
            site.board.code, site.fingerprint, tuple(sorted(_write(new, _files(site, space=space), progress)))
        )
        same = before == listed and listed.is_whole(folder)
        if not same:
            listed.write(new)
            put_in_place(new, folder)
    pages = sum(one.path.endswith(".html") for one in listed.files)
    return ExportReport(folder, pages, len(listed.files), sum(one.size for one in listed.files), skipped=same)


def is_exported(board: Path, folder: Path) -> bool:
    """Whether a folder holds a whole copy of this very board.

    Raises:
        WorkspaceError: if the folder holds anything else (`foreign-folder`).
    """
    folder = folder.resolve()
    before = earlier_copy(folder)
    return before is not None and before.board == _fingerprint(board) and before.is_whole(folder)


def _fingerprint(board: Path) -> str:
    return sha256_file(board / "manifest.json")[:12]


def _site(folder: Path) -> Site:
    board, records, analyses = load_board(folder), load_records(folder), load_analyses(folder)
    if board.private:
        raise UsageError(
            "it holds figures of quarters that are not revealed",
            where=str(folder),
            expected="the public board, which 'hellofresh board build' writes without --private",
            code="private-board",
        )
    both = ((split, split._replace(kind=PROSPECTIVE)) for split in board.splits)
    splits = [one for pair in both for one in pair if one.kind == MAIN or board.has_scores(one)]
    systems = {split: file_names(result.entry for result in board.headlines(split)) for split in splits}
    leads = {split: found for split in splits if (found := _lead(board, records, split))}
    newest = sorted(sorted(board.splits, key=lambda split: task_order(split.task)), key=_quarter, reverse=True)
    home = min(newest, key=lambda one: (not systems[one], board.is_bundled(one), not records.standings(one)))
    shown = {split: analyses[split] for split in board.splits if analyses.get(split)}
    layout = CopyLayout(systems, leads, tuple(shown))
    return Site(board, records, layout, shown, home, _fingerprint(folder))


def _quarter(split: SplitKey) -> str:
    return split.edition


def _lead(board: Board, records: Records, split: SplitKey) -> tuple[str, str] | None:
    """The first two, if they can be compared."""
    standings = {} if board.is_bundled(split) else records.standings(split)
    ordered = contenders(lines_of(board.headlines(split), standings, {}), plain_scale(split.task))
    if len(ordered) < 2:
        return None
    one, two = (line.result.entry.origin for line in ordered[:2])
    return (one, two) if records.pairs(split, one, two) else None


def _files(site: Site, *, space: bool) -> Iterator[tuple[str, str | bytes]]:
    """Each file's path and content."""
    for page in pages_of(site):
        whole = framed(page, site)
        yield page.path, _lean(whole) if page.lean else whole
    for split in site.layout.splits:
        yield from _tables(site, split, [plain_row(line, split) for line in all_lines(site, split)])
    for task in over_quarters(site):
        rows = [plain_fixed(row, task) for row in fixed_rows(site.records, task)]
        yield from _tables(site, SplitKey(EVERY, task), rows)
    for split in site.layout.splits:
        for name, path in site.board.released(split).items():
            yield site.layout.released(split, name), path.read_bytes()
    for split, analyses in site.analyses.items():
        yield from (part for one in analyses for part in _analysis(site, split, one))
    columns = {
        columns_class(scale): columns_css(scale) for scale in (plain_scale(split.task) for split in site.layout.splits)
    }
    yield STYLE, "\n".join([style(), *(columns[name] for name in sorted(columns))])
    yield SCRIPT, (_HERE.with_name(SCRIPT)).read_text(encoding="utf-8")
    yield ICON, (_HERE / ICON).read_text(encoding="utf-8")
    yield ".nojekyll", ""
    if space:
        yield "README.md", _SPACE


def _analysis(site: Site, split: SplitKey, analysis: BoardAnalysis) -> Iterator[tuple[str, str | bytes]]:
    """The figure and the table."""
    figure = analysis.svg()
    if figure:
        yield site.layout.analysis(split, f"{analysis.name}.svg"), figure
    if analysis.rows:
        yield site.layout.analysis(split, f"{analysis.name}.csv"), as_csv(plain_rows(analysis.table()))


def _lean(page: str) -> str:
    """Without what 500 rows would repeat and the style says once; texts hold no quotes and no tags, so none is hit."""
    return _SPARED.sub("", page)


def _tables(site: Site, split: SplitKey, rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    if rows:
        yield site.layout.download(split, "csv"), as_csv(rows)
        yield site.layout.download(split, "json"), as_json(rows)


def _write(
    folder: Path, files: Iterator[tuple[str, str | bytes]], progress: Callable[[str], None]
) -> Iterator[CopyFile]:
    for path, text in files:
        content = text.encode() if isinstance(text, str) else text
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        progress(path)
        yield CopyFile(path, len(content), sha256(content).hexdigest())
