"""Download a release into a folder; its names are untrusted, and the amount of data is bounded."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from hellofresh.core.errors import ReleaseError, UsageError
from hellofresh.core.executors import completed
from hellofresh.core.net.below import BelowError, files_below
from hellofresh.releases.life.manifest import MANIFEST, PREVIOUS
from verifier.manifest import MAX_HISTORY_BYTES, MAX_MANIFEST_BYTES, MAX_VERSIONS, ManifestFile, bad_path, read_manifest

MAX_FILES = 200  # a release has some dozens; a server's list must not fill the disk
MAX_TOTAL_BYTES = 4_000_000_000


def fetch_release(url: str, folder: Path, *, timeout_s: float = 1800.0, quiet_s: float = 60.0) -> None:
    """Download a release's manifests and the files that they list.

    Args:
        url: http or https address of the release's folder, or of its manifest.
        folder: an empty folder.
        quiet_s: longest wait for the next bytes, in seconds.

    Raises:
        UsageError: if `url` is not an address.
        ReleaseError: if a file is unavailable, larger than its entry says, or has a path outside the folder.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise UsageError(
            f"not the address of a release: {url[:200]!r}",
            expected="https://HOST/PATH of the folder with manifest.json, without user, ? or #",
            code="bad-url",
        )
    base = url.removesuffix(MANIFEST).rstrip("/") + "/"
    try:
        completed(_fetch(base, folder, timeout_s, quiet_s))
    except BelowError as error:
        raise _failed(error.url, str(error)) from error


async def _fetch(base: str, folder: Path, timeout_s: float, quiet_s: float) -> None:
    async with files_below(base, most_bytes=MAX_TOTAL_BYTES, timeout_s=timeout_s, quiet_s=quiet_s) as files:

        async def take(name: str, most: int) -> None:
            if not await files.take(name, folder / name, most_bytes=most):
                raise _failed(f"{base}{name}", "the server has no such file")

        async def take_manifest(name: str) -> ManifestFile:
            await take(name, MAX_MANIFEST_BYTES)
            try:
                return read_manifest(folder / name)
            except ValueError as error:
                raise ReleaseError(str(error), where=f"{base}{name}", code="damaged-release") from None

        newer = await take_manifest(MANIFEST)
        _check(newer, base)
        for entry in newer["files"]:
            await take(entry["path"], entry["size"])
        # Download earlier manifests while each matches the hash in the next; the later check reports a mismatch.
        oldest = newer["version"] - MAX_VERSIONS
        files.left = min(files.left, MAX_HISTORY_BYTES)
        while newer["version"] > max(1, oldest - 1) and newer["previous"] is not None:
            older = await take_manifest(f"{PREVIOUS}/{newer['version'] - 1}.json")
            if older.sha256 != newer["previous"]["sha256"] or older["version"] != newer["version"] - 1:
                return
            newer = older


def _check(manifest: ManifestFile, base: str) -> None:
    """Refuse a manifest with unsafe paths or too much data."""
    files = manifest["files"]
    wrong = [fault for entry in files if (fault := bad_path(entry["path"]))]
    total = sum(entry["size"] for entry in files)
    if len(files) > MAX_FILES or total > MAX_TOTAL_BYTES:
        wrong.append(f"{len(files):,} files of {total:,} bytes")
    if wrong:
        raise ReleaseError(
            wrong[0],
            where=f"{base}{MANIFEST}",
            expected=f"at most {MAX_FILES} files and {MAX_TOTAL_BYTES:,} bytes, below the release's folder",
            code="unsafe-release",
        )


def _failed(url: str, what: str) -> ReleaseError:
    return ReleaseError(
        f"cannot be fetched ({what})",
        where=url,
        fix="Try again, or contact the owner of the server.",
        code="fetch-failed",
    )
