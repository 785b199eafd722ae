"""The pictures that samples name: from the workspace's cache, or fetched where the web is allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hellofresh.core.net.addresses import PageAddress
from hellofresh.core.net.public import PageReply, PublicHttp
from hellofresh.evidence.web._base import PageStatus
from hellofresh.evidence.web._once import Once
from hellofresh.evidence.web.excluded import ExcludedSources
from hellofresh.evidence.web.fetch import FetchResult, PageFetcher, PageLimits
from hellofresh.evidence.web.pictures.cache import PictureCache
from hellofresh.evidence.web.pictures.decoder import PictureDecoder, PictureError
from hellofresh.tasks.images import Image, Media

__all__ = ["MOST_PICTURES", "MediaPictures", "open_pictures"]

MOST_PICTURES = 8
"""Of one sample; a post on X has at most four."""
_LIMITS = PageLimits(total_s=30.0, most_bytes=20_000_000, pause_s=0.25)


class MediaPictures:
    """Finds the pictures of samples. What cannot be had is passed over, and why is kept in the cache.

    Args:
        cache: of the workspace.
        fetcher: gives a fetcher of pictures when one is needed first; None where nothing may be fetched.
    """

    def __init__(self, cache: PictureCache, fetcher: Callable[[], PageFetcher] | None = None) -> None:
        self._cache, self._open_fetcher = cache, fetcher
        self._fetcher: PageFetcher | None = None
        self._decoder: PictureDecoder | None = None
        self._fetch_once = Once(self._fetch)

    @property
    def fetches(self) -> bool:
        """Whether a picture that is not at hand is fetched."""
        return self._open_fetcher is not None

    def at_hand(self, media: Media) -> Image | None:
        """A picture of the cache; nothing is fetched or written."""
        return self._cache.find(media, use=False)

    async def images(self, media: Sequence[Media]) -> tuple[Image, ...]:
        """The pictures that are to be had, in the order of the media; each says by its address which one it is.

        Raises:
            DataError: if the cache is damaged or cannot be written.
            RunError: if a worker process hangs.
        """
        found = [await self._image(item) for item in media[:MOST_PICTURES]]
        return tuple(image for image in found if image is not None)

    async def identified(self, media: Sequence[Media]) -> tuple[Media, ...]:
        """The media with hash and number of the bytes of each picture that is to be had, as it came.

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
            self._cache.add_problem(media.address, "another picture than the sample names")
        return found

    async def _fetch(self, address: str) -> None:
        if self._fetcher is None or self._decoder is None:
            assert self._open_fetcher is not None
            self._fetcher, self._decoder = self._open_fetcher(), PictureDecoder()
        fetched = await self._fetcher.fetch(address)
        if fetched.status is not PageStatus.OK:
            self._cache.add_problem(address, f"{fetched.status}: {fetched.detail}")
            return
        try:
            self._cache.add(address, fetched.body, await self._decoder.decode(fetched.body, address))
        except PictureError as error:
            self._cache.add_problem(address, str(error))

    async def close(self) -> None:
        """Let go of connections, workers and the file."""
        await self._fetch_once.close()
        if self._fetcher is not None and self._decoder is not None:
            await self._fetcher.close()
            await self._decoder.close()
        self._fetcher = self._decoder = None
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
