"""Whatever is public of an open quarter, nothing in it follows from labels.

Two kinds of tests. An attack: whoever can run some of the systems again reads every number that the public files say of
them as an equation on labels, and solves for these. And a comparison: under every exchange of labels that leaves the
released samples as they are, all public files are the same to the byte.
"""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import binomtest

from hellofresh.cli import main
from hellofresh.core.files import read_jsonl, sha256_text, write_bytes
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, Finish, Request
from hellofresh.releases.collection import collect_quarter
from hellofresh.releases.draw import escrow
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life import load
from hellofresh.releases.life.state import reveal
from hellofresh.results.board.build import build_board
from hellofresh.submissions.receipts import add_submission
from hellofresh.submissions.released import due_in
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Candidate
from tests.fakes import FakeModel, catalogued, contents, fake_spec
from tests.submissions.checks import write_submission

OPEN, REVEALED = Quarter(2026, 3), Quarter(2026, 2)
OPENED, CLOSED = "2026-11-21T12:00:00Z", "2027-01-18T12:00:00Z"
"""While predictions are taken, and between the deadline and the reveal."""
TASK = get_task("x-notes")
PER_CLASS = 8
"""Samples of each label in a month."""
MODELS = ("fake-a", "fake-b", "fake-c")


def hashed(name: str) -> FakeModel:
    """A model that anybody can run again: its answers follow from its name, the sample and the wording."""

    def say(request: Request) -> Answer:
        assert request.sample is not None
        first = sha256(f"{name} {request.sample.id} {request.messages}".encode()).digest()[0]
        return Answer(("yes", "no", "yes", "no", "hm")[first % 5], Finish.STOP, tokens_in=7, tokens_out=1)

    return FakeModel(fake_spec(name), say)


def candidates(make: Any, quarter: Quarter, seed: int = 0) -> list[Candidate]:
    """As many of both labels in every month, all of which a release takes; the seed decides which has which label."""
    choose = random.Random(f"{quarter} {seed}")
    found = []
    for month, first in enumerate(quarter.periods(TASK.period_kind)):
        labels = [1, 0] * PER_CLASS
        choose.shuffle(labels)
        day = datetime.fromisoformat(f"{first}-02T00:00:00+00:00")
        for k, label in enumerate(labels):
            number = 10_000 * quarter.number + 100 * month + k
            text = random.Random(number).choice(("rivers", "a harbour", "bridges", "the weather"))
            note = make.note(number, date=day + timedelta(days=k), text=text)
            found.append(make.candidate(note, label))
    return found


def released(make: Any, workspace: Workspace, *, seed: int = 0) -> None:
    """A revealed quarter and an open one, both of a real source; only the open one's labels follow from the seed."""
    write_bytes(workspace.escrow_key, sha256_text("key").encode(), mode=0o600)
    for quarter, found in ((REVEALED, candidates(make, REVEALED)), (OPEN, candidates(make, OPEN, seed))):
        collect_quarter(workspace, make.job(found, quarter=quarter), progress=lambda _: None)
        build_release(workspace, quarter, TASK, seed="s", cap=PER_CLASS, texts=True, moment=quarter.start)
    reveal(workspace, REVEALED, TASK, datetime(2026, 11, 1, tzinfo=UTC))


def hand_in(folder: Path, workspace: Workspace, submissions: Path) -> None:
    """Two teams that err alike wherever they do, which is a reason to flag them once labels may be used."""
    truth = {row["id"]: row["label"] for row in read_jsonl(workspace.private(OPEN, TASK.name) / "labels.jsonl")}
    for team in ("red", "blue"):
        place = folder / team / "system"
        # The same in every workspace, whatever the labels: what is handed in is public from the deadline on.
        rows = [{"id": key, "label": sha256(key.encode()).digest()[1] % 2} for key in sorted(truth)]
        write_submission(place, rows, team, team.title(), cutoff="2026-06-30")
        add_submission(place, due_in(workspace, OPEN), submissions, datetime(2026, 11, 20, tzinfo=UTC))


@dataclass(frozen=True)
class Made:
    """A workspace with an open quarter, and what its commands said."""

    workspace: Workspace
    said: Mapping[str, str]
    public: Sequence[Path]


PUBLIC = ("board", "export", "published", "releases", "scores", "judgements", "analyses", "receipts")
STARTED = re.compile(r'"started": "[^"]*"')
"""When runs were started is told by the machine's clock."""
COMMANDS = (
    ("score", "--quarter", "2026Q2"),
    ("score", "--quarter", "2026Q3"),
    ("score", "--quarter", "2026Q3", "--json"),
    ("analyse", "ranking", "--quarter", "2026Q3"),
    ("analyse", "all", "--quarter", "2026Q3"),
    ("board", "build"),
    ("board", "build", "--json"),
    ("release", "publish"),
    ("release", "publish", "--json"),
    ("release", "verify", "data/releases", "--json"),
    ("runs", "show", "--json"),
    ("quarter", "status", "--json"),
    ("submission", "list", "--quarter", "2026Q3", "--json"),
    ("submission", "check", "submissions/2026Q3/red/system", "--score"),
    ("board", "export", "data/export", "--json"),
)


def printed(*command: str) -> str:
    """What a command prints, to standard output and then to standard error."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        main(list(command))
    return f"{out.getvalue()}\n{err.getvalue()}"


def run(make: Any, folder: Path, patch: pytest.MonkeyPatch, *, moment: str, seed: int = 0) -> Made:
    """Everything that a maintainer does by commands before a reveal."""
    patch.chdir(folder)
    patch.setenv("HELLOFRESH_DATA", "data")
    patch.setenv("HELLOFRESH_NOW", OPENED)
    for name in MODELS:
        catalogued(patch, hashed(name))
    workspace = Workspace(Path("data"))
    released(make, workspace, seed=seed)
    hand_in(folder / "theirs", workspace, Path("submissions"))
    for quarter, model in product(("2026Q2", "2026Q3"), ("coin", "always-yes", "tfidf-logreg", *MODELS)):
        if (quarter, model) != ("2026Q2", "tfidf-logreg"):  # it has nothing to learn from
            printed("evaluate", "--quarter", quarter, "--task", TASK.name, "--model", model)
    patch.setenv("HELLOFRESH_NOW", moment)
    said = {" ".join(command): STARTED.sub('"started": ""', printed(*command)) for command in COMMANDS}
    return Made(workspace, said, [folder / "data" / name for name in PUBLIC])


def records(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Every row of every table below a folder, and every object of every JSON file."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            yield from pl.read_parquet(path).iter_rows(named=True)
        elif path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as file:
                yield from csv.DictReader(file)
        elif path.suffix in {".json", ".jsonl"}:
            for text in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
                yield from objects(json.loads(text))


def objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """All objects in a JSON value."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(part)


@dataclass(frozen=True)
class Attacker:
    """Knows the public samples and what the systems say that anybody can run again, by name and prompt."""

    quarter: Quarter
    ids: Sequence[str]
    periods: NDArray[np.str_]
    answers: Mapping[tuple[str, str], NDArray[np.int8]]
    origins: Mapping[str, str]

    @classmethod
    def of(cls, workspace: Workspace, quarter: Quarter) -> Attacker:
        """Reads public samples, and runs' predictions in place of running the systems again."""
        rows = list(read_jsonl(workspace.release(quarter, TASK.name) / "samples.jsonl"))
        ids = [row["id"] for row in rows]
        answers, origins = {}, {}
        for path in workspace.runs.glob("*/run.json"):
            record = json.loads(path.read_text())
            if record["evaluation"]["edition"] != str(quarter):
                continue
            name = record["model"]["name"]
            origins[path.parent.name] = name
            said: dict[str, dict[str, int]] = {}
            for row in read_jsonl(path.with_name("predictions.jsonl")):
                said.setdefault(row["prompt"], {})[row["id"]] = -1 if row["label"] is None else row["label"]
            found = {prompt: np.array([by_id[key] for key in ids]) for prompt, by_id in said.items()}
            yes, no = (sum((a == v).astype(int) for a in found.values()) for v in (1, 0))
            many = len(found)
            found["majority" if many > 1 else "single"] = np.where(2 * yes > many, 1, np.where(2 * no > many, 0, -1))
            answers |= {(name, prompt): array for prompt, array in found.items()}
        return cls(quarter, ids, np.array([row["period"] for row in rows]), answers, origins)

    def equations(self, rows: Iterator[Mapping[str, Any]]) -> list[tuple[NDArray[np.float64], float]]:
        """What numbers say about labels: coefficients, and what they add up to."""
        found = []
        for row in rows:
            where = self._where(row)
            if where is None or str(row.get("edition", self.quarter)) != str(self.quarter):
                continue
            answers = self._answers(row, "system", "origin")
            both = self._answers(row, "one"), self._answers(row, "two")
            if answers is not None:
                found += self._of_one(row, answers, where)
            elif both[0] is not None and both[1] is not None:
                found += self._of_two(row, both[0], both[1], where)
            if row.get("id") in self.ids and row.get("label") not in {None, ""}:
                one = np.array([key == row["id"] for key in self.ids], dtype=np.float64)
                found.append((one, float(row["label"])))
        return found

    def _where(self, row: Mapping[str, Any]) -> NDArray[np.bool_] | None:
        period = row.get("period", "all")
        here = np.full(len(self.ids), True) if period == "all" else self.periods == period
        return here if here.any() else None

    def _answers(self, row: Mapping[str, Any], *names: str) -> NDArray[np.int8] | None:
        for name in names:
            system = self.origins.get(str(row.get(name)), str(row.get(name)))
            prompt = row.get("prompt") or ("single" if (system, "single") in self.answers else "majority")
            if (system, prompt) in self.answers:
                return self.answers[system, prompt]
        return None

    @staticmethod
    def _of_one(
        row: Mapping[str, Any], said: NDArray[np.int8], here: NDArray[np.bool_]
    ) -> Iterator[tuple[NDArray[np.float64], float]]:
        hits = ((said == 1) & here).astype(np.float64)
        right = np.where(here, np.where(said == 1, 1.0, np.where(said == 0, -1.0, 0.0)), 0.0)
        noes, yes, half = float(((said == 0) & here).sum()), float(hits.sum()), float(here.sum()) / 2
        said_of = {**row, str(row.get("metric")): row.get("value")}
        for name, scale in {"tp": 1.0, "precision": yes, "recall": half, "f1": (yes + half) / 2}.items():
            if (value := number(said_of.get(name))) is not None:
                yield hits, value * scale
        if (value := number(said_of.get("accuracy"))) is not None:
            yield right, value * float(here.sum()) - noes
        if row.get("label") == row.get("said") == 1 and (value := number(row.get("samples"))) is not None:
            yield hits, value

    @staticmethod
    def _of_two(
        row: Mapping[str, Any], one: NDArray[np.int8], two: NDArray[np.int8], here: NDArray[np.bool_]
    ) -> Iterator[tuple[NDArray[np.float64], float]]:
        same = here & (one == two)
        if (value := number(row.get("both_right"))) is not None:
            signs = np.where(same & (one == 1), 1.0, np.where(same & (one == 0), -1.0, 0.0))
            yield signs, value - float((same & (one == 0)).sum())


def number(value: object) -> float | None:
    """A number that a cell holds."""
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found) else None


def solve(attacker: Attacker, equations: Sequence[tuple[NDArray[np.float64], float]]) -> NDArray[np.int64]:
    """Labels that agree with the equations as well as any, and with as many of both labels in each period."""
    size = len(attacker.ids)
    balance = [((attacker.periods == name).astype(float), (attacker.periods == name).sum() / 2)
               for name in sorted(set(attacker.periods.tolist()))]  # fmt: skip
    whole = {(tuple(row), round(value)) for row, value in equations if np.any(row) and abs(value - round(value)) < 1e-6}
    rows = [*balance, *((np.array(row), value) for row, value in sorted(whole))]
    noise = np.random.default_rng(7).normal(size=size)
    slack = len(rows)
    table = np.hstack([np.array([row for row, _ in rows]), np.eye(slack), -np.eye(slack)])
    wanted = np.array([value for _, value in rows])
    found = milp(
        np.concatenate([1e-3 * noise, np.ones(2 * slack)]),
        constraints=LinearConstraint(table, wanted, wanted),
        integrality=np.concatenate([np.ones(size), np.zeros(2 * slack)]),
        bounds=Bounds(0, np.concatenate([np.ones(size), np.full(2 * slack, np.inf)])),
        options={"time_limit": 20},
    )
    assert found.x is not None
    return np.round(found.x[:size]).astype(np.int64)


def chance(made: Made, rows: Iterator[Mapping[str, Any]], quarter: Quarter = OPEN) -> tuple[int, float]:
    """How many equations there were, and how likely a guesser is to be right as often as the attack (exact)."""
    attacker = Attacker.of(made.workspace, quarter)
    equations = attacker.equations(rows)
    labels = {r["id"]: r["label"] for r in read_jsonl(made.workspace.private(quarter, TASK.name) / "labels.jsonl")}
    truth = np.array([labels[key] for key in attacker.ids])
    right = int((solve(attacker, equations) == truth).sum())
    return len(equations), binomtest(right, truth.size, 0.5, alternative="greater").pvalue


def told(made: Made) -> Iterator[Mapping[str, Any]]:
    """Everything public: files, and what commands printed as JSON."""
    for folder in made.public:
        yield from records(folder)
    for command, text in made.said.items():
        if command.endswith("--json"):
            start = min(text.find(sign) for sign in "[{" if sign in text)
            yield from objects(json.JSONDecoder().raw_decode(text, start)[0])


@pytest.fixture(scope="module")
def made(tmp_path_factory: Any, make_in: Any) -> Iterator[Made]:
    """A workspace with an open quarter, worked on before its deadline."""
    folder = tmp_path_factory.mktemp("open")
    with pytest.MonkeyPatch.context() as patch:
        yield run(make_in(folder), folder, patch, moment=OPENED)


def test_no_attack_on_what_is_public_does_better_than_guessing(made: Made) -> None:
    _, p_value = chance(made, told(made))
    assert p_value > 0.01


def test_the_same_attack_on_the_private_board_finds_the_labels(made: Made) -> None:
    build_board(made.workspace, private=True)
    equations, p_value = chance(made, records(made.workspace.private_board))
    assert equations > 100
    assert p_value < 1e-6


def test_the_open_quarter_is_on_the_board_all_the_same(made: Made) -> None:
    board = made.workspace.board
    assert set(pl.read_parquet(board / "systems.parquet")["edition"]) == {"2026Q2", "2026Q3"}
    assert set(pl.read_parquet(board / "scores.parquet")["edition"]) == {"2026Q2"}
    assert "6 systems" not in made.said["score --quarter 2026Q3"]
    assert "fake-a" in made.said["score --quarter 2026Q3"]


def test_before_it_opens_no_sample_is_on_the_board(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", "data")
    monkeypatch.setenv("HELLOFRESH_NOW", "2026-10-05T12:00:00Z")
    catalogued(monkeypatch, hashed("fake-a"))
    workspace, found = Workspace(Path("data")), candidates(make, OPEN)
    collect_quarter(workspace, make.job(found, quarter=OPEN), progress=lambda _: None)
    build_release(workspace, OPEN, TASK, seed="s", cap=PER_CLASS, texts=True, moment=OPEN.start)
    printed("evaluate", "--quarter", "2026Q3", "--task", TASK.name, "--model", "fake-a")
    for command in (("score", "--quarter", "2026Q3"), ("board", "build"), ("board", "export", "data/export")):
        printed(*command)
    ids = {item.sample.id.encode() for item in found}
    files = [*contents(workspace.board).values(), *contents(Path("data/export")).values()]
    assert files and not any(key in content for key in ids for content in files)


def test_all_that_holds_figures_of_it_is_for_the_owner_alone(made: Made) -> None:
    printed("analyse", "cost", "--quarter", "2026Q3", "--private")
    build_board(made.workspace, private=True)
    private = made.workspace.root / "private"
    paths = [path for path in private.rglob("*") if path.is_file()]
    assert {"2026Q3.parquet", "scores.parquet", "labels.jsonl", "cost.json"} <= {path.name for path in paths}
    assert {oct(path.stat().st_mode & 0o077) for path in private.rglob("*")} == {"0o0"}
    assert not any((made.workspace.root / name / "2026Q3.parquet").exists() for name in ("scores", "judgements"))


@pytest.mark.integration
def test_no_attack_on_a_real_quarter_does_better_than_guessing(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real notes of 2023Q2, as if that quarter were open; the same attack finds labels on the private board."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELLOFRESH_DATA", "data")
    monkeypatch.setenv("HELLOFRESH_NOW", "2023-08-01T12:00:00Z")
    for name in MODELS:
        catalogued(monkeypatch, hashed(name))
    dump = shared_data / "x" / "dump-2022Q4-2023Q2"
    models = ("coin", "always-yes", *MODELS)
    made = Made(Workspace(Path("data")), {}, [tmp_path / "data" / name for name in PUBLIC])
    write_bytes(made.workspace.escrow_key, sha256_text("key").encode(), mode=0o600)  # one draw: no chance failure
    arguments = ("--quarter", "2023Q2", "--notes-dump", str(dump), "--notes-posts", str(dump / "posts.jsonl"))
    told_of = {"release run": printed("release", "run", *arguments, "--models", *models, "--no-analyses")}
    told_of |= {" ".join(one): printed(*one) for one in (("score", "--quarter", "2023Q2", "--json"),)}
    printed("board", "export", "data/export")
    assert "F1" not in told_of["release run"]
    made = Made(made.workspace, told_of, made.public)
    _, p_value = chance(made, told(made), Quarter(2023, 2))
    assert p_value > 0.01
    build_board(made.workspace, private=True)
    equations, p_value = chance(made, records(made.workspace.private_board), Quarter(2023, 2))
    assert equations > 50
    assert p_value < 1e-6


@pytest.mark.parametrize("moment", [OPENED, CLOSED], ids=["open", "closed"])
def test_exchanging_labels_changes_no_public_byte(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """All samples of each month are taken, so every exchange within a month leaves the same samples to release."""

    def blind(sample_id: str, _: int, salt: str) -> str:
        """Commitments are the one thing that follows from labels, hidden by salts; here they must not differ."""
        return sha256_text(sample_id + salt)

    monkeypatch.setattr(escrow, "commitment_of", blind)
    monkeypatch.setattr(load, "commitment_of", blind)
    found = []
    for seed in (1, 2):
        folder = tmp_path / "place"  # a path that is the same for both
        folder.mkdir()
        made = run(make, folder, monkeypatch, moment=moment, seed=seed)
        build_board(made.workspace, private=True)
        private = contents(made.workspace.root / "private")
        found.append(({path.name: contents(path) for path in made.public}, made.said, private))
        monkeypatch.chdir(tmp_path)
        shutil.move(folder, tmp_path / f"place-{seed}")
    (one, said_one, private_one), (two, said_two, private_two) = found
    assert private_one["scores/2026Q3.parquet"] != private_two["scores/2026Q3.parquet"]
    assert private_one["board/scores.parquet"] != private_two["board/scores.parquet"]
    assert said_one == said_two
    for name, files in one.items():
        assert files.keys() == two[name].keys()
        assert [path for path, content in files.items() if content != two[name][path]] == []
    assert len(one["export"]) >= 20 and one["board"] and one["published"] and one["scores"]
