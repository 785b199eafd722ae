"""What the texts alone tell of the labels, to a classifier that knows nothing but words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hellofresh.results.analyses.base import AnalysisResult, Findings, Where, analysis, measure, missing
from hellofresh.results.figures.charts import Axis, Chart, Mark
from hellofresh.results.panel import NOT_ASKED, Panel, PromptOutputs
from hellofresh.stats.metrics import balanced_accuracy

_FOLDS = 5
_LEAST_OF_CLASS, _MOST, _WORDS = 20, 10_000, 50_000
_WHOLE = "all texts"


@analysis(
    "text-alone",
    "Text alone",
    "How much of the labels do words alone tell, without understanding or evidence?",
    "Balanced accuracy (the mean share of each class that is found) of a classifier on word counts, less chance, which "
    "is 1 over the number of classes. It learns from four fifths of the samples and predicts the other fifth; samples "
    "of one group are always on the same side. Above 0, style or topic tells something of the label, and a system that "
    "is not clearly better may have learnt no more. A part that tells much by itself may give the label away.",
)
def text_alone(panel: Panel) -> AnalysisResult:
    """What a cross-fitted linear classifier on TF-IDF of words and word pairs reaches over chance."""
    classes, known = len(panel.task.classes), ~panel.without_texts
    if not classes:
        return missing("No class is chosen in this task.")
    if min(np.bincount(panel.labels[known], minlength=classes)) < _LEAST_OF_CLASS:
        return missing(f"There are fewer than {_LEAST_OF_CLASS} samples of a class whose texts are available.")
    folds, result, metric = _folds(panel, known), Findings(panel), balanced_accuracy(classes)
    try:
        found = {name: _cross_fitted(panel, texts, folds) for name, texts in _texts(panel, known).items()}
    except ImportError:
        return missing('scikit-learn is not installed: pip install "hellofresh[baselines]".')
    for name, answers in found.items():
        said = None if answers is None else PromptOutputs.of("cross-fitted", answers, classes)
        made = None if said is None else measure(panel, said, metric=metric)
        if made is None:
            continue
        gain, low, high = (end - 1 / classes for end in (made.value, made.interval.low, made.interval.high))
        over = {"over_chance": gain, "over_chance_low": low, "over_chance_high": high}
        row = {"text": name, **made.cells, "chance": 1 / classes, **over}
        mark = Mark("words", "", gain, low, high, made.interval.n, row=f"{name} (n = {made.interval.n})")
        result.add(row, made.interval, mark)
    if not result.rows:
        return missing("No word stands in two of the texts.")
    if int(known.sum()) > _MOST:
        result.notes.append(f"Drawn from all: groups with about {_MOST:,} of {int(known.sum()):,} samples.")
    axis = Axis("balanced accuracy over chance", zero=True)
    return result.drawn(Chart("intervals", axis), order="marks")


def _texts(panel: Panel, known: Where) -> dict[str, list[str]]:
    """By name, a text of each sample, empty where it is missing: all that baselines may read, then each part."""
    task = panel.task
    pairs = list(zip(panel.samples, known.tolist(), strict=True))
    found = {_WHOLE: [task.text(sample) if there else "" for sample, there in pairs]}
    parts = [{part.name: part.text for part in task.page_of(sample).parts} if there else {} for sample, there in pairs]
    names = dict.fromkeys(name for part in parts for name in part)
    if len(names) > 1:
        found |= {name: [part.get(name, "") for part in parts] for name in names}
    return found


def _folds(panel: Panel, known: Where) -> NDArray[np.int64]:
    """The fold of each sample, the same for all of a group; -1 where it has no text, or is beyond the most."""
    order = np.random.default_rng(0).permutation(int(panel.groups.max()) + 1)
    sizes = np.bincount(panel.groups[known], minlength=order.size)[order]
    before = np.cumsum(sizes) - sizes
    fold = np.empty(order.size, dtype=np.int64)
    fold[order] = np.where(before < _MOST, before * _FOLDS // max(1, min(int(sizes.sum()), _MOST)), -1)
    return np.where(known, np.minimum(fold[panel.groups], _FOLDS - 1), -1)


def _cross_fitted(panel: Panel, texts: Sequence[str], folds: NDArray[np.int64]) -> NDArray[np.int8] | None:
    """What is predicted for each sample by those of other folds; None where nothing can be learnt from a fold."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words, answers = np.array(texts, dtype=object), np.full(folds.shape, NOT_ASKED, dtype=np.int8)
    for fold in range(_FOLDS):
        learnt, held = (folds >= 0) & (folds != fold), folds == fold
        if not held.any():
            continue
        model = make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), min_df=2, max_features=_WORDS, sublinear_tf=True),
            LogisticRegression(class_weight="balanced", max_iter=1_000),
        )
        try:
            answers[held] = model.fit(words[learnt], panel.labels[learnt]).predict(words[held])
        except ValueError:  # one class alone, or no word in two texts
            return None
    return answers
