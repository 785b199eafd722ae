"""Fetching a feed of reviews from an address: resumable, whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from hellofresh.core.errors import SourceError
from hellofresh.core.files import sha256_text
from hellofresh.core.net.lock import locked
from hellofresh.core.net.transfer import DownloadPolicy, Transfer, download_session

__all__ = ["fetch_feed"]


def fetch_feed(
    place: str,
    folder: Path,
    *,
    progress: Callable[[str], None],
    policy: DownloadPolicy | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Path:
    """The file of a feed: itself, or what an address gives, fetched once for each folder.

    A feed changes from day to day. The first copy stays, so that a collection can be repeated; delete it to fetch anew.

    Raises:
        SourceError: if there is no such feed, or the server keeps failing.
        WorkspaceError: if the file cannot be written, or another process is fetching it.
    """
    if not place.startswith(("http://", "https://")):
        return Path(place)
    target = folder / f"feed-{sha256_text(place)[:12]}.json"
    if not target.is_file():
        with locked(folder / ".lock", what=f"fetching {place}", code="busy"):
            asyncio.run(_fetch(place, target, policy or DownloadPolicy(), sleep, progress))
    return target


async def _fetch(
    url: str,
    target: Path,
    policy: DownloadPolicy,
    sleep: Callable[[float], Awaitable[None]],
    progress: Callable[[str], None],
) -> None:
    async with download_session(policy) as session:
        transfer = Transfer(session, policy, sleep, progress, lambda _path, _name: None)
        if not await transfer.fetch(url, target):
            raise SourceError("no such feed", where=url, fix="Check the address.", code="missing-source")
