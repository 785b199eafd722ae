"""The durable record of every answer of a run: SQLite in WAL mode, one file, one writer.

An answer is committed to disk before anybody uses it. Its key is a hash of all that decides it, so that an answer is
found again exactly when the same question would be asked in the same way.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from hellofresh.errors import RunError, WorkspaceError
from hellofresh.files import canonical_json, sha256_text
from hellofresh.models import Answer, Finish, ModelSpec, Request
from hellofresh.regimes import Regime
from hellofresh.samples import to_json

__all__ = ["Entry", "Journal", "JournalKey"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, sample TEXT NOT NULL, step TEXT NOT NULL, prompt TEXT NOT NULL,
    request TEXT NOT NULL, answer TEXT NOT NULL, sha256 TEXT NOT NULL, latency_s REAL NOT NULL
) STRICT, WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class JournalKey:
    """Which question: the sample, the regime's step, the prompt and the request, asked of a model under a regime."""

    sample: str
    step: str
    prompt: str
    request: Request

    def sha256(self, model: ModelSpec, regime: Regime) -> str:
        """Hash of the question, the model with its parameters, and the regime with its version."""
        parts = [
            [model.name, dict(model.parameters)],
            [regime.name, regime.version],
            [self.sample, self.step, self.prompt],
            request_json(self.request),
        ]
        return sha256_text(canonical_json(parts))


def request_json(request: Request) -> dict[str, object]:
    """A request as JSON-ready values; the sample that baselines look at is named by the key, not repeated here."""
    return {
        "messages": to_json(request.messages),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """One journalled answer."""

    sample: str
    step: str
    prompt: str
    answer: Answer
    latency_s: float


class Journal:
    """The answers of one run. Use it as a context manager; a second process is kept out meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "journal.sqlite"
        self._lock = _lock(folder)
        try:
            self._database = sqlite3.connect(self._path, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute(_SCHEMA)
        except sqlite3.Error as error:
            self._lock.close()
            raise RunError(
                f"the journal cannot be opened ({error})",
                where=str(self._path),
                fix="Move the file away to ask everything again.",
                code="bad-journal",
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        self._lock.close()

    def find(self, key: str) -> Answer | None:
        """The answer to a question that was asked before.

        Raises:
            RunError: if what is stored does not match its own hash.
        """
        row = self._database.execute("SELECT answer, sha256 FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._parse(key, *row)

    def add(self, key: str, question: JournalKey, answer: Answer, latency_s: float) -> None:
        """Store an answer; it is on disk when this returns.

        Raises:
            RunError: if the disk is full or the file is damaged.
        """
        text = canonical_json(to_json(answer))
        request = canonical_json(request_json(question.request))
        row = (key, question.sample, question.step, question.prompt, request, text, sha256_text(key + text), latency_s)
        try:
            self._database.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            raise RunError(
                f"the answer cannot be stored ({error})",
                where=str(self._path),
                fix="Nothing stored so far is lost. Make room and run the same command again.",
                code="journal-write",
            ) from error

    def entries(self) -> Iterator[Entry]:
        """All answers, by sample, prompt and step."""
        query = "SELECT key, sample, step, prompt, answer, sha256, latency_s FROM answers ORDER BY sample, prompt, step"
        with closing(self._database.execute(query)) as rows:
            for key, sample, step, prompt, answer, sha256, latency_s in rows:
                yield Entry(sample, step, prompt, self._parse(key, answer, sha256), latency_s)

    def _parse(self, key: str, text: str, sha256: str) -> Answer:
        if sha256_text(key + text) != sha256:
            raise RunError(
                "a stored answer is damaged",
                where=f"{self._path}, key {key[:12]}",
                fix="Move the journal away to ask everything again.",
                code="bad-journal",
            )
        stored = json.loads(text)
        return Answer(**{**stored, "finish": Finish(stored["finish"])})


def _lock(folder: Path) -> IO[bytes]:
    """Take the run for this process; the system frees it when the process ends, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("ab")
    except OSError as error:
        raise WorkspaceError(f"cannot write ({error.strerror})", where=str(folder), code="unwritable") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise WorkspaceError(
            "another process works on this run", where=str(folder), fix="Wait for it, or stop it.", code="run-locked"
        ) from error
    return file
