"""Locks between processes: a file beside the protected one, which the system unlocks when its holder ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout, lock_descriptor

from hellofresh.core.errors import WorkspaceError, unwritable

_LOOKS, _LOOK_S = 5, 0.02  # a holder of the lock keeps it longer than a tenth of a second; another check does not


@contextmanager
def locked(path: Path, *, what: str, wait_s: float = 0, code: str = "locked") -> Iterator[None]:
    """Hold the lock on a file; the file is made if needed and stays.

    Args:
        path: the lock's file.
        what: the locked work, for the message, such as `collecting x-notes for 2023Q2`.
        wait_s: how long to wait for another holder.
        code: of the error, if raised.

    Raises:
        WorkspaceError: if another process, or another thread of this one, holds it, or the file cannot be made.
    """
    lock = FileLock(path, timeout=wait_s, mode=0o644, thread_local=False, fallback_to_soft=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise WorkspaceError(
            f"another process is {what}",
            where=str(path),
            expected="one process at a time",
            fix="Wait for it to finish, or stop it, then run the command again.",
            code=code,
        ) from None
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        yield
    finally:
        lock.release()


def is_locked(path: Path) -> bool:
    """Whether the lock on a file is held; the check writes nothing and works in read-only folders."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return False
    with file:
        for look in range(_LOOKS):
            if lock_descriptor(file.fileno(), blocking=False):
                return False
            if look < _LOOKS - 1:
                time.sleep(_LOOK_S)  # another check holds it for an instant
    return True
