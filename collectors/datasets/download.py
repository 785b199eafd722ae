"""Fetching those originals of which a public copy with a known hash exists."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from collectors.datasets._rows import DataSet, OriginalFile
from hellofresh.core.errors import SourceError
from hellofresh.core.files import sha256_file
from hellofresh.core.net.lock import locked
from hellofresh.core.net.transfer import DownloadPolicy, Transfer, download_session

__all__ = ["fetch_dataset"]


def fetch_dataset(
    dataset: DataSet,
    folder: Path,
    *,
    progress: Callable[[str], None],
    policy: DownloadPolicy | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> list[Path]:
    """Fetch a data set's files into a folder; a file that is there with the right hash is not fetched again.

    Raises:
        SourceError: if no file has a known address and hash, the server keeps failing, or a file has another hash.
        WorkspaceError: if files cannot be written, or another process is fetching them.
    """
    wanted = [file for file in dataset.files if file.url and file.sha256]
    if not wanted:
        raise SourceError(
            f"no file of {dataset.name} has a known address with a known hash", where=dataset.name,
            fix=f"Its authors publish it at {dataset.home}. Fetch it there and name its path: "
            f"hellofresh dataset import {dataset.name} PATH", code="no-download",
        )  # fmt: skip
    with locked(folder / ".lock", what=f"fetching {dataset.name}", code="busy"):
        asyncio.run(_fetch(wanted, folder, policy or DownloadPolicy(), sleep, progress))
    return [folder / file.name for file in wanted]


async def _fetch(
    wanted: list[OriginalFile],
    folder: Path,
    policy: DownloadPolicy,
    sleep: Callable[[float], Awaitable[None]],
    progress: Callable[[str], None],
) -> None:
    async with download_session(policy) as session:
        for file in wanted:
            target = folder / file.name
            if target.is_file() and sha256_file(target) == file.sha256:
                continue
            transfer = Transfer(session, policy, sleep, progress, _hash_check(file))
            if not await transfer.fetch(file.url, target):
                raise SourceError("no such file any more", where=file.url, code="missing-source")


def _hash_check(file: OriginalFile) -> Callable[[Path, str], None]:
    def check(path: Path, name: str) -> None:
        found = sha256_file(path)
        if found != file.sha256:
            raise SourceError(
                f"SHA-256 {found}", where=name, expected=file.sha256, fix="It is not the original.", code="bad-hash"
            )

    return check
