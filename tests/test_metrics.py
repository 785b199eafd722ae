"""Metrics: against scikit-learn, against the four cells of two classes, and by identities."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss, log_loss

from hellofresh.stats.metrics import (
    LEAST_CHANCE,
    NO_ANSWER,
    ClassCounts,
    Metric,
    accuracy,
    balanced_accuracy,
    class_f1,
    class_precision,
    class_recall,
    forecast_metrics,
    macro_f1,
    matthews,
    mean,
    rank_correlation,
    weighted_f1,
)
from hellofresh.tasks import Task, get_task
from hellofresh.tasks.outputs import Response
from verifier.statistics import OwnMetric as Theirs

Panels = list[tuple[int, NDArray[np.int8], NDArray[np.int8]]]


def _panels(number: int, *, silence: bool, seed: int = 0) -> Panels:
    """Random panels of 2 to 7 classes with skew, some classes missing."""
    random, found = np.random.default_rng(seed), []
    for _ in range(number):
        classes, n = int(random.integers(2, 8)), int(random.integers(1, 60))
        labels = random.choice(classes, size=n, p=random.dirichlet(np.ones(classes))).astype(np.int8)
        said = np.where(random.random(n) < random.random(), labels, random.integers(0, classes, n)).astype(np.int8)
        if silence:
            said[random.random(n) < 0.3] = NO_ANSWER
        found.append((classes, labels, said))
    return found


def _value(metric: Metric, labels: NDArray[np.generic], said: NDArray[np.generic]) -> float:
    return float(metric.value(metric.statistics(labels, said).sum(axis=0)))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_metrics_of_classes_equal_those_of_scikit_learn() -> None:
    from sklearn import metrics as theirs

    for classes, labels, said in _panels(60, silence=False, seed=9):
        every = {"labels": list(range(classes)), "zero_division": 0}
        precision, recall, f1, _ = theirs.precision_recall_fscore_support(labels, said, **every)
        expected = {
            macro_f1(classes): np.mean(f1),
            weighted_f1(classes): theirs.f1_score(labels, said, average="weighted", **every),
            accuracy(classes): theirs.accuracy_score(labels, said),
            matthews(classes): theirs.matthews_corrcoef(labels, said),
            balanced_accuracy(classes): np.mean(recall),
        }
        for of in range(classes):
            expected |= {class_f1(classes, of): f1[of], class_precision(classes, of): precision[of],
                         class_recall(classes, of): recall[of]}  # fmt: skip
        for metric, value in expected.items():
            assert _value(metric, labels, said) == pytest.approx(float(value), abs=1e-12), metric.name


def test_silence_costs_recall_as_in_scikit_learn_and_precision_as_a_share_of_each_other_class() -> None:
    for classes, labels, said in _panels(200, silence=True):
        counts = ClassCounts(classes)
        true, false, missed = counts.by_class(counts(labels, said).sum(axis=0))
        for own in range(classes):
            silent = np.count_nonzero((labels != own) & (said == NO_ANSWER))
            assert true[own] == np.count_nonzero((labels == own) & (said == own))
            assert missed[own] == np.count_nonzero((labels == own) & (said != own))
            wrong = np.count_nonzero((labels != own) & (said == own))
            assert false[own] == pytest.approx(wrong + silent / (classes - 1), abs=1e-12)
        assert counts.size(counts(labels, said)).tolist() == [1.0] * labels.size


def _task(**fields: object) -> Task:
    known = get_task("x-notes")
    kept = {name: getattr(known, name) for name in known.__dataclass_fields__} | {"metrics": ()} | fields
    return Task(**kept)


def test_a_task_gets_the_usual_metrics_of_its_classes() -> None:
    assert _task().headline.name == "f1"
    three = _task(classes=("true", "false", "unclear"))
    assert three.headline.name == "macro_f1"
    assert {"accuracy", "f1:unclear", "recall:true"} <= {metric.name for metric in three.metrics}
    assert three.metric("f1:false").title == "F1: false"


def test_a_task_with_one_class_with_eight_or_with_two_alike_is_refused() -> None:
    for classes in ((), ("one",), tuple("abcdefgh"), ("a", "a")):
        with pytest.raises(ValueError, match="2 to 7"):
            _task(classes=classes)
    with pytest.raises(ValueError, match="without a choice"):
        _task(output=Response)
    rated = _task(output=Response, classes=(), metrics=(mean("overall", (0.0, 10.0)),), track="responses")
    assert rated.headline.limits == (0.0, 10.0)


RANKED = rank_correlation("intercept", "")


def _ranked(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Facts, some of them equal, and probabilities that go with them a little."""
    random = np.random.default_rng(seed)
    facts = random.normal(size=n).round(int(random.integers(0, 4)))
    return facts, (facts + random.normal(size=n)).round(int(random.integers(0, 4)))


def test_rank_correlation_is_spearmans_whatever_is_equal_or_unknown() -> None:
    from scipy.stats import spearmanr

    for seed in range(50):
        facts, chances = _ranked(40, seed)
        assert _value(RANKED, facts, chances) == pytest.approx(spearmanr(facts, chances).statistic, abs=1e-12)
        assert _value(RANKED, np.append(facts, np.nan), np.append(chances, 9.0)) == _value(RANKED, facts, chances)
        assert _value(RANKED, facts, np.exp(chances)) == pytest.approx(_value(RANKED, facts, chances), abs=1e-12)
        assert _value(RANKED, facts, -chances) == pytest.approx(-_value(RANKED, facts, chances), abs=1e-12)
    assert _value(RANKED, np.arange(5.0), np.full(5, 0.5)) == 0.0
    assert _value(RANKED, np.full(3, np.nan), np.arange(3.0)) == 0.0


def _forecasts(classes: int, seed: int, n: int = 60) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(classes), random.integers(0, classes, n)]).astype(np.int8)
    return labels, random.dirichlet(np.ones(classes), labels.size)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_forecasts_are_scored_as_scikit_learn_and_a_loop_do(classes: int) -> None:
    labels, chances = _forecasts(classes, classes)
    index, _, logs = forecast_metrics(classes)
    sums = index.statistics(labels, chances).sum(axis=0)
    errors = [
        sum((p - (k == label)) ** 2 for k, p in enumerate(row)) / 2 for label, row in zip(labels, chances, strict=True)
    ]
    shares = np.bincount(labels) / labels.size
    base = sum(sum((p - (k == label)) ** 2 for k, p in enumerate(shares)) / 2 for label in labels) / labels.size
    assert sums[0] == pytest.approx(sum(errors), abs=1e-12)
    assert float(index.value(sums)) == pytest.approx(100 * (1 - (np.mean(errors) / base) ** 0.5 / 2), abs=1e-10)
    if classes == 2:
        assert sums[0] / labels.size == pytest.approx(brier_score_loss(labels, chances[:, 1], pos_label=1), abs=1e-12)
    kept = np.where(chances < LEAST_CHANCE, 0.5, chances)
    kept /= kept.sum(axis=1, keepdims=True)
    assert float(logs.value(logs.statistics(labels, kept).sum(axis=0))) == pytest.approx(-log_loss(labels, kept))


@pytest.mark.parametrize("classes", [2, 4])
def test_the_index_is_100_for_the_truth_and_50_for_shares_and_silence_is_the_worst_forecast(classes: int) -> None:
    labels, chances = _forecasts(classes, 7)
    index, _, logs = forecast_metrics(classes)

    def value(metric: Metric, said: NDArray[np.float64]) -> float:
        return float(metric.value(metric.statistics(labels, said).sum(axis=0)))

    truth = np.eye(classes)[labels]
    assert (value(index, truth), value(logs, truth)) == (100.0, 0.0)
    assert value(index, np.tile(np.bincount(labels) / labels.size, (labels.size, 1))) == pytest.approx(50)
    wrong, silent = np.roll(truth, 1, axis=1), np.full(chances.shape, np.nan)
    for metric in (index, logs):
        assert value(metric, wrong) == value(metric, silent) <= value(metric, chances)
        assert metric.limits[0] - 1e-12 <= value(metric, silent)
        # Rounded probabilities are scored by their ratios.
        assert value(metric, np.minimum(1.005 * chances, 1)) == pytest.approx(value(metric, chances), abs=0.1)
    balanced = np.arange(40) % 2
    always_wrong = np.eye(2)[1 - balanced]
    table = forecast_metrics(2)[0].statistics(balanced, always_wrong)
    assert float(forecast_metrics(2)[0].value(table.sum(axis=0))) == 0.0  # the scale's end, without a cut
    one_class = index.statistics(np.zeros(5, dtype=np.int8), np.tile(truth[:1], (5, 1)))
    assert float(index.value(one_class.sum(axis=0))) == 0.0


@pytest.mark.parametrize(
    ("positives", "said", "relative", "absolute"),
    [
        (0.1, 0.1, 50.0, 70.0),  # the shares, of which one class is rare
        (0.1, 0.5, 100 - 50 * (0.25 / 0.09) ** 0.5, 50.0),
        (0.5, 0.5, 50.0, 50.0),
        (0.5, 0.2, 100 - 100 * 0.34**0.5, 100 - 100 * 0.34**0.5),
    ],
)
def test_brier_indices_have_50_for_shares_and_equal_chances(
    positives: float, said: float, relative: float, absolute: float
) -> None:
    labels = np.array([1] * round(100 * positives) + [0] * round(100 - 100 * positives))
    chances = np.tile([1 - said, said], (100, 1))
    for metric, value in zip(forecast_metrics(2), (relative, absolute), strict=False):
        sums = metric.statistics(labels, chances).sum(axis=0)
        assert float(metric.value(sums)) == pytest.approx(value)
        assert float(Theirs.of_classes(metric.name, ("no", "yes")).value(sums)) == pytest.approx(value)
    even = forecast_metrics(3)[1]
    thirds = even.statistics(np.array([0, 0, 2]), np.full((3, 3), 1 / 3)).sum(axis=0)
    assert float(even.value(thirds)) == pytest.approx(50)
    assert float(Theirs.of_classes("brier_index", ("a", "b", "c")).value(thirds)) == pytest.approx(50)
