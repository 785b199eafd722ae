"""The classifier judge: words of a response, weighted by tf-idf, and a regression on what people rated.

It is a smoke test: it shows that judging by a classifier works, and is not a judge to be trusted. It never
rates a response to a post that it learnt from: posts are split into parts, and each part is rated by what the others
taught.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from hellofresh.core.errors import DataError, UsageError
from hellofresh.core.files import sha256_text
from hellofresh.judging.comparison import counted_values
from hellofresh.judging.study import JudgeKind, RatedStudy, Rating, main_ratings, read_responses

SMOKE_TEST = "tfidf-ridge"
"""The name of the embedded classifier; a judge of this name is marked as a smoke test."""
_PARTS = 5
_LEAST = 20
"""Rated responses that are needed to learn anything."""


def classify_study(study: RatedStudy) -> Iterator[Rating]:
    """Ratings of all responses on every criterion about the response that people rated often enough.

    Raises:
        UsageError: if the classifier is not installed.
        DataError: if people have rated too little to learn from.
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
    except ImportError:
        fix = "Install it: pip install 'hellofresh[baselines]'"
        raise UsageError("the classifier judge needs scikit-learn", fix=fix, code="missing-extra") from None
    people = main_ratings(study.ratings, JudgeKind.PERSON)
    counted = set(people["sample"])
    responses = sorted(read_responses(study.files), key=lambda item: item.id)
    responses = [item for item in responses if item.sample in counted]
    part = {item.id: int(sha256_text(f"part {item.sample}")[:8], 16) % _PARTS for item in responses}
    learnt = 0
    for criterion in (item for item in study.rubric.criteria if item.unit == "response"):
        rated = counted_values(people, criterion).group_by("response").agg(pl.col("value").mean()).sort("response")
        scores = {name: value for name, value in rated.iter_rows() if name in part}
        if len(scores) < _LEAST:
            continue
        learnt += 1
        texts = {item.id: item.text for item in responses}
        for held in range(_PARTS):
            known = [name for name in scores if part[name] != held]
            asked = [item for item in responses if part[item.id] == held]
            if not known or not asked:
                continue
            words = TfidfVectorizer(sublinear_tf=True, max_features=5_000)
            model = make_pipeline(words, Ridge(alpha=1.0, solver="lsqr"))
            model.fit([texts[name] for name in known], np.array([scores[name] for name in known]))
            said = np.clip(np.round(model.predict([item.text for item in asked])), *criterion.limits)
            for item, value in zip(asked, said.tolist(), strict=True):
                yield Rating(
                    sample=item.sample,
                    response=item.id,
                    judge=SMOKE_TEST,
                    kind=JudgeKind.CLASSIFIER,
                    criterion=criterion.id,
                    value=value,
                )
    if not learnt:
        raise DataError(f"fewer than {_LEAST} rated responses to learn from", code="too-few-ratings")
