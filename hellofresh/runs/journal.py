"""The durable record of every answer of a run: SQLite in WAL mode, one file, one writer.

An answer is committed to disk before anybody uses it. Its key is a hash of all that decides it, so that an answer is
found again exactly when the same question would be asked in the same way.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
from collections.abc import Iterator, Sequence
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
    request TEXT NOT NULL, answer TEXT NOT NULL, latency_s REAL NOT NULL, sha256 TEXT NOT NULL
) STRICT, WITHOUT ROWID
"""
_SELECT = "SELECT key, sample, step, prompt, request, answer, latency_s, sha256 FROM answers"
_Row = tuple[str, str, str, str, str, str, float, str]


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
        "choices": list(request.choices),
        "seed": request.seed,
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
        self._database = sqlite3.connect(self._path, isolation_level=None)
        try:
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute(_SCHEMA)
        except sqlite3.Error as error:
            self._close()
            raise self._damaged(f"the journal cannot be opened ({error})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._database.close()
        self._lock.close()

    def find(self, key: str) -> Answer | None:
        """The answer to a question that was asked before.

        Raises:
            RunError: if what is stored does not match its own hash, or the file is damaged.
        """
        try:
            row = self._database.execute(f"{_SELECT} WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._damaged(f"the journal cannot be read ({error})") from error
        return None if row is None else self._entry(row).answer

    def add(self, key: str, question: JournalKey, answer: Answer, latency_s: float) -> None:
        """Store an answer; it is on disk when this returns.

        Raises:
            RunError: if the answer cannot be written as JSON, the disk is full or the file is damaged.
        """
        try:
            text = canonical_json(to_json(answer))
            request = canonical_json(request_json(question.request))
            row = (key, question.sample, question.step, question.prompt, request, text, latency_s)
            sha256 = _row_hash(row)
        except ValueError as error:
            raise RunError(
                f"an answer cannot be kept ({error})",
                where=f"{question.sample}, prompt {question.prompt!r}",
                expected="a text without halves of surrogate pairs, and finite numbers",
                code="bad-answer",
            ) from error
        try:
            self._database.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, sha256))
        except sqlite3.Error as error:
            raise RunError(
                f"the answer cannot be stored ({error})",
                where=str(self._path),
                fix="Nothing stored so far is lost. Make room and run the same command again.",
                code="journal-write",
            ) from error

    def entries(self) -> Iterator[Entry]:
        """All answers, by sample, prompt and step.

        Raises:
            RunError: if what is stored does not match its own hash, or the file is damaged.
        """
        try:
            with closing(self._database.execute(f"{_SELECT} ORDER BY sample, prompt, step")) as rows:
                for row in rows:
                    yield self._entry(row)
        except sqlite3.Error as error:
            raise self._damaged(f"the journal cannot be read ({error})") from error

    def _entry(self, row: _Row) -> Entry:
        _, sample, step, prompt, _, text, latency_s, sha256 = row
        if _row_hash(row[:-1]) != sha256:
            raise self._damaged(f"the answer on {sample!r}, prompt {prompt!r}, is damaged")
        stored = json.loads(text)
        return Entry(sample, step, prompt, Answer(**{**stored, "finish": Finish(stored["finish"])}), latency_s)

    def _damaged(self, what: str) -> RunError:
        fix = "Move the file away to ask everything again."
        return RunError(what, where=str(self._path), fix=fix, code="bad-journal")


def _row_hash(content: Sequence[str | float]) -> str:
    return sha256_text(canonical_json(list(content)))


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
