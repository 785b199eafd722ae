"""Writes the whole copy: pages, the files beside them, style and script."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import sha256_file
from hellofresh.core.folders import ListedFile, put_in_place, written_beside
from leaderboard.components.scale import Scale, scale_of
from leaderboard.components.standings import columns_class, columns_of
from leaderboard.components.tables import FIRST
from leaderboard.data.board import load_board
from leaderboard.export.copy import ICON, NOT_FOUND, SCRIPTS, STYLE, Site, framed, not_found, pages_of, style
from leaderboard.export.folder import CopyListing, earlier_copy
from leaderboard.export.records import record_files

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
_BEFORE = (("3.25rem", "3rem"), ("minmax(11rem, 1fr)", "minmax(8.5rem, 1fr)"), ("5.25rem", "4.6rem"),
           ("minmax(14.5rem, 1.4fr)", "minmax(7rem, 1fr)"))  # fmt: skip
"""Widths of rank, system, score and chart on wide and on narrow screens; then those of the further columns in rem."""


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
    board: Path,
    folder: Path,
    *,
    space: bool = False,
    instances: bool = False,
    private: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> ExportReport:
    """Write a static copy of a board; an earlier copy in the folder is replaced as a whole.

    The same board always gives the same bytes.

    Args:
        board: the folder with the board's tables.
        folder: where to: missing, empty, or with an earlier copy.
        space: whether to add what makes the folder a static Space of the Hugging Face hub.
        instances: whether to add what each system said of each sample, as Every Eval Ever takes it.
        private: whether the maintainers' own board is meant, whose copy nobody else may read.
        progress: called with each file that was written.

    Raises:
        DataError: if there is no board (`no-board`) or it is damaged (`damaged-board`).
        UsageError: if the board is the maintainers' own, which is not for others.
        WorkspaceError: if the folder holds anything else (`foreign-folder`) or cannot be written (`unwritable`).
    """
    made = Export.of(board, folder, private=private)
    return made.write(lambda path, _: progress(path), space=space, instances=instances)


@dataclass(frozen=True, slots=True, eq=False)
class Export:
    """A copy of a board that is about to be made, or being made.

    Attributes:
        site: its pages.
        folder: where to.
        wanted: paths of pages that somebody waits for, which are made next.
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
        """Make the copy in a folder beside its own, which it takes when it is whole.

        Args:
            written: called with each file that was written: its path in the copy, and where it lies until then.
            space, instances: see `export_board`.
        """
        board, files = self.site.board, dict[str, ListedFile]()
        with written_beside(self.folder) as new:
            for path, text in _files(self.site, self.wanted, space=space, instances=instances):
                content = text.encode() if isinstance(text, str) else text
                (new / path).parent.mkdir(parents=True, exist_ok=True)
                (new / path).write_bytes(content)
                files[path] = ListedFile(path, len(content), sha256(content).hexdigest())
                written(path, new / path)
            listed = CopyListing(board.code, self.site.fingerprint, tuple(sorted(files.values())))
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
                earlier_copy(self.folder)  # again: something may have come into it meanwhile
                put_in_place(new, self.folder)
        pages = sum(path.endswith(".html") for path in files)
        return ExportReport(self.folder, pages, len(files), sum(one.size for one in listed.files), skipped=same)


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


def _files(site: Site, wanted: deque[str], *, space: bool, instances: bool) -> Iterator[tuple[str, str | bytes]]:
    """Each file's path and content: a page comes after all that it loads."""
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
        # Ranked tables go without what 500 rows would repeat and the style says once; texts hold no quotes and no tags.
        yield page.links.here, _SPARED.sub("", whole) if 'class="hf-ranked ' in whole else whole
    yield from record_files(site, instances=instances)


def columns_css(scale: Scale) -> str:
    """The style of the ranked table's columns, made from their names, so that no row has to carry it.

    It has widths on wide and on narrow screens, labels for phones, and a class each that takes a column away. Rows are
    grids of the same widths: a browser then lays out the rows that are on the screen, and not all of 500.

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
