"""Whatever is public of an open quarter, nothing in it follows from labels.

Under every exchange of labels that leaves the released samples as they are, all public files, and all that commands
print, are the same to the byte.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hellofresh.cli import main
from hellofresh.core.files import read_jsonl, sha256_text, write_bytes, write_jsonl
from hellofresh.core.quarters import Quarter
from hellofresh.core.workspace import Workspace
from hellofresh.models import Answer, Finish, ModelSpec, Request
from hellofresh.models.catalogue import CATALOGUE, CatalogueEntry
from hellofresh.releases.candidates.collection import collect_quarter
from hellofresh.releases.draw import escrow
from hellofresh.releases.draw.release import build_release
from hellofresh.releases.life import load
from hellofresh.releases.life.state import reveal
from hellofresh.results.board.build import build_board
from hellofresh.submissions import add_submission
from hellofresh.submissions.released import due_in
from hellofresh.tasks import get_task
from hellofresh.tasks.samples import Candidate

OPEN, REVEALED = Quarter(2026, 3), Quarter(2026, 2)
OPENED, CLOSED = "2026-11-21T12:00:00Z", "2027-01-18T12:00:00Z"
"""While predictions are taken, and between the deadline and the reveal."""
TASK = get_task("x-notes")
PER_CLASS = 8
"""Samples of each label in a month."""
MODELS = ("fake-a", "fake-b", "fake-c")


class Hashed:
    """A model that anybody can run again: its answers follow from its name, the sample and the wording."""

    def __init__(self, name: str) -> None:
        self.spec = ModelSpec(name, "language-model", "A fake.", {})

    async def ask(self, request: Request) -> Answer:
        assert request.sample is not None
        first = sha256(f"{self.spec.name} {request.sample.id} {request.messages}".encode()).digest()[0]
        return Answer(("yes", "no", "yes", "no", "hm")[first % 5], Finish.STOP, tokens_in=7, tokens_out=1)

    async def close(self) -> None:
        """Nothing to let go of."""


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
        place.mkdir(parents=True)
        (place / "system.toml").write_text(
            f'name = "{team}"\nteam = "{team.title()}"\ncontact = "a@example.org"\nregime = "other"\nmodels = ["m"]\n'
            "knowledge_cutoff = 2026-06-30\n"
        )
        # The same in every workspace, whatever the labels: what is handed in is public from the deadline on.
        rows = [{"id": key, "label": sha256(key.encode()).digest()[1] % 2} for key in sorted(truth)]
        write_jsonl(place / "predictions.jsonl", rows)
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
    ("analyse", "all", "--html", "--quarter", "2026Q3"),
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
        patch.setitem(CATALOGUE, name, CatalogueEntry("A fake.", lambda _, name=name: Hashed(name)))
    workspace = Workspace(Path("data"))
    released(make, workspace, seed=seed)
    hand_in(folder / "theirs", workspace, Path("submissions"))
    for quarter, model in product(("2026Q2", "2026Q3"), ("coin", "always-yes", "tfidf-logreg", *MODELS)):
        if (quarter, model) != ("2026Q2", "tfidf-logreg"):  # it has nothing to learn from
            printed("evaluate", "--quarter", quarter, "--task", TASK.name, "--model", model)
    patch.setenv("HELLOFRESH_NOW", moment)
    said = {" ".join(command): STARTED.sub('"started": ""', printed(*command)) for command in COMMANDS}
    return Made(workspace, said, [folder / "data" / name for name in PUBLIC])


def on_the_board_and_its_figures_for_the_owner_alone(made: Made) -> None:
    board, private = made.workspace.board, made.workspace.root / "private"
    assert set(pl.read_parquet(board / "systems.parquet")["edition"]) == {"2026Q2", "2026Q3"}
    assert set(pl.read_parquet(board / "scores.parquet")["edition"]) == {"2026Q2"}
    assert "6 systems" not in made.said["score --quarter 2026Q3"]
    assert "fake-a" in made.said["score --quarter 2026Q3"]
    printed("analyse", "cost", "--quarter", "2026Q3", "--private")
    build_board(made.workspace, private=True)
    names = {path.name for path in private.rglob("*") if path.is_file()}
    assert {"2026Q3.parquet", "scores.parquet", "labels.jsonl", "cost.json"} <= names
    assert {oct(path.stat().st_mode & 0o077) for path in private.rglob("*")} == {"0o0"}
    assert not any((made.workspace.root / name / "2026Q3.parquet").exists() for name in ("scores", "judgements"))


@pytest.mark.parametrize("moment", [OPENED, CLOSED], ids=["open", "closed"])
def test_exchanging_labels_changes_no_public_byte_and_figures_are_for_the_owner_alone(
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
        on_the_board_and_its_figures_for_the_owner_alone(made)
        private = read_bytes(made.workspace.root / "private")
        found.append(({path.name: read_bytes(path) for path in made.public}, made.said, private))
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


def read_bytes(folder: Path) -> dict[str, bytes]:
    """The content of every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
