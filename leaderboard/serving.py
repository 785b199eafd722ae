"""The static copy on this machine: rebuilt when the board has changed, and served as files.

Only files that the copy lists, or will list once complete, are served. Sortable and filterable tables, and the
check of uploads, are in the app: `leaderboard/app.py`.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from threading import Condition, Thread

from aiohttp import web

from hellofresh.core.errors import HelloFreshError
from hellofresh.core.net.local_site import LocalSite
from hellofresh.core.workspace import Workspace
from hellofresh.results.board.manifest import read_board_manifest
from leaderboard.export.copy import HOME, NOT_FOUND, being_made
from leaderboard.export.export import Export, is_exported
from leaderboard.export.folder import read_listing

BOARD_VARIABLE = "HELLOFRESH_BOARD"
"""Environment variable for another board than the workspace's, such as the maintainers' own."""
_PATIENCE_S = 3.0  # how long a visitor waits for a page being made before seeing a notice


def board_folder() -> Path:
    """The board in HELLOFRESH_BOARD, else the workspace's public one."""
    named = os.environ.get(BOARD_VARIABLE)
    return Path(named) if named else Workspace.from_environment().board


@dataclass(slots=True)
class ServedCopy:
    """A served copy of the site, as new as its board; each page is visible as soon as it is made.

    Attributes:
        folder: of the copy.
        board: source; None for a finished copy, which stays unchanged.
    """

    folder: Path
    board: Path | None = None
    _stamp: tuple[int, ...] = ()
    _files: dict[str, Path] = field(default_factory=dict)
    _export: Export | None = None
    _failed: Exception | None = None
    _maker: Thread | None = None
    _changed: Condition = field(default_factory=Condition)

    @classmethod
    def of_board(cls, board: Path) -> ServedCopy:
        """A copy in the workspace, or in a temporary folder if the workspace is not writable.

        Raises:
            DataError: if there is no board (`no-board`) or it is damaged (`damaged-board`).
        """
        workspace = Workspace.from_environment()
        folder = workspace.site(private=read_board_manifest(board).private)
        if not os.access(workspace.root, os.W_OK):
            folder = Path(tempfile.mkdtemp(prefix="hellofresh-site-")) / "site"
        copy = cls(folder, board)
        copy.refresh()
        return copy

    def refresh(self) -> None:
        """Start to rebuild the copy if the board has changed.

        Raises:
            HelloFreshError: if the board cannot be read; the old copy stays.
        """
        watched = (self.board or self.folder) / ("manifest.json" if self.board else HOME)
        stat = watched.stat() if watched.is_file() else None
        stamp = (stat.st_mtime_ns, stat.st_size) if stat else (0,)
        with self._changed:
            if stamp == self._stamp:
                return
            if self.board and not is_exported(self.board, self.folder):
                self._export, self._files = Export.of(self.board, self.folder, private=True), {}
                self._maker = Thread(target=self._make, args=[self._export], daemon=True)
                self._maker.start()
            else:
                self._export, self._files = None, self._finished()
            self._stamp, self._failed = stamp, None

    def _finished(self) -> dict[str, Path]:
        return {one.path: self.folder / one.path for one in read_listing(self.folder).files}

    def _make(self, export: Export) -> None:
        def written(path: str, file: Path) -> None:
            with self._changed:
                if self._export is not export:
                    raise InterruptedError
                self._files[path] = file
                self._changed.notify_all()

        failed: Exception | None = None
        try:
            export.write(written)
        except Exception as error:  # raised again for the next request
            failed = error
        with self._changed:
            if self._export is export:
                self._export, self._failed = None, failed
                self._files, self._stamp = ({}, ()) if failed else (self._finished(), self._stamp)
                self._changed.notify_all()

    def close(self) -> None:
        """Stop making the copy; leftovers of a slow page are removed by the next build."""
        with self._changed:
            self._export = None
        if self._maker is not None:
            self._maker.join(_PATIENCE_S)

    def find(self, path: str) -> tuple[int, Path | bytes]:
        """The status and the file for a requested path, or an error page.

        A page that does not exist yet is made next; if that takes long, the response is a notice that soon reloads.

        Raises:
            Exception: any error that stopped the copy.
        """
        with suppress(HelloFreshError):  # while a board is written, visitors see the one before
            self.refresh()
        name = path.strip("/") or HOME
        options = (name, f"{name}/{HOME}")

        def there() -> Path | None:  # files of a copy being replaced are elsewhere for a moment
            known = (self._files[one] for one in options if one in self._files)
            return next((file for file in known if file.is_file()), None)

        with self._changed:
            export = self._export
            pages = {HOME, *export.site.paths.values()} if export else set()
            wanted = [one for one in options if one in pages]
            beside = PurePosixPath(name).suffix not in ("", ".html")
            if export and (wanted or beside):
                export.wanted.extend(wanted)
                self._changed.wait_for(lambda: self._export is not export or there() is not None, _PATIENCE_S)
            if self._failed:
                raise self._failed
            if (file := there()) is not None:
                return 200, file
            if self._export and (self._export is not export or wanted or beside or NOT_FOUND not in self._files):
                status, page = 503, being_made(len(pages & self._files.keys()), len(pages)).encode()
            else:
                status, page = 404, self._files[NOT_FOUND].read_bytes()
        # Its links match the depth of the requested address.
        return status, page.replace(b'href="./', f'href="{"../" * path.strip("/").count("/") or "./"}'.encode())


def site_of(copy: ServedCopy, port: int) -> LocalSite:
    """The site on this machine only, for `LocalSite.run`."""

    async def answer(request: web.Request, _: str) -> web.StreamResponse:
        status, found = await asyncio.to_thread(copy.find, request.path)
        if isinstance(found, bytes):
            return web.Response(status=status, body=found, content_type="text/html", charset="utf-8")
        return web.FileResponse(found, headers={"Cache-Control": "no-cache"})

    return LocalSite(lambda _: True, answer, {}, port=port, every_path=True)
