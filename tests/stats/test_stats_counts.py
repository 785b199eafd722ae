"""Counts and metrics agree with scikit-learn, and silence never pays."""

from __future__ import annotations

import numpy as np
import pytest
from counting import METRICS, Values, count, metric_values, statistics
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

ANSWERED = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40)
ANY = st.lists(st.tuples(st.integers(0, 1), st.integers(-1, 1)), min_size=1, max_size=40)


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(pairs, dtype=np.int8).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@given(ANSWERED)
def test_the_metrics_are_those_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    labels, predictions = arrays(pairs)
    ours = count(labels, predictions).metrics
    theirs = precision_recall_fscore_support(labels, predictions, average="binary", pos_label=1, zero_division=0)
    assert [ours["precision"], ours["recall"], ours["f1"]] == pytest.approx(theirs[:3])
    assert ours["accuracy"] == pytest.approx(accuracy_score(labels, predictions))


@given(ANY)
def test_no_answer_counts_as_the_wrong_answer(pairs: list[tuple[int, int]]) -> None:
    labels, predictions = arrays(pairs)
    wrong = np.where(predictions == -1, 1 - labels, predictions).astype(np.int8)
    assert count(labels, predictions).metrics == count(labels, wrong).metrics


@given(ANY, st.data())
def test_silence_never_pays_against_the_right_answer_nor_costs_more_than_the_wrong_one(
    pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    labels, predictions = arrays(pairs)
    which = data.draw(st.integers(0, len(labels) - 1))
    silent, right = predictions.copy(), predictions.copy()
    silent[which], right[which] = -1, labels[which]
    before, after = count(labels, silent).metrics, count(labels, right).metrics
    assert all(before[name] <= after[name] for name in METRICS)
    assert before["accuracy"] < after["accuracy"]


@given(ANY)
def test_every_sample_is_counted_once_and_both_ways_of_counting_agree(pairs: list[tuple[int, int]]) -> None:
    labels, predictions = arrays(pairs)
    rows = statistics(labels, predictions)
    tp, fn = rows.sum(axis=0)[[3, 5]]
    assert (tp, fn) == (((labels == 1) & (predictions == 1)).sum(), ((labels == 1) & (predictions != 1)).sum())
    values = metric_values(rows.sum(axis=0, keepdims=True))[0]
    assert dict(zip(METRICS, values, strict=True)) == count(labels, predictions).metrics


@given(ANY, st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_matter(pairs: list[tuple[int, int]], random) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert count(*arrays(shuffled)).all_metrics == count(*arrays(pairs)).all_metrics


@given(ANY, st.integers(2, 4))
def test_saying_it_all_again_changes_no_metric(pairs: list[tuple[int, int]], times: int) -> None:
    assert count(*arrays(pairs * times)).metrics == pytest.approx(count(*arrays(pairs)).metrics)


def test_always_yes_on_a_balanced_split_has_f1_of_two_thirds() -> None:
    metrics = count(*arrays([(1, 1), (0, 1)] * 10)).metrics
    assert metrics == pytest.approx({"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "accuracy": 0.5})


def test_where_a_denominator_is_zero_the_metric_is_zero() -> None:
    assert count(*arrays([(1, 0), (0, 0)])).metrics["precision"] == 0.0
    assert count(*arrays([(0, 0)])).metrics == {"precision": 0, "recall": 0, "f1": 0, "accuracy": 1}
    assert set(Values(np.zeros(6)).metrics.values()) == {0.0}


@pytest.mark.parametrize(
    ("labels", "predictions"),
    [([0, 1], [0]), ([[0]], [[0]]), ([2], [0]), ([-1], [0]), ([0], [2]), ([0], [-2])],
)
def test_what_is_no_label_or_prediction_is_refused(labels: list[int], predictions: list[int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        count(np.array(labels, dtype=np.int8), np.array(predictions, dtype=np.int8))


@given(ANY)
def test_every_metric_is_that_of_scikit_learn_once_silence_is_made_the_wrong_answer(
    pairs: list[tuple[int, int]],
) -> None:
    labels, predictions = arrays(pairs)
    wrong = np.where(predictions == -1, 1 - labels, predictions)
    ours = count(labels, predictions).all_metrics
    precision, recall, f1, _ = precision_recall_fscore_support(labels, wrong, labels=[0, 1], zero_division=0)
    assert [ours["negative_precision"], ours["precision"]] == pytest.approx(precision, abs=1e-12)
    assert [ours["negative_recall"], ours["recall"]] == pytest.approx(recall, abs=1e-12)
    assert [ours["negative_f1"], ours["f1"]] == pytest.approx(f1, abs=1e-12)
    assert ours["macro_f1"] == pytest.approx(f1.mean(), abs=1e-12)
    assert ours["balanced_accuracy"] == pytest.approx(recall.mean(), abs=1e-12)


@given(ANY)
def test_exchanging_the_labels_exchanges_the_classes(pairs: list[tuple[int, int]]) -> None:
    labels, predictions = arrays(pairs)
    turned = np.where(predictions == -1, -1, 1 - predictions).astype(np.int8)
    before, after = count(labels, predictions).all_metrics, count((1 - labels).astype(np.int8), turned).all_metrics
    for name in ("precision", "recall", "f1"):
        assert (before[name], before[f"negative_{name}"]) == (after[f"negative_{name}"], after[name])
