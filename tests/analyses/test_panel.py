"""A panel is read from a workspace as it is now."""

from __future__ import annotations

import numpy as np

from hellofresh.core.clock import now
from hellofresh.releases.life.takedown import take_down
from hellofresh.results.analyses import NOT_ASKED
from hellofresh.results.build import build_panel
from hellofresh.runs.evaluate import evaluate
from hellofresh.runs.evaluation import Evaluation


def test_what_was_said_of_a_sample_that_was_taken_down_is_left_out(make, notes_task, quarter, tmp_path) -> None:
    workspace = make.workspace()
    make.release(make.notes(3, 2))
    evaluate(workspace, Evaluation(quarter, notes_task, "coin"), lambda _: None)
    before = build_panel(workspace, quarter, notes_task, tmp_path / "none", private=True)
    gone = before.samples[0].id
    take_down(workspace, quarter, notes_task, {gone: "asked for"}, now())
    after = build_panel(workspace, quarter, notes_task, tmp_path / "none", private=True)
    assert [sample.id for sample in after.samples] == [sample.id for sample in before.samples[1:]]
    (one,), (other,) = before.systems, after.systems
    assert np.array_equal(one.said[0].answers[1:], other.said[0].answers)
    assert NOT_ASKED not in other.said[0].answers
