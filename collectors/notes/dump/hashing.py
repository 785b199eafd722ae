"""Hashes of the files that are being read, taken at the same time: hashing costs as much as reading."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event, Thread
from types import TracebackType

from hellofresh.candidates.rows import SourceFile
from hellofresh.errors import SourceError

__all__ = ["FileHashes"]

_PIECE = 2**20


class FileHashes:
    """SHA-256 of files, taken in a thread that ends with the `with` block.

    Args:
        paths: in the order in which they are going to be read.
        known: files whose hashes are known by path.
    """

    def __init__(self, paths: Sequence[Path], known: Mapping[Path, SourceFile] | None = None) -> None:
        known = known or {}
        self._paths = [path for path in paths if path not in known]
        self._found = [known[path] for path in paths if path in known]
        self._failure: OSError | None = None
        self._stop = Event()
        self._thread = Thread(target=self._run, name="hashes", daemon=True)

    def __enter__(self) -> FileHashes:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def results(self) -> list[SourceFile]:
        """Wait for all files; sorted by name.

        Raises:
            SourceError: if one cannot be read.
        """
        self._thread.join()
        if self._failure is not None:
            raise SourceError(
                f"cannot be read: {self._failure.strerror or self._failure}",
                where=str(self._failure.filename),
                code="unreadable-file",
            ) from self._failure
        return sorted(self._found, key=lambda item: (item.name, item.sha256))

    def _run(self) -> None:
        try:
            for path in self._paths:
                if self._stop.is_set():
                    return
                self._hash(path)
        except OSError as error:
            self._failure = error

    def _hash(self, path: Path) -> None:
        digest, size, buffer = hashlib.sha256(), 0, bytearray(_PIECE)
        view = memoryview(buffer)
        with path.open("rb", buffering=0) as file:
            while not self._stop.is_set() and (length := file.readinto(buffer)):
                digest.update(view[:length])
                size += length
        self._found.append(SourceFile(path.name, size, digest.hexdigest()))
