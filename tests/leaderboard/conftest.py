"""Boards for the site's tests: made-up scores, written by the real `build_board`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from hellofresh.core.clock import now
from hellofresh.core.files import sha256_text, write_bytes, write_json
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.releases.draw.prospective import build_prospective, resolve
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life.load import load_labels
from hellofresh.releases.life.state import reveal
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.scores import score_quarter
from hellofresh.results.split.panel import ALL_PERIODS, MAJORITY, SINGLE
from hellofresh.results.split.tables import SCORES, Score
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.submissions.receipts import add_submission
from hellofresh.submissions.released import due_in
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import PROSPECTIVE
from leaderboard.export import export_board
from tests.fakes import collect
from tests.submissions.checks import write_submission

sys.path.insert(0, str(Path(__file__).parent))
from browsing import ARGUMENTS, LOOKS, Visit

expect.set_options(timeout=60_000)  # for a busy machine, where the usual 5 s are too short
PERIOD_SAMPLES = 20
TASKS = {name: get_task(name) for name in ("x-notes", "wikipedia-edits")}
"""The tasks of the boards here."""
Once = Callable[[str, Callable[[Path], None]], Path]
"""What the fixture `built_once` is."""


@dataclass(frozen=True, slots=True)
class System:
    """A made-up system: of every 20 samples of a period it gets `right` right, the rest wrong, two without answer."""

    name: str
    right: int = 14
    team: str = "HelloFresh"
    kind: str = "language-model"
    regime: str = "zero-shot"
    smoke_test: bool = False
    about: str = ""

    @property
    def prompts(self) -> Sequence[str]:
        """Prompt names, the headline first."""
        return (MAJORITY, "manual", "rephrased-1") if self.kind == "language-model" else (SINGLE,)

    def scores(self, quarter: str, task: str, bundled: bool) -> list[Score]:
        """All rows of the system."""
        periods = Quarter.parse(quarter).periods(get_task(task).period_kind)
        parts = [(ALL_PERIODS, len(periods)), *((period, 1) for period in periods)]
        return [
            self._score(quarter, task, bundled, prompt, period, PERIOD_SAMPLES * size, metric.name)
            for prompt in self.prompts
            for period, size in parts
            for metric in get_task(task).metrics
        ]

    def _score(self, quarter: str, task: str, bundled: bool, prompt: str, period: str, n: int, metric: str) -> Score:
        share = self.right / PERIOD_SAMPLES
        return Score(
            edition=quarter, task=task, system=self.name, team=self.team,
            provenance="uploaded" if self.kind == "submission" else "run", kind=self.kind, regime=self.regime,
            prompt=prompt, period=period, headline=prompt == self.prompts[0], bundled=bundled,
            smoke_test=self.smoke_test, knowledge_cutoff="2022-12-31", about=self.about,
            origin=f"run-{sha256_text(self.name)[:12]}",
            n=n, n_split=n, clusters=n, effective_clusters=float(n),
            none=1, blocked=1, settings="", metric=metric, value=share, low=max(0.0, share - 0.05),
            high=min(1.0, share + 0.05), bootstrap_low=max(0.0, share - 0.04),
            bootstrap_high=min(1.0, share + 0.04), method="cluster Wilson",
        )  # fmt: skip


SYSTEMS = (
    System("second-best", right=16),
    System("best", right=18, regime="web-search"),
    System("level-a", right=15),
    System("level-b", right=15),
    System("always-yes", right=13, kind="baseline", regime="none"),
    System("tiny-model", right=10, smoke_test=True),
)
HOSTILE = (
    "<script>window.pwned=1</script>",
    '<img src="http://beacon.invalid/x.png" onerror="window.pwned=1">',
    "![x](http://beacon.invalid/y.png)",
    "[click](javascript:alert(1))",
    "safe\u202egnp.exe",
    "a | b | c",
    r"$\frac{1}{0}$ $$x$$",
    "Z" + "\u0301" * 10_000,
    ":material/home: **bold** `code` :red[red]",
    "\N{BROKEN HEART}" * 30,
)


@dataclass(frozen=True, slots=True)
class BoardMaker:
    """Makes workspaces with a board."""

    folder: Path
    tasks: Sequence[str] = tuple(TASKS)

    def __call__(
        self, *, systems: Sequence[System] = SYSTEMS, real: str = "2023Q2", bundled: str | None = "2026Q3"
    ) -> Workspace:
        """A board of all tasks in a real quarter and, if wanted, in a quarter of the bundled sample."""
        workspace = Workspace(self.folder)
        for quarter, is_bundled in ((real, False), (bundled, True)):
            if quarter is not None:
                rows = [
                    row for task in self.tasks for system in systems for row in system.scores(quarter, task, is_bundled)
                ]
                path = workspace.scores(Quarter.parse(quarter))
                path.parent.mkdir(parents=True, exist_ok=True)
                SCORES.frame(rows).write_parquet(path)
                for task in self.tasks:
                    source = "bundled-sample" if is_bundled else "a-real-source"
                    self._manifest(workspace, quarter, task, source, revealed=True)
        build_board(workspace)
        return workspace

    def release_only(self, quarter: str) -> None:
        """A quarter that is released and not scored yet."""
        for task in TASKS:
            self._manifest(Workspace(self.folder), quarter, task, "a-real-source", revealed=True)

    def _manifest(self, workspace: Workspace, quarter: str, task: str, source: str, *, revealed: bool) -> None:
        periods = Quarter.parse(quarter).periods(get_task(task).period_kind)
        half = PERIOD_SAMPLES // 2
        periods = periods if get_task(task).classes else ()
        taken = {name: {"taken_per_class": half} for name in periods}
        counts = {name: {"positives": half + 3, "negatives": half} for name in periods}
        selection = {"seed": "s", "cap_per_class_and_period": half, "period": "", "rule": "", "periods": taken}
        kept = {name: {"0": half, "1": half + 3} for name in periods}
        drops = [
            {"reason": "too-short", "meaning": "it has fewer than ten letters", "count": 1234},
            {"reason": "never-seen", "meaning": "nobody ever sees this", "count": 0},
        ]
        rows_in = 1234 + len(periods) * (2 * half + 3)
        manifest = {
            "format": 1, "version": 1, "code": "hellofresh 0", "commitments": "", "files": [],
            "edition": quarter, "task": task, "source": source, "selection": selection, "revealed": revealed,
            "counts": counts,
            "collection": {
                "funnel": {"unit": "rows", "rows_in": rows_in, "drops": drops, "kept": kept, "context": {}},
                "sources": [], "parameters": {}, "warnings": [],
            },
        }  # fmt: skip
        write_json(workspace.release(Quarter.parse(quarter), task) / "manifest.json", manifest)


@pytest.fixture(autouse=True)
def own_main() -> Iterator[None]:
    """Puts back what a page's script took the place of: processes that later tests start would run that script."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture
def make_board(tmp_path: Path) -> BoardMaker:
    """Makes a board in a folder of the test's own."""
    return BoardMaker(tmp_path / "data")


@pytest.fixture(scope="session")
def analysed_board(built_once: Once) -> Workspace:
    """A board with all analyses of x-notes 2023Q2, of ten systems and of one for each hostile name; tests copy it."""
    return Workspace(built_once("analysed", _analysed) / "data")


def _analysed(folder: Path) -> None:
    from hellofresh.results.analyses import ANALYSES
    from hellofresh.results.analyses.writing import make_analyses
    from tests.analyses.synthetic import Builder, full_entries

    workspace = Workspace(folder / "data")
    BoardMaker(workspace.root)()
    build = Builder()
    release = build.release(96)
    theirs = [
        build.entry(release, name[:300], 0.85, regime="other", seed=500 + k, cost=1.0 + k, confident=True,
                    provenance="uploaded", team=name[:300], prompts=("single",))
        for k, name in enumerate(HOSTILE)
    ]  # fmt: skip
    panel = build.panel([*full_entries(build, release), *theirs], release)
    make_analyses(workspace, panel, list(ANALYSES.values()), png=False)
    build_board(workspace)


REVEALED = Quarter(2024, 1)
RIGHT = {"good": 12, "fair": 10, "poor": 6}
"""Of every 12 samples in the order of ids, so many does a team's system get right."""
MODELS = {
    "good": 'maker = "Acme Labs"\nweights = "open"\nsize_billions = 7\nreleased = 2024-05-01\n',
    "fair": 'maker = "Borealis"\nweights = "closed"\nreleased = "2023-11"\n',
}
"""What the teams' `system.toml` state about their models; the third states nothing."""


def add_revealed_quarter(workspace: Workspace, make: Any, folder: Path) -> None:
    """A whole quarter on the board: releases with hostile texts, three submissions and a baseline, revealed, scored."""
    dates = [datetime(2024, month, day, tzinfo=UTC) for month in (1, 2, 3) for day in range(1, 25)]
    texts = [*HOSTILE[:4], *HOSTILE[4:7], "Z" + "\u0301" * 400, *HOSTILE[8:]]
    notes = [make.note(k, date=date, text=texts[k % len(texts)]) for k, date in enumerate(dates, start=100)]
    edits = [make.edit(k, date=date, page=k, added=texts[k % len(texts)]) for k, date in enumerate(dates, start=100)]
    for samples in (notes, edits):
        found = [make.candidate(sample, k % 2) for k, sample in enumerate(samples)]
        make.release(found, workspace=workspace, source="bundled-sample", quarter=REVEALED)
    ids = {}
    for task in TASKS.values():
        labels = load_labels(workspace, REVEALED, task)
        ids |= {key: labels[key].label for key in sorted(labels)}
        evaluate(workspace, Evaluation(REVEALED, task, "coin"), lambda _: None)
    for team, right in RIGHT.items():
        place = folder.with_name("handed-in") / f"team-{team}" / team
        answers = [{"id": key, "label": label if k % 12 < right else 1 - label, **_stated(team, k, label, right)}
                   for k, (key, label) in enumerate(ids.items())]  # fmt: skip
        cutoff = "2024-06-01" if team == "good" else "2023-01-01"
        write_submission(place, answers, team, f"Team {team}", regime="zero-shot", cutoff=cutoff,
                         more=MODELS.get(team, ""))  # fmt: skip
        add_submission(place, due_in(workspace, REVEALED), folder, datetime(2024, 7, 1, tzinfo=UTC))
    assert all(reveal(workspace, REVEALED, task, now()) for task in TASKS.values())
    score_quarter(workspace, REVEALED, folder)
    build_board(workspace)


def _stated(team: str, number: int, label: int, right: int) -> dict[str, float]:
    """The confidence of one team: 0.2 or 0.7, on the side of its answer."""
    says_yes = (label == 1) == (number % 12 < right)
    return {"confidence": 0.7 if says_yes else 0.2} if team == "fair" else {}


FORECAST = Quarter(2026, 4)
FORECAST_MADE = datetime(2026, 11, 21, 12, tzinfo=UTC)
FORESEEN = {"seer": 14, "guesser": 9}
"""Of the 16 samples that were decided since, so many does a team get right."""


def add_prospective_quarter(workspace: Workspace, make: Any, folder: Path) -> None:
    """A quarter that has not opened, with 20 notes that were undecided; 16 were since, 4 of them as helpful."""
    notes = [make.note(k, date=FORECAST_MADE - timedelta(days=1 + k % 5)) for k in range(1, 29)]
    drawn, others = notes[:20], notes[20:]
    _collect(workspace, make, "one", drawn, [make.candidate(note, k % 2) for k, note in enumerate(others)])
    task = TASKS["x-notes"]
    build_prospective(workspace, FORECAST, task, seed="s", cap=50, days=5, moment=FORECAST_MADE)
    build_release(workspace, FORECAST, task, seed="s", cap=50, moment=FORECAST_MADE)
    for split in ("main", "prospective"):
        evaluate(workspace, Evaluation(FORECAST, task, "always-yes", split=split), lambda _: None)
    truth = {note.id: int(k < 4) for k, note in enumerate(drawn[:16])}
    for team, right in FORESEEN.items():
        said = {note.id: 1 for note in drawn} | {
            key: label if k < right else 1 - label for k, (key, label) in enumerate(truth.items())
        }
        place = folder.with_name("forecasts") / f"team-{team}" / team
        chances = {0: [0.75, 0.25], 1: [0.125, 0.875]}
        rows = [{"id": key, "label": said[key], "probabilities": chances[said[key]]} for key in sorted(said)]
        write_submission(place, rows, team, f"Team {team}", file="prospective.jsonl", cutoff="2026-11-01")
        add_submission(place, due_in(workspace, FORECAST, PROSPECTIVE), folder, FORECAST_MADE)
    _collect(workspace, make, "two", [], [make.candidate(note, truth[note.id]) for note in drawn[:16]])
    later = FORECAST_MADE + timedelta(days=30)
    assert resolve(workspace, FORECAST, task, later)
    score_quarter(workspace, FORECAST, folder)
    score_quarter(workspace, FORECAST, folder, later, split="prospective")
    build_board(workspace)


def _collect(workspace: Workspace, make: Any, day: str, pending: Sequence[Any], decided: Sequence[Any]) -> None:
    write_bytes(workspace.escrow_key, b"0" * 64, mode=0o600)
    collect(workspace, FORECAST, "x-notes", decided, pending, day=day)


@pytest.fixture(scope="session")
def prospective_board(built_once: Once, make_in: Callable[[Path], Any]) -> Workspace:
    """A board with a prospective table of three entries and a main one of one."""

    def build(folder: Path) -> None:
        add_prospective_quarter(Workspace(folder / "data"), make_in(folder), folder / "submissions")

    return Workspace(built_once("prospective", build) / "data")


def many_systems(number: int) -> tuple[System, ...]:
    """So many systems with names and regimes that can be searched for."""
    regimes = ("zero-shot", "web-search")
    return tuple(
        System(f"system-{k:03d}", right=6 + k % 13, kind="submission", regime=regimes[k % 2]) for k in range(number)
    )


@pytest.fixture(scope="session")
def wide_copy(built_once: Once) -> Path:
    """The pages of a board of 60 systems, on a task of four metrics and on one of eleven."""

    def export(folder: Path) -> None:
        named = many_systems(60)
        long = System("a-system-with-quite-a-long-name-and-a-date-2026-01-31", right=15, team="A team of several words")
        made = BoardMaker(folder / "data", ("x-notes", "scifact-retrieval"))(systems=(*SYSTEMS, long, *named[:53]))
        export_board(made.board, folder / "copy")

    return built_once("wide", export) / "copy"


@pytest.fixture(scope="session")
def crowded_board(built_once: Once) -> Workspace:
    """A board of 500 systems."""

    def build(folder: Path) -> None:
        BoardMaker(folder / "data")(systems=many_systems(500), bundled=None)

    return Workspace(built_once("crowded", build) / "data")


@pytest.fixture(scope="session")
def revealed_board(built_once: Once, make_in: Callable[[Path], Any]) -> Workspace:
    """A board with a revealed quarter."""

    def build(folder: Path) -> None:
        add_revealed_quarter(Workspace(folder / "data"), make_in(folder), folder / "submissions")

    return Workspace(built_once("revealed", build) / "data")


@pytest.fixture(scope="session")
def hostile_board(built_once: Once, make_in: Callable[[Path], Any]) -> Workspace:
    """A board whose submitters chose hostile names and texts, with a revealed quarter and a prospective table on it."""
    hostile = tuple(
        System(name, right=12, team=name, kind="submission", regime="other", about=name) for name in HOSTILE
    )

    def build(folder: Path) -> None:
        data, make = folder / "data", make_in(folder)
        # Whole quarters first: a build compares its samples with those of earlier releases, which the others only name.
        add_revealed_quarter(Workspace(data), make, folder / "submissions")
        add_prospective_quarter(Workspace(data), make, folder / "submissions")
        BoardMaker(data)(systems=many_systems(80), real="2022Q4", bundled=None)
        BoardMaker(data)(systems=(*SYSTEMS, *hostile))

    return Workspace(built_once("hostile", build) / "data")


@pytest.fixture(scope="session")
def hostile_copy(built_once: Once, hostile_board: Workspace) -> Path:
    """The static copy of the hostile board, in a folder `hellofresh`, as GitHub Pages serve it."""

    def export(folder: Path) -> None:
        export_board(hostile_board.board, folder / "hellofresh", instances=True)

    return built_once("exported", export) / "hellofresh"


@pytest.fixture(scope="session")
def hostile() -> Sequence[str]:
    """Names that try to be more than text."""
    return HOSTILE


@pytest.fixture(scope="session")
def system() -> Callable[..., System]:
    """Makes a made-up system."""
    return System


OPEN, FINISHED = Quarter(2026, 3), Quarter(2026, 2)
"""Takes predictions on the day on which the tests happen."""


def add_open_quarter(workspace: Workspace, make: Any, folder: Path) -> None:
    """A quarter that takes predictions on both tasks, and a revealed one of notes; both scored with a baseline."""
    for quarter, tasks in ((OPEN, ("x-notes", "wikipedia-edits")), (FINISHED, ("x-notes",))):
        dates = [quarter.start + timedelta(days=7 * k + 1) for k in range(12)]
        for task in tasks:
            one = make.note if task == "x-notes" else make.edit
            numbers = [100 * quarter.number + 50 * label + k for label in (0, 1) for k in range(len(dates))]
            samples = [one(number, date=dates[number % 50]) for number in numbers]
            found = [make.candidate(sample, k // len(dates)) for k, sample in enumerate(samples)]
            make.release(found, workspace=workspace, source="bundled-sample", quarter=quarter)
            evaluate(workspace, Evaluation(quarter, TASKS[task], "coin"), lambda _: None)
        score_quarter(workspace, quarter, folder)
    assert reveal(workspace, FINISHED, TASKS["x-notes"], now())
    build_board(workspace)


@pytest.fixture(scope="session")
def open_board(built_once: Once, make_in: Callable[[Path], Any]) -> Workspace:
    """A board with a quarter that takes predictions."""

    def build(folder: Path) -> None:
        add_open_quarter(Workspace(folder / "data"), make_in(folder), folder / "submissions")

    return Workspace(built_once("open", build) / "data")


@pytest.fixture(scope="module")
def browser(needed: Callable[[bool, str], None], hostile_board: Workspace) -> Iterator[Browser]:
    """The system's Chromium; closed with the module, as its event loop would stand in other tests' way.

    The board is made before, since what makes it runs an event loop of its own.
    """
    path = os.environ.get("HELLOFRESH_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    needed(Path(path).is_file(), f"the browser {path}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def screens(browser: Browser) -> Iterator[Callable[[str], BrowserContext]]:
    """A kind of screen each, with what the browser has loaded already; pages of a module share it."""
    contexts: dict[str, BrowserContext] = {}

    def screen(look: str) -> BrowserContext:
        if look not in contexts:
            contexts[look] = browser.new_context(**LOOKS[look])
            contexts[look].set_default_timeout(120_000)
        return contexts[look]

    yield screen
    for context in contexts.values():
        context.close()


@pytest.fixture
def visit(site: str, screens: Callable[[str], BrowserContext]) -> Iterator[Callable[[str], Visit]]:
    """Opens the module's site as somebody with a screen of that kind."""
    pages = []

    def start(look: str = "light") -> Visit:
        pages.append(screens(look).new_page())
        return Visit(pages[-1], site)

    yield start
    for page in pages:
        page.close()
