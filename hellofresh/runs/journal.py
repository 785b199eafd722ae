"""The durable record of every answer of a run: SQLite in WAL mode, one file, one writer.

An answer that the process has read is appended to a file at once, by one system call, so that killing the process
loses none; it is committed to the database, and flushed to the disk, before anybody uses it. Answers that come at the
same time are committed together, so that waiting for the disk is shared. A row's key is a hash of all that decides the
answer, so that an answer is found again exactly when the same question would be asked in the same way; a second hash,
of the row, tells damage.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Self

from hellofresh.core.errors import RunError
from hellofresh.core.files import canonical_json
from hellofresh.core.net.database import open_database
from hellofresh.core.net.lock import locked
from hellofresh.models import Answer, CallError, Finish, Message, ModelSpec, Request, Tool, ToolCall
from hellofresh.runs.ledger import Ledgers
from hellofresh.runs.regimes import MAIN, Regime
from hellofresh.tasks.images import Image

_FILE = "journal.sqlite"
_TAILS = ("journal.tail-0", "journal.tail-1")
_VERSION = 3
_MIGRATIONS = {2: f"ALTER TABLE answers ADD COLUMN role TEXT NOT NULL DEFAULT '{MAIN}'"}
"""What brings a file of that form to the next: before roles, all answers were those of `main`."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, sample TEXT NOT NULL, step TEXT NOT NULL, prompt TEXT NOT NULL,
    repetition INTEGER NOT NULL, request TEXT NOT NULL, answer TEXT NOT NULL, latency_s REAL NOT NULL,
    sha256 TEXT NOT NULL, role TEXT NOT NULL DEFAULT 'main'
) STRICT;
CREATE TABLE IF NOT EXISTS traces (
    sample TEXT NOT NULL, repetition INTEGER NOT NULL, trace TEXT NOT NULL, PRIMARY KEY (sample, repetition)
) STRICT, WITHOUT ROWID;
"""
_COLUMNS = "key, sample, step, prompt, repetition, request, answer, latency_s, sha256, role"
_SELECT = f"SELECT number, {_COLUMNS} FROM answers"  # noqa: S608 - a constant
_INSERT = f"INSERT INTO answers (number, {_COLUMNS}) VALUES "  # noqa: S608 - a constant
_VALUES = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ROWS_A_STATEMENT = 100
_INSERT_TRACE = "INSERT OR REPLACE INTO traces VALUES (?, ?, ?)"


@dataclass(frozen=True, slots=True)
class JournalKey:
    """Which question: sample, step of the regime, prompt, request, which repetition (from 1), and role."""

    sample: str
    step: str
    prompt: str
    request: Request
    repetition: int = 1
    role: str = MAIN

    def sha256(self, model: ModelSpec, regime: Regime) -> str:
        """Hash of the question, the model with its parameters, and the regime with its version and parameters."""
        return Scope(model, regime).key(self)


class Scope:
    """Who is asked and how: what all keys of a run have in common, hashed once."""

    def __init__(self, model: ModelSpec, regime: Regime) -> None:
        parts = [[model.name, dict(model.parameters)], [regime.name, regime.version, dict(regime.parameters)]]
        self._common = hashlib.sha256(canonical_json(parts).encode())

    def key(self, question: JournalKey, request: str | None = None) -> str:
        """Hash of the question as asked in this scope; its request as text, where that is at hand."""
        text = request_text(question.request) if request is None else request
        digest = self._common.copy()
        parts = [question.sample, question.step, question.prompt, str(question.repetition), text]
        if question.role != MAIN:  # so that answers from before roles are found
            parts.append(question.role)
        digest.update(_joined(parts).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def request_text(request: Request) -> str:
    """A request as JSON; the sample that baselines look at is named by the key, not repeated here."""
    # What is empty in most requests is left out then, so that answers from before there was such a thing are found.
    rare = {
        "tools": [_tool_json(tool) for tool in request.tools],
        "searches": request.searches,
        "excluded": request.excluded,
        "options": request.options,
    }
    return canonical_json(
        {
            "messages": [_message_json(message) for message in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "choices": request.choices,
            "seed": request.seed,
            **{name: value for name, value in rare.items() if value},
        }
    )


def _message_json(message: Message) -> dict[str, object]:
    call = {} if message.call is None else {"call": _call_json(message.call)}
    more = {"more_calls": [_call_json(item) for item in message.more_calls]} if message.more_calls else {}
    images = {"images": [_image_json(image) for image in message.images]} if message.images else {}
    return {"role": message.role, "parts": list(message.parts), **call, **images, **more}


def _tool_json(tool: Tool) -> dict[str, str]:
    return {name: value for name, value in asdict(tool).items() if value or name != "schema"}


def _call_json(call: ToolCall) -> dict[str, str]:
    return {name: value for name, value in asdict(call).items() if value or name != "arguments"}


def _image_json(image: Image) -> dict[str, object]:
    """What tells one image from another; its pixels stay where they are."""
    return {"type": image.type, "sha256": image.sha256, "width": image.width, "height": image.height}


def recount(ledgers: Ledgers, entry: JournalEntry) -> None:
    """Count a journalled answer; what one took whose provider did not say is estimated from its request."""
    ledger = ledgers.of(entry.role)
    untold = entry.answer.tokens_in is None or entry.answer.tokens_out is None
    ledger.add(entry.answer, ledger.estimate(read_request(entry.request)) if untold else None)


def read_request(text: str) -> Request:
    """The request that `request_text` wrote; its images are without their content."""
    stored = json.loads(text)
    return Request(
        messages=tuple(
            Message(
                message["role"],
                tuple(message["parts"]),
                _read_call(message.get("call")),
                tuple(Image(**image) for image in message.get("images", ())),
                more_calls=tuple(ToolCall(**item) for item in message.get("more_calls", ())),
            )
            for message in stored["messages"]
        ),
        max_tokens=stored["max_tokens"],
        temperature=stored["temperature"],
        choices=tuple(stored["choices"]),
        seed=stored["seed"],
        tools=tuple(Tool(**tool) for tool in stored.get("tools", ())),
        searches=stored.get("searches", False),
        excluded=tuple(stored.get("excluded", ())),
        options=stored.get("options", ""),
    )


def _read_call(stored: Mapping[str, str] | None) -> ToolCall | None:
    return None if stored is None else ToolCall(**stored)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One journalled answer; `request` is JSON as from `request_text`, `key` as of `JournalKey.sha256`."""

    sample: str
    step: str
    prompt: str
    repetition: int
    answer: Answer
    latency_s: float
    request: str
    role: str = MAIN
    key: str = ""


class _Row(NamedTuple):
    key: str
    sample: str
    step: str
    prompt: str
    repetition: int
    request: str
    answer: str
    latency_s: float
    sha256: str
    role: str


class _Pending(NamedTuple):
    """What waits to be committed, and who waits for that."""

    row: _Row | None
    trace: tuple[str, int, str] | None
    committed: asyncio.Future[None]


class _Tail:
    """Answers that wait to be committed, a line each in a file of their own."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        self._filled = True  # an earlier process may have been killed

    def append(self, row: _Row) -> None:
        """Write a row; it outlives the process when this returns.

        Raises:
            OSError: if the file cannot take it.
        """
        self._filled = True
        line = json.dumps(row).encode() + b"\n"
        while line:
            line = line[os.write(self._file, line) :]

    def rows(self) -> Iterator[_Row]:
        """The rows that are whole: of the last one, a process that was killed may have written a part."""
        for line in os.pread(self._file, os.fstat(self._file).st_size, 0).splitlines():
            try:
                row = _Row(*json.loads(line))
            except (ValueError, TypeError):
                continue
            if _is_whole(row):
                yield row

    def clear(self) -> None:
        """Drop the rows, which are committed; those that cannot be dropped are known by their keys next time."""
        if self._filled:
            with suppress(OSError):
                os.ftruncate(self._file, 0)
                self._filled = False

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Journal:
    """The answers of one run. Use it as a context manager; a second process is kept out meanwhile.

    Attributes:
        gather_s: how long answers are gathered before they are committed together; each commit costs the other
            answers of the moment a switch of threads.

    Raises:
        WorkspaceError: if the folder cannot be written, or another process has the run.
        RunError: if the file is damaged or was written by another version.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        self._writing = threading.Lock()
        self._committer: ThreadPoolExecutor | None = None
        self._pending: list[_Pending] = []
        self._busy = False
        self.gather_s = 0.0
        with ExitStack() as opened:
            # Whoever only looks whether the run is going on holds the lock for an instant.
            opened.enter_context(locked(folder / "lock", what="working on this run", wait_s=0.5, code="run-locked"))
            try:
                self._open(folder, opened)
            except sqlite3.Error as error:
                raise self._fault("the journal cannot be opened", error) from error
            except OSError as error:
                raise self._unwritable(error.strerror or str(error)) from error
            self._opened = opened.pop_all()

    def _open(self, folder: Path, opened: ExitStack) -> None:
        self._writer = open_database(self._path, _SCHEMA, version=_VERSION, migrations=_MIGRATIONS, any_thread=True)
        opened.callback(self._close_writer)
        self._reader = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        opened.callback(self._reader.close)
        # The rows of the batch that is being committed are in one, what comes meanwhile goes into the other.
        self._tails: list[_Tail] = []
        for name in _TAILS:
            self._tails.append(_Tail(folder / name))
            opened.callback(self._tails[-1].close)
        self._numbers = dict(self._reader.execute("SELECT key, number FROM answers"))
        self._last = max(self._numbers.values(), default=0)
        self._recover()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._committer is not None:
            self._committer.shutdown()
        self._opened.close()

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def keys(self) -> Set[str]:
        """Keys of all answers."""
        return self._numbers.keys()

    def _recover(self) -> None:
        """Commit what a process that was killed had read, but not committed."""
        left = {row.key: row for tail in self._tails for row in tail.rows() if row.key not in self._numbers}
        if left:
            self._numbers.update(self._commit(list(left.values()), []))
        for tail in self._tails:
            tail.clear()

    def _close_writer(self) -> None:
        with suppress(sqlite3.Error):  # a full disk cannot take in the log; the next opening does
            self._writer.close()

    def find(self, key: str) -> Answer | None:
        """The answer to a question that was asked before.

        Raises:
            RunError: if what is stored does not match its own hash, or the file is damaged.
        """
        number = self._numbers.get(key)
        return None if number is None else self._read(number).answer

    def add(self, key: str, question: JournalKey, answer: Answer, latency_s: float) -> None:
        """Store an answer; it is on disk when this returns.

        Raises:
            CallError: if the answer cannot be written as JSON.
            RunError: if the question has an answer, the disk is full or the file is damaged.
        """
        self._numbers.update(self._commit([self._row(key, question, answer, latency_s)], []))

    def store(
        self, key: str, question: JournalKey, answer: Answer, latency_s: float, request: str | None = None
    ) -> asyncio.Future[None]:
        """Store an answer. When this returns, a kill does not lose it; when the future is done, it is on disk.

        Args:
            key, question, answer, latency_s: as for `add`.
            request: the question's request as text, where that is at hand.

        Raises:
            CallError, RunError: as `add`.
        """
        return self._enqueue(self._row(key, question, answer, latency_s, request), None)

    async def store_trace(self, sample: str, repetition: int, trace: Sequence[Mapping[str, object]]) -> None:
        """Store what happened on the way besides answers, in place of what was stored before.

        Raises:
            RunError: if the disk is full or the file is damaged.
        """
        await self._enqueue(None, (sample, repetition, canonical_json(list(trace))))

    def traces(self) -> Iterator[tuple[str, int, list[object]]]:
        """Sample, repetition and trace, in order."""
        query = "SELECT sample, repetition, trace FROM traces ORDER BY sample, repetition"
        try:
            for sample, repetition, trace in self._reader.execute(query):
                yield sample, repetition, json.loads(trace)
        except (sqlite3.Error, ValueError) as error:
            raise self._fault("the journal cannot be read", error) from error

    async def flush(self) -> None:
        """Wait until all that was handed over is on disk, or could not be written."""
        while self._busy or self._pending:
            waiting = [item.committed for item in self._pending]
            if waiting:
                await asyncio.wait(waiting)
            else:
                await asyncio.sleep(0.001)

    def _enqueue(self, row: _Row | None, trace: tuple[str, int, str] | None) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        committed: asyncio.Future[None] = loop.create_future()
        if row is not None:
            try:
                self._tails[0].append(row)
            except OSError as error:
                raise self._unwritable(error.strerror or str(error)) from error
        self._pending.append(_Pending(row, trace, committed))
        if not self._busy:
            self._busy = True
            loop.call_later(self.gather_s, self._hand_over, loop)
        return committed

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give all that waits to the thread that commits; what comes meanwhile goes with the next batch."""
        batch, self._pending = self._pending, []
        if not batch:
            self._busy = False
            return
        if self._committer is None:
            self._committer = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._tails.reverse()
        rows = [item.row for item in batch if item.row is not None]
        traces = [item.trace for item in batch if item.trace is not None]
        done = loop.run_in_executor(self._committer, self._commit, rows, traces)
        done.add_done_callback(lambda future: self._settle(loop, batch, future))

    def _settle(
        self, loop: asyncio.AbstractEventLoop, batch: Sequence[_Pending], done: asyncio.Future[dict[str, int]]
    ) -> None:
        error = done.exception()
        if error is None:
            self._numbers.update(done.result())
            self._tails[1].clear()
        for item in batch:
            if item.committed.done():  # whoever waited has been cancelled
                continue
            if error is None:
                item.committed.set_result(None)
            else:
                item.committed.set_exception(error)
        loop.call_later(self.gather_s if self._pending else 0, self._hand_over, loop)

    def _commit(self, rows: Sequence[_Row], traces: Iterable[tuple[str, int, str]]) -> dict[str, int]:
        """Write in one transaction; returns the rows' numbers by key."""
        try:
            with self._writing:
                first = self._last + 1
                database = self._writer
                database.execute("BEGIN IMMEDIATE")
                try:
                    for start in range(0, len(rows), _ROWS_A_STATEMENT):
                        part = rows[start : start + _ROWS_A_STATEMENT]
                        # One statement for many rows: each is a wait for the interpreter's lock.
                        values = [value for n, row in enumerate(part, first + start) for value in (n, *row)]
                        database.execute(_INSERT + ", ".join([_VALUES] * len(part)), values)
                    database.executemany(_INSERT_TRACE, traces)
                    database.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        database.execute("ROLLBACK")
                    raise
                self._last += len(rows)
        except sqlite3.Error as error:
            raise self._unwritable(str(error)) from error
        return {row.key: number for number, row in enumerate(rows, first)}

    def _row(
        self, key: str, question: JournalKey, answer: Answer, latency_s: float, request: str | None = None
    ) -> _Row:
        name = _name(question.sample, question.step, question.prompt, question.repetition)
        if key in self._numbers:
            raise RunError("the question has an answer already", where=name, code="asked-twice")
        try:
            content = (
                key, question.sample, question.step, question.prompt, question.repetition,
                request_text(question.request) if request is None else request, _answer_text(answer), latency_s,
            )  # fmt: skip
            return _Row(*content, _row_hash(content, question.role), question.role)
        except ValueError as error:
            raise CallError(
                f"an answer cannot be kept ({error})",
                where=name,
                expected="a text without halves of surrogate pairs, and finite numbers",
                code="bad-answer",
            ) from error

    def entries(self) -> Iterator[JournalEntry]:
        """All answers, by sample, prompt, step and repetition, whatever the order they came in.

        Raises:
            RunError: if what is stored does not match its own hash, or the file is damaged.
        """
        query = "SELECT sample, prompt, step, repetition, key, number FROM answers"
        try:
            order = sorted(self._reader.execute(query))
        except sqlite3.Error as error:
            raise self._fault("the journal cannot be read", error) from error
        for *_, number in order:
            yield self._read(number)

    def _read(self, number: int) -> JournalEntry:
        try:
            found = self._reader.execute(f"{_SELECT} WHERE number = ?", (number,)).fetchone()
        except sqlite3.Error as error:
            raise self._fault(f"row {number} cannot be read", error) from error
        if found is None:
            raise self._damaged(f"row {number} is gone", _ALL_AGAIN)
        row = _Row(*found[1:])
        if not _is_whole(row):
            name = _name(row.sample, row.step, row.prompt, row.repetition)
            raise self._damaged(f"row {number} ({name}) is damaged", _ROW_AGAIN)
        stored = json.loads(row.answer)
        answer = Answer(
            **{
                **stored,
                "finish": Finish(stored["finish"]),
                "call": _read_call(stored.get("call")),
                "sources": tuple(stored.get("sources", ())),
                "more_calls": tuple(ToolCall(**item) for item in stored.get("more_calls", ())),
            }
        )
        return JournalEntry(
            row.sample, row.step, row.prompt, row.repetition, answer, row.latency_s, row.request, row.role, row.key
        )

    def drop_damaged(self) -> int:
        """Delete the answers that do not match their hash, so that they are asked for again; returns how many.

        Raises:
            RunError: if the file is damaged beyond rows.
        """
        try:
            rows = self._reader.execute(_SELECT)
            damaged = [number for number, *content in rows if not _is_whole(_Row(*content))]
            with self._writing:
                self._writer.executemany("DELETE FROM answers WHERE number = ?", [(number,) for number in damaged])
            self._numbers = dict(self._reader.execute("SELECT key, number FROM answers"))
        except sqlite3.Error as error:
            raise self._fault("the journal cannot be read", error) from error
        return len(damaged)

    def _fault(self, what: str, error: sqlite3.Error | ValueError) -> RunError:
        """An error of the file where its content is damaged, and of the disk otherwise: no answer is lost then."""
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, sqlite3.OperationalError) and code is not None and code & 0xFF not in _DAMAGE:
            return self._unwritable(str(error))
        return self._damaged(f"{what} ({error})", _ALL_AGAIN)

    def _unwritable(self, why: str) -> RunError:
        return RunError(
            f"answers cannot be stored ({why})",
            where=str(self._path),
            fix="Nothing stored so far is lost. Make room and run the same command again.",
            code="journal-write",
        )

    def _damaged(self, what: str, fix: str) -> RunError:
        return RunError(what, where=str(self._path), fix=fix, code="bad-journal")


@contextmanager
def snapshot(folder: Path) -> Iterator[Journal]:
    """A copy of a run's journal as it is now, to read from: nothing of the run is touched, nobody is kept out.

    Raises:
        RunError: if the file is damaged or was written by another version.
    """
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        _copy(folder, copy)
        with Journal(copy) as journal:
            yield journal


def _copy(folder: Path, copy: Path) -> None:
    """Copy the journal as of one moment, also while a process writes to it."""
    source = folder / _FILE
    for name in _TAILS:  # first: what is committed meanwhile is then in both, not in neither
        with suppress(FileNotFoundError):
            shutil.copyfile(folder / name, copy / name)
    if not (folder / f"{_FILE}-shm").is_file():  # nobody has it open: its files stay as they are
        for name in (_FILE, f"{_FILE}-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(folder / name, copy / name)
        return
    # Read-only, so that closing it takes no log in.
    reader = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
    target = sqlite3.connect(copy / _FILE)
    try:
        reader.backup(target)
    except sqlite3.Error as error:
        fix = "If the disk is not full, check whether the run can be resumed: hellofresh runs resume."
        raise RunError(
            f"the journal cannot be read ({error})", where=str(source), fix=fix, code="bad-journal"
        ) from error
    finally:
        reader.close()
        target.close()


_DAMAGE = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB)
_ALL_AGAIN = "Move the file away to request everything again."
_ROW_AGAIN = "Add --drop-damaged to request such rows again, or move the file away to request everything again."


def _name(sample: str, step: str, prompt: str, repetition: int) -> str:
    return f"sample {sample!r}, step {step!r}, prompt {prompt!r}, repetition {repetition}"


def _answer_text(answer: Answer) -> str:
    text = canonical_json(
        {
            "text": answer.text,
            "finish": answer.finish,
            "tokens_in": answer.tokens_in,
            "tokens_out": answer.tokens_out,
            "logprobs": None if answer.logprobs is None else dict(answer.logprobs),
            "served_by": answer.served_by,
            **({} if answer.call is None else {"call": _call_json(answer.call)}),
            **({"more_calls": [_call_json(item) for item in answer.more_calls]} if answer.more_calls else {}),
            **({"sources": list(answer.sources)} if answer.sources else {}),
            **({"cached_in": answer.cached_in} if answer.cached_in else {}),
            **({"cache_writes": answer.cache_writes} if answer.cache_writes else {}),
        }
    )
    text.encode()
    return text


def _row_hash(content: Sequence[str | float], role: str) -> str:
    """Of a row's content; the role `main` is left out, so that rows from before roles keep their hash."""
    parts = [str(item) for item in content] + ([] if role == MAIN else [role])
    return hashlib.sha256(_joined(parts).encode()).hexdigest()


def _joined(parts: Sequence[str]) -> str:
    """The parts with their lengths, so that they cannot run into each other."""
    return "".join([f"{len(part)}:{part}" for part in parts])


def _is_whole(row: _Row) -> bool:
    try:
        return _row_hash(row[:-2], row.role) == row.sha256
    except ValueError:
        return False
