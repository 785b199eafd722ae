"""The classifier judge: words of a response, weighted by tf-idf, and a regression on what people rated.

It is a smoke test: it shows that judging by a classifier works, and is not a judge to be trusted. It never
rates a response to a post that it learnt from: posts are split into parts, and each part is rated by what the others
taught. A better classifier has the same form: `fit` on rated texts, `predict` on others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import sha256_text
from hellofresh.judging.comparison import counted_values
from hellofresh.judging.rubric import Criterion
from hellofresh.judging.study import JudgeKind, RatedStudy, Rating, RatingPhase, read_responses

SMOKE_TEST = "tfidf-ridge"
"""The name of the embedded classifier; a judge of this name is marked as a smoke test."""
_PARTS = 5
_LEAST = 20
"""Rated responses that are needed to learn anything."""


class TextRegression(Protocol):
    """Something that learns numbers from texts."""

    def fit(self, texts: Sequence[str], values: NDArray[np.float64]) -> None:
        """Learn."""

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The number of each text, shape (n,)."""


class _WordRegression:
    """The embedded classifier."""

    def __init__(self) -> None:
        try:
            from sklearn.feature_extraction.text import TfidfVectorizer
            from sklearn.linear_model import Ridge
        except ImportError:
            fix = "Install it: pip install 'hellofresh[baselines]'"
            raise UsageError("the classifier judge needs scikit-learn", fix=fix, code="missing-extra") from None
        self._words = TfidfVectorizer(sublinear_tf=True, max_features=5_000)
        self._model = Ridge(alpha=1.0, solver="lsqr")

    def fit(self, texts: Sequence[str], values: NDArray[np.float64]) -> None:
        self._model.fit(self._words.fit_transform(texts), values)

    def predict(self, texts: Sequence[str]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._model.predict(self._words.transform(texts))
        return found


def classify_study(study: RatedStudy, *, make: Callable[[], TextRegression] = _WordRegression) -> Iterator[Rating]:
    """Ratings of all responses on every criterion about the response that people rated often enough.

    Args:
        study: with people's ratings.
        make: makes a classifier that has learnt nothing.

    Raises:
        UsageError: if the classifier cannot be had.
        DataError: if people have rated too little to learn from.
    """
    responses = sorted(read_responses(study.files), key=lambda item: item.id)
    main = study.ratings.filter(pl.col("phase") == str(RatingPhase.MAIN), pl.col("kind") == str(JudgeKind.PERSON))
    counted = set(main["sample"])
    texts = {item.id: item.text for item in responses if item.sample in counted}
    part = {item.id: int(sha256_text(f"part {item.sample}")[:8], 16) % _PARTS for item in responses}
    samples = {item.id: item.sample for item in responses}
    learnt = 0
    for criterion in (item for item in study.rubric.criteria if item.unit == "response"):
        rated = counted_values(main, criterion).group_by("response").agg(pl.col("value").mean()).sort("response")
        scores = {name: value for name, value in rated.iter_rows() if name in texts}
        if len(scores) < _LEAST:
            continue
        learnt += 1
        for name, value in _cross_fitted(criterion, texts, part, scores, make):
            yield Rating(
                samples[name],
                name,
                "",
                SMOKE_TEST,
                JudgeKind.CLASSIFIER,
                criterion.id,
                value,
                1.0,
                RatingPhase.MAIN,
                "",
                "",
            )
    if not learnt:
        raise DataError(f"fewer than {_LEAST} rated responses to learn from", code="too-few-ratings")


def _cross_fitted(
    criterion: Criterion,
    texts: dict[str, str],
    part: dict[str, int],
    scores: dict[str, float],
    make: Callable[[], TextRegression],
) -> Iterator[tuple[str, float]]:
    low, high = criterion.limits
    for held in range(_PARTS):
        known = [name for name in scores if part[name] != held]
        asked = [name for name in texts if part[name] == held]
        if not known or not asked:
            continue
        model = make()
        model.fit([texts[name] for name in known], np.array([scores[name] for name in known]))
        said = model.predict([texts[name] for name in asked])
        yield from zip(asked, np.clip(np.round(said), low, high).tolist(), strict=True)
