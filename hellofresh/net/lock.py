"""Locks between processes: a file beside what it protects, which the system lets go of when its holder ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from hellofresh.errors import WorkspaceError

__all__ = ["locked"]


@contextmanager
def locked(path: Path, *, what: str, wait_s: float = 0) -> Iterator[None]:
    """Hold the lock on a file; the file is made where needed and stays.

    Args:
        path: the lock's file.
        what: what another holder is doing, for the message, such as `collecting x-notes for 2023Q2`.
        wait_s: how long to wait for another holder.

    Raises:
        WorkspaceError: if another process, or another thread of this one, holds it, or the file cannot be made.
    """
    lock = FileLock(path, timeout=wait_s, mode=0o644, fallback_to_soft=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise WorkspaceError(
            f"another process is {what}",
            where=str(path),
            expected="one process at a time",
            fix="Wait for it to end, or stop it, then run the command again.",
            code="locked",
        ) from None
    except OSError as error:
        raise WorkspaceError(
            f"cannot be locked: {error.strerror or error}",
            where=str(path),
            fix="Check the folder's permissions and free space, or set HELLOFRESH_DATA to another folder.",
            code="unwritable",
        ) from error
    try:
        yield
    finally:
        lock.release()
