"""The one file of a 7z archive as a stream: py7zr can only push what it unpacks, so a thread pushes into a pipe."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO, cast

from hellofresh.core.errors import SourceError, UsageError

__all__ = ["THREAD", "open_seven_zip"]

THREAD = "unpack-7z"


def open_seven_zip(path: Path) -> BinaryIO:
    """Open the file in the archive; it is unpacked as it is read, a pipe's length ahead.

    Raises:
        UsageError: if py7zr is not installed.
        SourceError: if this is no archive of exactly one file; on reading, `EOFError` if it is cut or damaged.
    """
    try:
        import py7zr
    except ImportError:
        raise UsageError(
            "packed as 7z, which needs py7zr, which is not installed",
            where=str(path),
            fix="Install it with: pip install 'hellofresh[archives]', or unpack the file first.",
            code="missing-extra",
        ) from None
    try:
        archive = py7zr.SevenZipFile(path)
        names = [entry.filename for entry in archive.list() if not entry.is_directory]
    except Exception as error:  # py7zr raises whatever a broken header leads to
        raise SourceError(
            f"not a whole 7z archive ({type(error).__name__}: {error})",
            where=str(path),
            fix="Fetch the file again and compare its checksum.",
            code="bad-archive",
        ) from None
    if len(names) != 1 or archive.needs_password():
        archive.close()
        raise SourceError(f"{len(names)} files in the archive", where=str(path), expected="one", code="bad-archive")
    return cast(BinaryIO, io.BufferedReader(_Stream(archive), 1 << 18))


class _Stream(io.RawIOBase):
    """What a thread unpacks, to be read here."""

    def __init__(self, archive: Any) -> None:
        self._archive = archive
        self._read, self._write = os.pipe()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._unpack, name=THREAD, daemon=True)
        self._thread.start()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = os.readv(self._read, [buffer])
        if not count:
            self._thread.join()
            if self._error is not None:
                raise EOFError(f"{type(self._error).__name__}: {self._error}") from self._error
        return count

    def close(self) -> None:
        if not self.closed:
            os.close(self._read)  # the thread's next write fails, and it ends
            self._thread.join()
        super().close()

    def _unpack(self) -> None:
        try:
            with suppress(BrokenPipeError), self._archive:
                self._archive.extract(factory=_Factory(self._write))
        except BaseException as error:  # it is raised again in the reader's thread
            self._error = error
        finally:
            os.close(self._write)


class _Factory:
    """What py7zr asks for a place to put a file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def create(self, _: str) -> _Sink:
        return _Sink(self._descriptor)


class _Sink:
    """Looks to py7zr like a file that can be written."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._size = descriptor, 0

    def write(self, data: bytes | bytearray) -> int:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        self._size += len(data)
        return len(data)

    def read(self, _: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, _: int = 0) -> int:
        return offset

    def flush(self) -> None:
        pass

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        pass
