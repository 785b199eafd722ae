"""The durable record of every answer of a run: SQLite in WAL mode, one file, one writer.

An answer is committed in the turn of the event loop in which it is read, so that killing the process loses none that
came before; the caller waits until it is flushed to the disk. Answers that arrive at the same time share a commit and
a flush. A row's key is a hash of everything that determines the answer, so that an answer is found exactly when the
same question is asked in the same way; a second hash, of the row, detects damage.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple, Self, cast

from pydantic import TypeAdapter

from hellofresh.core.errors import RunError
from hellofresh.core.files import canonical_json
from hellofresh.core.net.database import open_database
from hellofresh.core.net.lock import locked
from hellofresh.models import Answer, CallError, Message, ModelSpec, Request, Tool, ToolCall
from hellofresh.runs.ledger import Ledger
from hellofresh.runs.regimes import MAIN, Regime

_FILE = "journal.sqlite"
_VERSION = 1
_WORD_AND_NUMBER = re.compile(r"(\D*)(\d*)", re.ASCII)
_REQUESTS, _ANSWERS = TypeAdapter(Request), TypeAdapter(Answer)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, sample TEXT NOT NULL, step TEXT NOT NULL, prompt TEXT NOT NULL,
    repetition INTEGER NOT NULL, request TEXT NOT NULL, answer TEXT NOT NULL, latency_s REAL NOT NULL,
    sha256 TEXT NOT NULL, role TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS traces (
    sample TEXT NOT NULL, repetition INTEGER NOT NULL, trace TEXT NOT NULL, PRIMARY KEY (sample, repetition)
) STRICT, WITHOUT ROWID;
"""
_DAMAGE = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB)
_ALL_AGAIN = "Move the file away to request everything again."
_ROW_AGAIN = "Add --drop-damaged to request such rows again, or move the file away to request everything again."


@dataclass(frozen=True, slots=True)
class JournalKey:
    """Identity of a question: sample, step of the regime, prompt, request, repetition (from 1), and role.

    `text` is the request as text, made once.
    """

    sample: str
    step: str
    prompt: str
    request: Request
    repetition: int = 1
    role: str = MAIN
    text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", request_text(self.request))


class Scope:
    """The common part of all keys of a run: the models and the regime with all parameters."""

    def __init__(self, model: ModelSpec, regime: Regime) -> None:
        parts = [[model.name, dict(model.parameters)], [regime.name, regime.version, dict(regime.parameters)]]
        self._common = hashlib.sha256(canonical_json(parts).encode())

    def key(self, question: JournalKey) -> str:
        """Hash of a question in this scope."""
        digest = self._common.copy()
        named = (question.sample, question.step, question.prompt, str(question.repetition))
        digest.update(_joined((*named, question.text, question.role)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def request_text(request: Request) -> str:
    """A request as JSON, without the sample that baselines read, which the key names."""
    # Mostly empty fields are left out when empty, as a journal holds thousands of requests.
    said: dict[str, object] = {
        name: getattr(request, name) for name in ("max_tokens", "temperature", "choices", "seed")
    }
    said["messages"] = [_message_json(message) for message in request.messages]
    if request.tools:
        said["tools"] = [_without_empty(tool, "schema") for tool in request.tools]
    return canonical_json(said | _filled(request, "searches", "excluded", "options"))


def _message_json(message: Message) -> dict[str, object]:
    said: dict[str, object] = {"role": message.role, "parts": message.parts}
    if message.images:
        # Only the identity of an image, not its pixels.
        kept = ("type", "sha256", "width", "height")
        said["images"] = [{name: getattr(image, name) for name in kept} for image in message.images]
    return said | _calls_json(message)


def _calls_json(source: Message | Answer) -> dict[str, object]:
    """The tool calls of a message or an answer, if any, without empty arguments."""
    said: dict[str, object] = {}
    if source.call is not None:
        said["call"] = _without_empty(source.call, "arguments")
    if source.more_calls:
        said["more_calls"] = [_without_empty(call, "arguments") for call in source.more_calls]
    return said


def _without_empty(one: Tool | ToolCall, rare: str) -> dict[str, object]:
    return {name: value for name, value in asdict(one).items() if value or name != rare}


def _filled(one: Request | Answer, *names: str) -> dict[str, object]:
    """Those of the fields that are not empty."""
    return {name: value for name in names if (value := getattr(one, name))}


def recount(ledger: Ledger, entry: JournalEntry) -> None:
    """Count a journalled answer; unreported usage is estimated from its request."""
    unreported = entry.answer.tokens_in is None or entry.answer.tokens_out is None
    ledger.add(entry.answer, ledger.estimate(read_request(entry.request)) if unreported else None)


def read_request(text: str) -> Request:
    """The request that `request_text` wrote; its images are without their content."""
    return _REQUESTS.validate_json(text)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One journalled answer.

    `request` is JSON as from `request_text`, `key` as of `Scope.key`; `number` grows in the order of asking.
    """

    sample: str
    step: str
    prompt: str
    repetition: int
    answer: Answer
    latency_s: float
    request: str
    role: str = MAIN
    key: str = ""
    number: int = 0


class _Row(NamedTuple):
    """A row of the table, without its number."""

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

    @property
    def is_whole(self) -> bool:
        try:
            return _row_hash(self) == self.sha256
        except ValueError:
            return False


def _name_of(one: JournalKey | _Row) -> str:
    return f"sample {one.sample!r}, step {one.step!r}, prompt {one.prompt!r}, repetition {one.repetition}"


_COLUMNS = ", ".join(_Row._fields)
_INSERT = f"INSERT INTO answers ({_COLUMNS}) VALUES ({', '.join('?' * len(_Row._fields))})"  # noqa: S608 - a constant


class Journal:
    """The answers of one run. Use it as a context manager; it locks out other processes.

    Attributes:
        gather_s: seconds for which answers are gathered before a common flush, since each flush costs a switch of
            threads.

    Raises:
        WorkspaceError: if the folder cannot be written, or another process has the run.
        RunError: if the file is damaged or was written by another version.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        self.gather_s = 0.0
        self._waiting: list[asyncio.Future[None]] = []
        self._is_open = False
        self._flushing: asyncio.Task[None] | None = None
        with ExitStack() as opened:
            # A process that only checks whether the run is active holds the lock briefly.
            opened.enter_context(locked(folder / "lock", what="working on this run", wait_s=0.5, code="run-locked"))
            try:
                self._database = open_database(self._path, _SCHEMA, version=_VERSION, any_thread=True)
                opened.callback(self._close_database)
                # A commit survives the process without a flush; `_flush` flushes many commits together. The log
                # grows to 40 MB before it is merged, since all requests wait for that.
                self._database.executescript("PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=10000")
                self._numbers = dict(self._database.execute("SELECT key, number FROM answers"))
                self._log = os.open(f"{self._path}-wal", os.O_RDONLY)
                opened.callback(os.close, self._log)
                # Its own thread, since agents may block all others until their answers are on the disk.
                self._thread = opened.enter_context(ThreadPoolExecutor(1, thread_name_prefix="journal"))
            except sqlite3.Error as error:
                raise self._fault("the journal cannot be opened", error) from error
            except OSError as error:
                raise self._unwritable(error.strerror or str(error)) from error
            self._opened = opened.pop_all()

    def _close_database(self) -> None:
        self._commit()
        with suppress(sqlite3.Error):  # with a full disk the log cannot be merged; the next opening does that
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def keys(self) -> Set[str]:
        return self._numbers.keys()

    def find(self, key: str) -> Answer | None:
        """The stored answer to a question, None if there is none.

        Raises:
            RunError: if a row does not match its hash, or the file is damaged.
        """
        number = self._numbers.get(key)
        return None if number is None else self._read(number).answer

    def add(self, key: str, question: JournalKey, answer: Answer, latency_s: float) -> None:
        """Store an answer durably.

        Raises:
            CallError: if the answer cannot be written as JSON.
            RunError: if the question has an answer already, the disk is full or the file is damaged.
        """
        if key in self._numbers:
            raise RunError("the question has an answer already", where=_name_of(question), code="asked-twice")
        named = (key, question.sample, question.step, question.prompt, question.repetition, question.text)
        try:
            parts = (*named, _answer_text(answer), latency_s)
            digest = _parts_hash((*parts, "", question.role))
        except ValueError as error:
            raise CallError(
                f"an answer cannot be kept ({error})",
                where=_name_of(question),
                expected="a text without halves of surrogate pairs, and finite numbers",
                code="bad-answer",
            ) from error
        try:
            added = self._database.execute(_INSERT, (*parts, digest, question.role))
        except sqlite3.Error as error:
            raise self._unwritable(str(error)) from error
        self._numbers[key] = cast("int", added.lastrowid)

    def store(self, key: str, question: JournalKey, answer: Answer, latency_s: float) -> asyncio.Future[None]:
        """Store an answer like `add`; it is on the disk when the future is done."""
        self._begin()
        self.add(key, question, answer, latency_s)
        return self._flushed()

    async def store_trace(self, sample: str, repetition: int, trace: Sequence[Mapping[str, object]]) -> None:
        """Store the events of a sample and repetition, replacing earlier ones.

        Raises:
            RunError: if the disk is full or the file is damaged.
        """
        row = (sample, repetition, canonical_json(list(trace)))
        self._begin()
        try:
            self._database.execute("INSERT OR REPLACE INTO traces VALUES (?, ?, ?)", row)
        except sqlite3.Error as error:
            raise self._unwritable(str(error)) from error
        await self._flushed()

    def _begin(self) -> None:
        """Begin a transaction for all that this turn of the event loop stores."""
        if self._is_open:
            return
        try:
            self._database.execute("BEGIN")
        except sqlite3.Error as error:
            raise self._unwritable(str(error)) from error
        self._is_open = True
        asyncio.get_running_loop().call_soon(self._commit)

    def _commit(self) -> None:
        """Commit what is open; if that fails, so do the writes that wait for a flush."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            waiting, self._waiting = self._waiting, []
            _settle(waiting, self._unwritable(str(error)))

    def _flushed(self) -> asyncio.Future[None]:
        """A future that is done when all writes so far are on the disk."""
        loop = asyncio.get_running_loop()
        self._waiting.append(loop.create_future())
        if self._flushing is None or self._flushing.done():
            self._flushing = loop.create_task(self._flush())
        return self._waiting[-1]

    async def _flush(self) -> None:
        """Flush to the disk while there are waiting futures; those that arrive meanwhile share the next flush."""
        while self._waiting:
            await asyncio.sleep(self.gather_s)
            self._commit()
            waiting, self._waiting, fault = self._waiting, [], None
            try:
                await asyncio.get_running_loop().run_in_executor(self._thread, os.fsync, self._log)
            except OSError as error:
                fault = self._unwritable(error.strerror or str(error))
            _settle(waiting, fault)

    async def flush(self) -> None:
        """Wait until everything stored is on the disk, or flushing has failed."""
        if self._flushing is not None and not self._flushing.done():  # the event loop of a finished task may be closed
            await asyncio.wait([self._flushing])

    def traces(self) -> Iterator[tuple[str, int, list[object]]]:
        """Sample, repetition and trace, in order."""
        query = "SELECT sample, repetition, trace FROM traces ORDER BY sample, repetition"
        try:
            for sample, repetition, trace in self._database.execute(query):
                yield sample, repetition, json.loads(trace)
        except (sqlite3.Error, ValueError) as error:
            raise self._fault("the journal cannot be read", error) from error

    def facts(self) -> dict[str, object]:
        """The number of answers and a hash of them by key, whatever their order and the time they took.

        Raises:
            RunError: if a row does not match its hash, or the file is damaged.
        """
        digest = hashlib.sha256()
        try:
            rows = self._database.execute(f"SELECT number, {_COLUMNS} FROM answers ORDER BY key")  # noqa: S608 - constants
            for number, *content in rows:
                row = _Row(*content)
                if not row.is_whole:
                    raise self._damaged(f"row {number} ({_name_of(row)}) is damaged", _ROW_AGAIN)
                digest.update(_joined([row.key, row.answer]).encode())
        except sqlite3.Error as error:
            raise self._fault("the journal cannot be read", error) from error
        return {"answers": len(self), "sha256": digest.hexdigest()}

    def hold(self, record: Path, facts: Mapping[str, object] | None) -> None:
        """Refuse to go on without answers of the finished run, which would be requested and paid for again.

        Args:
            record: where the run's record is, or would be.
            facts: of the journal, as the record says; None if it cannot be read.

        Raises:
            RunError: if an answer is missing or is another one.
        """
        known = 1 if facts is None else int(str(facts["answers"]))
        if not record.is_file() or len(self) > known or (facts is None and len(self)) or self.facts() == facts:
            return
        what = f"{len(self):,} of the {known:,} answers" if len(self) < known else "other answers than those"
        raise self._damaged(
            f"has {what} from which {record.name} was made",
            f"Restore it from a backup. To request everything again, move it and {record.name} away.",
        )

    def entries(self) -> Iterator[JournalEntry]:
        """All answers, sorted by sample, prompt, step (`turn-2` before `turn-10`) and repetition.

        Raises:
            RunError: if a row does not match its hash, or the file is damaged.
        """
        query = "SELECT sample, prompt, step, repetition, key, number FROM answers"
        try:
            order = sorted(self._database.execute(query), key=lambda row: (*row[:2], _by_number(row[2]), *row[2:]))
        except sqlite3.Error as error:
            raise self._fault("the journal cannot be read", error) from error
        for *_, number in order:
            yield self._read(number)

    def _read(self, number: int) -> JournalEntry:
        query = f"SELECT {_COLUMNS} FROM answers WHERE number = ?"  # noqa: S608 - constants
        try:
            found = self._database.execute(query, (number,)).fetchone()
        except sqlite3.Error as error:
            raise self._fault(f"row {number} cannot be read", error) from error
        if found is None:
            raise self._damaged(f"row {number} is gone", _ALL_AGAIN)
        row = _Row(*found)
        if not row.is_whole:
            raise self._damaged(f"row {number} ({_name_of(row)}) is damaged", _ROW_AGAIN)
        answer = _ANSWERS.validate_json(row.answer)
        return JournalEntry(
            *(row.sample, row.step, row.prompt, row.repetition, answer, row.latency_s, row.request, row.role, row.key),
            number,
        )

    def forget(self, keys: Sequence[str]) -> None:
        """Delete the answers with these keys, for which nothing was paid."""
        try:
            self._database.executemany("DELETE FROM answers WHERE key = ?", [(key,) for key in keys])
        except sqlite3.Error as error:
            raise self._unwritable(str(error)) from error
        for key in keys:
            self._numbers.pop(key, None)

    def drop_damaged(self) -> None:
        """Delete rows that do not match their hash, so that their questions are asked again.

        Raises:
            RunError: if the file itself is damaged.
        """
        query = f"SELECT number, {_COLUMNS} FROM answers"  # noqa: S608 - constants
        try:
            rows = self._database.execute(query).fetchall()
            damaged = [(number,) for number, *content in rows if not _Row(*content).is_whole]
            self._database.executemany("DELETE FROM answers WHERE number = ?", damaged)
            self._numbers = dict(self._database.execute("SELECT key, number FROM answers"))
        except sqlite3.Error as error:
            raise self._fault("the journal cannot be read", error) from error

    def _fault(self, what: str, error: sqlite3.Error | ValueError) -> RunError:
        """An error about a damaged file or, otherwise, about the disk, in which case no answer is lost."""
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
    """A readable copy of a run's journal as it is now, without touching or locking the run.

    Raises:
        RunError: if the file is damaged or was written by another version.
    """
    source = folder / _FILE
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        in_use = (folder / f"{_FILE}-shm").is_file()  # otherwise nothing changes the files
        for item in () if in_use else (_FILE, f"{_FILE}-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(folder / item, copy / item)
        if in_use:
            # Read-only, so that closing it does not merge the log.
            with (
                closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)) as reader,
                closing(sqlite3.connect(copy / _FILE)) as target,
            ):
                try:
                    reader.backup(target)
                except sqlite3.Error as error:
                    fix = "If the disk is not full, check whether the run can be resumed: hellofresh runs resume."
                    raise RunError(
                        f"the journal cannot be read ({error})", where=str(source), fix=fix, code="bad-journal"
                    ) from error
        with Journal(copy) as journal:
            yield journal


def _settle(waiting: Iterable[asyncio.Future[None]], fault: RunError | None) -> None:
    for future in waiting:
        if future.done():  # the waiting task was cancelled
            continue
        if fault is None:
            future.set_result(None)
        else:
            future.set_exception(fault)


def _answer_text(answer: Answer) -> str:
    said: dict[str, object] = {
        name: getattr(answer, name) for name in ("text", "finish", "tokens_in", "tokens_out", "served_by")
    }
    said["logprobs"] = None if answer.logprobs is None else dict(answer.logprobs)
    rare = _filled(answer, "sources", "cached_in", "cache_writes", "thought", "thought_tokens")
    return canonical_json(said | _calls_json(answer) | rare)


def _row_hash(row: _Row) -> str:
    """Hash of all other columns of a row."""
    return _parts_hash(row._replace(sha256=""))


def _parts_hash(parts: Iterable[object]) -> str:
    return hashlib.sha256(_joined([str(item) for item in parts]).encode()).hexdigest()


def _by_number(step: str) -> list[tuple[str, int]]:
    """Orders the steps of one kind by their numbers."""
    return [(word, int(digits or 0)) for word, digits in _WORD_AND_NUMBER.findall(step)]


def _joined(parts: Sequence[str]) -> str:
    """The parts with their lengths, for an unambiguous concatenation."""
    return "".join([f"{len(part)}:{part}" for part in parts])
