"""Store of a run's searches and pages: each is stored before use, requested once, and replayed without a network.

`web.sqlite` in a run's folder holds every search and every page, in SQLite's WAL mode, one writer.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from hellofresh import __version__
from hellofresh.core.errors import RunError, missing_extra
from hellofresh.core.files import canonical_json, sha256_text
from hellofresh.core.net.addresses import AddressError, PageAddress
from hellofresh.core.net.database import open_database
from hellofresh.core.net.public import PublicHttp
from hellofresh.core.texts import one_line
from hellofresh.evidence.settings import TEXTS_ALREADY, WebSettings
from hellofresh.evidence.web import Found, PageStatus, SearchResult, Web, WebPage
from hellofresh.evidence.web._workers import Extraction, Once, WorkerError, Workers
from hellofresh.evidence.web.dates import url_date, youngest
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.evidence.web.fetch import FetchResult, PageFetcher
from hellofresh.evidence.web.pictures import PictureError, PictureFetcher, picture_fetcher
from hellofresh.evidence.web.search import ProviderAnswer, SearchProvider
from hellofresh.evidence.web.search.services import MOST_LINKS, open_image_provider, open_provider
from hellofresh.evidence.web.text import Extractor

_SCHEMA = """
CREATE TABLE IF NOT EXISTS searches (
    key TEXT PRIMARY KEY, provider TEXT NOT NULL, parameters TEXT NOT NULL, query TEXT NOT NULL, before TEXT NOT NULL,
    at TEXT NOT NULL, found TEXT NOT NULL, raw BLOB NOT NULL, sha256 TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (
    url TEXT PRIMARY KEY, final_url TEXT NOT NULL, at TEXT NOT NULL, status TEXT NOT NULL, content_type TEXT NOT NULL,
    page TEXT NOT NULL, body BLOB NOT NULL, sha256 TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""
T = TypeVar("T")
_Row = tuple[Any, ...]
_FILE = "web.sqlite"


class PageReader(Protocol):
    """Reads pages over the network or from a corpus; errors are part of the result."""

    async def fetch(self, url: str) -> FetchResult: ...
    async def close(self) -> None: ...


class WebStore:
    """The searches and pages of one run; all calls wait until what they write is on disk.

    Raises:
        RunError: here and on every call, if the file is damaged or cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        # One thread owns the file: nothing waits for the disk on the event loop, and writes have an order.
        self._thread = ThreadPoolExecutor(1, "web-store")
        try:
            self._database = self._thread.submit(open_database, self._path, _SCHEMA).result()
        except (sqlite3.OperationalError, OSError) as error:
            self._thread.shutdown()
            raise self._unwritten(error) from error
        except sqlite3.Error as error:
            self._thread.shutdown()
            raise self._damaged(f"the store cannot be opened ({error})") from error

    @property
    def name(self) -> str:
        return str(self._path)

    async def search(self, key: str) -> Found | None:
        """The stored result of a search."""
        row = await self._kept("searches", "key", key)
        return None if row is None else _found(row[6])

    async def keep_search(
        self, key: str, provider: SearchProvider, query: str, before: date | None, searched: ProviderAnswer
    ) -> Found:
        """Store a search, on disk when this returns; return it as it will be replayed."""
        content = _writable(canonical_json(asdict(searched.found)))
        parameters, day = canonical_json(dict(provider.parameters)), before.isoformat() if before else ""
        row = (key, provider.name, parameters, _writable(query), day, self._at(), content, zlib.compress(searched.raw))
        await self._on_thread(lambda: self._insert("searches", row))
        return _found(content)

    async def page(self, url: str) -> WebPage | None:
        """The page as it was read."""
        row = await self._kept("pages", "url", _writable(url))
        return None if row is None else _page(row[5])

    async def body(self, url: str) -> tuple[WebPage, str, bytes] | None:
        """A page that was read, its content type, and its body as it came."""
        row = await self._kept("pages", "url", _writable(url))
        return None if row is None else (_page(row[5]), row[4], zlib.decompress(row[6]))

    async def keep_page(self, page: WebPage, content_type: str, body: bytes) -> WebPage:
        """Store a page, on disk when this returns; return it as it will be replayed."""
        text = _writable(canonical_json(asdict(page)))
        url, final_url, kind = map(_writable, (page.url, page.final_url, content_type))
        row = (url, final_url, self._at(), page.status.value, kind, text, zlib.compress(body))
        await self._on_thread(lambda: self._insert("pages", row))
        return _page(text)

    async def _kept(self, table: str, column: str, key: str) -> _Row | None:
        question = f"SELECT * FROM {table} WHERE {column} = ?"  # noqa: S608 - names of our own
        rows = await self._on_thread(partial(self._rows, question, key))
        return rows[0] if rows else None

    def _at(self) -> str:
        return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    async def _on_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _rows(self, question: str, *values: str) -> Sequence[_Row]:
        try:
            rows = self._database.execute(question, values).fetchall()
        except sqlite3.Error as error:
            raise self._damaged(f"the store cannot be read ({error})") from error
        for row in rows:
            if _row_hash(row[:-1]) != row[-1]:
                raise self._damaged(f"the stored entry {row[0]!r} is damaged")
        return rows

    def _insert(self, table: str, row: Sequence[str | bytes]) -> None:
        places = ", ".join("?" * (len(row) + 1))
        try:
            self._database.execute(f"INSERT INTO {table} VALUES ({places})", (*row, _row_hash(row)))  # noqa: S608
        except sqlite3.Error as error:
            raise self._unwritten(error) from error

    def close(self) -> None:
        self._thread.submit(self._database.close).result()
        self._thread.shutdown()

    def _damaged(self, what: str) -> RunError:
        fix = "Move the file away to search and fetch everything again."
        return RunError(what, where=str(self._path), fix=fix, code="bad-web-store")

    def _unwritten(self, error: Exception) -> RunError:
        fix = "Nothing stored so far is lost. Make room and run the same command again."
        return RunError(f"results cannot be stored ({error})", where=str(self._path), fix=fix, code="web-store-write")


def _writable(text: str) -> str:
    """A text without lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def _row_hash(row: Sequence[str | bytes]) -> str:
    return sha256_text(canonical_json([part.hex() if isinstance(part, bytes) else part for part in row]))


def _found(text: str) -> Found:
    stored = json.loads(text)
    return Found(tuple(SearchResult(**result) for result in stored["results"]), stored["problem"])


def _page(text: str) -> WebPage:
    stored = json.loads(text)
    return WebPage(**{**stored, "status": PageStatus(stored["status"])})


class StoredWeb:
    """Web access with a store: stored searches and pages are never requested again.

    Args:
        store: the memory.
        provider: searches; asked for parameters only where `replay`.
        reader: reads pages; None with `replay`, so that nothing can.
        excluded: what is not read.
        extractor: how main texts are taken out.
        count: results of one search.
        images: finds the pages that show a picture; None without such a service.
        pictures: fetches the pictures of such pages; None with `replay`.
        watch: receives what is searched for or read, also where it is remembered.
    """

    def __init__(
        self,
        store: WebStore,
        provider: SearchProvider,
        reader: PageReader | None,
        *,
        excluded: ExcludedSources,
        extractor: Extractor,
        count: int,
        images: SearchProvider | None = None,
        pictures: PictureFetcher | None = None,
        watch: Callable[[str], None] = lambda step: None,
    ) -> None:
        self._watch = watch
        self._store, self._provider, self._reader, self._images = store, provider, reader, images
        self._excluded = excluded
        self._extraction, self._addresses = Extraction(extractor), Workers("addresses", at_once=1)
        self._pictures = pictures
        self._search_once = Once[tuple[str, date | None], Found](lambda asked: self._search(provider, count, *asked))
        self._read_once = Once(self._read)
        self._picture_once = Once(self._picture)
        self.parameters = _parameters(provider, images, excluded, extractor, count)

    @property
    def blocked(self) -> Sequence[str]:
        """Domains of the task's own answers, and those that the settings exclude."""
        return self._excluded.passed_on

    def reason(self, url: str) -> str:
        """Why a page may not be used, empty if it may."""
        return self._excluded.reason(url)

    async def search(self, query: str, *, before: date | None = None) -> Found:
        self._watch(f"search: {query[:80]}")
        return await self._search_once((query, before))

    @property
    def searches_images(self) -> bool:
        """Whether there is a provider of reverse image search."""
        return self._images is not None

    async def search_image(self, address: str, query: str = "") -> Found:
        """The pages that show a picture and match a query, or their stored list."""
        self._watch(f"search for the picture: {address[:80]}")
        if self._images is None:
            return Found((), "no service for reverse image search is configured")
        return await self._search(self._images, MOST_LINKS, f"{address}\n{one_line(query)}" if query else address, None)

    async def pictures(self, url: str) -> Sequence[bytes]:
        """The first pictures of a page that was read; they are kept beside it, and replayed."""
        kept = await self._store.body(PageAddress.parse(url).url)
        if kept is None or kept[0].status is not PageStatus.OK:
            return ()
        page, content_type, body = kept
        try:
            written = (await self._addresses.ask(body, content_type))["pictures"]
        except WorkerError:
            return ()
        found = []
        for address in written if isinstance(written, list) else ():
            with suppress(AddressError):
                picture = PageAddress.parse(page.final_url).joined(address).url
                if not self._excluded.reason(picture):
                    found.append(await self._picture_once(picture))
        return list(filter(None, found))

    async def _picture(self, address: str) -> bytes:
        """A picture as the decoder wrote it again, empty if it cannot be fetched."""
        name = f"picture {address}"
        kept = await self._store.body(name)
        if kept is not None:
            return kept[2]
        if self._pictures is None:
            raise self._not_recorded(f"the picture {address}")
        page, content = WebPage(name, name, PageStatus.OK), b""
        try:
            _, image = await self._pictures.fetch(address)
            content = image.content
        except PictureError as error:
            page = replace(page, status=PageStatus.DEAD, detail=str(error))
        await self._store.keep_page(page, "image/jpeg", content)
        return content

    async def _search(self, provider: SearchProvider, count: int, query: str, before: date | None) -> Found:
        parts = [dict(provider.parameters), count, _writable(query), before.isoformat() if before else ""]
        key = sha256_text(canonical_json(parts))
        kept = await self._store.search(key)
        if kept is not None:
            return kept
        if self._reader is None:
            raise self._not_recorded(f"the search for {query!r}")
        searched = await provider.search(_writable(query), count, before)
        return await self._store.keep_search(key, provider, query, before, searched)

    async def read(self, url: str) -> WebPage:
        self._watch(f"read: {url[:100]}")
        try:
            url = PageAddress.parse(url).url
        except AddressError as error:
            return WebPage(url, url, PageStatus.UNSAFE, str(error))
        reason = self._excluded.reason(url)
        if reason:
            return WebPage(url, url, PageStatus.EXCLUDED, reason)
        return await self._read_once(url)

    async def _read(self, url: str) -> WebPage:
        kept = await self._store.page(url)
        if kept is not None:
            return kept
        if self._reader is None:
            raise self._not_recorded(f"the page {url}")
        fetched = await self._reader.fetch(url)
        page = WebPage(url, fetched.final_url, fetched.status, fetched.detail, sha256=fetched.sha256)
        if fetched.status is PageStatus.OK:
            page = await self._with_text(page, fetched)
        return await self._store.keep_page(page, fetched.content_type, fetched.body)

    async def _with_text(self, page: WebPage, fetched: FetchResult) -> WebPage:
        try:
            found = fetched.text or await self._extraction.main_text(fetched.body, fetched.content_type)
        except WorkerError as error:
            return replace(page, status=PageStatus.TIMEOUT, detail=f"no text could be extracted ({error})")
        if not found.text:
            return replace(page, status=PageStatus.EMPTY, detail="no text", title=found.title)
        addresses = (url_date(page.url), url_date(page.final_url))
        dated = youngest((found.date, *addresses)) if found.is_dated or any(addresses) else ""
        return replace(page, title=found.title, text=found.text, date=dated)

    def _not_recorded(self, what: str) -> RunError:
        return RunError(
            f"{what[:300]} is not stored, so it cannot be replayed",
            where=self._store.name,
            fix="Leave out --replay to fetch what is missing.",
            code="not-recorded",
        )

    async def close(self) -> None:
        parts = (
            *(self._search_once, self._read_once, self._picture_once, self._provider, self._extraction),
            *(self._addresses, self._reader, self._images, self._pictures),
        )
        for part in parts:
            if part is not None:
                await part.close()
        self._store.close()


def _parameters(
    provider: SearchProvider, images: SearchProvider | None, excluded: ExcludedSources, extractor: Extractor, count: int
) -> Mapping[str, str | int | float | bool]:
    """All that decides what a search finds and what a page says."""
    found: dict[str, str | int | float | bool] = {
        **provider.parameters,
        "count": count,
        "excluded": excluded.sha256,
        "code": __version__,
        **({} if images is None else {f"images_{name}": value for name, value in images.parameters.items()}),
    }
    if provider.name not in TEXTS_ALREADY:
        package = "beautifulsoup4" if extractor == "beautifulsoup" else extractor
        installed = version(package) if find_spec("bs4" if extractor == "beautifulsoup" else extractor) else ""
        found |= {"extractor": f"{extractor} {installed}"}
    return found


def web_parameters(
    settings: WebSettings, groups: Iterable[str] | None = None
) -> Mapping[str, str | int | float | bool]:
    """The parameters of the web that `open_web` opens, without a store, a folder or a key; raises as `open_web`."""
    _check_packages(settings, replay=True)
    provider, images = open_provider(settings, replay=True), open_image_provider(settings, replay=True)
    excluded = ExcludedSources.load(settings.excluded, groups=groups)
    return _parameters(provider, images, excluded, settings.extractor, settings.count)


def _check_packages(settings: WebSettings, *, replay: bool) -> None:
    """Refuse to open a web whose packages are missing, before anything is asked; they are imported where used."""
    needed = ["tldextract"]
    if settings.provider not in TEXTS_ALREADY and not replay:
        needed += ["protego", "lxml", "bs4", *(["trafilatura"] if settings.extractor == "trafilatura" else [])]
    if missing := [name for name in needed if find_spec(name) is None]:
        raise missing_extra("the web", ", ".join(missing), "web")


def user_agent(contact: str | None) -> str:
    """The user agent of this project."""
    return f"hellofresh/{__version__} (research benchmark{f'; {contact}' if contact else ''})"


def open_web(
    settings: WebSettings,
    folder: Path,
    *,
    replay: bool = False,
    groups: Iterable[str] | None = None,
    watch: Callable[[str], None] = lambda step: None,
) -> Web:
    """Open the web access of a run.

    Args:
        settings: `[web]` of hellofresh.toml.
        folder: the run's; `web.sqlite` in it is the memory.
        replay: nothing goes to the network; what is not kept is an error, since another outcome is not a replay.
        groups: the groups of sources that hold the task's own answers; all if left out.
        watch: receives what is searched for or read.

    Raises:
        ConfigError, UsageError: if the provider cannot be opened, or a package is missing.
        WorkspaceError, SourceError: if the corpus cannot be read.
        RunError: if the memory is damaged or cannot be written.
    """
    _check_packages(settings, replay=replay)
    excluded = ExcludedSources.load(settings.excluded, groups=groups)
    provider = open_provider(settings, replay=replay)
    reader: PageReader | None = None
    agent = user_agent(settings.contact)
    if settings.provider in TEXTS_ALREADY and not replay:
        reader = cast(PageReader, provider)
    elif not replay:
        reader = PageFetcher(PublicHttp(agent), excluded)
    return StoredWeb(
        WebStore(folder),
        provider,
        reader,
        excluded=excluded,
        extractor=settings.extractor,
        count=settings.count,
        images=open_image_provider(settings, replay=replay),
        pictures=None if replay else PictureFetcher(lambda: picture_fetcher(PublicHttp(agent, accept="image/*"))),
        watch=watch,
    )
