"""Who stands beside a run: each once, on the samples that the run judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hellofresh.core.clock import now
from hellofresh.releases.life.state import reveal
from hellofresh.results.scoring import scores
from hellofresh.results.scoring.scores import beside_others, score_quarter
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation
from hellofresh.tasks import get_task

TASK = get_task("x-notes")


@pytest.fixture
def workspace(make, quarter, tmp_path):
    """A revealed quarter with a baseline, scored."""
    place = make.workspace()
    make.release(make.notes(5, 5), workspace=place)
    evaluate(place, Evaluation(quarter, TASK, "always-yes"), lambda _: None)
    reveal(place, quarter, TASK, now())
    score_quarter(place, quarter, tmp_path / "none")
    return place


def rows(workspace, quarter, **settings):
    done = evaluate(workspace, Evaluation(quarter, TASK, "coin", **settings), lambda _: None)
    return done.run_id, beside_others(workspace, quarter, TASK, done.run_id)


def test_a_run_of_some_samples_stands_beside_others_on_the_same(workspace, quarter) -> None:
    run, found = rows(workspace, quarter, limit=3)
    assert found[0].origin == run
    assert len(found) == 2
    assert {score.n for score in found} == {3} and all(score.n < score.n_split for score in found)


@pytest.mark.parametrize(("settings", "stands"), [({}, 1), ({"limit": 3}, 0)], ids=["a whole run", "a part"])
def test_who_was_scored_before_stands_beside_a_whole_run_once(
    workspace, quarter, monkeypatch, settings: dict[str, int], stands: int
) -> None:
    known = scores._stored(workspace, quarter, "main")
    rival = [replace(score, origin="rival", system="Rival") for score in known if score.system == known[0].system]
    monkeypatch.setattr(scores, "_stored", lambda *_: [*known, *rival])
    _, found = rows(workspace, quarter, **settings)
    origins = [score.origin for score in found]
    assert len(origins) == len(set(origins)) == 2 + stands and origins.count("rival") == stands
