"""Every table that a quarter's results are written to, as the file beside has them. See `tests/values.py`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

from hellofresh.core.files import read_jsonl
from hellofresh.core.quarters import utc_text
from hellofresh.core.workspace import Workspace
from hellofresh.judging.muse import MUSE_EDITION, import_muse, read_muse
from hellofresh.judging.people import close_study
from hellofresh.models import Answer, Finish, Request
from hellofresh.pipeline.witness import Witness
from hellofresh.releases.life.load import load_labelled
from hellofresh.releases.life.state import reveal
from hellofresh.releases.life.takedown import take_down
from hellofresh.results.analyses import get_analyses
from hellofresh.results.analyses.writing import make_analyses
from hellofresh.results.board.build import build_board
from hellofresh.results.scoring.people import people_beside_run
from hellofresh.results.scoring.reveal import publish_ceiling, publish_results
from hellofresh.results.scoring.scores import beside_others, score_quarter
from hellofresh.results.split.arrays import build_panel
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.submissions.inbox import add_submission
from hellofresh.submissions.released import due_in
from hellofresh.tasks import get_task
from tests.conftest import Maker
from tests.fakes import FakeModel, catalogued, fake_spec
from tests.ratings.predicted_study import DAYS, NOTES, OPEN, QUARTER, answer, asked
from tests.ratings.rated_study import write_study
from tests.submissions.checks import write_submission
from tests.values import Cases, digest, plain

case = Cases(Path(__file__).with_suffix(".json"))
EDITS = get_task("wikipedia-edits")
CHANGING = ("sha256", "version", "code", "received", "started", "size", "hash", "revision", "data_version", "seed")
"""Parts of names of columns whose values follow from the version of the code, or are drawn anew."""


@contextmanager
def at(moment: str) -> Iterator[pytest.MonkeyPatch]:
    """A day, which nobody needs to confirm."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELLOFRESH_NOW", moment)
        patch.setattr(Witness, "confirm", lambda *_: None)
        yield patch


def steady(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if not any(part in name for part in CHANGING)} for row in rows]


def written(folder: Path) -> dict[str, object]:
    """All tables below a folder."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".parquet":
            table = pl.read_parquet(path)
            found[name] = table.select([one for one in table.columns if not any(part in one for part in CHANGING)])
        elif path.suffix == ".jsonl":
            found[name] = digest(steady(list(read_jsonl(path))))
    return found


def says(name: str) -> FakeModel:
    """A model whose answers follow from its name, the sample and the wording; now and then it refuses."""

    def say(request: Request) -> Answer:
        assert request.sample is not None
        first = sha256(f"{name} {request.seed} {request.sample.id} {request.messages}".encode()).digest()[0]
        return Answer(("yes", "no", "yes", "no", "hm", "I'm sorry")[first % 6], Finish.STOP, tokens_in=7, tokens_out=1)

    return FakeModel(fake_spec(name), say)


def hand_in(folder: Path, workspace: Workspace, ids: list[str]) -> Path:
    """Two teams, one of which states chances."""
    submissions = workspace.root / "submissions"
    for team in ("red", "blue"):
        rows = [{"id": key, "label": sha256(f"{key} {team}".encode()).digest()[1] % 2} for key in ids]
        rows = [row | ({"probabilities": [0.25, 0.75]} if team == "red" and row["label"] else {}) for row in rows]
        write_submission(folder / team / "system", rows, team, team.title(), cutoff="2023-05-30")
        add_submission(
            folder / team / "system", due_in(workspace, QUARTER), submissions, datetime(2023, 9, 2, tzinfo=UTC)
        )
    return submissions


def opened(folder: Path, patch: pytest.MonkeyPatch) -> tuple[Workspace, Path, list[str]]:
    """Notes that people predicted, and edits; runs of models and baselines, submissions; scored while it is open."""
    files = asked(folder, people=7)
    answer(files, careless=("rater-3",))
    close_study(files, secret=True)
    make, workspace, runs = Maker(folder), files.workspace, []
    dates = [datetime(2023, 4 + k % 3, 5, tzinfo=UTC) for k in range(30)]
    make.release([make.candidate(make.edit(k, page=k // 3, date=date), k % 2) for k, date in enumerate(dates)])
    for name in ("one", "two"):
        catalogued(patch, says(name))
    how = {"coin": {}, "one": {}, "always-yes": {"limit": 20}, "two": {"repeat": 3, "temperature": 0.7}}
    for task in (NOTES, EDITS):
        for model, options in how.items():
            runs.append(evaluate(workspace, Evaluation(QUARTER, task, model, **options), lambda _: None).run_id)
    submissions = hand_in(folder, workspace, ids_of(workspace))
    score_quarter(workspace, QUARTER, submissions)
    build_board(workspace)
    return workspace, submissions, runs


def ids_of(workspace: Workspace) -> list[str]:
    return [row["id"] for row in read_jsonl(workspace.release(QUARTER, NOTES.name) / "samples.jsonl")]


@case
def a_quarter() -> object:
    """All tables of a quarter, before its reveal and after it."""
    with TemporaryDirectory() as folder, at(OPEN) as patch:
        workspace, submissions, runs = opened(Path(folder), patch)
        before = written(workspace.root / "board") | written(workspace.root / "private" / "scores")
        patch.setenv("HELLOFRESH_NOW", utc_text(DAYS.reveals))
        ids = ids_of(workspace)
        take_down(workspace, QUARTER, NOTES, {ids[0]: "asked for"}, DAYS.reveals)
        for task in (NOTES, EDITS):
            reveal(workspace, QUARTER, task, DAYS.reveals)
        scored = score_quarter(workspace, QUARTER, submissions, DAYS.reveals)
        published = publish_results(workspace, scored)
        panel = build_panel(workspace, QUARTER, NOTES, submissions)
        made = make_analyses(workspace, panel, get_analyses("all")[:3], png=False)
        built = build_board(workspace)
        notes, edits = (load_labelled(workspace, QUARTER, task) for task in (NOTES, EDITS))
        beside = [[score.value for score in beside_others(workspace, *notes, run)] for run in runs[:3]]
        people = [people_beside_run(workspace, *notes, run) for run in runs[:2]]
        red = [score for score in scored.scores if (score.origin, score.task) == ("red/system", NOTES.name)]
        alone = [[score.metric, score.period, score.value] for score in red]
        again = [digest([plain(publish_results(workspace, scored))]), build_board(workspace).skipped]
        again += [len(publish_ceiling(workspace.root / "releases", *one)) for one in (notes, edits)]
        parts = ("board", "scores", "judgements", "releases", "analyses", "private/judgements")
        said = [list(scored.notes), [one.rows for one in made], [digest([plain(one)]) for one in published]]
        return (
            before,
            {part: written(workspace.root / part) for part in parts},
            said,
            beside,
            people,
            alone,
            again,
            [built.rows, built.quarters, built.skipped],
        )


@case
def a_rated_study() -> object:
    """Responses that people rated: scores, what is published of ratings, and the board."""
    with TemporaryDirectory() as folder, at("2026-11-21T12:00:00Z"):
        workspace = Workspace(Path(folder) / "data")
        import_muse(workspace, read_muse(write_study(Path(folder) / "study")))
        scored = score_quarter(workspace, MUSE_EDITION, Path(folder) / "none")
        publish_results(workspace, scored)
        build_board(workspace)
        return [
            list(scored.notes),
            *(written(workspace.root / part) for part in ("board", "scores", "judgements", "releases")),
        ]


@pytest.mark.parametrize("name", case.named)
def test_every_table_is_as_written_down(name: str) -> None:
    case.check(name)


if __name__ == "__main__":
    case.write()
