"""Boards for the site's tests: made-up scores, written by the real `build_board`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hellofresh.board import build_board
from hellofresh.clock import now
from hellofresh.evaluation import Evaluation, evaluate
from hellofresh.files import sha256_text, write_json, write_jsonl
from hellofresh.quarters import Quarter
from hellofresh.releases import load_labels, reveal
from hellofresh.scoring import ALL_PERIODS, MAJORITY, SINGLE, Score, score_quarter
from hellofresh.submissions import add_submission, due_in
from hellofresh.tasks import TASKS
from hellofresh.workspace import Workspace

PERIOD_SAMPLES = 20


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
        periods = Quarter.parse(quarter).periods(TASKS[task].period_kind)
        parts = [(ALL_PERIODS, len(periods)), *((period, 1) for period in periods)]
        return [
            self._score(quarter, task, bundled, prompt, period, PERIOD_SAMPLES * size)
            for prompt in self.prompts
            for period, size in parts
        ]

    def _score(self, quarter: str, task: str, bundled: bool, prompt: str, period: str, n: int) -> Score:
        share = self.right / PERIOD_SAMPLES
        limits = {"low": max(0.0, share - 0.05), "high": min(1.0, share + 0.05)}
        metrics = dict.fromkeys(("precision", "recall", "f1", "accuracy"), share)
        return Score(
            quarter=quarter, task=task, system=self.name, team=self.team,
            lane="submitted" if self.kind == "submission" else "harness", kind=self.kind, regime=self.regime,
            prompt=prompt, period=period, headline=prompt == self.prompts[0], bundled=bundled,
            smoke_test=self.smoke_test, knowledge_cutoff="2022-12-31", about=self.about,
            origin=f"run-{sha256_text(self.name)[:12]}",
            n=n, n_split=n, clusters=n, effective_clusters=float(n),
            tp=round(n * share / 2), fp=0, tn=round(n * share / 2), fn=0, none=1, blocked=1,
            **metrics, **{f"{name}_{end}": value for name in metrics for end, value in limits.items()},
            interval_method="cluster Wilson", interval_seed=0, interval_resamples=0,
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

    def __call__(
        self, *, systems: Sequence[System] = SYSTEMS, real: str = "2023Q2", bundled: str | None = "2026Q3"
    ) -> Workspace:
        """A board of all tasks in a real quarter and, if wanted, in a quarter of the bundled sample."""
        workspace = Workspace(self.folder)
        for quarter, is_bundled in ((real, False), (bundled, True)):
            if quarter is not None:
                rows = [row for task in TASKS for system in systems for row in system.scores(quarter, task, is_bundled)]
                path = workspace.scores(Quarter.parse(quarter))
                path.parent.mkdir(parents=True, exist_ok=True)
                pl.DataFrame([asdict(row) for row in rows], infer_schema_length=None).write_parquet(path)
                for task in TASKS:
                    self._manifest(workspace, quarter, task, "bundled-sample" if is_bundled else "a-real-source")
        build_board(workspace)
        return workspace

    def release_only(self, quarter: str) -> None:
        """A quarter that is released and not scored yet."""
        for task in TASKS:
            self._manifest(Workspace(self.folder), quarter, task, "a-real-source")

    def _manifest(self, workspace: Workspace, quarter: str, task: str, source: str) -> None:
        periods = Quarter.parse(quarter).periods(TASKS[task].period_kind)
        half = PERIOD_SAMPLES // 2
        selection = {name: {"positives": half + 3, "negatives": half, "taken_per_class": half} for name in periods}
        kept = {name: {"0": half, "1": half + 3} for name in periods}
        drops = [
            {"reason": "too-short", "meaning": "it has fewer than ten letters", "count": 1234},
            {"reason": "never-seen", "meaning": "nobody ever sees this", "count": 0},
        ]
        rows_in = 1234 + len(periods) * (2 * half + 3)
        manifest = {
            "quarter": quarter, "task": task, "source": source, "selection": {"periods": selection},
            "collection": {"funnel": {"unit": "rows", "rows_in": rows_in, "drops": drops, "kept": kept}},
        }  # fmt: skip
        write_json(workspace.release(Quarter.parse(quarter), task) / "manifest.json", manifest)


@pytest.fixture
def make_board(tmp_path: Path) -> BoardMaker:
    """Makes a board in a folder of the test's own."""
    return BoardMaker(tmp_path / "data")


@pytest.fixture(scope="session")
def analysed_board(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A board with all analyses of x-notes 2023Q2, of ten systems and of one for each hostile name; tests copy it."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "analyses"))
    from synthetic import Builder, full_entries

    from hellofresh.analyses import ANALYSES, make_analyses

    workspace = Workspace(tmp_path_factory.mktemp("analysed") / "data")
    BoardMaker(workspace.root)()
    build = Builder()
    release = build.release(96)
    theirs = [
        build.entry(release, name[:300], 0.85, regime="other", seed=500 + k, cost=1.0 + k, confident=True,
                    lane="submitted", team=name[:300], prompts=("single",))
        for k, name in enumerate(HOSTILE)
    ]  # fmt: skip
    panel = build.panel([*full_entries(build, release), *theirs], release)
    make_analyses(workspace, panel, list(ANALYSES.values()), png=False)
    build_board(workspace)
    return workspace


REVEALED = Quarter(2024, 1)
RIGHT = {"good": 12, "fair": 10, "poor": 6}
"""Of every 12 samples in the order of ids, so many does a team's system get right."""


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
        assert reveal(workspace, REVEALED, task, now())
    for team, right in RIGHT.items():
        place = folder.with_name("handed-in") / f"team-{team}" / team
        place.mkdir(parents=True)
        about = f'name = "{team}"\nteam = "Team {team}"\ncontact = "a@example.org"\nregime = "zero-shot"\n'
        cutoff = f'models = ["m"]\nknowledge_cutoff = {"2024-06-01" if team == "good" else "2023-01-01"}\n'
        (place / "system.toml").write_text(about + cutoff)
        answers = [{"id": key, "label": label if k % 12 < right else 1 - label}
                   for k, (key, label) in enumerate(ids.items())]  # fmt: skip
        write_jsonl(place / "predictions.jsonl", answers)
        add_submission(place, due_in(workspace, REVEALED), folder, datetime(2024, 7, 1, tzinfo=UTC))
    score_quarter(workspace, REVEALED, folder)
    build_board(workspace)


@pytest.fixture(scope="module")
def revealed_board(tmp_path_factory: pytest.TempPathFactory, make_in: Callable[[Path], Any]) -> Workspace:
    """A board with a revealed quarter."""
    folder = tmp_path_factory.mktemp("revealed")
    workspace = Workspace(folder / "data")
    add_revealed_quarter(workspace, make_in(folder), folder / "submissions")
    return workspace


@pytest.fixture(scope="module")
def hostile_board(tmp_path_factory: pytest.TempPathFactory, make_in: Callable[[Path], Any]) -> Workspace:
    """A board whose submitters chose hostile names, teams and descriptions, and on it a revealed quarter."""
    folder = tmp_path_factory.mktemp("site")
    hostile = tuple(
        System(name, right=12, team=name, kind="submission", regime="other", about=name) for name in HOSTILE
    )
    # The whole quarter first: a build compares its samples with those of earlier releases, which the others only name.
    add_revealed_quarter(Workspace(folder / "data"), make_in(folder), folder / "submissions")
    return BoardMaker(folder / "data")(systems=(*SYSTEMS, *hostile))


@pytest.fixture(scope="session")
def hostile() -> Sequence[str]:
    """Names that try to be more than text."""
    return HOSTILE


@pytest.fixture(scope="session")
def system() -> Callable[..., System]:
    """Makes a made-up system."""
    return System
