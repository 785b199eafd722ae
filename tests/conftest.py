"""Fixtures for all tests."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import inspect
import json
import os
import shutil
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as many processes as cores: more threads would wait for one another

from collectors import sample
from hellofresh.cli import main
from hellofresh.core.calendar import Calendar, CalendarRule
from hellofresh.core.files import sha256_file, sha256_text, write_bytes
from hellofresh.core.quarters import PeriodKind, Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.pipeline.witness import Witness
from hellofresh.releases.candidates import Collection, Funnel, SourceFile
from hellofresh.releases.collection import CollectionJob, collect_quarter
from hellofresh.releases.draw.release import Built, build_release
from hellofresh.releases.life.state import reveal
from hellofresh.results.scoring.reveal import publish_results
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.samples import Candidate, Label, Sample
from hellofresh.tasks.wikipedia_edits import Edit, EditRevision
from hellofresh.tasks.x_notes import Note, NoteText, Post
from tests import loopback as misbehaving

ROOT = Path(__file__).resolve().parent.parent
THOROUGH = bool(os.environ.get("HELLOFRESH_THOROUGH"))
"""Whether properties are tried on as many examples as they ask for; else on a few, as `make test` does."""
_FEW = 20


def need(present: bool, what: str) -> None:
    """Skip a test whose real part is absent, or fail where integration tests must run."""
    if present:
        return
    if os.environ.get("HELLOFRESH_REQUIRE_INTEGRATION") == "1":
        pytest.fail(f"{what} is not there, and HELLOFRESH_REQUIRE_INTEGRATION=1 forbids to skip")
    pytest.skip(f"{what} is not there")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes that nobody can read by their argument alone.

    An archive holds the second in which it was packed: in a test's name it would make processes that import the tests
    one after the other see different tests, and end the run.
    """
    if not isinstance(val, bytes):
        return None
    readable = val.isascii() and val.decode("ascii").isprintable() and len(val) <= 60
    return val.decode("ascii") if readable else argname


def pytest_sessionstart() -> None:
    """Stop where the project was installed before its latest entry points."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    known = {(point.group, point.name) for point in distribution("fresh-decisions").entry_points}
    if missing := {(group, name) for group, its in stated.items() for name in its} - known:
        pytest.exit(f"not installed: {missing}. Run: python -m pip install --no-deps --no-build-isolation -e .", 3)


gc.disable()  # what is imported stays to the end


def pytest_collection_finish() -> None:
    """Collect garbage from here on, and never look again at what was imported."""
    gc.enable()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cut the number of examples that properties ask for, unless all are wanted; a busy machine makes none too slow."""
    for item in items:
        test = getattr(item, "function", None)
        asked = getattr(test, "_hypothesis_internal_use_settings", None)  # where @settings keeps what it was given
        if asked is not None:
            number = asked.max_examples if THOROUGH else min(asked.max_examples, _FEW)
            checks = {*asked.suppress_health_check, HealthCheck.too_slow}
            test._hypothesis_internal_use_settings = settings(asked, max_examples=number, suppress_health_check=checks)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session", autouse=True)
def clock_is_right() -> Iterator[Callable[[Witness, str], None]]:
    """Confirm the time: tests play months in seconds, with no dump or server between. Gives what asks for a witness."""
    confirm = Witness.confirm
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Witness, "confirm", lambda *_: None)
        yield confirm


@pytest.fixture(scope="session")
def needed() -> Callable[[bool, str], None]:
    """The function `need`, for tests in folders that cannot import this file."""
    return need


@pytest.fixture(scope="session")
def thorough() -> bool:
    """Whether tests do all that they can (`HELLOFRESH_THOROUGH=1`, as `.ci/run` does), or a shorter part."""
    return THOROUGH


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real Community Notes rows and revision histories, kept beside the project."""
    folder = ROOT.parent / "shared" / "data"
    need(folder.is_dir(), f"the folder of real data {folder}")
    return folder


# One run is like the other, and a busy machine makes no example too slow.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile("few", parent=settings.get_profile("repeatable"), max_examples=_FEW)
settings.load_profile("repeatable" if THOROUGH else "few")

QUARTER = Quarter(2023, 2)


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes small synthetic samples, candidates and workspaces.

    Attributes:
        folder: where workspaces are made.
    """

    folder: Path

    def workspace(self, name: str = "data") -> Workspace:
        return Workspace(self.folder / name)

    def note(self, number: int, *, date: datetime | None = None, post: int | None = None, text: str = "") -> Note:
        """A note on a post of its own unless one is named."""
        moment = date or datetime(2023, 4, 3, 12, tzinfo=UTC)
        post_id = str(number if post is None else post)
        return Note(
            id=f"xn-{number}",
            task="x-notes",
            edition=str(Quarter.containing(moment)),
            period=PeriodKind.MONTH.of(moment),
            date=moment,
            group=f"x-{post_id}",
            license="LicenseRef-X-content",
            post=Post(post_id, moment - timedelta(days=1), f"Post {post_id} says something about {text or 'rivers'}."),
            note=NoteText(str(number), moment, f"Note {number}: {text or 'a source says otherwise'}."),
        )

    def edit(self, number: int, *, date: datetime | None = None, page: int = 7, added: str = "more") -> Edit:
        """An edit of a paragraph."""
        moment = date or datetime(2023, 4, 3, 12, tzinfo=UTC)
        return Edit(
            id=f"we-{number}-0",
            task="wikipedia-edits",
            edition=str(Quarter.containing(moment)),
            period=PeriodKind.WEEK.of(moment),
            date=moment,
            group=f"w-{page}",
            license="CC-BY-SA-4.0",
            host="en.wikipedia.org",
            lineage=(f"{number}.0",),
            article=f"Page {page}",
            section="",
            paragraph="A paragraph about a river.",
            deleted="",
            added=added,
            revision=EditRevision(number),
        )

    def candidate(self, sample: Sample, label: int) -> Candidate:
        """A sample with its label; its facts are numbers or nothing, as a dump gives them."""
        facts = {name: None if name == "ratings" else 3 for name in get_task(sample.task).label_facts}
        if sample.task == "x-notes":
            facts = dict.fromkeys(facts) | {"status_locked_at": "2023-04-20T00:00:00Z"}
        return Candidate(sample, Label(sample.id, label, facts))

    def notes(self, positives: int, negatives: int, *, months: Sequence[int] = (4, 5, 6)) -> list[Candidate]:
        """So many notes of both labels in every month, two notes on each post."""
        found = []
        for month in months:
            for k in range(positives + negatives):
                number = 1000 * month + k
                note = self.note(number, date=datetime(2023, month, 1 + k % 28, tzinfo=UTC), post=number // 2)
                found.append(self.candidate(note, int(k < positives)))
        return found

    def job(
        self,
        candidates: Sequence[Candidate],
        *,
        source: str = "dump",
        quarter: Quarter = QUARTER,
        files: Sequence[Path] = (),
    ) -> CollectionJob:
        """A collector that has found these candidates and dropped nothing."""
        funnel = Funnel("rows", len(candidates), (), Funnel.count_kept(candidates))
        sources = [SourceFile(p.name, p.stat().st_size, sha256_file(p)) for p in files if p.exists()]
        collection = Collection(candidates, funnel, {"setting": 1}, sources)
        task = get_task(candidates[0].sample.task if candidates else "x-notes")
        return CollectionJob(task, quarter, source, files, {"setting": 1}, lambda _: collection)

    def release(
        self,
        candidates: Sequence[Candidate],
        *,
        workspace: Workspace | None = None,
        source: str = "dump",
        quarter: Quarter = QUARTER,
        seed: str = "seed",
        cap: int = 250,
        moment: datetime | None = None,
    ) -> Built:
        """Collect the candidates into a workspace and build the release, before the quarter opens unless told when."""
        place = workspace or self.workspace()
        if (
            source == "dump" and not place.escrow_key.exists()
        ):  # which samples are drawn depends on it, and must not on the day
            write_bytes(place.escrow_key, sha256_text(place.root.name).encode(), mode=0o600)
        collect_quarter(place, self.job(candidates, source=source, quarter=quarter), progress=_silent, force=True)
        return build_release(
            place, quarter, get_task(candidates[0].sample.task), seed=seed, cap=cap, moment=moment or quarter.start
        )

    def scored(self, candidates: Sequence[Candidate], *models: str, **how: Any) -> Path:
        """Release candidates, evaluate these models, reveal and publish the scores; gives the public folder."""
        place, task = how.get("workspace", self.workspace()), get_task(candidates[0].sample.task)
        self.release(candidates, **how)
        for model in models:
            evaluate(place, Evaluation(QUARTER, task, model), _silent)
        reveals = CalendarRule().of(QUARTER).reveals
        assert reveal(place, QUARTER, task, reveals)
        publish_results(place, score_quarter(place, QUARTER, self.folder / "none", reveals))
        return place.release(QUARTER, task.name)


def _silent(_: object) -> None:
    """Progress that nobody watches."""


@pytest.fixture(scope="session", autouse=True)
def stopped_clock() -> Iterator[None]:
    """The day on which all tests happen; 2026Q2 is revealed then, 2026Q3 open. No file is flushed to the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        patch.setenv("HELLOFRESH_NOW", "2026-11-21T12:00:00Z")
        yield


@pytest.fixture(scope="session", autouse=True)
def drawn_alike() -> Iterator[None]:
    """Escrow keys follow from the test and their number in it, so that no draw passes or fails a test by chance."""
    made = Counter[str]()

    def token_hex(size: int) -> str:
        test = os.environ["PYTEST_CURRENT_TEST"]
        made[test] += 1
        return sha256_text(f"{test} {made[test]}")[: 2 * size]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hellofresh.releases.draw.escrow.secrets", SimpleNamespace(token_hex=token_hex))
        yield


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    """Builders of small synthetic samples and workspaces in a temporary folder."""
    return Maker(tmp_path)


@pytest.fixture(scope="session")
def make_in() -> Callable[[Path], Maker]:
    """Builders that work in a folder of the caller's choice, for fixtures that serve more than one test."""
    return Maker


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Fills a folder once for all processes of a test run, and gives this process a copy of its own.

    The function is told the folder that it fills; whoever comes first calls it, and the others wait. Tests that change
    the copy put it back, or copy it once more.
    """
    own = tmp_path_factory.mktemp("copies")
    common = own.parent.parent if "PYTEST_XDIST_WORKER" in os.environ else own.parent

    def folder(name: str, fill: Callable[[Path], None]) -> Path:
        original, done = common / f"once-{name}", common / f"once-{name}.done"
        with (common / f"once-{name}.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(original, ignore_errors=True)
                original.mkdir()
                fill(original)
                done.touch()
        # A new folder each time: a process that takes tests over from another sets a module up twice.
        return shutil.copytree(original, Path(tempfile.mkdtemp(dir=own)) / name, symlinks=True)

    return folder


@pytest.fixture(scope="session")
def sample_sources(built_once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """What `hellofresh archive sample` writes; nobody changes it."""

    def write(folder: Path) -> None:
        sample.write_notes_dump(folder / "x-notes")
        sample.write_history(folder / "wikipedia-edits" / "history.xml.bz2")

    return built_once("sample-sources", write)


@pytest.fixture
def notes_task() -> Task:
    return get_task("x-notes")


@pytest.fixture
def edits_task() -> Task:
    return get_task("wikipedia-edits")


@pytest.fixture
def quarter() -> Quarter:
    return QUARTER


@pytest.fixture
def days() -> Calendar:
    return CalendarRule().of(QUARTER)


@pytest.fixture(scope="session")
def loopback() -> ModuleType:
    return misbehaving


@pytest.fixture
def chat() -> Iterator[misbehaving.Chat]:
    server = misbehaving.Chat()
    yield server
    server.close()


def answering(answer: Callable[[str, Mapping[str, str], bytes], tuple[int, bytes]]) -> type[BaseHTTPRequestHandler]:
    """A handler for `serve` that sends the status and content that a function makes of path, headers and body."""

    class Answering(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content = answer(self.path, self.headers, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _answer

    return Answering


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Serves what a handler answers, a folder, or with a server of the test, until the test ends; gives the address."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as until:

        def start(what: Path | type | ThreadingHTTPServer, folder: Path | None = None) -> str:
            server = what
            if not isinstance(server, ThreadingHTTPServer):
                kind, folder = (SimpleHTTPRequestHandler, what) if isinstance(what, Path) else (what, folder)
                handler = type("Quiet", (kind,), {"log_message": lambda *_: None})
                server = ThreadingHTTPServer(
                    ("127.0.0.1", 0), partial(handler, directory=str(folder)) if folder else handler
                )
            until.callback(server.server_close)
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            until.callback(thread.join)
            until.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_address[1]}"

        yield start


@dataclass
class Cli:
    """Runs commands.

    Attributes:
        out, err: what the last one printed.
        secrets: what none may print.
    """

    capsys: pytest.CaptureFixture[str]
    out: str = ""
    err: str = ""
    secrets: set[str] = field(default_factory=set)

    def __call__(self, *words: str | Path, code: int = 0) -> str:
        """All that a command prints, with single spaces; it must end with this code and without a traceback."""
        self.capsys.readouterr()
        try:
            found = main([*map(str, words)])
        except SystemExit as stopped:
            found = int(stopped.code or 0)
        self.out, self.err = self.capsys.readouterr()
        said = " ".join((self.out + self.err).split())
        noise = "processing of request" in self.err  # by a server of the test, whose client went away
        assert (found, "Traceback" in self.err and not noise) == (code, False), said
        assert not any(secret in self.out + self.err for secret in self.secrets)
        return said

    def json(self, *words: str | Path, code: int = 0) -> Any:
        """What a command prints with --json."""
        self(*words, "--json", code=code)
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with the workspace `data`, which is that of `make`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("HELLOFRESH_CONFIG", raising=False)
    return tmp_path
