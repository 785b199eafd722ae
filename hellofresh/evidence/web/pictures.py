"""Pictures from strangers: fetched by the safe fetch, decoded in a worker within limits, written again, and kept.

`pictures/pictures.sqlite` in the workspace has them; only its owner may read it, and no release holds it. They are
found by the hash of their bytes as they came, or by their address. They are kept as they were written again, so that a
run that goes on shows a model the same bytes. The least recently used ones go when room is short.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

from pydantic import PositiveInt, ValidationError

from hellofresh.core.clock import now
from hellofresh.core.errors import DataError, missing_extra
from hellofresh.core.executors import completed
from hellofresh.core.net.addresses import PageAddress
from hellofresh.core.net.database import open_database
from hellofresh.core.net.public import PageReply, PublicHttp
from hellofresh.core.quarters import parse_utc, utc_text
from hellofresh.core.strict import Strict
from hellofresh.evidence.web import PageStatus
from hellofresh.evidence.web._workers import Once, WorkerError, Workers
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.evidence.web.fetch import FetchResult, PageFetcher, PageLimits
from hellofresh.tasks.images import MOST_PICTURES, Image, Media

_LIMITS = PageLimits(total_s=30.0, most_bytes=20_000_000, pause_s=0.25)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS pictures (
    sha256 TEXT PRIMARY KEY, bytes INTEGER NOT NULL, image TEXT NOT NULL, width INTEGER NOT NULL,
    height INTEGER NOT NULL, content BLOB NOT NULL, used TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS addresses (
    address TEXT PRIMARY KEY, sha256 TEXT NOT NULL, problem TEXT NOT NULL, at TEXT NOT NULL
) STRICT, WITHOUT ROWID
"""
_MOST_BYTES = 2 << 30  # of the cache: some ten thousand pictures
_FAILED_FOR = timedelta(days=7)  # so long a picture that could not be had is not asked for again


class PictureCache(AbstractContextManager["PictureCache"]):
    """All pictures of a workspace, in a file that the first picture creates. Use it as a context manager.

    Args:
        folder: `pictures` in the workspace.
        most_bytes: of all contents.
        clock: what time it is.

    Raises:
        DataError: here and on every call, if the file is damaged or cannot be written.
    """

    def __init__(self, folder: Path, *, most_bytes: int = _MOST_BYTES, clock: Callable[[], datetime] = now) -> None:
        self._path, self._most_bytes, self._clock = folder / "pictures.sqlite", most_bytes, clock
        self._opened: sqlite3.Connection | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, media: Media, *, use: bool = True) -> Image | None:
        """The picture that a sample names, None where it is not available.

        By the hash of its bytes, or, where the sample does not know that, by its address.

        Args:
            media: what the sample says of it.
            use: whether it counts as used now; if not, nothing is written.
        """
        if not self._path.is_file():
            return None
        return self._find(media.sha256 or self._hash_of(media.address), media.address, use=use)

    def original(self, media: Media) -> tuple[str, int] | None:
        """Hash and number of the bytes as they came, None where the picture is not available."""
        if not self._path.is_file():
            return None
        named = media.sha256 or self._hash_of(media.address)
        row = self._run("SELECT sha256, bytes FROM pictures WHERE sha256 = ?", named).fetchone()
        return None if row is None else (str(row[0]), int(row[1]))

    def problem(self, address: str) -> str:
        """Why the picture at an address could not be fetched recently; empty if it should be tried."""
        if not self._path.is_file():
            return ""
        row = self._run("SELECT problem, at FROM addresses WHERE address = ?", address).fetchone()
        return "" if row is None or self._clock() - parse_utc(row[1]) > _FAILED_FOR else str(row[0])

    def add(self, address: str, content: bytes, image: Image) -> Image:
        """Keep a picture that was fetched, on disk when this returns.

        Args:
            address: where it was.
            content: the bytes as they came; only their hash and number are kept.
            image: what the decoder made of them.
        """
        sha256 = hashlib.sha256(content).hexdigest()
        known = self._find(sha256, address, use=True)
        if known is None:
            row = (sha256, len(content), image.sha256, image.width, image.height, image.content, self._today)
            self._run("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?, ?, ?, ?)", *row)
        self._note(address, sha256, "")
        # The least recently used pictures go until the rest fits; the newest one stays.
        (size,) = self._run("SELECT coalesce(sum(length(content)), 0) FROM pictures").fetchone()
        query = "SELECT sha256, length(content) FROM pictures WHERE sha256 != ? ORDER BY used, rowid"
        for old, length in self._run(query, sha256).fetchall() if size > self._most_bytes else ():
            self._run("DELETE FROM pictures WHERE sha256 = ?", old)
            size -= length
            if size <= self._most_bytes:
                break
        return known or image

    def add_problem(self, address: str, problem: str) -> None:
        """Record why the picture at an address cannot be fetched."""
        self._note(address, "", problem[:200])

    def forget(self, media: Iterable[Media]) -> int:
        """Delete the pictures of a deleted post; return how many there were."""
        forgotten = 0
        for item in media if self._path.is_file() else ():
            sha256 = item.sha256 or self._hash_of(item.address)
            forgotten += self._run("DELETE FROM pictures WHERE sha256 = ?", sha256).rowcount
            self._run("DELETE FROM addresses WHERE address = ? OR sha256 = ?", item.address, sha256)
        return forgotten

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _find(self, sha256: str, address: str, *, use: bool) -> Image | None:
        query = "SELECT image, width, height, content, used FROM pictures WHERE sha256 = ?"
        row = self._run(query, sha256).fetchone()
        if row is None:
            return None
        image, width, height, content, used = row
        if hashlib.sha256(content).hexdigest() != image:
            raise self._damaged(f"the picture {sha256[:12]} does not match its hash")
        if use and used != self._today:
            self._run("UPDATE pictures SET used = ? WHERE sha256 = ?", self._today, sha256)
        return Image("image/jpeg", image, width, height, content, address)

    def _hash_of(self, address: str) -> str:
        row = self._run("SELECT sha256 FROM addresses WHERE address = ?", address).fetchone()
        return "" if row is None else str(row[0])

    def _note(self, address: str, sha256: str, problem: str) -> None:
        moment = utc_text(self._clock())
        self._run("INSERT OR REPLACE INTO addresses VALUES (?, ?, ?, ?)", address, sha256, problem, moment)

    @property
    def _today(self) -> str:
        return self._clock().date().isoformat()

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        try:
            if self._opened is None:
                self._opened = open_database(self._path, _SCHEMA, wait_s=30, private=True)
            return self._opened.execute(statement, values)
        except (sqlite3.Error, OSError) as error:
            raise self._damaged(f"the pictures cannot be read or written ({error})") from error

    def _damaged(self, what: str) -> DataError:
        return DataError(
            what, where=str(self._path), fix="Move the file away to fetch all pictures again.", code="bad-cache"
        )


class PictureError(Exception):
    """A picture that is refused, with the reason."""


class _Reply(Strict):
    """A worker's reply about a picture: its size and content in base 64, or its fault."""

    problem: str = ""
    width: PositiveInt = 1
    height: PositiveInt = 1
    content: str = ""


class PictureDecoder(Workers):
    """Decodes pictures off the event loop, a few at once.

    Args:
        cpu_s: CPU seconds that one picture may take.
        at_once: most pictures at once.

    Raises:
        UsageError: if Pillow is not installed.
    """

    def __init__(self, *, cpu_s: float = 10.0, at_once: int = 2) -> None:
        if find_spec("PIL") is None:
            raise missing_extra("a picture", "Pillow", "web")
        super().__init__("picture", cpu_s=cpu_s, at_once=at_once)

    async def decode(self, content: bytes, address: str = "") -> Image:
        """A picture as a model may be shown it: written again as JPEG, without metadata, at most 1,568 pixels a side.

        Raises:
            PictureError: if it is not a JPEG, PNG, WebP or GIF, is over a limit or broken.
            RunError: if a worker hangs.
        """
        try:
            reply = _Reply.model_validate(await self.ask(content, ""))
            written = base64.b64decode(reply.content, validate=True)
        except WorkerError as error:
            raise PictureError(str(error)) from None
        except (ValidationError, binascii.Error):
            raise PictureError("the decoder broke") from None
        if reply.problem or not written:
            raise PictureError(reply.problem or "the decoder broke")
        return Image("image/jpeg", hashlib.sha256(written).hexdigest(), reply.width, reply.height, written, address)


def decode_now(content: bytes) -> Image:
    """Decode one picture, such as a file of the user's, where no event loop runs.

    Raises:
        PictureError, RunError, UsageError: as `PictureDecoder`.
    """

    async def once() -> Image:
        decoder = PictureDecoder(at_once=1)
        try:
            return await decoder.decode(content)
        finally:
            await decoder.close()

    return completed(once())


class PictureFetcher:
    """Fetches pictures and decodes them.

    Args:
        fetcher: gives a fetcher of pictures when one is needed first.
    """

    def __init__(self, fetcher: Callable[[], PageFetcher]) -> None:
        self._open_fetcher = fetcher
        self._opened: tuple[PageFetcher, PictureDecoder] | None = None

    async def fetch(self, address: str) -> tuple[bytes, Image]:
        """A picture as it came, and as a model may be shown it.

        Raises:
            PictureError: if it cannot be had, or is not looked at.
            RunError: if a worker process hangs.
        """
        if self._opened is None:
            self._opened = self._open_fetcher(), PictureDecoder()
        fetcher, decoder = self._opened
        fetched = await fetcher.fetch(address)
        if fetched.status is not PageStatus.OK:
            raise PictureError(f"{fetched.status}: {fetched.detail}")
        return fetched.body, await decoder.decode(fetched.body, address)

    async def close(self) -> None:
        for part in self._opened or ():
            await part.close()
        self._opened = None


class MediaPictures:
    """Finds the pictures of samples. Those that cannot be fetched are left out, with the reason in the cache.

    Args:
        cache: of the workspace.
        fetcher: gives a fetcher of pictures when one is needed first; None where nothing may be fetched.
    """

    def __init__(self, cache: PictureCache, fetcher: Callable[[], PageFetcher] | None = None) -> None:
        self._cache = cache
        self._fetcher = None if fetcher is None else PictureFetcher(fetcher)
        self._fetch_once = Once(self._fetch)

    @property
    def fetches(self) -> bool:
        """Whether missing pictures are fetched."""
        return self._fetcher is not None

    def at_hand(self, media: Media) -> Image | None:
        """A picture of the cache; nothing is fetched or written."""
        return self._cache.find(media, use=False)

    async def images(self, media: Sequence[Media]) -> tuple[Image, ...]:
        """The available pictures, in the order of the media, each with its address.

        Raises:
            DataError: if the cache is damaged or cannot be written.
            RunError: if a worker process hangs.
        """
        found = [await self._image(item) for item in media[:MOST_PICTURES]]
        return tuple(image for image in found if image is not None)

    async def identified(self, media: Sequence[Media]) -> tuple[Media, ...]:
        """The media, with hash and number of the original bytes of each available picture.

        Raises:
            DataError, RunError: as `images`.
        """
        known = []
        for item in media[:MOST_PICTURES]:
            found = None if await self._image(item) is None else self._cache.original(item)
            known.append(item if found is None else replace(item, sha256=found[0], bytes=found[1]))
        return (*known, *media[MOST_PICTURES:])

    async def _image(self, media: Media) -> Image | None:
        known = self._cache.find(media)
        if known is not None or not self.fetches or not media.address or self._cache.problem(media.address):
            return known
        await self._fetch_once(media.address)
        found = self._cache.find(media)
        if found is None and not self._cache.problem(media.address):
            self._cache.add_problem(media.address, "not the picture that the sample names")
        return found

    async def _fetch(self, address: str) -> None:
        assert self._fetcher is not None
        try:
            self._cache.add(address, *await self._fetcher.fetch(address))
        except PictureError as error:
            self._cache.add_problem(address, str(error))

    async def close(self) -> None:
        await self._fetch_once.close()
        if self._fetcher is not None:
            await self._fetcher.close()
        self._cache.close()


def open_pictures(folder: Path, *, user_agent: str = "") -> MediaPictures:
    """The pictures of a workspace.

    Args:
        folder: `pictures` in the workspace.
        user_agent: how this program introduces itself where pictures are fetched; empty where none may be.
    """
    cache = PictureCache(folder)
    if not user_agent:
        return MediaPictures(cache)
    return MediaPictures(cache, lambda: picture_fetcher(PublicHttp(user_agent, accept="image/*")))


def picture_fetcher(transport: PublicHttp, limits: PageLimits = _LIMITS) -> PageFetcher:
    """A fetcher of pictures: as safe and polite as one of pages, and it takes any content, which the decoder judges."""
    return PageFetcher(transport, ExcludedSources.load(groups=()), limits, judge=_judged)


def _judged(address: PageAddress, reply: PageReply) -> FetchResult:
    if reply.status != 200:
        return FetchResult(address.url, PageStatus.DEAD, f"HTTP {reply.status}")
    status = PageStatus.OK if reply.body else PageStatus.EMPTY
    return FetchResult(address.url, status, "", reply.content_type, reply.body)
