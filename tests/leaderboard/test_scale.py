"""Pages name and draw the metrics of the task, and the line of a constant answer is what that answer really gets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hellofresh.stats.metrics import class_f1, macro_f1, mean
from leaderboard.components.scale import Scale, constant_answer, plain_scale

COUNTS = st.lists(st.integers(0, 50), min_size=2, max_size=7).filter(any)


def test_on_balanced_samples_the_constant_answer_has_an_f1_of_two_thirds() -> None:
    assert constant_answer(class_f1(2), (1, 1)) == (1, pytest.approx(2 / 3))


@given(COUNTS)
def test_the_constant_answer_is_what_scoring_it_gives(counts: list[int]) -> None:
    metric = macro_f1(len(counts))
    label, value = constant_answer(metric, counts)
    labels = np.repeat(np.arange(len(counts)), counts)
    scored = [float(metric.value(metric.statistics(labels, np.full_like(labels, said)).sum(axis=0)))
              for said in range(len(counts))]  # fmt: skip
    assert value == pytest.approx(scored[label])
    assert value == pytest.approx(max(scored))


def test_the_columns_of_a_decision_are_the_metrics_after_the_headline() -> None:
    scale = plain_scale("x-notes")
    assert (scale.title, [title for _, title in scale.others]) == ("F1", ["Precision", "Recall", "Accuracy"])


def test_metrics_of_single_classes_stand_apart_from_those_of_all() -> None:
    scale = plain_scale("claims")
    assert scale.others and scale.by_class
    assert not [name for name, _ in scale.others if ":" in name]
    assert all(":" in name for name, _ in scale.by_class)
    assert {title for title, _ in scale.meanings} == {scale.title, *(title for _, title in scale.others)}


def test_a_task_that_this_version_does_not_know_is_drawn_between_0_and_1() -> None:
    assert plain_scale("a-new-task") == Scale()


@given(st.floats(-3, 3))
def test_values_stand_between_the_limits_of_their_metric(value: float) -> None:
    metric = mean("overall", (-3, 3))
    scale = Scale(metric.title, low=metric.limits[0], high=metric.limits[1])
    assert 0 <= scale.share(value) <= 1
    assert [text for _, text in scale.marks] == ["-3", "0", "3"]


def test_where_the_lowest_is_the_best_it_comes_first() -> None:
    scale = Scale("Error", rising=False)
    assert sorted([0.3, 0.1, 0.2], key=scale.order) == [0.1, 0.2, 0.3]
    assert scale.best == "lowest"
