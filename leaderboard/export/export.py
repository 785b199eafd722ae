"""Writes the complete copy: pages, the files beside them, style and script."""

from __future__ import annotations

import gc
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import read_model, sha256_file
from hellofresh.core.folders import ListedFile, put_in_place, written_beside
from hellofresh.core.intake import Intake
from hellofresh.results.board.manifest import read_board_manifest
from leaderboard.components.scale import Scale, scale_of
from leaderboard.components.standings import columns_class, columns_of
from leaderboard.components.tables import FIRST
from leaderboard.data.board import Board, load_board
from leaderboard.export.copy import (
    ICON,
    NOT_FOUND,
    SCRIPTS,
    STYLE,
    Site,
    framed,
    not_found,
    pages_of,
    picture_of,
    pictured,
    style,
)
from leaderboard.export.folder import CopyListing, earlier_copy
from leaderboard.export.records import LEDGER, record_files
from leaderboard.export.share import share_picture

_FIXED = ("/commitments.jsonl", "/labels.jsonl")
_HERE = Path(__file__).parent
_SPACE = """\
---
title: HelloFresh leaderboard
sdk: static
app_file: index.html
---

The HelloFresh leaderboard, written by `hellofresh board export`.
"""
_SPARED = re.compile(r' (?:data-label="[^"]*"|target="_self")')
# Widths of rank, system, score and chart on wide and on narrow screens; then those of the further columns in rem.
_BEFORE = (("4.25rem", "4.25rem"), ("minmax(11rem, 1fr)", "minmax(8.5rem, 1fr)"), ("5.25rem", "4.6rem"),
           ("minmax(14.5rem, 1.4fr)", "minmax(7rem, 1fr)"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExportReport:
    """Report of an export.

    Attributes:
        folder: of the copy.
        pages, files: their numbers; pages are files too.
        size: of all files in bytes.
        skipped: whether the same copy already existed.
        ledger: of the results that other boards can take over.
    """

    folder: Path
    pages: int
    files: int
    size: int
    skipped: bool
    ledger: Intake


def export_board(
    board: Path,
    folder: Path,
    *,
    space: bool = False,
    instances: bool = False,
    private: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> ExportReport:
    """Write a static copy of a board, which replaces an earlier copy in the folder as a whole.

    The same board always gives the same bytes.

    Args:
        board: the folder with the board's tables.
        folder: target: missing, empty, or with an earlier copy.
        space: whether to add the files of a static Space on the Hugging Face hub.
        instances: whether to add the answers of each system to each sample in the format of Every Eval Ever.
        private: whether the maintainers' own board is intended, whose copy only they can read.
        progress: called with each written file.

    Raises:
        DataError: if there is no board (`no-board`) or it is damaged (`damaged-board`).
        UsageError: if the board is the maintainers' own and `private` is not set.
        WorkspaceError: if the folder holds anything else (`foreign-folder`) or cannot be written (`unwritable`).
    """
    made, collecting = Export.of(board, folder, private=private), gc.isenabled()
    gc.disable()  # a third of the time: pages make millions of short-lived lists, none of them in a cycle
    try:
        return made.write(lambda path, _: progress(path), space=space, instances=instances)
    finally:
        if collecting:
            gc.enable()


@dataclass(frozen=True, slots=True, eq=False)
class Export:
    """An export of a board, planned or running.

    Attributes:
        site: its pages.
        folder: target.
        wanted: paths of requested pages, which are made next.
    """

    site: Site
    folder: Path
    _before: CopyListing | None
    wanted: deque[str] = field(default_factory=deque)

    @classmethod
    def of(cls, board: Path, folder: Path, *, private: bool) -> Export:
        """Read the board; the arguments and errors are those of `export_board`."""
        folder = folder.resolve()
        before = earlier_copy(folder)
        shown = load_board(board)
        if shown.private and not private:
            raise UsageError(
                "it holds figures of quarters that are not revealed",
                where=str(board),
                expected="the public board, which 'hellofresh board build' writes without --private",
                code="private-board",
            )
        return cls(Site.of(shown, _fingerprint(board)), folder, before)

    def write(
        self, written: Callable[[str, Path], None], *, space: bool = False, instances: bool = False
    ) -> ExportReport:
        """Write the copy to a folder beside its target, and move it there when complete.

        Args:
            written: called with each written file: its path in the copy, and its temporary place.
            space, instances: see `export_board`.
        """
        board, files, releases = self.site.board, dict[str, ListedFile](), _releases(self.site.board)
        if self._before is not None:
            self._before.refuse_other_releases(releases, self.folder)
        with written_beside(self.folder) as new:
            for path, text in _files(self.site, self.wanted, space=space, instances=instances):
                content = text.encode() if isinstance(text, str) else text
                (new / path).parent.mkdir(parents=True, exist_ok=True)
                (new / path).write_bytes(content)
                files[path] = ListedFile(path, len(content), sha256(content).hexdigest())
                written(path, new / path)
            listed = CopyListing(board.code, self.site.fingerprint, tuple(sorted(files.values())), releases)
            if _fingerprint(board.folder) != self.site.fingerprint:
                raise DataError(
                    "the board was replaced meanwhile",
                    where=str(board.folder),
                    fix="Export it again.",
                    code="damaged-board",
                )
            same = self._before == listed and listed.is_whole(self.folder)
            if not same:
                listed.write(new)
                new.chmod(0o700 if board.private else 0o755)
                earlier_copy(self.folder)  # again, since files may have been added meanwhile
                put_in_place(new, self.folder)
        pages = sum(path.endswith(".html") for path in files)
        size, ledger = sum(one.size for one in listed.files), read_model(self.folder / LEDGER, Intake)
        return ExportReport(self.folder, pages, len(files), size, skipped=same, ledger=ledger)


def is_exported(board: Path, folder: Path) -> bool:
    """Whether a folder contains a complete copy of this board.

    Raises:
        WorkspaceError: if the folder holds anything else (`foreign-folder`).
    """
    folder = folder.resolve()
    before = earlier_copy(folder)
    return before is not None and before.board == _fingerprint(board) and before.is_whole(folder)


def _releases(board: Board) -> dict[str, str]:
    """SHA-256 of the commitments and labels of each release from real sources, by path."""
    bundled = {f"{split.edition}/{split.task}" for split in board.splits if board.is_bundled(split)}
    fixed = (entry for entry in read_board_manifest(board.folder).released if entry.path.endswith(_FIXED))
    return {entry.path: entry.sha256 for entry in fixed if "/".join(entry.path.split("/")[1:3]) not in bundled}


def _fingerprint(board: Path) -> str:
    return sha256_file(board / "manifest.json")[:12]


def _files(site: Site, wanted: deque[str], *, space: bool, instances: bool) -> Iterator[tuple[str, str | bytes]]:
    """Each file's path and content: a page follows the files that it loads."""
    scales = {
        columns_class(scale): scale
        for scale in (scale_of(site.board, split) for split in dict.fromkeys(split for _, split, _ in site.paths))
    }
    yield STYLE, "\n".join([style(), *(columns_css(scales[name]) for name in sorted(scales))])
    for name in SCRIPTS:
        yield name, _HERE.with_name(name).read_text(encoding="utf-8")
    yield NOT_FOUND, not_found(site)
    yield ICON, (_HERE / ICON).read_text(encoding="utf-8")
    yield ".nojekyll", ""
    if space:
        yield "README.md", _SPACE
    for page in pages_of(site, wanted):
        whole = framed(page, site.fingerprint)
        yield from page.files.items()
        # The style replaces what 500 rows would repeat; texts contain no quotes and no tags.
        yield page.links.here, _SPARED.sub("", whole) if 'class="hf-ranked ' in whole else whole
    for split in pictured(site.board).values():
        yield picture_of(split), share_picture(site.board, split)
    yield from record_files(site, instances=instances)


def columns_css(scale: Scale) -> str:
    """The style of the ranked table's columns, generated from their names, so that rows need not repeat it.

    It has widths on wide and on narrow screens, labels for phones, and a class for each that hides a column. Rows are
    grids of the same widths, so that a browser lays out the visible rows only, not all of 500.

    Args:
        scale: of the scores in the table.
    """
    table = f".{columns_class(scale)}"
    numbered = list(enumerate(columns_of(scale), start=FIRST))

    def tracks(k: int) -> str:
        widths = [*(pair[k] for pair in _BEFORE), *(f"{column.width[k]}rem" for column in columns_of(scale).values())]
        shown = " ".join(f"var(--c{number}, {width})" for number, width in enumerate(widths, start=1))
        return f"{table} tr {{ grid-template-columns: {shown}; }}"

    lines = ["@media (min-width: 700px) {", tracks(0)]
    lines += [f"{table} tr > :nth-child({k}) {{ grid-column: {k}; }}" for k in range(1, len(numbered) + FIRST)]
    lines += ["}", f"@media (min-width: 700px) and (max-width: 1230px) {{ {tracks(1)} }}"]
    lines += ["@media (max-width: 699.9px) {"]
    lines += [f'{table} td:nth-child({number})::before {{ content: "{name}"; }}' for number, name in numbered]
    lines.append("}")
    for number, _ in numbered:
        cells = f"{table} .hf-hide-{number} tr:not(.hf-group) > :nth-child({number})"
        lines += [f"{table} .hf-hide-{number} {{ --c{number}: 0; }}", f"{cells} {{ display: none !important; }}"]
    return "\n".join([*lines, ""])
